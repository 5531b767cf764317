"""One AdamW step without anything around it, ours and LibTorch's, one thread."""

from __future__ import annotations

from pathlib import Path

from harness import Benchmark, Figure, Options, Program, Run, Samples, built

PROBLEMS = ("small", "convnet")
SIDES = ("levin", "libtorch")


class OptimizerStep(Benchmark):
    name = "optimizer_step"
    targets = ("//tests/benchmarks/optimizer_step",)
    figures = tuple(
        Figure(f"optimizer_step.{problem}", "us/step", f"levin.{problem}", f"libtorch.{problem}", "libtorch")
        for problem in PROBLEMS
    )

    def programs(self, options: Options, scratch: Path) -> list[Program]:
        binary = built("tests/benchmarks/optimizer_step/optimizer_step")
        steps = ("--steps", str(max(options.steps // 10, 10)))
        return [
            Program([binary, side, problem, *steps], 1, reader(f"{side}.{problem}"))
            for problem in PROBLEMS
            for side in SIDES
        ]


def reader(sample: str):
    def read(run: Run) -> Samples:
        return {sample: float(run.json()["us_per_step"])}

    return read
