def main(c): pass
