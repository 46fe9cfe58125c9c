"""`make bench`: ratios of one run, never absolute times; nothing here decides a test."""

import argparse

from tests.bench import recording

if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0]).parse_args()
    recording.report()
