"""Stacks of coroutines: their guards, what is said of them, and the end of a task that needs more."""

import http.client
import os
import signal
import unittest

import fanoutd
from fanoutd import Server, wait_until

PAGE = os.sysconf("SC_PAGESIZE")


def started(server):
    wait_until(lambda: "event=started" in server.log_text(), "line")
    return next(line for line in server.log_text().splitlines() if "event=started" in line)


class Stacks(unittest.TestCase):
    def test_have_the_guard_that_was_asked_for(self):
        for guard in ("mprotect", "canary"):
            with self.subTest(guard), Server("--stack-guard", guard) as server:
                self.assertIn(f"stack_guard={guard} ", started(server))
                self.assertEqual(server.get("/fanout?n=200&delay_ms=1").json()["ok"], 200)
                metrics = server.metrics()
                for kind in ("madvise", "mprotect", "canary"):
                    stacks = metrics[f'fanoutd_stacks{{guard="{kind}"}}']
                    (self.assertGreater if kind == guard else self.assertEqual)(stacks, 0)
                self.assertGreaterEqual(metrics["fanoutd_stack_high_water_bytes"], PAGE)

    def test_are_no_matter_to_pthreads(self):
        with Server(executor="pool") as server:
            self.assertIn("stack_guard=none ", started(server))
            self.assertNotIn("fanoutd_stack_high_water_bytes", server.metrics())

    def test_an_overflow_names_the_task(self):
        server = Server("--experiments")
        try:
            if not os.environ["DEBUG_ENDPOINTS"]:
                self.assertEqual(server.get("/debug/overflow").status, 404)
                return
            with self.assertRaises((http.client.HTTPException, OSError)):
                server.get("/debug/overflow")
            status = server.process.wait(20 * fanoutd.PATIENCE)
            if os.environ["CATCHES_OVERFLOW"]:
                self.assertEqual(status, -signal.SIGSEGV)
                self.assertRegex(
                    server.log_text(),
                    r'fanoutd: stack overflow in task "/debug/overflow" \(65536 bytes\): '
                    r"raise --stack-bytes\n",
                )
            else:
                self.assertNotEqual(status, 0)
        finally:
            server.kill()

    def test_overflow_on_request_is_an_experiment(self):
        with Server() as server:
            self.assertEqual(server.get("/debug/overflow").status, 404)


if __name__ == "__main__":
    fanoutd.main()
