"""GET /fanout from outside, on the executor that EXECUTOR names."""

import signal
import socket
import struct
import time
import unittest

import fanoutd
from fanoutd import EXECUTOR, PATIENCE, Server


class Fanout(unittest.TestCase):
    def check_problem(self, reply, status):
        self.assertEqual(reply.status, status)
        self.assertEqual(reply.headers["content-type"], "application/problem+json")
        self.assertEqual(reply.json()["status"], status)
        return reply.json()

    def test_answers_with_all_calls_in_the_form_of_the_contract(self):
        with Server() as server:
            reply = server.get("/fanout?n=20&delay_ms=300")
            self.assertEqual(reply.status, 200)
            self.assertEqual(reply.headers["content-type"], "application/json")
            answer = reply.json()
            self.assertEqual(
                list(answer),
                ["executor", "client", "n", "ok", "failed", "elapsed_ms", "call_ms", "statuses",
                 "errors", "coverage", "peak_in_flight"],
            )
            self.assertEqual(answer["executor"], EXECUTOR)
            self.assertEqual(answer["client"], "http1")
            self.assertEqual((answer["n"], answer["ok"], answer["failed"]), (20, 20, 0))
            self.assertEqual(list(answer["call_ms"]), ["min", "p50", "p90", "p99", "max"])
            for value in [answer["elapsed_ms"], *answer["call_ms"].values()]:
                self.assertIsInstance(value, float)
                self.assertGreaterEqual(value, 300)
            self.assertEqual(answer["statuses"], {"200": 20})
            self.assertEqual(answer["errors"], {})
            self.assertEqual(
                answer["coverage"],
                {"requested": 20, "succeeded": 20, "percent": 100.0, "degraded": {}},
            )
            self.assertEqual(answer["peak_in_flight"], 20)
            self.assertEqual(server.slow_stats()["peak_in_flight"], 20)

    def test_calls_by_the_client_that_is_asked_for_or_fits(self):
        for flags, client in [
            (["--client", "curl"], "curl"),
            (["--client", "http1"], "http1"),
            (["--client", "auto"], "http1"),
            (["--client", "auto", "--upstream", "https://127.0.0.1:1/"], "curl"),
            (["--client", "auto", "--upstream", "HTTP://127.0.0.1:1/"], "http1"),
        ]:
            with Server(*flags) as server:
                answer = server.get("/fanout?n=3&delay_ms=0").json()
                self.assertEqual(answer["client"], client)
                if "--upstream" in flags:
                    self.assertEqual(answer["errors"], {"connect": 3})
                else:
                    self.assertEqual(answer["ok"], 3)

    def test_lists_the_calls_in_order_with_detail(self):
        with Server() as server:
            calls = server.get("/fanout?n=5&delay_ms=10&detail=1").json()["calls"]
            self.assertEqual([call["i"] for call in calls], list(range(5)))
            for call in calls:
                self.assertEqual(list(call), ["i", "status", "ms", "bytes"])
                self.assertEqual(call["status"], 200)

    def test_keeps_to_max_parallel(self):
        with Server() as server:
            answer = server.get("/fanout?n=12&delay_ms=50&max_parallel=4").json()
            self.assertEqual((answer["ok"], answer["peak_in_flight"]), (12, 4))
            self.assertGreaterEqual(answer["elapsed_ms"], 150)
            self.assertEqual(server.slow_stats()["peak_in_flight"], 4)

    def test_ends_calls_at_their_timeout_and_requests_at_their_deadline(self):
        with Server() as server:
            answer = server.get("/fanout?n=10&delay_ms=5000&timeout_ms=100").json()
            self.assertEqual((answer["ok"], answer["errors"]), (0, {"timeout": 10}))
            self.assertIsNone(answer["call_ms"])
            start = time.monotonic()
            answer = server.get("/fanout?n=10&delay_ms=5000&deadline_ms=200").json()
            self.assertEqual((answer["ok"], answer["failed"]), (0, 10))
            self.assertLess(time.monotonic() - start, 1 * PATIENCE)

    def test_names_every_bad_parameter(self):
        bad = [
            ("n", "/fanout"),
            ("n", "/fanout?n="),
            ("n", "/fanout?n"),
            ("n", "/fanout?n=0"),
            ("n", "/fanout?n=1001"),
            ("n", "/fanout?n=-1"),
            ("n", "/fanout?n=+1"),
            ("n", "/fanout?n=1e3"),
            ("n", "/fanout?n=0x10"),
            ("n", "/fanout?n=1.0"),
            ("n", "/fanout?n=%201"),
            ("n", "/fanout?n=18446744073709551616"),
            ("n", "/fanout?n=18446744073709551617"),
            ("n", "/fanout?n=1&n=1"),
            ("n", "/fanout?n=1&%6e=1"),
            ("delay_ms", "/fanout?n=1&delay_ms="),
            ("delay_ms", "/fanout?n=1&delay_ms=600001"),
            ("delay_ms", "/fanout?n=1&delay_ms=x"),
            ("timeout_ms", "/fanout?n=1&timeout_ms=0"),
            ("timeout_ms", "/fanout?n=1&timeout_ms=10001"),
            ("deadline_ms", "/fanout?n=1&deadline_ms=0"),
            ("deadline_ms", "/fanout?n=1&deadline_ms=30001"),
            ("max_parallel", "/fanout?n=1&max_parallel=x"),
            ("detail", "/fanout?n=1&detail=2"),
            ("executor", f"/fanout?n=1&executor={EXECUTOR}"),
            ("cpu_us", "/fanout?n=1&cpu_us=1"),
            ("bogus", "/fanout?n=1&bogus=1"),
            ("N", "/fanout?N=1"),
        ]
        with Server("--max-n", "1000") as server:
            for parameter, path in bad:
                with self.subTest(path):
                    problem = self.check_problem(server.get(path), 400)
                    self.assertEqual(problem["parameter"], parameter)
                    self.assertIn("title", problem)
                    self.assertIn("detail", problem)
            self.assertEqual(server.get("/fanout?n=%31&delay_ms=0").json()["ok"], 1)
            self.assertEqual(server.slow_stats()["total"], 1)

    def test_stops_the_calls_of_a_client_that_is_gone(self):
        for how, farewell in (("killed", reset), ("closed", socket.socket.close)):
            with self.subTest(how), Server("--pool-threads", "100") as server:
                connection = server.connect()
                connection.sendall(b"GET /fanout?n=50&delay_ms=20000 HTTP/1.1\r\nHost: x\r\n\r\n")
                server.wait_for_in_flight(50)
                start = time.monotonic()
                farewell(connection)
                server.wait_for_in_flight(0)
                elapsed_ms = (time.monotonic() - start) * 1000
                print(f"{EXECUTOR}: client {how}, in_flight 0 after {elapsed_ms:.0f} ms")
                self.assertLess(elapsed_ms, 250 * PATIENCE)

    def test_keeps_serving_a_half_closed_client_if_asked_to(self):
        request = b"GET /fanout?n=3&delay_ms=300 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        for how, ok in (("keep", b'"ok":3'), ("gone", b'"ok":0')):
            with self.subTest(how), Server("--half-close", how) as server:
                with server.connect() as connection:
                    connection.sendall(request)
                    connection.shutdown(socket.SHUT_WR)
                    self.assertIn(ok, fanoutd.read_all(connection))

    def test_gives_the_full_answer_when_told_to_stop_meanwhile(self):
        with Server() as server:
            answer = server.in_background("/fanout?n=30&delay_ms=700")
            server.wait_for_in_flight(30)
            server.process.send_signal(signal.SIGTERM)
            reply = answer.join()
            self.assertEqual(reply.json()["ok"], 30)
            self.assertEqual(reply.headers["connection"], "close")
            self.assertEqual(server.process.wait(10 * PATIENCE), 0)

    def test_gives_partial_results_when_the_drain_is_cut(self):
        with Server("--drain-ms", "300") as server:
            answer = server.in_background("/fanout?n=10&delay_ms=20000&detail=1")
            server.wait_for_in_flight(10)
            start = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            reply = answer.join()
            self.assertEqual(reply.status, 200)
            self.assertEqual(reply.json()["errors"], {"canceled": 10})
            self.assertEqual(server.process.wait(10 * PATIENCE), 0)
            self.assertLess(time.monotonic() - start, 2 * PATIENCE)

    def test_completes_ten_parents_that_fill_a_pool_of_ten(self):
        with Server("--pool-threads", "10") as server:
            answers = [server.in_background("/fanout?n=20&delay_ms=20") for _ in range(10)]
            self.assertEqual([answer.join().json()["ok"] for answer in answers], [20] * 10)

    def test_lets_a_small_request_pass_beside_large_ones(self):
        with Server("--pool-threads", "20") as server:
            large = [server.in_background("/fanout?n=100&delay_ms=100") for _ in range(4)]
            fanoutd.wait_until(lambda: server.slow_stats()["in_flight"] > 0, "call")
            start = time.monotonic()
            self.assertEqual(server.get("/fanout?n=5&delay_ms=100").json()["ok"], 5)
            self.assertLess(time.monotonic() - start, 1 * PATIENCE)
            self.assertEqual([answer.join().json()["ok"] for answer in large], [100] * 4)


def reset(connection):
    """Close the way a killed process with unread data does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


if __name__ == "__main__":
    fanoutd.main()
