"""Tasks that keep their carrier do not hold up the others: coroutines only."""

import os
import time
import unittest

import fanoutd
from fanoutd import PATIENCE, Server, wait_until

# Otherwise no task that computes has a stack: the thread sanitizer holds signals back.
ASKS_BY_SIGNAL = bool(os.environ.get("ASKS_BY_SIGNAL"))

HOGS = "/fanout?n=4&delay_ms=0&cpu_us=1000000"


def pinned(server, kind="cpu"):
    return server.metrics()[f'fanoutd_pinned_total{{kind="{kind}"}}']


def functions(event):
    return [frame["function"] for frame in event["stack"]]


def events_of(server, task):
    events = server.get("/debug/pinned").json()["events"]
    return [event for event in events if event["task"] == task]


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
            if ASKS_BY_SIGNAL:
                self.assertIn("burn_cpu", functions(hog))
                self.assertIn('function="', server.log_text())

    def test_an_event_names_the_function_that_blocks(self):
        with Server("--experiments", "--carriers", "2") as server:
            blocked = server.in_background("/pinned?n=4&delay_ms=1500")
            wait_until(lambda: events_of(server, "pinned call"), "event")
            event = events_of(server, "pinned call")[-1]
            self.assertEqual(event["kind"], "syscall")
            self.assertIn("recv", event["stack"][0]["function"])
            self.assertIn("blocking_call", functions(event)[:5])  # and maybe what it is made of
            self.assertEqual(functions(event)[-1], "run_child")
            caller = next(frame for frame in event["stack"] if frame["function"] == "blocking_call")
            self.assertTrue(caller["file"].endswith("clients/blocking_client.c"), caller)
            self.assertGreater(caller["line"], 0)
            wait_until(lambda: 'task="pinned call" function="' in server.log_text(), "line")
            self.assertEqual(blocked.join().json()["ok"], 4)

    @unittest.skipUnless(ASKS_BY_SIGNAL, "the thread sanitizer holds signals back")
    def test_an_event_names_the_function_that_computes(self):
        with Server("--experiments", "--carriers", "1") as server:
            computing = server.in_background("/cpu?n=1&iterations=1000000000")
            wait_until(lambda: events_of(server, "cpu"), "event")
            wait_until(lambda: events_of(server, "cpu")[-1]["stack"], "stack")
            names = functions(events_of(server, "cpu")[-1])
            self.assertIn(names[0], ("cpu_child", "add_range", "must_end"))
            self.assertIn("cpu_child", names)
            wait_until(lambda: 'kind=cpu task="cpu" function="' in server.log_text(), "line")
            self.assertEqual(computing.join().json()["ok"], 1)

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
