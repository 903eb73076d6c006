"""Run the command line: ``python -m attnlens``."""

import sys

from attnlens.cli import main

if __name__ == "__main__":
    sys.exit(main())
