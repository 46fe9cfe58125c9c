"""The keys and values of tokens that were read already, so that generating one more token computes one row, not all.

Shazeer 2019 (Fast Transformer Decoding), section 2.4.1. Earlier tokens never look at later ones in a causal model, so
their keys and values stay as they were; only queries are new.
"""

import torch
from torch import Tensor


class LayerCache:
    """One attention's keys and values, (batch, kv_head, key, d_head) each."""

    def __init__(self) -> None:
        self.key: Tensor | None = None
        self.value: Tensor | None = None

    @property
    def filled(self) -> bool:
        return self.key is not None

    @property
    def length(self) -> int:
        """How many keys are kept."""
        return 0 if self.key is None else self.key.shape[2]

    @property
    def nbytes(self) -> int:
        return sum(kept.numel() * kept.element_size() for kept in (self.key, self.value) if kept is not None)

    def kept(self) -> tuple[Tensor, Tensor]:
        assert self.key is not None and self.value is not None, "nothing was kept yet"
        return self.key, self.value

    def extended(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values, the new ones last."""
        if self.key is not None and self.value is not None:
            key, value = torch.cat((self.key, key), dim=2), torch.cat((self.value, value), dim=2)
        self.key, self.value = key, value
        return key, value

    def take(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order: the beams that go on."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self.key[rows], self.value[rows]


class KeyValueCache:
    """A cache per attention: `own` of each layer's self-attention, `across` of its cross-attention if it has one."""

    def __init__(self, n_layers: int) -> None:
        self.own = [LayerCache() for _ in range(n_layers)]
        self.across = [LayerCache() for _ in range(n_layers)]

    @property
    def length(self) -> int:
        """How many tokens have been read."""
        return self.own[0].length

    @property
    def nbytes(self) -> int:
        """Bytes that the kept keys and values take; those of the source text included."""
        return sum(one.nbytes for one in (*self.own, *self.across))

    def take(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order."""
        for one in (*self.own, *self.across):
            one.take(rows)
