"""What an upstream gets to see of retries, a breaker and hedging, when lists of calls go to it through the whole server."""

import json
import os
import tempfile
import time
import unittest

import fanoutd
from fanoutd import PATIENCE, Server, wait_until

JSON = {"Content-Type": "application/json"}
UPSTREAMS = {
    "retried": {"retry": {"attempts": 4, "base_ms": 1, "max_ms": 10}},
    "broken": {"breaker": {"error_percent": 50, "min_calls": 20, "window_ms": 2000, "open_ms": 300}},
    "hedged": {"hedge": {}},
}


class Resilience(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """The upstreams are the slow endpoint of another server, which counts what it is sent."""
        cls.other = Server()
        cls.addClassCleanup(cls.other.__exit__, None)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = os.path.join(folder.name, "fanoutd.json")
        url = f"http://127.0.0.1:{cls.other.slow_port}"
        with open(path, "w") as file:
            json.dump({"upstreams": {name: {"url": url, **how} for name, how in UPSTREAMS.items()}}, file)
        cls.server = Server("--config", path)
        cls.addClassCleanup(cls.server.__exit__, None)

    def post(self, count, upstream, query, call=None, **more):
        """The answers to count calls, and how many requests they became."""
        call = {"upstream": upstream, "url": f"/slow?{query}", **(call or {})}
        calls = [{"id": str(i), **call} for i in range(count)]
        before = self.other.slow_stats()["total"]
        reply = self.server.request("POST", "/fanout", json.dumps({"requests": calls, **more}), JSON)
        self.assertEqual(reply.status, 200, reply.body)
        answer = reply.json()
        self.assertEqual(len(answer["responses"]), count)
        return answer, self.other.slow_stats()["total"] - before

    def shown(self, name):
        upstreams = self.server.get("/debug/upstreams").json()["upstreams"]
        return next(upstream for upstream in upstreams if upstream["name"] == name)

    def test_an_upstream_that_fails_all_gets_a_fifth_more_at_most(self):
        answer, total = self.post(1000, "retried", "ms=0&status=503", max_parallel=100)
        self.assertEqual({call["status"] for call in answer["responses"]}, {503})
        self.assertLessEqual(total, 1200)
        self.assertGreater(total, 1100)
        self.assertEqual(sum(call["attempts"] for call in answer["responses"]), total)
        self.assertEqual(answer["coverage"]["degraded"], {"bad_status": 1000})

    def test_a_post_is_sent_once_unless_it_has_a_key(self):
        post = {"method": "POST", "body": {"a": 1}}
        answer, total = self.post(20, "retried", "ms=0&status=503", post)
        self.assertEqual(total, 20)
        self.assertEqual({call["attempts"] for call in answer["responses"]}, {1})
        answer, total = self.post(1, "retried", "ms=0&status=503", {**post, "headers": {"Idempotency-Key": "k"}})
        self.assertEqual(answer["responses"][0]["attempts"], total)
        self.assertGreater(total, 1)

    def test_a_server_that_asks_for_a_second_gets_it(self):
        start = time.monotonic()
        answer, total = self.post(5, "retried", "ms=0&status=503&retry_after=1", deadline_ms=1900)
        self.assertEqual({call["attempts"] for call in answer["responses"]}, {2})
        self.assertEqual(total, 10)
        self.assertGreaterEqual(min(call["ms"] for call in answer["responses"]), 1000)
        self.assertLess(time.monotonic() - start, 1.9 + 3 * (PATIENCE - 1))

    def test_the_breaker_opens_and_closes_with_the_upstream(self):
        def state():
            return self.shown("broken")["breaker"]["state"]

        self.post(40, "broken", "ms=0&status=500", max_parallel=20)
        self.assertEqual(state(), "open")
        answer, total = self.post(200, "broken", "ms=0&status=500")
        refused = [call for call in answer["responses"] if call.get("error") == "breaker"]
        self.assertEqual(len(refused) + total, 200)
        self.assertGreater(len(refused), 190)
        self.assertEqual({call["attempts"] for call in refused}, {0})
        self.assertEqual(answer["coverage"]["degraded"]["breaker"], len(refused))

        wait_until(lambda: self.post(1, "broken", "ms=0") and state() == "closed", "closed breaker")
        answer, total = self.post(100, "broken", "ms=0")
        self.assertEqual(answer["coverage"]["succeeded"], 100)

    def test_hedging_hides_the_slow_ones(self):
        _, learned = self.post(100, "hedged", "ms=10", max_parallel=20)
        answer, total = self.post(600, "hedged", "ms=10&slow_percent=5&slow_ms=600", max_parallel=30)
        self.assertEqual(answer["coverage"]["succeeded"], 600)
        self.assertLessEqual(learned + total, 700 * 1.07)
        times = sorted(call["ms"] for call in answer["responses"])
        self.assertLess(times[593], 400)
        self.assertGreater(self.shown("hedged")["hedge"]["won"], 0)


if __name__ == "__main__":
    fanoutd.main()
