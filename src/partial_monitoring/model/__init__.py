"""What a game is: one kind a file, with its truths, feedback, text and file entry.

May import ``kernels``, ``parameter_sets``, ``numerics`` and the modules at the top level.
"""
