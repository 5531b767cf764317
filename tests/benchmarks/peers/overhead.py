"""Microseconds a training step of a 32 -> 64 -> 10 MLP, batch 8, SGD, one thread, in a framework of Python.

    overhead.py raw|accelerate|lightning|lightning_log --steps N
"""

from __future__ import annotations

import argparse

import torch
from torch.nn.functional import cross_entropy

from workloads import StepClock, bare_trainer, mlp, repeated_batches, report, sgd


def train_raw(steps: int) -> float:
    """A loop as one writes it in plain PyTorch."""
    model = mlp()
    optimizer = sgd(model)
    clock = StepClock(steps)
    for inputs, targets in repeated_batches(steps):
        clock.start_step()
        loss = cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return clock.us_per_step()


def train_accelerate(steps: int) -> float:
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = mlp()
    model, optimizer, batches = accelerator.prepare(model, sgd(model), repeated_batches(steps))
    clock = StepClock(steps)
    for inputs, targets in batches:
        clock.start_step()
        loss = cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
    return clock.us_per_step()


def train_lightning(steps: int, log: bool = False) -> float:
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = mlp()

        def training_step(self, batch, batch_index):
            clock.start_step()
            loss = cross_entropy(self.model(batch[0]), batch[1])
            if log:
                self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return sgd(self)

    clock = StepClock(steps)
    bare_trainer(max_epochs=1).fit(Module(), repeated_batches(steps))
    return clock.us_per_step()


def train_lightning_log(steps: int) -> float:
    return train_lightning(steps, log=True)


def main() -> None:
    modes = {
        "raw": train_raw,
        "accelerate": train_accelerate,
        "lightning": train_lightning,
        "lightning_log": train_lightning_log,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=modes)
    parser.add_argument("--steps", type=int, default=20_000)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    report(mode=arguments.mode, us_per_step=round(modes[arguments.mode](arguments.steps), 3))


if __name__ == "__main__":
    main()
