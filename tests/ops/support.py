"""Where things are, and how a test program ends."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXIT_SKIPPED = 77


def main():
    """Runs the tests of the calling file; exit status 77 tells ctest that nothing could run."""
    result = unittest.main(exit=False, verbosity=2).result
    if result.testsRun and result.wasSuccessful() and len(result.skipped) == result.testsRun:
        sys.exit(EXIT_SKIPPED)
    sys.exit(not result.wasSuccessful() or result.testsRun == 0)
