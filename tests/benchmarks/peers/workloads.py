"""What the peers' scripts share: the models, Lightning with everything switched off, and the clock of a step."""

from __future__ import annotations

import json
import logging
import time
import warnings
from typing import Any

import torch
from torch import nn


def silence() -> None:
    """Keeps the frameworks' advice out of the output. To be called after Lightning's import, which sets its loggers up."""
    warnings.filterwarnings("ignore")
    for name in ("lightning", "lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)


def mlp() -> nn.Sequential:
    """32 -> 64 -> 10: so little work that the cost of a step is the framework's own."""
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))


def mlp_batch() -> tuple[torch.Tensor, torch.Tensor]:
    """One batch of 8 that all steps train on."""
    return torch.randn(8, 32), torch.randint(10, (8,))


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.01)


class RepeatedBatch(torch.utils.data.IterableDataset):
    """The same batch `steps` times over."""

    def __init__(self, steps: int) -> None:
        self.batch, self.steps = mlp_batch(), steps

    def __iter__(self):
        for _ in range(self.steps):
            yield self.batch


def repeated_batches(steps: int) -> torch.utils.data.DataLoader:
    return torch.utils.data.DataLoader(RepeatedBatch(steps), batch_size=None)


def bare_trainer(**options: Any):
    """A Lightning Trainer on the CPU with all that can be switched off switched off; `options` come on top."""
    import lightning

    silence()
    return lightning.Trainer(
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )


class StepClock:
    """Microseconds a step, from calls at the start of each of `steps` steps; the first tenth is warm-up."""

    def __init__(self, steps: int) -> None:
        self.first, self.last = steps // 10, steps - 1
        if self.last <= self.first:
            raise ValueError(f"{steps} steps are too few to time: at least 3 are needed")
        self.step, self.began, self.ended = 0, 0.0, 0.0

    def start_step(self) -> None:
        if self.step == self.first:
            self.began = time.perf_counter()
        elif self.step == self.last:
            self.ended = time.perf_counter()
        self.step += 1

    def us_per_step(self) -> float:
        if self.step != self.last + 1:
            raise RuntimeError(f"{self.step} steps were trained instead of {self.last + 1}")
        return (self.ended - self.began) / (self.last - self.first) * 1e6


def report(**values: Any) -> None:
    print(json.dumps(values), flush=True)
