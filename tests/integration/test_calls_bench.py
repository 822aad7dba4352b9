"""./dev bench calls --quick and the floor: that they measure, and the form in which they tell. No figure is judged."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["BUILD"]
LOADTESTS = os.environ["LOADTESTS"]
sys.dont_write_bytecode = True
sys.path.insert(0, LOADTESTS)

import calls_bounds  # noqa: E402
from servers import Asker, Failure, Server, start_slow_endpoint  # noqa: E402

FLOOR = os.path.join(BUILD, "loadtests", "floor")
CLIENTS = {"floor", "http1", "curl", "go"}
FIGURES = ["cpu_us_per_call", "wall_ms", "calls_per_s"]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=150)


def floor(*arguments):
    return run(FLOOR, *arguments)


class Bench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.done = run(sys.executable, os.path.join(LOADTESTS, "calls.py"), BUILD, "--quick", "--only", "n=50",
                           "--results", folder)
            cls.kept = {path.name: path.read_text() for path in pathlib.Path(folder).glob("*/*")}

    def results(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        return json.loads(self.kept["calls.json"])

    def test_measures_every_client_or_says_why_not(self):
        results = self.results()
        measured = {variant["client"] for variant in results["variants"]}
        self.assertLessEqual({"floor", "curl"}, measured)
        self.assertEqual(measured | set(results["skipped"]), CLIENTS)
        self.assertFalse(measured & set(results["skipped"]))
        self.assertTrue(all(results["skipped"].values()))

    def test_keeps_the_figures_of_each_run(self):
        for variant in self.results()["variants"]:
            self.assertEqual(variant["n"], 50)
            for kind in ("cold", "warm"):
                with self.subTest(client=variant["client"], delay_ms=variant["delay_ms"], kind=kind):
                    sample, = (sample[kind] for sample in variant["samples"])
                    self.assertEqual(sample["failed"], 0)
                    self.assertGreaterEqual(sample["wall_ms"], variant["delay_ms"])
                    for name in FIGURES:
                        self.assertGreater(sample[name], 0)
                    self.assertEqual(sample["rss_kib_per_call"] is None, variant["delay_ms"] == 0)

    def test_counts_the_connections_that_are_new(self):
        floors = [variant["samples"][0] for variant in self.results()["variants"] if variant["client"] == "floor"]
        self.assertEqual([(sample["cold"]["opened"], sample["warm"]["opened"]) for sample in floors],
                         [(50, 0), (50, 0)])

    def test_prints_the_tables_that_it_keeps(self):
        self.results()
        text = self.kept["calls.md"]
        self.assertIn(text, self.done.stdout)
        rows = [line for line in text.splitlines() if line.startswith("| floor ")]
        self.assertEqual(len(rows), 4)
        self.assertEqual({row.count("|") for row in rows}, {12})

    def test_calls_a_bound_not_measured_when_it_was_not(self):
        bounds = self.results()["bounds"]
        with_n_1000 = [bound for bound in bounds if "n=1,000" in bound["text"]]
        self.assertTrue(with_n_1000)
        for bound in with_n_1000:
            self.assertIsNone(bound["held"])
            self.assertIn("not measured", bound["text"])

    def test_refuses_variants_that_there_are_not(self):
        done = run(sys.executable, os.path.join(LOADTESTS, "calls.py"), BUILD, "--quick", "--only", "wget")
        self.assertEqual(done.returncode, 1)
        self.assertIn("floor n=50 delay=0", done.stderr)


class Bounds(unittest.TestCase):
    # What just holds, by client, n, delay, kind and key.
    FIGURES = {
        ("floor", 1000, 0, "warm", "cpu_us_per_call"): [10],
        ("http1", 1000, 0, "warm", "cpu_us_per_call"): [18.9],
        ("floor", 1000, 0, "warm", "calls_per_s"): [100000],
        ("http1", 1000, 0, "warm", "calls_per_s"): [56000],
        ("floor", 1000, 1000, "warm", "wall_ms"): [1010],
        ("http1", 1000, 1000, "warm", "wall_ms"): [1034],
        ("floor", 1000, 1000, "cold", "wall_ms"): [1030],
        ("http1", 1000, 1000, "cold", "wall_ms"): [1069],
        ("floor", 10000, 1000, "warm", "wall_ms"): [1110],
        ("http1", 10000, 1000, "warm", "wall_ms"): [1124],
        ("http1", 1000, 1000, "warm", "cpu_us_per_call"): [10],
        ("http1", 10000, 1000, "warm", "cpu_us_per_call"): [12.9],
        ("http1", 10000, 1000, "warm", "rss_kib_per_call"): [9.9],
        ("http1", 1000, 1000, "warm", "opened"): [49],
        ("http1", 100000, 100, "cold", "failed"): [0, 0, 0],
    }

    def check(self, changes=None):
        figures = {**self.FIGURES, **(changes or {})}

        def figure(client, n, delay_ms, kind, key, summary=statistics.median):
            values = figures.get((client, n, delay_ms, kind, key))
            return summary(values) if values else None

        return calls_bounds.check(figure, {(1000, 0), (1000, 1000)})

    def test_hold_just_within_and_are_unknown_without_figures(self):
        self.assertEqual([bound.held for bound in self.check()].count(True), 9)
        self.assertNotIn(False, [bound.held for bound in self.check()])
        nothing = self.check({key: [] for key in self.FIGURES})
        self.assertEqual({bound.held for bound in nothing}, {None})

    def test_do_not_hold_just_beyond(self):
        beyond = {
            ("http1", 1000, 0, "warm", "cpu_us_per_call"): [19.1],
            ("http1", 1000, 0, "warm", "calls_per_s"): [54000],
            ("http1", 1000, 1000, "warm", "wall_ms"): [1036],
            ("http1", 1000, 1000, "cold", "wall_ms"): [1071],
            ("http1", 10000, 1000, "warm", "wall_ms"): [1126],
            ("http1", 10000, 1000, "warm", "cpu_us_per_call"): [13.1],
            ("http1", 10000, 1000, "warm", "rss_kib_per_call"): [10.1],
            ("http1", 1000, 1000, "warm", "opened"): [51],
            ("http1", 100000, 100, "cold", "failed"): [0, 0, 1],
        }
        for key, values in beyond.items():
            with self.subTest(key):
                broken = [str(bound) for bound in self.check({key: values}) if bound.held is False]
                self.assertEqual(len(broken), 1, broken)
                self.assertTrue(broken[0].startswith("NOT held: http1"), broken[0])


class Floor(unittest.TestCase):
    def setUp(self):
        self.endpoint = start_slow_endpoint(BUILD)
        self.addCleanup(self.endpoint.stop)
        self.address = self.endpoint.url.removeprefix("http://")

    def rounds(self, *arguments):
        done = floor(*arguments, self.address)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_keeps_its_connections_from_round_to_round(self):
        rounds = self.rounds("--calls", "30", "--delay-ms", "500", "--rounds", "3")
        self.assertEqual([r["ok"] for r in rounds], [30, 30, 30])
        self.assertEqual([r["connections_opened"] for r in rounds], [30, 0, 0])
        self.assertTrue(all(r["elapsed_ms"] >= 500 for r in rounds))
        seen = self.endpoint.get("/stats")[1]
        self.assertEqual((seen["total"], seen["connections"], seen["peak_in_flight"]), (90, 30, 30))

    def test_opens_them_anew_when_cold(self):
        rounds = self.rounds("--calls", "30", "--rounds", "2", "--cold")
        self.assertEqual([r["connections_opened"] for r in rounds], [30, 30])
        self.assertEqual(self.endpoint.get("/stats")[1]["connections"], 60)

    def test_fails_calls_that_nobody_answers(self):
        self.endpoint.stop()
        done = floor("--calls", "3", "--rounds", "1", self.address)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout)["failed"], 3)

    def test_can_be_asked_for_rounds_as_a_server_is(self):
        with Server([FLOOR, "--listen", "127.0.0.1:0", self.address], "floor") as server:
            with Asker(server) as asker:
                answers = [asker.get("/fanout?n=20&delay_ms=50")[0] for _ in range(2)]
            with self.assertRaisesRegex(Failure, "400"), Asker(server) as asker:
                asker.get("/fanout?n=0&delay_ms=50")
        self.assertEqual([(a["client"], a["ok"], a["connections_opened"]) for a in answers],
                         [("floor", 20, 20), ("floor", 20, 0)])

    def test_refuses_what_it_does_not_know(self):
        for arguments in (["--calls", "0", self.address], ["--fast", self.address], ["localhost"], []):
            done = floor(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn("Usage", done.stderr)
        self.assertIn("Usage", floor("--help").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
