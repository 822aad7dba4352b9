"""Tasks that keep their carrier do not hold up the others: coroutines only."""

import time
import unittest

import fanoutd
from fanoutd import PATIENCE, Server, wait_until

HOGS = "/fanout?n=4&delay_ms=0&cpu_us=1000000"


def pinned(server, kind="cpu"):
    return server.metrics()[f'fanoutd_pinned_total{{kind="{kind}"}}']


class Pinned(unittest.TestCase):
    def test_a_fan_out_goes_on_beside_hogs_that_took_its_carriers(self):
        with Server("--experiments", "--carriers", "2") as server:
            # All its calls are in flight when the hogs come, and end while they still compute.
            early = server.in_background("/fanout?n=100&delay_ms=500")
            server.wait_for_in_flight(100)
            hogs = server.in_background(HOGS)
            wait_until(lambda: pinned(server) >= 4, "hogs")
            self.assertEqual(server.get("/fanout?n=10&delay_ms=50").json()["ok"], 10)
            early = early.join().json()
            self.assertEqual(early["ok"], 100)
            self.assertTrue(hogs.is_alive(), "the hogs ended first")
            self.assertLess(early["call_ms"]["max"], 900 * PATIENCE)
            self.assertEqual(hogs.join().json()["ok"], 4)
            metrics = server.metrics()
            # The carriers' own two, and a spare for each hog.
            self.assertGreaterEqual(metrics["fanoutd_drivers"], 6)
            self.assertEqual(metrics["fanoutd_carriers"], 2)
            wait_until(lambda: "event=pinned kind=cpu" in server.log_text(), "line in the log")
            self.assertIn('task="fanout call"', server.log_text())
            self.assertIn("handed_over=yes", server.log_text())
            report = server.get("/debug/pinned").json()
            counted = sum(pinned(server, kind) for kind in ("cpu", "syscall", "lock"))
            self.assertEqual(report["total"], counted)
            self.assertEqual(report["kept"], len(report["events"]))
            times = [event["time"] for event in report["events"]]
            self.assertEqual(times, sorted(times, reverse=True))
            hog = next(event for event in report["events"] if event["task"] == "fanout call")
            self.assertEqual(hog["executor"], "coroutine")
            self.assertEqual(hog["kind"], "cpu")
            self.assertIs(hog["handed_over"], True)
            self.assertIn(hog["carrier"], (0, 1))
            self.assertGreater(hog["duration_ms"], 100)

    def test_without_spares_the_others_wait_and_it_is_said(self):
        with Server("--experiments", "--carriers", "1", "--spare-drivers", "0") as server:
            hogs = server.in_background("/fanout?n=1&delay_ms=0&cpu_us=700000")
            wait_until(lambda: pinned(server) >= 1, "hog")
            start = time.monotonic()
            self.assertEqual(server.get("/livez").status, 200)
            self.assertLess(time.monotonic() - start, 0.3 * PATIENCE)
            self.assertEqual(server.get("/fanout?n=1&delay_ms=0").json()["ok"], 1)
            self.assertEqual(hogs.join().json()["ok"], 1)
            wait_until(lambda: "handed_over=no" in server.log_text(), "line in the log")
            event = server.get("/debug/pinned").json()["events"][0]
            self.assertIs(event["handed_over"], False)
            self.assertIsNone(event["duration_ms"])
            self.assertEqual(server.metrics()["fanoutd_drivers"], 1)

    def test_the_threshold_can_be_set(self):
        with Server("--experiments", "--pinned-threshold-ms", "60000") as server:
            self.assertEqual(server.get("/fanout?n=1&delay_ms=0&cpu_us=100000").json()["ok"], 1)
            self.assertEqual(pinned(server), 0)


if __name__ == "__main__":
    fanoutd.main()
