"""scripts/bench [NAME...]: measures Levin, and beside it in the same run its peers, and prints a table of medians."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench_checkpoint_save import CheckpointSave
from bench_data_loading import DataLoading
from bench_fashion_mnist import FashionMnist
from bench_first_step import FirstStep
from bench_optimizer_step import OptimizerStep
from bench_trainer_overhead import TrainerOverhead
from harness import PEERS, ROOT, Benchmark, BenchmarkError, Figure, Options, Program, run

BENCHMARKS: tuple[Benchmark, ...] = (
    TrainerOverhead(),
    OptimizerStep(),
    FirstStep(),
    CheckpointSave(),
    DataLoading(),
    FashionMnist(),
)
AMOUNTS = {
    "rounds": (5, 1, "how often each program runs, in turn"),
    "steps": (20_000, 1000, "training steps of trainer_overhead; optimizer_step does a tenth"),
    "epochs": (2, 1, "epochs of fashion_mnist in a round"),
}
"""Option: default, default with --quick, meaning."""
BUSY_CPUS = 0.3
"""From here on, other work on the machine is worth a warning."""


@dataclass(frozen=True)
class Result:
    figure: Figure
    ours: list[float]
    peer: list[float]
    """Empty where the peers were not measured."""

    def ratio(self) -> float | None:
        return statistics.median(self.ours) / statistics.median(self.peer) if self.peer else None


def main() -> int:
    arguments = parse_arguments()
    chosen = [benchmark for benchmark in BENCHMARKS if benchmark.name in arguments.names]
    options = Options(rounds=arguments.rounds, steps=arguments.steps, epochs=arguments.epochs)
    try:
        warn_if_loaded(os.getloadavg()[0])
        prepare(chosen, arguments.peers)
        with_peers = have_peers()
        warn_if_loaded(busy_cpus())
        results, errors = measure_all(chosen, options, with_peers)
    except BenchmarkError as error:
        say(f"bench: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    (print_json if arguments.json else print_table)(results)
    if not with_peers:
        say("Only Levin was measured: scripts/bench --peers makes the peers' Python environment (2 to 4 GB) and measures them.")
    for error in errors:
        say(f"bench: {error}")
    return 1 if errors else 0


def parse_arguments() -> argparse.Namespace:
    names = [benchmark.name for benchmark in BENCHMARKS]
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.split(": ", 1)[1])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(names)} (default: all)")
    parser.add_argument("--peers", action="store_true", help="make the peers' Python environment first, if it isn't there")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line for each figure")
    for name, (value, _, what) in AMOUNTS.items():
        parser.add_argument(f"--{name}", type=positive, metavar="N", help=f"{what} (default: {value})")
    quick = ", ".join(f"--{name} {value}" for name, (_, value, _) in AMOUNTS.items())
    parser.add_argument("--quick", action="store_true", help=f"to see that all runs: {quick}, where not given")
    arguments = parser.parse_args()
    for name, (value, quick_value, _) in AMOUNTS.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, quick_value if arguments.quick else value)
    for name in arguments.names:
        if name not in names:
            parser.error(f"there is no benchmark {name}: choose from {', '.join(names)}")
    arguments.names = arguments.names or names
    return arguments


def positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, not {text}")
    return int(text)


def prepare(chosen: Sequence[Benchmark], peers: bool) -> None:
    """Everything is built before the first measurement, so that nothing else runs beside one."""
    if peers:
        call([str(PEERS / "setup")], "The peers' environment could not be made")
    targets = sorted({target for benchmark in chosen for target in benchmark.targets})
    call([str(ROOT / "scripts/setup")], "The machine could not be set up")
    call([os.environ.get("LEVIN_BAZEL", "/usr/bin/bazel"), "build", *targets], "The build failed")


def call(command: list[str], failure: str) -> None:
    """Its output goes to stderr: stdout is for the figures."""
    try:
        code = subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False).returncode
    except OSError as error:
        raise BenchmarkError(f"{failure}: {command[0]} could not be started ({error.strerror}).") from error
    if code != 0:
        raise BenchmarkError(f"{failure}: {' '.join(command)} ended with exit code {code}; what it said stands above.")


def have_peers() -> bool:
    """Whether the environment is there, with the versions that are asked for."""
    return subprocess.run([str(PEERS / "setup"), "--check"], stdout=subprocess.DEVNULL, check=False).returncode == 0


def warn_if_loaded(busy: float) -> None:
    if busy > BUSY_CPUS:
        say(f"Warning: other work keeps {busy:.1f} of {os.cpu_count()} CPUs busy, so these figures will be too high and vary.")


def busy_cpus(seconds: float = 1.0) -> float:
    """Unlike the load average, this doesn't count the build that just ended."""

    def busy_seconds() -> float:
        user, nice, system = map(int, Path("/proc/stat").read_text().split()[1:4])
        return (user + nice + system) / os.sysconf("SC_CLK_TCK")

    before = busy_seconds()
    time.sleep(seconds)
    return (busy_seconds() - before) / seconds


def measure_all(
    chosen: Sequence[Benchmark], options: Options, with_peers: bool
) -> tuple[list[Result], list[BenchmarkError]]:
    """A benchmark that fails leaves the others' results as they are."""
    results, errors = [], []
    for benchmark in chosen:
        try:
            results += measure(benchmark, options, with_peers)
        except BenchmarkError as error:
            errors.append(error)
    return results, errors


def measure(benchmark: Benchmark, options: Options, with_peers: bool) -> list[Result]:
    samples: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="levin_bench_") as scratch:
        programs = [each for each in benchmark.programs(options, Path(scratch)) if with_peers or not each.is_peer]
        for number in range(1 - benchmark.warm_up_rounds, options.rounds + 1):
            say(f"{benchmark.name}: " + (f"round {number} of {options.rounds}" if number > 0 else "warm-up"))
            round_samples = run_round(programs)
            if number > 0:
                for name, values in round_samples.items():
                    samples[name] += values
    return [Result(figure, samples[figure.ours], samples[figure.peer]) for figure in benchmark.figures]


def run_round(programs: Sequence[Program]) -> dict[str, list[float]]:
    samples = {}
    for program in programs:
        for name, value in program.read(run(program)).items():
            samples[name] = value if isinstance(value, list) else [value]
    return samples


def print_json(results: Sequence[Result]) -> None:
    for result in results:
        ratio = result.ratio()
        line = {
            "name": result.figure.name,
            "ours": significant(statistics.median(result.ours)),
            "peer": significant(statistics.median(result.peer)) if result.peer else None,
            "peer_name": result.figure.peer_name,
            "ratio": None if ratio is None else significant(ratio),
            "unit": result.figure.unit,
            "lower_is_better": result.figure.lower_is_better,
        }
        print(json.dumps(line))


def print_table(results: Sequence[Result]) -> None:
    """Medians; the spread is (highest - lowest) / median, ours and the peer's."""
    if not results:
        return
    rows = [("figure", "ours", "peer", "unit", "ratio", "spread", "peer's name")]
    rows += [table_row(result) for result in results]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [cell.ljust(width) if i in (0, 3, 6) else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


def table_row(result: Result) -> tuple[str, ...]:
    ratio = result.ratio()
    return (
        result.figure.name,
        f"{significant(statistics.median(result.ours)):g}",
        f"{significant(statistics.median(result.peer)):g}" if result.peer else "-",
        result.figure.unit,
        "-" if ratio is None else f"{ratio:.3f}",
        " / ".join(spread(values) for values in (result.ours, result.peer) if values),
        result.figure.peer_name,
    )


def spread(values: Sequence[float]) -> str:
    return f"{(max(values) - min(values)) / statistics.median(values):.1%}"


def significant(value: float) -> float:
    return float(f"{value:.4g}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
