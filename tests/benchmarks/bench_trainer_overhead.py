"""What a training step costs beyond the work in it: a 32 -> 64 -> 10 MLP, batch 8, SGD, one thread."""

from __future__ import annotations

from pathlib import Path

from harness import Benchmark, Figure, Options, Program, Run, Samples, built, peer_script

OURS = {"bare": "libtorch", "trainer": "levin", "trainer_log": "levin_log", "trainer_loggers": "levin_loggers"}
PEERS = {"raw": "pytorch", "accelerate": "accelerate", "lightning": "lightning", "lightning_log": "lightning_log"}


class TrainerOverhead(Benchmark):
    name = "trainer_overhead"
    targets = ("//tests/benchmarks/trainer_overhead",)
    figures = (
        Figure("trainer_overhead.bare", "us/step", "levin", "libtorch", "libtorch"),
        Figure("trainer_overhead.log_bare", "us/step", "levin_log", "libtorch", "libtorch"),
        Figure("trainer_overhead.loggers_bare", "us/step", "levin_loggers", "libtorch", "libtorch"),
        Figure("trainer_overhead.no_log", "us/step", "levin", "lightning", "lightning"),
        Figure("trainer_overhead.log", "us/step", "levin_log", "lightning_log", "lightning"),
        Figure("trainer_overhead.pytorch", "us/step", "levin", "pytorch", "pytorch"),
        Figure("trainer_overhead.accelerate", "us/step", "levin", "accelerate", "accelerate"),
    )

    def programs(self, options: Options, scratch: Path) -> list[Program]:
        binary = built("tests/benchmarks/trainer_overhead/trainer_overhead")
        steps = ("--steps", str(options.steps))
        folder = ("--folder", str(scratch))
        ours = [Program([binary, mode, *steps, *folder], 1, reader(sample)) for mode, sample in OURS.items()]
        peers = [
            Program(peer_script("overhead.py", mode, *steps), 1, reader(sample), is_peer=True)
            for mode, sample in PEERS.items()
        ]
        return ours + peers


def reader(sample: str):
    def read(run: Run) -> Samples:
        return {sample: float(run.json()["us_per_step"])}

    return read
