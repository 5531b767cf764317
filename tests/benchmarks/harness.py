"""The parts that a benchmark is made of: figures, the programs that give their samples, and running one of those."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "tests/benchmarks/peers"
TIME_LIMIT_SECONDS = 3600


class BenchmarkError(Exception):
    """What went wrong, in one paragraph for the user."""


@dataclass(frozen=True)
class Options:
    """How much to measure."""

    rounds: int
    steps: int
    epochs: int


@dataclass(frozen=True)
class Run:
    """One finished process, as seen from outside."""

    command: str
    output: str
    wall_seconds: float
    marker_seconds: float | None
    """From the start until the line that the program was to print, if it was to print one."""
    peak_memory_mib: float

    def json(self) -> dict[str, Any]:
        """The JSON object on the last line of the output."""
        try:
            return json.loads(self.output.strip().splitlines()[-1])
        except (IndexError, ValueError):
            raise BenchmarkError(f"{self.command} printed no line of JSON at its end, but: {tail(self.output)}") from None


Samples = Mapping[str, "float | list[float]"]


@dataclass(frozen=True)
class Program:
    """One side of a comparison: a command, and how its samples are read from a run of it."""

    command: list[str]
    threads: int
    read: Callable[[Run], Samples]
    is_peer: bool = False
    marker: str | None = None


@dataclass(frozen=True)
class Figure:
    """A line of the table. `ours` and `peer` name the samples whose medians are compared."""

    name: str
    unit: str
    ours: str
    peer: str
    peer_name: str
    lower_is_better: bool = True


class Benchmark(ABC):
    """Programs that run in turn, and the figures that their samples give."""

    name: str
    targets: tuple[str, ...]
    """What Bazel builds for it."""
    figures: tuple[Figure, ...]
    warm_up_rounds = 0
    """Rounds that are not counted, where files must be in the page cache first."""

    @abstractmethod
    def programs(self, options: Options, scratch: Path) -> list[Program]:
        """The order is the one within a round; `scratch` is an empty folder."""


def peer_script(name: str, *arguments: str) -> list[str]:
    return [str(PEERS / ".venv/bin/python"), str(PEERS / name), *arguments]


def built(path: str) -> str:
    return str(ROOT / "bazel-bin" / path)


def run(program: Program) -> Run:
    """Runs one process to its end. Raises BenchmarkError where it fails."""
    command = display(program.command)
    with tempfile.TemporaryFile("w+") as errors:
        began = time.perf_counter()
        try:
            process = subprocess.Popen(
                program.command, cwd=ROOT, env=environment(program), stdout=subprocess.PIPE, stderr=errors, text=True
            )
        except OSError as error:
            raise BenchmarkError(f"{command} could not be started: {error.strerror}.") from error
        with _ended_with_us(process):
            output, marker_seconds = _read_output(process, program.marker, began)
            # Only wait4 tells the peak memory of this one child.
            _, status, usage = os.wait4(process.pid, 0)
            wall_seconds = time.perf_counter() - began
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            raise BenchmarkError(f"{command} {describe_exit(process.returncode)}: {tail(errors.read() or output)}")
    if program.marker and marker_seconds is None:
        raise BenchmarkError(f'{command} never printed "{program.marker}", but: {tail(output)}')
    return Run(command, output, wall_seconds, marker_seconds, usage.ru_maxrss / 1024)


def environment(program: Program) -> dict[str, str]:
    threads = str(program.threads)
    # All on the CPU, also where there is a GPU.
    return {**os.environ, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "CUDA_VISIBLE_DEVICES": ""}


def display(command: list[str]) -> str:
    return " ".join(os.path.relpath(word, ROOT) if word.startswith(f"{ROOT}/") else word for word in command)


def describe_exit(code: int) -> str:
    if code >= 0:
        return f"failed with exit code {code}"
    hint = " (out of memory, or the time limit?)" if -code == signal.SIGKILL else ""
    return f"was ended by {signal.Signals(-code).name}{hint}"


def tail(text: str, lines: int = 12) -> str:
    return "\n".join(text.strip().splitlines()[-lines:]) or "(nothing)"


@dataclass
class _ended_with_us:
    """Ends the process where the block is left early, or after the time limit."""

    process: subprocess.Popen
    timer: threading.Timer = field(init=False)

    def __enter__(self) -> None:
        self.timer = threading.Timer(TIME_LIMIT_SECONDS, self.process.kill)
        self.timer.daemon = True
        self.timer.start()

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def _read_output(process: subprocess.Popen, marker: str | None, began: float) -> tuple[str, float | None]:
    lines, marker_seconds = [], None
    for line in process.stdout:
        if marker_seconds is None and line.strip() == marker:
            marker_seconds = time.perf_counter() - began
        lines.append(line)
    return "".join(lines), marker_seconds
