"""A class at work: many clients ask one server at once, for a bounded time, over loopback only.

Each client types texts of its own and checks that every answer is about its own text; one sentence is asked by all. The
server runs in this process, so its count of forward passes can be read. `python -m tests.bench.load --seconds 60`
"""

import argparse
import contextlib
import statistics
import sys
import threading
import time
from dataclasses import dataclass, field

import numpy as np
from gradio_client import Client

from tests.browser.conftest import running
from transformer.engine import Engine
from transformer.runner import run
from viz.pages import explore

SHARED = "The teacher's sentence"
LAYERS, HEADS = 4, 4  # of "untrained"


@dataclass
class Report:
    """What the clients saw. `passes` are the forward passes of the server while they were at it."""

    clients: int
    seconds: float = 0.0
    answers: int = 0
    passes: int = 0
    texts: set[str] = field(default_factory=set)  # that were asked for
    waits: list[float] = field(default_factory=list)  # seconds per answer
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        rate, waits = self.answers / max(self.seconds, 1e-9), sorted(self.waits) or [0.0]
        return (
            f"{self.clients} clients, {self.seconds:.0f} s: {self.answers} answers ({rate:.0f}/s), median "
            f"{statistics.median(waits) * 1000:.0f} ms, 95 % under {waits[int(len(waits) * 0.95)] * 1000:.0f} ms; "
            f"{len(self.texts)} texts, {self.passes} passes; {len(self.problems)} problems"
        )


def load(clients: int = 30, seconds: float = 60.0, turns: int = 0) -> Report:
    """Serve "untrained", let `clients` ask for `seconds`, each at least `turns` times, and tell what they saw."""
    engine = explore.open_engine(model="untrained", packs=False)
    report, ready, stop = Report(clients), threading.Barrier(clients + 1, timeout=120), threading.Event()
    # At the end the clients' open streams are cut off, which uvicorn would call an error.
    with running(lambda language: explore.build(language, engine), log_level="critical") as address:
        before = engine.store.passes
        threads = [
            threading.Thread(target=_client, args=(address, engine, number, report, ready, stop, turns), daemon=True)
            for number in range(clients)
        ]
        for thread in threads:
            thread.start()
        with contextlib.suppress(threading.BrokenBarrierError):  # the client that failed has said so
            ready.wait()  # connecting is no part of the lesson
        start = time.monotonic()
        stop.wait(seconds)
        stop.set()
        for thread in threads:
            thread.join(timeout=300)
        report.seconds = time.monotonic() - start
        report.passes = engine.store.passes - before
        report.problems += ["a client never came back"] * sum(thread.is_alive() for thread in threads)
    _check_store(engine, report)
    return report


def _client(
    address: str,
    engine: Engine,
    number: int,
    report: Report,
    ready: threading.Barrier,
    stop: threading.Event,
    least: int,
) -> None:
    """Asks in turns: the shared sentence, a text of its own, a head of it, what comes next."""
    try:
        client = Client(address, verbose=False, analytics_enabled=False)
        ready.wait()
        turn = 0
        while turn < least or not stop.is_set():
            text = SHARED if turn % 4 == 0 else f"client {number} says {turn // 4}"
            start = time.monotonic()
            problem = _ask(client, engine, text, turn, number)
            report.waits.append(time.monotonic() - start)
            report.texts.add(text)
            report.answers += 1
            report.problems += [f"client {number}, turn {turn}: {problem}"] if problem else []
            turn += 1
        client.close()
    except Exception as error:  # whatever it is, it belongs in the report
        ready.abort()
        report.problems.append(f"client {number}: {type(error).__name__}: {error}")


def _ask(client: Client, engine: Engine, text: str, turn: int, number: int) -> str | None:
    """One question; what is wrong with its answer, if anything."""
    tokens = ["<bos>", *text.replace(" ", "·")]
    if turn % 4 < 2:
        told = client.predict("untrained", text, "", api_name="/run")["tokens"]["decoder"]
        return None if told == tokens else f"tokens of another text: {told}"
    if turn % 4 == 2:
        layer, head = number % LAYERS, turn // 4 % HEADS
        told = client.predict("untrained", text, layer, head, "", api_name="/attention")
        own = engine.trace("untrained", text).weights(f"decoder.{layer}.self", head)
        fits = told["queries"] == tokens and np.array_equal(np.float32(told["weights"]), own)
        return None if fits else f"attention of another text: {told['site']}, {told['queries']}"
    told = client.predict("untrained", text, 5, "", api_name="/next_tokens")
    own = engine.trace("untrained", text).probabilities(-1)[1][:5].tolist()
    return None if told["probabilities"] == own else f"probabilities of another text: {told}"


def _check_store(engine: Engine, report: Report) -> None:
    """As many passes as texts, however many asked for them; and what is kept is what a pass alone gives."""
    model = engine.load("untrained")
    if report.passes != len(report.texts):
        report.problems.append(f"{report.passes} passes for {len(report.texts)} texts")
    for text in sorted(report.texts)[:20]:
        kept, alone = engine.trace("untrained", text), run(model, text)
        if not np.allclose(kept["logits"], alone["logits"], atol=1e-5):
            report.problems.append(f"{text!r}: what was kept is not what a pass alone gives")


def main() -> int:
    made = argparse.ArgumentParser(prog="python -m tests.bench.load", description=__doc__.splitlines()[0])
    made.add_argument("--clients", type=int, default=30, help="how many ask at the same time (default: 30)")
    made.add_argument("--seconds", type=float, default=60.0, help="for how long (default: 60)")
    options = made.parse_args()
    report = load(options.clients, options.seconds)
    print(report)
    for problem in report.problems[:20]:
        print(" ", problem, file=sys.stderr)
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
