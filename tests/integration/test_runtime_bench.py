"""runtime-bench --quick: that it measures, and the form in which it tells. No figure is judged."""

import json
import os
import re
import subprocess
import unittest

PROGRAM = os.environ["RUNTIME_BENCH"]
PRIMITIVES = ["bare_switch_ns", "bare_switch_called_ns", "switch_ns", "switch_other_code_ns", "spawn_join_ns",
              "spawn_join_one_ns", "park_wake_ns", "cross_carrier_wake_ns", "mutex_ns", "mutex_contended_ns", "channel_ns",
              "channel_unbuffered_ns"]
PARKED = [f"parked.{count}.{what}_bytes_per_task"
          for count in (10000, 100000, 1000000) for what in ("rss", "page_table")]
SLEEP = ["sleep_10000x100ms.first_ms", "sleep_10000x100ms.later_ms"]
OF_PTHREADS = [f"pthread.{name}" for name in PRIMITIVES[2:-1] + PARKED[:2] + SLEEP
               if name != "switch_other_code_ns"]
# Too long or too large for a quick run, or not to be had on one CPU.
MAY_BE_NULL = {name for name in PARKED[2:] + OF_PTHREADS[-4:]} | {
    "cross_carrier_wake_ns", "pthread.cross_carrier_wake_ns"}


def run(*flags):
    return subprocess.run([PROGRAM, *flags], capture_output=True, text=True, timeout=150)


def without_repeats(pairs):
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)), names
    return dict(pairs)


def at(tree, path):
    for part in path.split("."):
        tree = tree[part]
    return tree


class RuntimeBench(unittest.TestCase):
    def test_prints_every_figure_as_json(self):
        done = run("--json", "--quick")
        self.assertEqual(done.returncode, 0, done.stderr)
        tree = json.loads(done.stdout, object_pairs_hook=without_repeats)
        for name in PRIMITIVES + PARKED + SLEEP + OF_PTHREADS:
            with self.subTest(name):
                median, least, most = (at(t, name) for t in (tree, tree["min"], tree["max"]))
                if median is None:
                    self.assertIn(name, MAY_BE_NULL)
                    self.assertTrue(tree["notes"][name])
                else:
                    self.assertGreater(least, 0)
                    self.assertLessEqual(least, median)
                    self.assertLessEqual(median, most)
        self.assertGreaterEqual(tree["sleep_10000x100ms"]["first_ms"], 100)
        self.assertGreaterEqual(tree["parked"]["10000"]["rss_bytes_per_task"], 4096)

    def test_prints_a_line_a_figure_as_text(self):
        done = run("--quick")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = []
        for line in done.stdout.splitlines():
            match = re.fullmatch(r"(\S+) +(?:[\d.]+ +[\d.]+ … [\d.]+ of \d+|- \(.+\))", line)
            self.assertTrue(match, line)
            names.append(match[1])
        self.assertEqual(sorted(names), sorted(PRIMITIVES + PARKED + SLEEP + OF_PTHREADS))

    def test_refuses_what_it_does_not_know(self):
        self.assertEqual(run("--fast").returncode, 2)
        self.assertIn("usage", run("--help").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
