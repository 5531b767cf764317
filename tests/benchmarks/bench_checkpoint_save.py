"""For how long a save of 500 MB holds the training up, beside a copy of the same tensors."""

from __future__ import annotations

from pathlib import Path

from harness import Benchmark, Figure, Options, Program, Run, Samples, built


class CheckpointSave(Benchmark):
    name = "checkpoint_save"
    targets = ("//tests/benchmarks/checkpoint_save",)
    figures = (
        Figure("checkpoint_save.first", "s", "save.first", "copy.first", "a copy into new memory"),
        Figure("checkpoint_save.later", "s", "save.later", "copy.later", "a copy"),
    )

    def programs(self, options: Options, scratch: Path) -> list[Program]:
        binary = built("tests/benchmarks/checkpoint_save/checkpoint_save")
        return [
            Program([binary, "save", str(scratch)], 2, reader("save")),
            Program([binary, "copy"], 2, reader("copy")),
        ]


def reader(sample: str):
    def read(run: Run) -> Samples:
        values = run.json()
        return {f"{sample}.first": float(values["first_seconds"]), f"{sample}.later": float(values["later_seconds"])}

    return read
