"""The command line: one module per command, with arguments and printing only.

Heavy imports happen inside functions, so that `--help` is fast.
"""
