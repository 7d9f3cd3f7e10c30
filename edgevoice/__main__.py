"""`python -m edgevoice`: the same as the command `edgevoice`."""

import sys

from edgevoice.cli import main

if __name__ == "__main__":
    sys.exit(main())
