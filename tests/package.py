#!/usr/bin/env python3
"""What tests and benchmarks rely on in python/pmiolab: a wrong one would let them all say that all is well.

  package.py [-v] [NAME...]
"""

import contextlib
import io
import os
import subprocess
import unittest
from pathlib import Path

from pmiolab import checks, comparison, differential, grid_results, mpi_jobs, pages, places
from pmiolab import process_table, processes, quiet, tables

SCRIPTS = ("tests", "tests/programs", "bench", "testbed")


class Finding(unittest.TestCase):
    def test_every_folder_of_scripts_has_the_link(self):
        for folder in SCRIPTS:
            link = places.ROOT / folder / "pmiolab"
            self.assertTrue(link.is_symlink() and link.samefile(places.ROOT / "python" / "pmiolab"), link)

    def test_no_script_changes_the_path(self):
        for folder in ("python", *SCRIPTS):
            for script in (places.ROOT / folder).glob("**/*.py"):
                if script != Path(__file__).resolve():
                    self.assertNotIn("sys.path", script.read_text(), script)


class Processes(unittest.TestCase):
    def run_shell(self, script, timeout, **more):
        return processes.finish(processes.start(["sh", "-c", script], os.environ), timeout, **more)

    def test_an_end_in_time(self):
        ended = self.run_shell("echo out; echo err >&2; exit 3", 60)
        self.assertEqual((ended, ended.how), ((3, "out\nerr\n"), "exit 3"))

    def test_what_is_killed_takes_all_below_it_along(self):
        ended = self.run_shell("sleep 600 & echo $!; wait", 0.5)
        self.assertEqual((ended.code, ended.how), (None, "timed out"))
        self.assertEqual(process_table.wait_gone([int(ended.output)]), [])

    def test_a_launcher_may_end_its_ranks_itself(self):
        ended = self.run_shell("trap 'echo ended; exit' TERM; sleep 600 & wait", 0.5, gentle_seconds=30)
        self.assertEqual(ended, (None, "ended\n"))

    def test_ranks_of_a_launcher_that_has_ended_are_killed(self):
        """Otherwise this waits for them for ever: they hold the pipe."""
        for seconds in (0, 0.5):
            ended = self.run_shell("trap '' TERM; sleep infinity & echo $!", 0.5, gentle_seconds=seconds)
            self.assertEqual(process_table.wait_gone([int(ended.output)]), [])

    def test_a_zombie_is_not_alive(self):
        child = subprocess.Popen(["true"])
        self.assertEqual(process_table.wait_gone([child.pid]), [])
        child.wait()

    def test_only_the_ranks_have_the_environment(self):
        words = processes.with_environment({"A": 1, "B": "x y"}, ["/a.so", Path("/b.so")])
        self.assertEqual(words, ["env", "A=1", "B=x y", "LD_PRELOAD=/a.so:/b.so"])


class Results(unittest.TestCase):
    def test_objects_among_other_words(self):
        output = 'warning {x}\nrank 0: {"a": 1} and {"b": [{"c": 2}]}\n{"torn": \n{"a": 2}'
        self.assertEqual(mpi_jobs.json_objects(output), [{"a": 1}, {"b": [{"c": 2}]}, {"a": 2}])

    def test_a_failed_job_and_a_missing_result_end_the_script(self):
        good = processes.Ended(0, '{"a": 1}\n{"a": 2}\n')
        self.assertEqual(len(mpi_jobs.results(good, name="job", objects=2)), 2)
        for ended, objects in (
            (good, 1),
            (good, 3),
            (processes.Ended(1, good.output), 2),
            (processes.Ended(None, good.output), 2),
        ):
            with self.assertRaises(SystemExit) as raised:
                mpi_jobs.results(ended, name="job", objects=objects)
            self.assertTrue(str(raised.exception).startswith("job: "), raised.exception)

    def test_a_failed_check_fails_the_script(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            test = checks.Checks()
            test.check("holds", True, "unseen")
            self.assertEqual(test.conclude(), 0)
            test.check("fails", "", "seen")
            self.assertEqual(test.conclude(), 1)
            self.assertEqual((checks.conclude([], "fine"), checks.conclude(iter(["bad"]), "fine")), (0, 1))
        self.assertEqual(said.getvalue(), "ok     holds\nall right\nFAILED fails\nseen\n1 failed\nfine\nbad\n")

    def test_a_table_of_any_rows(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            tables.print_table(("a", "b"), iter([("long", 1), ("x", "")]))
        self.assertEqual(said.getvalue(), "a     b\nlong  1\nx\n")


class Comparison(unittest.TestCase):
    PATTERN = comparison.Pattern("pattern", ("--block", 10, "--blocks-per-call", 3), 1000, {"slow": 100}, {})

    def test_bytes(self):
        amounts = [self.PATTERN.bytes_of(*of) for of in (("fast", 1), ("slow", 1), ("slow", 50), ("fast", 10))]
        self.assertEqual(amounts, [1000, 100, 30, 100])

    def test_rates(self):
        rates = {}
        times = {"bytes": 12e6, "write_s": 1, "close_s": 2, "read_s": 4}
        comparison.add_rates(rates, times, ["log", "file", "read", "drain"])
        self.assertEqual(rates, {"log": [12], "file": [4], "read": [3], "drain": [6]})

    def test_ratios_and_their_verdicts(self):
        rates = {
            "pmio": {"log": [10, 30, 20]},
            "enable": {"log": [4]},
            "default": {"log": [5]},
            "memcpy": {"log": [60]},
        }
        targets = {("log", "enable"): 5, ("log", "default"): 15, ("log", "best"): 6}
        summary = comparison.summarise(self.PATTERN, rates, {}, targets, ["memcpy"])
        found = {ratio["over"]: (ratio["ratio"], comparison.verdict(ratio)) for ratio in summary["ratios"]}
        expected = {
            "enable": (5, "reached"),
            "default": (4, "beyond memcpy"),
            "best": (4, "MISSED"),
            "memcpy": (1 / 3, ""),
        }
        self.assertEqual(found, expected)

    def test_runs_of_one_repetition_are_compared(self):
        """The second repetition was of a slower minute, and the third of a faster one."""
        rates = {"pmio": {"log": [10, 2, 40]}, "default": {"log": [10, 1, 5]}}
        ratios = comparison.summarise(self.PATTERN, rates, {}, {})["ratios"]
        [ratio] = [each for each in ratios if each["over"] == "best"]
        self.assertEqual((ratio["lower"], ratio["ratio"], ratio["upper"]), (1.5, 2, 5))
        self.assertEqual(comparison.ratio_of([10, 30, 20], [4, 5]), (15 / 4.5, 20 / 4.5, 25 / 4.5))
        self.assertEqual(comparison.ratio_of([3], [2]), (1.5, 1.5, 1.5))

    def test_the_fastest_has_the_best_median(self):
        rates = {"lucky": {"file": [1, 9, 1]}, "steady": {"file": [2, 2, 2]}}
        self.assertEqual(comparison.fastest(rates, "file", rates), "steady")

    def test_each_repetition_begins_with_another(self):
        self.assertEqual(
            [comparison.in_turn(["a", "b", "c"], n) for n in (0, 1, 5)],
            [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]],
        )

    def test_a_slower_file_is_named_without_a_target(self):
        ratio = {"phase": "file", "over": "best", "ratio": 0.9, "target": None, "beyond": None}
        self.assertEqual((comparison.verdict(ratio), comparison.verdict({**ratio, "ratio": 1})), ("SLOWER", ""))


class Quiet(unittest.TestCase):
    STAT = "cpu  100 20 30 5000 7 1 2 3 40 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n"

    def results(self, *shares):
        """How many runs there were, and which one counts, if others used so much of a processor meanwhile."""
        runs, times = [], iter([usage for used in shares for usage in (quiet.Usage(0, 0), quiet.Usage(2, 2 * used))])
        result = quiet.measured(lambda: runs.append(len(runs)) or len(runs), lambda: next(times))
        return len(runs), result

    def test_what_others_use(self):
        self.assertEqual(quiet.usage_of(self.STAT, 100, 0.5, 7), quiet.Usage(7, 1.56 - 0.5))

    def test_a_quiet_run_counts_at_once(self):
        self.assertEqual(self.results(0.1, 0), (1, 1))

    def test_a_disturbed_run_is_made_again(self):
        before = quiet.repeated()
        self.assertEqual(self.results(0.9, 0.3, 0.1), (3, 3))
        self.assertEqual(quiet.repeated() - before, 2)

    def test_the_least_disturbed_counts_if_none_is_quiet(self):
        self.assertEqual(self.results(0.9, 0.3, 0.6, 0.5), (4, 2))


class Differential(unittest.TestCase):
    EXPECTED = [["1:0 a", "1:1 b", "11:0 c"], ["1:0 a", "1:2 d"]]

    def test_equal_records(self):
        self.assertIsNone(differential.first_difference(self.EXPECTED, self.EXPECTED))

    def test_the_lowest_operation_of_all_ranks(self):
        found = [["1:0 a", "1:1 b", "11:0 c"], ["1:0 x", "1:2 d"]]
        self.assertEqual(differential.first_difference(self.EXPECTED, found), (1, 0))

    def test_a_record_that_ends_early_or_late(self):
        shorter = [["1:0 a", "1:1 b", "11:0 c"], ["1:0 a"]]
        self.assertEqual(differential.first_difference(self.EXPECTED, shorter), (1, 1))
        self.assertEqual(differential.first_difference(shorter, self.EXPECTED), (1, 1))

    def test_the_lines_of_a_seed(self):
        self.assertEqual(differential.of_seed(self.EXPECTED, 1), [["1:0 a", "1:1 b"], ["1:0 a", "1:2 d"]])


class Grid(unittest.TestCase):
    CELL = dict(zip(grid_results.KEYS, ("s3d", "write", "ext4", "tmpfs", "cold", 0.0)))
    PLAIN = ("slow", "fast")

    def row(self, failed=(), **seconds):
        each = {way: {"log": s / 2, "file": s, "end": s} for way, s in seconds.items()}
        return {"cell": self.CELL, "repetition": 0, "seconds": each, "failed": dict.fromkeys(failed, "why")}

    def test_ratios_are_those_of_one_repetition(self):
        rows = [self.row(pmio=2, slow=9, fast=1, fixed=4), self.row(pmio=20, slow=9, fast=10, fixed=40)]
        [entry] = grid_results.summarise(rows, self.PLAIN)
        self.assertEqual((grid_results.ratio(entry, "plain"), entry["over"]["end"]["plain"]["way"]), (0.5, "fast"))
        self.assertEqual(grid_results.ratio(entry, "fixed"), 2)
        self.assertTrue(grid_results.lost([entry]) and grid_results.is_bad([entry]))

    def test_a_way_that_failed_once_is_not_the_best(self):
        rows = [self.row(pmio=2, slow=2, fast=1), self.row(pmio=2, slow=2, failed=["fast"])]
        [entry] = grid_results.summarise(rows, self.PLAIN)
        self.assertEqual((grid_results.ratio(entry, "plain"), entry["failed"]), (1, {"fast": "why"}))
        self.assertFalse(grid_results.is_bad([entry]))

    def test_a_failure_of_pmio_is_bad(self):
        [entry] = grid_results.summarise([self.row(slow=2, fast=1, failed=["pmio"])], self.PLAIN)
        self.assertIsNone(grid_results.ratio(entry, "plain"))
        self.assertTrue(grid_results.is_bad([entry]))

    def test_what_is_given_up_is_slow_for_its_kind(self):
        row = self.row(pmio=1, fixed=4, naive=6, slow=60, fast=11)
        self.assertEqual(grid_results.hopeless([row], self.PLAIN), {"naive", "slow"})


class Pages(unittest.TestCase):
    def test_a_table_is_read_as_it_was_written(self):
        text = "# Page\n\n" + pages.table(["file", "MPICH 5.0"], [["`a`", "equal"], ["`b`", "-"]])
        expected = {"`a`": {"file": "`a`", "MPICH 5.0": "equal"}, "`b`": {"file": "`b`", "MPICH 5.0": "-"}}
        self.assertEqual(pages.table_of(text), expected)
        self.assertEqual(pages.table_of("no table"), {})

    def test_labels(self):
        self.assertEqual(
            [pages.label(tag) for tag in ("mpich-4.0.2", "intel-2021.18.1")], ["MPICH 4.0", "Intel MPI 2021"]
        )


if __name__ == "__main__":
    unittest.main()
