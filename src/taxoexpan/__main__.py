"""Runs the command line by `python -m taxoexpan`, as torchrun does."""

import sys

from taxoexpan.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
