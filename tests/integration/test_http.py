"""What the front does with requests of all kinds, good and bad."""

import contextlib
import os
import signal
import time
import unittest

import fanoutd
from fanoutd import PATIENCE, Server, read_all


class Http(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def check_problem(self, reply, status):
        self.assertEqual(reply.status, status)
        self.assertEqual(reply.headers["content-type"], "application/problem+json")
        problem = reply.json()
        self.assertEqual(problem["status"], status)
        self.assertTrue(problem["title"] and problem["detail"])
        return problem

    def test_answers_404_to_an_unknown_path(self):
        for path in ("/", "/nope", "/fanout/", "/fanout/x", "/livezz", "/livez%00", "/FANOUT"):
            with self.subTest(path):
                self.check_problem(self.server.get(path), 404)

    def test_answers_405_with_allow_to_a_wrong_method(self):
        for method, path, allow in (
            ("PUT", "/fanout?n=1", "GET, POST"),
            ("HEAD", "/fanout?n=1", "GET, POST"),
            ("DELETE", "/metrics", "GET"),
            ("HEAD", "/metrics", "GET"),
            ("POST", "/livez", "GET, HEAD"),
            ("PUT", "/readyz", "GET, HEAD"),
        ):
            with self.subTest(f"{method} {path}"):
                reply = self.server.request(method, path)
                self.assertEqual(reply.headers["allow"], allow)
                if method == "HEAD":
                    self.assertEqual((reply.status, reply.body), (405, b""))
                else:
                    self.check_problem(reply, 405)

    def test_answers_the_probes(self):
        for path in ("/livez", "/readyz"):
            reply = self.server.get(path)
            self.assertEqual(reply.status, 200)
            head = self.server.request("HEAD", path)
            self.assertEqual((head.status, head.body), (200, b""))
            self.assertEqual(head.headers["content-length"], str(len(reply.body)))

    def test_answers_several_requests_on_one_connection(self):
        with self.server.connect() as connection:
            for _ in range(3):
                connection.sendall(b"GET /fanout?n=2&delay_ms=1 HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertIn(b'"ok":2', read_one(connection))

    def test_answers_pipelined_requests_in_order(self):
        replies = self.server.raw(
            b"GET /fanout?n=1&delay_ms=50 HTTP/1.1\r\nHost: x\r\n\r\n"
            b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
            b"GET /fanout?n=2&delay_ms=1 HTTP/1.1\r\nHost: x\r\n\r\n"
            b"GET /nope HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        places = [replies.find(text) for text in (b'"ok":1', b"\r\nalive", b'"ok":2', b" 404 ")]
        self.assertNotIn(-1, places)
        self.assertEqual(places, sorted(places))

    def test_takes_a_target_in_absolute_form(self):
        for target, status in (
            (b"http://example.org/livez", 200),
            (b"HTTP://example.org:80/fanout?n=1&delay_ms=0", 200),
            (b"https://example.org?n=1", 404),
            (b"livez", 400),
            (b"fanout?n=1", 400),
            (b"*", 400),
        ):
            with self.subTest(target):
                reply = self.server.raw(
                    b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                )
                self.assertTrue(reply.startswith(b"HTTP/1.1 %d " % status), reply)

    def test_takes_a_request_in_small_pieces(self):
        with self.server.connect() as connection:
            for byte in b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":
                connection.sendall(bytes([byte]))
            self.assertIn(b"alive", read_all(connection))

    def test_answers_http_1_0(self):
        self.assertIn(b"alive", self.server.raw(b"GET /livez HTTP/1.0\r\n\r\n"))

    def test_refuses_a_request_that_two_parsers_may_read_differently(self):
        line = b"POST /fanout HTTP/1.1\r\n"
        for name, request in {
            "two lengths": line + b"Host: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
            "different lengths": line + b"Host: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
            "list of lengths": line + b"Host: x\r\nContent-Length: 1, 1\r\n\r\na",
            "signed length": line + b"Host: x\r\nContent-Length: +1\r\n\r\na",
            "length and chunked": line
            + b"Host: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "chunked and length": line
            + b"Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            "other encoding": line + b"Host: x\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
            "two encodings": line + b"Host: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "encodings apart": line
            + b"Host: x\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "almost chunked": line + b"Host: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "blank before colon": line + b"Host: x\r\nContent-Length : 1\r\n\r\na",
            "folded": b"GET /livez HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
            "bare CR": b"GET /livez HTTP/1.1\r\nHost: x\r\nA: b\rC: d\r\n\r\n",
            "NUL": b"GET /livez HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n",
            "no host": b"GET /livez HTTP/1.1\r\n\r\n",
            "two hosts": b"GET /livez HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
            "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "no request": b"hello\r\n\r\n",
        }.items():
            with self.subTest(name):
                # What is smuggled in behind must not be answered.
                reply = self.server.raw(request + b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertTrue(reply.startswith(b"HTTP/1.1 400 "), reply)
                self.assertNotIn(b"ready\n", reply)

    def test_reads_a_chunked_body(self):
        reply = self.server.raw(
            b"POST /fanout HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n"
            b"Content-Type: application/json\r\nConnection: close\r\n\r\n"
            b'9\r\n{"request\r\n1c\r\ns":[{"id":"a","url":"/slow?m\r\n7\r\ns=0"}]}\r\n0\r\n\r\n'
        )
        self.assertTrue(reply.startswith(b"HTTP/1.1 200 "), reply)
        self.assertIn(b'"succeeded":1', reply)

    def test_refuses_a_large_body(self):
        # Announced, and not sent: a reset by unread bytes could overtake the answer.
        reply = self.server.raw(
            b"POST /fanout HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n"
        )
        self.assertTrue(reply.startswith(b"HTTP/1.1 413 "), reply)
        self.assertIn(b"application/problem+json", reply)
        for length in (b"18446744073709551616", b"99999999999999999999999"):
            reply = self.server.raw(
                b"POST /fanout HTTP/1.1\r\nHost: x\r\nContent-Length: " + length + b"\r\n\r\n"
            )
            self.assertRegex(reply, rb"^HTTP/1\.1 4(00|13) ")
        json = {"Content-Type": "application/json"}
        reply = self.server.request("POST", "/fanout", b" " * 1048574 + b"[]", json)
        self.check_problem(reply, 400)

    def test_refuses_a_large_head(self):
        head = b"GET /livez HTTP/1.1\r\nHost: x\r\n" + b"".join(
            b"A%d: b\r\n" % i for i in range(101)
        )
        self.assertTrue(self.server.raw(head + b"\r\n").startswith(b"HTTP/1.1 400 "))

    def test_survives_clients_that_say_nothing_or_half_of_it(self):
        for start in (b"", b"GET /liv", b"POST /fanout HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na"):
            with self.server.connect() as connection:
                connection.sendall(start)
        self.assertEqual(self.server.get("/livez").status, 200)


class FullLog(unittest.TestCase):
    """Nobody reads what fanoutd writes to stderr, and the pipe is full."""

    def setUp(self):
        self.unread, self.full = os.pipe()
        self.addCleanup(os.close, self.unread)
        self.addCleanup(os.close, self.full)
        os.set_blocking(self.full, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(self.full, b"x" * 4096)
        os.set_blocking(self.full, True)

    def test_neither_the_fronts_nor_the_drain_wait_for_a_reader(self):
        with Server(stderr=self.full, max_fds=60) as server:
            # More than fit: the acceptor logs that it backs off.
            connections = [server.connect() for _ in range(80)]
            for connection in connections:
                connection.close()
            fanoutd.wait_until(lambda: server.get("/livez").status == 200, "answer")
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(10 * PATIENCE), 0)

    def test_lines_that_were_dropped_are_counted(self):
        # A warning before it listens, and perhaps the line that it has started, which may come
        # later, and what a busy machine makes it say.
        with Server(stderr=self.full, env={"FANOUTD_BOGUS": "1"}) as server:
            os.set_blocking(self.unread, False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.read(self.unread, 65536)
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(10 * PATIENCE)
            self.assertRegex(os.read(self.unread, 65536), rb"event=log_dropped lines=[1-9]\n")


class Drain(unittest.TestCase):
    def test_still_accepts_during_the_drain_delay(self):
        with Server("--drain-delay-ms", "1000") as server:
            with server.connect() as idle:
                idle.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertIn(b"keep-alive", read_one(idle))
                server.process.send_signal(signal.SIGTERM)
                fanoutd.wait_until(lambda: server.get("/readyz").status == 503, "503")
                self.assertEqual(server.get("/livez").headers["connection"], "close")
                answer = server.get("/fanout?n=2&delay_ms=1")
                self.assertEqual(answer.json()["ok"], 2)
                self.assertEqual(answer.headers["connection"], "close")
                idle.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertIn(b"Connection: close", read_all(idle))
            self.assertEqual(server.process.wait(10 * PATIENCE), 0)

    def test_is_not_held_up_by_idle_connections(self):
        with Server() as server:
            fresh = server.connect()
            used = server.connect()
            used.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            read_one(used)
            start = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(10 * PATIENCE), 0)
            self.assertLess(time.monotonic() - start, 1 * PATIENCE)
            self.assertEqual((read_all(fresh), read_all(used)), (b"", b""))
            fresh.close()
            used.close()

    def test_takes_a_request_that_is_on_its_way(self):
        with Server() as server, server.connect() as connection:
            connection.sendall(b"GET /fanout?n=2&delay_ms=1 HTTP/1.1\r\nHo")
            # Another connection's answer says that the front has seen those bytes, too.
            server.get("/livez")
            server.process.send_signal(signal.SIGTERM)
            fanoutd.wait_until(lambda: refuses(server), "refusal")
            connection.sendall(b"st: x\r\n\r\n")
            self.assertIn(b'"ok":2', read_all(connection))
            self.assertEqual(server.process.wait(10 * PATIENCE), 0)

    def test_ends_at_once_on_a_second_signal(self):
        for first, second, status in (
            (signal.SIGTERM, signal.SIGTERM, 143),
            (signal.SIGINT, signal.SIGTERM, 143),
            (signal.SIGTERM, signal.SIGINT, 130),
        ):
            server = Server()
            try:
                answer = server.in_background("/fanout?n=5&delay_ms=20000")
                server.wait_for_in_flight(5)
                server.process.send_signal(first)
                fanoutd.wait_until(lambda: refuses(server), "refusal")
                # Two within 50 ms are taken for one.
                fanoutd.wait_until(time_passed(0.06), "passing of time")
                start = time.monotonic()
                server.process.send_signal(second)
                self.assertEqual(server.process.wait(10), status)
                self.assertLess(time.monotonic() - start, 0.5 * PATIENCE)
                with self.assertRaises((OSError, fanoutd.http.client.HTTPException)):
                    answer.join()
            finally:
                server.kill()

    def test_takes_two_signals_at_once_for_one(self):
        with Server() as server:
            answer = server.in_background("/fanout?n=5&delay_ms=300")
            server.wait_for_in_flight(5)
            server.process.send_signal(signal.SIGTERM)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(answer.join().json()["ok"], 5)
            self.assertEqual(server.process.wait(10 * PATIENCE), 0)


def time_passed(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def refuses(server):
    try:
        server.connect().close()
    except (ConnectionRefusedError, ConnectionResetError):
        # Reset: the listener closed in the middle of the handshake.
        return True
    return False


def read_one(connection):
    """One reply with a Content-Length, from a connection that stays open."""
    received = b""
    while True:
        head, found, body = received.partition(b"\r\n\r\n")
        if found:
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            if len(body) >= length:
                return received
        chunk = connection.recv(65536)
        if not chunk:
            raise AssertionError(f"closed after {received!r}")
        received += chunk


if __name__ == "__main__":
    fanoutd.main()
