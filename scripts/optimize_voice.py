"""Make faster forms of a voice and report them: the same as `edgevoice voices optimize`."""

import sys

from edgevoice.cli import main

if __name__ == "__main__":
    sys.exit(main(["voices", "optimize", *sys.argv[1:]]))
