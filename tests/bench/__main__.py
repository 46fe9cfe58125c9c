"""`make bench`: ratios of one run, never absolute times; nothing here decides a test."""

from tests.bench import recording

if __name__ == "__main__":
    recording.report()
