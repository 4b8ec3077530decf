"""Runs the oracle from the command line: python3 -m oracle --help, in tests/e2e with UTFEED set."""
import sys

from .campaign import main

sys.exit(main())
