"""Tests of the benchmarks' runner, with small shell commands in the place of the programs.

Prints one line a test: ok NAME, or not ok NAME.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path

import run as bench
from bench_fashion_mnist import read_metrics
from harness import Benchmark, BenchmarkError, Figure, Options, Program, Run, Samples, run

Reader = Callable[[Run], Samples]


def shell(script: str, read: Reader = lambda _: {}, **options) -> Program:
    return Program(["/bin/sh", "-c", script], 1, read, **options)


class RunTest(unittest.TestCase):
    def test_reads_the_json_on_the_last_line(self) -> None:
        self.assertEqual(run(shell('echo noise; echo \'{"us_per_step": 1.5}\'')).json(), {"us_per_step": 1.5})

    def test_output_without_json_is_an_error_that_shows_it(self) -> None:
        with self.assertRaisesRegex(BenchmarkError, "(?s)no line of JSON.*gibberish"):
            run(shell("echo gibberish")).json()

    def test_times_the_marker_and_not_the_end(self) -> None:
        result = run(shell("sleep 0.1; echo done; sleep 1", marker="done"))
        self.assertGreaterEqual(result.marker_seconds, 0.1)
        self.assertGreater(result.wall_seconds, result.marker_seconds + 0.3)

    def test_missing_marker_is_an_error(self) -> None:
        with self.assertRaisesRegex(BenchmarkError, '(?s)never printed "done".*not yet'):
            run(shell("echo not yet", marker="done"))

    def test_failure_shows_exit_code_and_stderr(self) -> None:
        with self.assertRaisesRegex(BenchmarkError, "(?s)exit code 3.*no such model"):
            run(shell("echo no such model >&2; exit 3"))

    def test_signal_is_named(self) -> None:
        with self.assertRaisesRegex(BenchmarkError, "SIGKILL"):
            run(shell("kill -KILL $$"))

    def test_program_that_is_not_there_is_an_error(self) -> None:
        with self.assertRaisesRegex(BenchmarkError, "/nowhere/levin could not be started"):
            run(Program(["/nowhere/levin"], 1, lambda _: {}))

    def test_peak_memory_is_that_of_the_one_child(self) -> None:
        def peak(mib: int) -> float:
            return run(Program([sys.executable, "-c", f"b'x' * ({mib} << 20)"], 1, lambda _: {})).peak_memory_mib

        large, small = peak(200), peak(1)
        self.assertGreater(large, 200)
        self.assertLess(small, 100)

    def test_threads_reach_the_program_and_no_gpu_does(self) -> None:
        self.assertEqual(run(shell('echo "$OMP_NUM_THREADS:$CUDA_VISIBLE_DEVICES:"')).output, "1::\n")


class Echoes(Benchmark):
    """Each program appends its name to `log` and gives the next of its values."""

    name = "echoes"
    targets = ()
    figures = (Figure("echoes.time", "s", "ours", "theirs", "peer"),)

    def __init__(self, log: Path, warm_up_rounds: int = 0, failing: bool = False) -> None:
        self.log, self.warm_up_rounds, self.failing = log, warm_up_rounds, failing

    def programs(self, options: Options, scratch: Path) -> list[Program]:
        ours, theirs = iter([1.0, 4.0, 2.0]), iter([8.0, 8.0, 4.0])
        script = "exit 1" if self.failing else f"echo {{}} >> {self.log}"
        return [
            shell(script.format("ours"), lambda _: {"ours": next(ours)}),
            shell(script.format("theirs"), lambda _: {"theirs": next(theirs)}, is_peer=True),
        ]


class MeasureTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = Path(folder.name) / "log"
        quiet = contextlib.redirect_stderr(io.StringIO())
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)

    def measure(self, rounds: int = 3, with_peers: bool = True, **options) -> list[bench.Result]:
        return bench.measure(Echoes(self.log, **options), Options(rounds, steps=1, epochs=1), with_peers)

    def test_runs_ours_and_the_peers_in_turn(self) -> None:
        self.measure()
        self.assertEqual(self.log.read_text().split(), ["ours", "theirs"] * 3)

    def test_ratio_is_that_of_the_medians(self) -> None:
        self.assertEqual(self.measure()[0].ratio(), 2.0 / 8.0)

    def test_warm_up_is_run_and_not_counted(self) -> None:
        (result,) = self.measure(rounds=2, warm_up_rounds=1)
        self.assertEqual((result.ours, result.peer), ([4.0, 2.0], [8.0, 4.0]))

    def test_without_peers_only_ours_runs(self) -> None:
        (result,) = self.measure(with_peers=False)
        self.assertEqual(self.log.read_text().split(), ["ours"] * 3)
        self.assertIsNone(result.ratio())

    def test_failing_benchmark_leaves_the_others_results(self) -> None:
        benchmarks = [Echoes(self.log, failing=True), Echoes(self.log)]
        results, errors = bench.measure_all(benchmarks, Options(3, 1, 1), True)
        self.assertEqual((len(results), len(errors)), (1, 1))


class PrintTest(unittest.TestCase):
    figure = Figure("trainer_overhead.log", "us/step", "ours", "theirs", "lightning")

    def printed(self, print_results: Callable, result: bench.Result) -> str:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            print_results([result])
        return output.getvalue()

    def test_json_line(self) -> None:
        line = self.printed(bench.print_json, bench.Result(self.figure, [85.1], [965.0]))
        expected = (
            '{"name": "trainer_overhead.log", "ours": 85.1, "peer": 965.0, "peer_name": "lightning", '
            '"ratio": 0.08819, "unit": "us/step", "lower_is_better": true}\n'
        )
        self.assertEqual(line, expected)

    def test_json_line_without_peer(self) -> None:
        line = json.loads(self.printed(bench.print_json, bench.Result(self.figure, [85.1], [])))
        self.assertEqual((line["peer"], line["ratio"], line["peer_name"]), (None, None, "lightning"))

    def test_table_shows_medians_ratio_and_spread(self) -> None:
        table = self.printed(bench.print_table, bench.Result(self.figure, [1.0, 2.0, 3.0], [4.0]))
        row = table.splitlines()[1].split()
        self.assertEqual(row, ["trainer_overhead.log", "2", "4", "us/step", "0.500", "100.0%", "/", "0.0%", "lightning"])


class MetricsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.runs = Path(folder.name)

    def write(self, text: str) -> None:
        (self.runs / "version_0").mkdir()
        (self.runs / "version_0/metrics.csv").write_text(text)

    def test_reads_columns_without_their_empty_cells(self) -> None:
        self.write("step,epoch_seconds,val_acc\n1,,\n2,20.5,\n2,,0.88\n4,19.5,\n4,,0.89\n")
        self.assertEqual(read_metrics(self.runs, "levin"), {"epoch_seconds": [20.5, 19.5], "val_acc": [0.88, 0.89]})

    def test_missing_column_is_an_error_that_names_those_there(self) -> None:
        self.write("step,val_acc\n1,0.88\n")
        with self.assertRaisesRegex(BenchmarkError, "logged no epoch_seconds: its metrics.csv has step, val_acc"):
            read_metrics(self.runs, "levin")

    def test_missing_file_is_an_error(self) -> None:
        with self.assertRaisesRegex(BenchmarkError, "one metrics.csv in its run folder, but left 0"):
            read_metrics(self.runs, "levin")


class LineResult(unittest.TestResult):
    def addSuccess(self, test: unittest.TestCase) -> None:
        print("ok", test.id())

    def addFailure(self, test: unittest.TestCase, err) -> None:
        super().addFailure(test, err)
        print("not ok", test.id(), self.failures[-1][1], sep="\n")

    def addError(self, test: unittest.TestCase, err) -> None:
        super().addError(test, err)
        print("not ok", test.id(), self.errors[-1][1], sep="\n")


if __name__ == "__main__":
    result = LineResult()
    unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]).run(result)
    sys.exit(not result.wasSuccessful())
