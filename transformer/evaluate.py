"""How good the shipped models are, measured now on texts that no training saw.

python -m transformer.evaluate                (also: a name; --seed 7 draws other texts; --json prints data)
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace

import torch

from transformer.cards import NAMES, load_shipped, save_card
from transformer.errors import SeeThroughError
from transformer.examination import Finding, examine_shipped
from transformer.messages import LANGUAGES, message, terminal_language

LEAST_ROWS = 8
FRESH = 90_001  # seed of the texts; training uses others, and never the texts that are held out


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0 where every wanted number was reached, 2 where one was missed, 1 where none could be had."""
    chosen = _parser().parse_args(arguments)
    torch.set_num_threads(1)
    findings: list[Finding] = []
    try:
        for name in chosen.names or NAMES:
            shipped, found = load_shipped(name), list[Finding]()
            for finding in examine_shipped(shipped, chosen.seed, rows=chosen.rows):
                found.append(finding)
                if not chosen.json:
                    print(line(finding, chosen.language), flush=True)
            findings += found
            if chosen.write:
                told = {one.name: round(one.value, 4) for one in found}
                save_card(replace(shipped.card, quality={**shipped.card.quality, **told}))
    except SeeThroughError as error:
        print(error.text(chosen.language), file=sys.stderr)
        return 1
    if chosen.json:
        print(json.dumps([asdict(one) | {"holds": one.holds} for one in findings], ensure_ascii=False, indent=1))
    return 0 if all(one.holds for one in findings) else 2


def line(finding: Finding, language: str) -> str:
    """One row of the table."""
    return " ".join(_cells(finding, language))


def _cells(finding: Finding, language: str) -> Iterator[str]:
    yield "·" if finding.wanted is None else "✓" if finding.holds else "✗"
    yield f"{finding.model:16}"
    yield f"{finding.value:7.4f}"
    yield f"{'' if finding.wanted is None else f'≥ {finding.wanted:g}':8}"
    words = message(f"evaluate.measure.{finding.measure}", language, detail=finding.detail)
    yield message("evaluate.over", language, words=words, count=f"{finding.count:,}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m transformer.evaluate", description=message("evaluate.help"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=message("evaluate.help_names", names=", ".join(NAMES)))
    parser.add_argument("--seed", type=int, default=FRESH, help=message("evaluate.help_seed"))
    parser.add_argument("--rows", type=_rows, default=400, help=message("evaluate.help_rows"))
    parser.add_argument("--write", action="store_true", help=message("evaluate.help_write"))
    parser.add_argument("--json", action="store_true", help=message("evaluate.help_json"))
    parser.add_argument("--language", choices=LANGUAGES, default=terminal_language())
    return parser


def _rows(text: str) -> int:
    """Fewer than 8 texts are none for some of the measures."""
    if not (text.isascii() and text.isdecimal()) or int(text) < LEAST_ROWS:
        raise argparse.ArgumentTypeError(message("evaluate.too_few", terminal_language(), least=LEAST_ROWS))
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
