"""The learning rate of each step: a warm-up, then one of three ways down."""

from math import cos, pi

from transformer.settings import Settings


def learning_rate(step: int, settings: Settings) -> float:
    """The rate of update number `step`, counted from 1.

        warm-up        peak · step / warmup_steps
        cosine         low + (peak − low) · (1 + cos(π · progress)) / 2        Loshchilov & Hutter 2017, equation 5
        inverse_sqrt   peak · √(warmup_steps / step)                           Vaswani et al. 2017, equation 3
        constant       peak

    low = peak · min_lr_fraction; progress runs from 0 after the warm-up to 1 at the last step.
    """
    peak, warmup = settings.learning_rate, settings.warmup_steps
    if step < warmup:
        return peak * step / warmup
    if settings.schedule == "inverse_sqrt":
        return peak * (max(warmup, 1) / step) ** 0.5
    if settings.schedule == "constant":
        return peak
    low = peak * settings.min_lr_fraction
    progress = min(1.0, (step - warmup) / max(settings.steps - warmup, 1))
    return low + (peak - low) * (1 + cos(pi * progress)) / 2


def vaswani_peak(d_model: int, warmup_steps: int) -> float:
    """The highest rate of Vaswani et al. 2017, equation 3, reached after warm-up: (d_model · warmup_steps)^−0.5."""
    return (d_model * warmup_steps) ** -0.5
