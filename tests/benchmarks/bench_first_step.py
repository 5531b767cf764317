"""From the start of the process to the end of the first training step, also of a resumed fit; files in the page cache."""

from __future__ import annotations

from pathlib import Path

from harness import Benchmark, Figure, Options, Program, Run, Samples, built, peer_script

MARKER = "first step done"


class FirstStep(Benchmark):
    name = "first_step"
    targets = ("//tests/benchmarks/trainer_overhead", "//:levin_cli")
    figures = (
        Figure("first_step_seconds", "s", "levin", "lightning", "lightning"),
        Figure("first_step_seconds.fashion_mnist", "s", "levin_fashion_mnist", "lightning_fashion_mnist", "lightning"),
        Figure("first_step_seconds.resume", "s", "levin_resume", "levin_fashion_mnist", "levin, anew"),
    )
    warm_up_rounds = 1

    def programs(self, options: Options, scratch: Path) -> list[Program]:
        mlp = [built("tests/benchmarks/trainer_overhead/trainer_overhead"), "first_step"]
        # The levin program prints no such line: its time is that of the whole process, which counts against us.
        fashion_mnist = [
            *(built("levin_cli"), "fit", "--config", "configs/fashion_mnist.yaml"),
            *("--trainer.max_steps", "1", "--trainer.limit_val_batches", "0"),
            *("--trainer.default_root_dir", str(scratch)),
        ]
        # From the checkpoint that the program before has left after its one step, to the end of a second step.
        resume = [*fashion_mnist, "--resume", "last", "--trainer.max_steps", "2"]
        peer_mlp = peer_script("first_step.py")
        peer_fashion_mnist = peer_script("fashion_mnist.py", "--first-step")
        return [
            Program(mlp, 1, reader("levin"), marker=MARKER),
            Program(peer_mlp, 1, reader("lightning"), marker=MARKER, is_peer=True),
            Program(fashion_mnist, 2, reader("levin_fashion_mnist")),
            Program(resume, 2, reader("levin_resume")),
            Program(peer_fashion_mnist, 2, reader("lightning_fashion_mnist"), marker=MARKER, is_peer=True),
        ]


def reader(sample: str):
    def read(run: Run) -> Samples:
        return {sample: run.wall_seconds if run.marker_seconds is None else run.marker_seconds}

    return read
