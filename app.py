"""Starts the page: `python app.py`, then open the address it prints. Also the entry of a Hugging Face Space."""

import argparse
import os
import sys
from collections.abc import Sequence

from transformer.messages import LANGUAGES, message, terminal_language

THIS_COMPUTER = ("127.0.0.1", "localhost", "::1")  # only who sits at it may open its folders


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, build the pages, serve until stopped. Returns the exit code."""
    language = terminal_language()
    options = parser(language).parse_args(arguments)
    language = options.language
    _quiet()
    print(message("app.starting", language), flush=True)
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
        return server.serve(lambda one: explore.build(one, engine), options.host, options.port, language=language)
    except SeeThroughError as error:
        print(error.text(language), file=sys.stderr)
        return 1


def parser(language: str = "en") -> argparse.ArgumentParser:
    """The command line; each option says what it does and what it is when left out."""

    def say(option: str) -> str:
        return message(f"app.{option}", language)

    def whole(text: str) -> int:
        return _number(text, 1, sys.maxsize, say("not_positive"))

    def port(text: str) -> int:
        return _number(text, 0, 65535, say("not_a_port"))

    made = argparse.ArgumentParser(prog="python app.py", description=say("about"), epilog=say("private"))
    made.add_argument("--host", default=os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1"), help=say("host"))
    made.add_argument("--port", default=os.environ.get("GRADIO_SERVER_PORT", "7860"), type=port, help=say("port"))
    made.add_argument("--model", metavar="NAME", help=say("model"))
    made.add_argument("--memory", default=1024, metavar="MB", help=say("memory"), type=whole)
    made.add_argument("--max-tokens", default=4096, metavar="N", help=say("max_tokens"), type=whole)
    made.add_argument("--max-model-mb", default=4000, metavar="MB", help=say("max_model_mb"), type=whole)
    made.add_argument("--no-packs", action="store_true", help=say("no_packs"))
    made.add_argument("--language", choices=LANGUAGES, default=language, help=say("language"))
    return made


def _number(text: str, lowest: int, highest: int, sentence: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if not lowest <= number <= highest:
        raise argparse.ArgumentTypeError(sentence.format(text=text))
    return number


def _quiet() -> None:
    """Before Gradio and transformers are imported: no telemetry. Only what a visitor asks for is looked up."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's products are small here; more threads only wait
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")


if __name__ == "__main__":
    sys.exit(main())
