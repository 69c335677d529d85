"""The start of the GitHub Action."""

import os
import sys

from taxoexpan.github.action import main

if __name__ == "__main__":
    given = dict(os.environ)
    os.environ.pop("TAXOEXPAN_TOKEN", None)  # the programs that are started do not need it
    sys.exit(main(sys.argv[1:], given))
