"""GET /sleep, /cpu and /pinned from outside, on the executor that EXECUTOR names."""

import unittest

import fanoutd
from fanoutd import EXECUTOR, PATIENCE, Server

PATHS = ("/sleep?n=1&ms=1", "/cpu?n=1&iterations=1", "/pinned?n=1&delay_ms=1")
# A stuck carrier stays with its thread.
NO_SPARES = ["--spare-drivers", "0"]


class Experiments(unittest.TestCase):
    def serve(self, *flags, **how):
        return Server("--experiments", "--pool-threads", "100", *flags, **how)

    def test_are_not_there_unless_asked_for(self):
        with Server() as server:
            for path in PATHS:
                reply = server.get(path)
                self.assertEqual(reply.status, 404, path)
                self.assertEqual(reply.headers["content-type"], "application/problem+json")
        with self.serve() as server:
            for path in PATHS:
                self.assertEqual(server.get(path).json()["ok"], 1, path)
                self.assertEqual(server.request("POST", path).status, 405, path)

    def test_sleepers_wait_at_once(self):
        with self.serve() as server:
            answer = server.get("/sleep?n=1000&ms=50").json()
            self.assertEqual((answer["executor"], answer["ok"]), (EXECUTOR, 1000))
            self.assertGreaterEqual(answer["call_ms"]["min"], 50)
            # A hundred threads of the pool take ten rounds.
            self.assertGreaterEqual(answer["elapsed_ms"], 500 if EXECUTOR == "pool" else 50)
            self.assertLess(answer["elapsed_ms"], 1500 * PATIENCE)
            self.assertLessEqual(answer["peak_in_flight"], 100 if EXECUTOR == "pool" else 1000)

    def test_sums_are_made(self):
        with self.serve() as server:
            answer = server.get("/cpu?n=50&iterations=100000").json()
            self.assertEqual((answer["ok"], answer["errors"]), (50, {}))
            self.assertNotIn("client", answer)

    def test_a_pinned_call_keeps_its_thread(self):
        with self.serve("--carriers", "2", *NO_SPARES) as server:
            answer = server.get("/pinned?n=8&delay_ms=100").json()
            self.assertEqual((answer["ok"], answer["client"]), (8, "blocking"))
            self.assertEqual(answer["statuses"], {"200": 8})
            seen = server.slow_stats()["peak_in_flight"]
            self.assertEqual(seen, 2 if EXECUTOR == "coroutine" else 8)
            self.assertGreaterEqual(answer["elapsed_ms"], 400 if EXECUTOR == "coroutine" else 100)

    def test_spare_drivers_take_over_from_pinned_calls(self):
        with self.serve("--carriers", "2") as server:
            answer = server.get("/pinned?n=64&delay_ms=200").json()
            self.assertEqual(answer["ok"], 64)
            # Two at a time would be what the carriers alone can do.
            self.assertGreaterEqual(server.slow_stats()["peak_in_flight"], 12)

    def test_a_mutex_held_across_a_call_lets_the_thread_go(self):
        with self.serve("--carriers", "2", *NO_SPARES) as server:
            answer = server.get("/pinned?n=64&delay_ms=200&lock=1").json()
            self.assertEqual((answer["ok"], answer["peak_in_flight"]), (64, 64))
            self.assertNotEqual(answer["client"], "blocking")
            self.assertEqual(server.slow_stats()["peak_in_flight"], 64)

    def test_a_pinned_call_ends_at_the_deadline(self):
        with self.serve() as server:
            answer = server.get("/pinned?n=2&delay_ms=60000&deadline_ms=100").json()
            self.assertEqual(answer["errors"], {"timeout": 2})
            self.assertLess(answer["elapsed_ms"], 5000)


if __name__ == "__main__":
    fanoutd.main()
