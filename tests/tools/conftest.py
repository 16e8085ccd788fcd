collect_ignore = ["docstrings.py"]  # needs Griffe, which only `make docs` installs
