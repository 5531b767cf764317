"""Batches a second of Levin's loaders beside PyTorch's DataLoader, each with the number of workers that suits it best."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness import Benchmark, BenchmarkError, Figure, Options, Program, Run, Samples, built, peer_script

WORKERS = (0, 1, 2)
BINARY = "tests/benchmarks/data_loading/data_loading"


class DataLoading(Benchmark):
    name = "data_loading"
    targets = ("//tests/benchmarks/data_loading",)
    figures = (
        Figure("data_loading.fashion_mnist", "1/s", "levin.images.best", "pytorch.images.best", "pytorch", False),
        Figure("data_loading.fashion_mnist_no_workers", "1/s", "levin.images.0", "pytorch.images.0", "pytorch", False),
        Figure("data_loading.tokens", "1/s", "levin.tokens.best", "pytorch.tokens.best", "pytorch", False),
        Figure("data_loading.tokens_no_workers", "1/s", "levin.tokens.0", "pytorch.tokens.0", "pytorch", False),
        Figure("data_loading.first_batch_ms", "ms", "levin.tokens.first", "pytorch.tokens.first", "pytorch"),
        Figure("data_loading.tokens_memory", "MiB", "levin.tokens.memory", "pytorch.tokens.memory", "pytorch"),
        Figure("data_loading.tokens_memory_growth", "MiB", "levin.tokens.memory", "levin.few.memory", "a tenth of the file"),
    )

    def programs(self, options: Options, scratch: Path) -> list[Program]:
        tokens = ("tokens", "--file", str(write_tokens(scratch / "tokens.bin", megabytes=1000)))
        few = ("tokens", "--file", str(write_tokens(scratch / "few.bin", megabytes=100)), "--workers", "0")
        return [
            *pairs("images", ("images",)),
            *pairs("tokens", tokens),
            Program([built(BINARY), *few], 1, BestOf("levin.few").reader(0)),
        ]


def pairs(name: str, arguments: tuple[str, ...]) -> list[Program]:
    """Both sides in turn, with each number of workers."""
    ours, peer = BestOf(f"levin.{name}"), BestOf(f"pytorch.{name}")
    programs = []
    for workers in WORKERS:
        words = (*arguments, "--workers", str(workers))
        programs.append(Program([built(BINARY), *words], 1, ours.reader(workers)))
        programs.append(Program(peer_script("data_loading.py", *words), 1, peer.reader(workers), is_peer=True))
    return programs


class BestOf:
    """The samples of one side's programs, which differ in their number of workers and run in that order."""

    def __init__(self, side: str) -> None:
        self.side, self.rates = side, {}

    def reader(self, workers: int):
        def read(run: Run) -> Samples:
            values = run.json()
            self.rates[workers] = float(values["batches_per_second"])
            samples = {f"{self.side}.{workers}": self.rates[workers]}
            if workers == 0:
                # Of the process alone: a worker of the peer is a process of its own, whose memory comes on top.
                samples[f"{self.side}.first"] = float(values["first_batch_ms"])
                samples[f"{self.side}.memory"] = run.peak_memory_mib
            if workers == WORKERS[-1]:
                samples[f"{self.side}.best"] = max(self.rates.values())
            return samples

        return read


def write_tokens(file: Path, megabytes: int) -> Path:
    command = [built(BINARY), "write_tokens", "--file", str(file), "--megabytes", str(megabytes)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise BenchmarkError(f"A token file of {megabytes} MB could not be made: {result.stderr.strip()}")
    return file
