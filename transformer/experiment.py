"""The record of a training: all that is needed to understand it later, or to do it again. It can be written as JSON."""

import os
import platform
from dataclasses import asdict
from typing import Any

import safetensors
import torch

from transformer.training import Training


def experiment_record(training: Training, seed: int) -> dict[str, Any]:
    """What was trained, on what, how and where, and how it went; `seed`: what model and data were made from."""
    model: Any = training.model
    return {
        "class_name": type(model).__name__,
        "config": asdict(model.config),
        "parameters": sum(one.numel() for one in model.parameters()),
        "task": repr(training.task),
        "settings": {name: _plain(value) for name, value in asdict(training.settings).items()},
        "seed": seed,
        "steps": training.step,  # fewer than in the settings where it was stopped
        "seconds": round(training.seconds, 1),
        "longest": training.longest,
        "curve": {"points": _rounded(training.curve.points), "held_out": _rounded(training.curve.held_out)},
        "threads": torch.get_num_threads(),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "safetensors": safetensors.__version__,
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        },
    }


def _plain(value: object) -> object:
    """JSON knows lists and no tuples; so that a record that was read again equals the one that was written."""
    return list(value) if isinstance(value, tuple) else value


def _rounded(rows: list[list[float]]) -> list[list[float]]:
    """Five significant digits: more than can be seen."""
    return [[float(f"{one:.5g}") for one in row] for row in rows]
