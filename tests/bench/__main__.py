"""`make bench`: what recording, clicks and panels cost. Ratios of one run; nothing here decides a test."""

import argparse
import importlib
import time

PARTS = {
    "recording": "tests.bench.recording",
    "clicks": "tests.bench.clicks",
    "length": "tests.bench.length",
    "views": "tests.bench.views",
    "bertviz": "tests.bench.beside_bertviz",
}


def main() -> None:
    made = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    made.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: all)")
    chosen = made.parse_args().parts or list(PARTS)
    if unknown := [name for name in chosen if name not in PARTS]:
        made.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    for name in chosen:  # imported one by one: each sets its own threads before torch counts them
        start = time.monotonic()
        print(f"--- {name}", flush=True)
        try:
            part = importlib.import_module(PARTS[name])
        except ImportError as error:  # the browser's libraries come with `make test`
            print(f"{name} not measured: {error}")
            continue
        part.report()
        print(f"    {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
