"""The Fashion-MNIST convnet, batch 128, AdamW, two threads: seconds an epoch without validation, and peak memory."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

from harness import Benchmark, BenchmarkError, Figure, Options, Program, Run, Samples, built, peer_script


class FashionMnist(Benchmark):
    name = "fashion_mnist"
    targets = ("//:levin_cli",)
    figures = (
        Figure("fashion_mnist.epoch_seconds", "s", "levin_seconds", "lightning_seconds", "lightning"),
        Figure("fashion_mnist.peak_memory", "MiB", "levin_memory", "lightning_memory", "lightning"),
        # Shows that both sides did the same work.
        Figure("fashion_mnist.val_acc", "", "levin_acc", "lightning_acc", "lightning", lower_is_better=False),
    )

    def programs(self, options: Options, scratch: Path) -> list[Program]:
        runs = scratch / "runs"
        epochs = str(options.epochs)
        ours = [
            *(built("levin_cli"), "fit", "--config", "configs/fashion_mnist.yaml"),
            *("--trainer.max_epochs", epochs, "--trainer.default_root_dir", str(runs)),
        ]

        def read_ours(run: Run) -> Samples:
            metrics = read_metrics(runs, run.command)
            shutil.rmtree(runs)
            return {
                "levin_seconds": metrics["epoch_seconds"],
                "levin_acc": metrics["val_acc"][-1],
                "levin_memory": run.peak_memory_mib,
            }

        def read_peer(run: Run) -> Samples:
            result = run.json()
            return {
                "lightning_seconds": result["epoch_seconds"],
                "lightning_acc": result["val_acc"],
                "lightning_memory": run.peak_memory_mib,
            }

        return [
            Program(ours, 2, read_ours),
            Program(peer_script("fashion_mnist.py", "--epochs", epochs), 2, read_peer, is_peer=True),
        ]


def read_metrics(runs: Path, command: str) -> dict[str, list[float]]:
    """The columns of the only metrics.csv below `runs`, without their empty cells."""
    files = list(runs.rglob("metrics.csv"))
    if len(files) != 1:
        raise BenchmarkError(f"{command} should have left one metrics.csv in its run folder, but left {len(files)}.")
    with files[0].open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = {}
    for name in ("epoch_seconds", "val_acc"):
        columns[name] = [float(row[name]) for row in rows if row.get(name)]
        if not columns[name]:
            have = ", ".join(rows[0]) if rows else "no rows"
            raise BenchmarkError(f"{command} logged no {name}: its metrics.csv has {have}.")
    return columns
