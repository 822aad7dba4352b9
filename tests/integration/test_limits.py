"""Full means a fast, explicit error, on every executor and for connections, too."""

import os
import unittest

import fanoutd
from fanoutd import EXECUTOR, PATIENCE, Server, wait_until

# What makes an executor full after so many requests of one call, and how the metrics call it.
FULL = {
    "coroutine": (["--max-tasks", "2"], 1, "max_tasks"),
    "pool": (["--pool-threads", "1", "--queue", "1"], 2, "queue"),
    "thread": (["--max-threads", "2"], 1, "threads"),
}


class Limits(unittest.TestCase):
    def test_answers_503_with_retry_after_when_the_executor_is_full(self):
        flags, requests, reason = FULL[EXECUTOR]
        with Server(*flags) as server:
            answers = []
            for tasks in range(2, 2 + requests):
                answers.append(server.in_background("/fanout?n=1&delay_ms=1000"))
                wait_until(lambda: live(server.metrics()) == tasks, f"{tasks} tasks")
            reply = server.get("/fanout?n=1&delay_ms=0")
            self.assertEqual(reply.status, 503)
            self.assertEqual(reply.headers["content-type"], "application/problem+json")
            self.assertEqual(reply.headers["retry-after"], "1")
            self.assertEqual(server.get("/livez").status, 200)
            metrics = server.metrics()
            self.assertEqual(metrics[f'fanoutd_rejected_total{{reason="{reason}"}}'], 1)
            for answer in answers:
                answer.join()
            self.assertEqual(server.get("/fanout?n=1&delay_ms=0").json()["ok"], 1)

    def test_backs_off_when_descriptors_run_out_and_recovers(self):
        with Server(max_fds=100) as server:
            cpu_before_s = cpu_seconds(server)
            connections = []
            turned_away = 0
            for _ in range(150):
                connections.append(server.connect())
            for connection in connections:
                connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            for connection in connections:
                reply = first_bytes(connection)
                turned_away += not reply.startswith(b"HTTP/1.1 200 ")
                self.assertRegex(reply, rb"^(HTTP/1\.1 (200|503) |$)")
            self.assertGreater(turned_away, 50)
            self.assertLess(cpu_seconds(server) - cpu_before_s, 0.5 * PATIENCE)
            for connection in connections:
                connection.close()
            wait_until(lambda: server.get("/livez").status == 200, "recovery")
            rejected = server.metrics()['fanoutd_rejected_total{reason="fds"}']
            self.assertGreaterEqual(rejected, turned_away)
            self.assertEqual(server.get("/fanout?n=3&delay_ms=1").json()["ok"], 3)

    def test_fails_the_calls_that_find_no_descriptor_and_makes_the_others(self):
        with Server() as upstream:
            url = f"http://127.0.0.1:{upstream.slow_port}/slow"
            flags = ["--upstream", url, "--pool-threads", "100", "--upstream-connections", "1000"]
            with Server(*flags, slow_listen="off", max_fds=80) as server:
                answer = server.get("/fanout?n=100&delay_ms=300").json()
                self.assertGreater(answer["ok"], 0)
                self.assertEqual(answer["errors"], {"fd_limit": 100 - answer["ok"]})
                # A pool's threads each keep theirs until they have been idle for long.
                if fanoutd.EXECUTOR != "pool":
                    few = "/fanout?n=5&delay_ms=0"
                    wait_until(lambda: server.get(few).json().get("ok") == 5, "recovery")

    def test_has_calls_wait_for_a_connection_where_descriptors_are_few(self):
        with Server() as upstream:
            url = f"http://127.0.0.1:{upstream.slow_port}/slow"
            for max_fds, flags, most in ((150, [], 86), (None, ["--upstream-connections", "7"], 7)):
                upstream.request("POST", "/stats/reset", port=upstream.slow_port)
                flags = ["--upstream", url, "--pool-threads", "50", *flags]
                limit = {"max_fds": max_fds} if max_fds else {}
                with Server(*flags, slow_listen="off", **limit) as server:
                    for _ in range(2):
                        answer = server.get("/fanout?n=100&delay_ms=20").json()
                        self.assertEqual(answer["errors"], {})
                        self.assertEqual(answer["ok"], 100)
                self.assertLessEqual(upstream.slow_stats()["peak_in_flight"], most)


def live(metrics):
    return sum(value for name, value in metrics.items() if name.startswith("fanoutd_tasks{"))


def first_bytes(connection):
    try:
        return connection.recv(4096)
    except ConnectionResetError:
        return b""


def cpu_seconds(server):
    with open(f"/proc/{server.process.pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    fanoutd.main()
