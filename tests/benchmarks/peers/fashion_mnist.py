"""The Fashion-MNIST convnet in Lightning on the CPU: seconds an epoch and accuracy.

    fashion_mnist.py [--epochs N] [--data FOLDER] [--first-step]

Prints one JSON line; with --first-step it trains one step, prints "first step done" and ends.
"""

from __future__ import annotations

import argparse
import gzip
import time
from pathlib import Path

import lightning
import numpy
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from workloads import bare_trainer, report

BATCH_SIZE = 128
MEAN, DEVIATION = 0.2860, 0.3530


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.model = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(3136, 128),
            nn.ReLU(),
            nn.Dropout(0.25),
            nn.Linear(128, 10),
        )

    def training_step(self, batch, batch_index):
        images, labels = batch
        loss = cross_entropy(self.model(images), labels)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_index) -> None:
        images, labels = batch
        outputs = self.model(images)
        correct = (outputs.argmax(1) == labels).float().mean()
        self.log("val_acc", correct, batch_size=len(labels))
        self.log("val_loss", cross_entropy(outputs, labels), batch_size=len(labels))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


class EpochTimer(lightning.Callback):
    """Seconds of each epoch: its training part, and with the validation that Lightning runs inside it."""

    def __init__(self) -> None:
        self.training: list[float] = []
        self.with_validation: list[float] = []
        self.began = 0.0

    def seconds(self) -> float:
        return round(time.perf_counter() - self.began, 4)

    def on_train_epoch_start(self, trainer, module) -> None:
        self.began = time.perf_counter()

    def on_validation_start(self, trainer, module) -> None:
        if not trainer.sanity_checking:
            self.training.append(self.seconds())

    def on_train_epoch_end(self, trainer, module) -> None:
        self.with_validation.append(self.seconds())


class FirstStepMarker(lightning.Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_index) -> None:
        print("first step done", flush=True)


def read_idx(path: Path, header: int) -> numpy.ndarray:
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=header)


def load(folder: Path, split: str) -> TensorDataset:
    images = read_idx(folder / f"{split}-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)
    labels = read_idx(folder / f"{split}-labels-idx1-ubyte.gz", 8)
    normalised = torch.tensor(images).float().div(255).sub(MEAN).div(DEVIATION)
    return TensorDataset(normalised, torch.tensor(labels).long())


def train_first_step(data: Path) -> None:
    trainer = bare_trainer(max_steps=1, limit_val_batches=0, callbacks=[FirstStepMarker()])
    trainer.fit(Classifier(), DataLoader(load(data, "train"), BATCH_SIZE, shuffle=True))


def train(data: Path, epochs: int) -> None:
    timer = EpochTimer()
    trainer = bare_trainer(max_epochs=epochs, num_sanity_val_steps=0, callbacks=[timer])
    training = DataLoader(load(data, "train"), BATCH_SIZE, shuffle=True, num_workers=0)
    validation = DataLoader(load(data, "t10k"), 1000, num_workers=0)
    trainer.fit(Classifier(), training, validation)
    report(
        epoch_seconds=timer.training,
        epoch_seconds_with_validation=timer.with_validation,
        val_acc=round(float(trainer.callback_metrics["val_acc"]), 4),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--first-step", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    torch.manual_seed(1)
    if arguments.first_step:
        train_first_step(arguments.data)
    else:
        train(arguments.data, arguments.epochs)


if __name__ == "__main__":
    main()
