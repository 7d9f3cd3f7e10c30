#!/usr/bin/env python3
"""The usual serial pipeline with the same models, for comparison. See `edgevoice/bench/serial.py`."""

import sys

from edgevoice.bench.serial import main

if __name__ == "__main__":
    sys.exit(main())
