"""Reports of experiments: the numbers, tables, figures and one page that shows them.

``terminal`` and the modules it reads need no extras; ``figures``, ``charts`` and ``page`` do.
"""
