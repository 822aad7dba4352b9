"""POST /fanout whose answer is sent while it is made: the whole server, and clients of all kinds."""

import json
import os
import re
import signal
import socket
import unittest

import fanoutd
from fanoutd import PATIENCE, Server, wait_until

NDJSON = "application/x-ndjson"


def request_bytes(calls, version="1.1", accept=NDJSON, connection="close", **settings):
    requests = [{"id": str(i), "method": "GET", "url": url} for i, url in enumerate(calls)]
    body = json.dumps({"requests": requests, **settings}).encode()
    head = (
        f"POST /fanout HTTP/{version}\r\nHost: x\r\nAccept: {accept}\r\nConnection: {connection}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def slow(ms, extra=""):
    return f"/slow?ms={ms}{extra}"


def split(reply):
    head, _, body = reply.partition(b"\r\n\r\n")
    return head.decode().lower(), body


def unchunk(body):
    """Strictly; what follows the last chunk must be nothing."""
    text = bytearray()
    place = 0
    while True:
        end = body.index(b"\r\n", place)
        assert re.fullmatch(rb"[0-9a-f]+", body[place:end]), (body[place:end], len(text))
        start, length = end + 2, int(body[place:end], 16)
        place = start + length + 2
        assert body[place - 2 : place] == b"\r\n", body[place - 20 : place]
        if length == 0:
            assert place == len(body), body[place:]
            return bytes(text)
        text += body[start : start + length]


class Reader:
    """Reads one reply bit by bit."""

    def __init__(self, server, request, receive_bytes=None):
        self.connection = socket.socket()
        if receive_bytes:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.connection.settimeout(30)
        self.connection.connect((server.host, server.port))
        self.connection.sendall(request)
        self.received = bytearray()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def _read(self):
        chunk = self.connection.recv(1 << 20)
        self.received += chunk
        return chunk

    def read_until(self, text):
        while text not in self.received:
            assert self._read(), self.received

    def read_lines(self, count):
        while self.received.count(b"}\n") < count:
            assert self._read(), self.received

    def read_rest(self):
        while self._read():
            pass
        return bytes(self.received)


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--max-request-bytes-in-memory", str(16 << 20))

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def check_answer(self, body, count):
        *results, coverage = [json.loads(line) for line in body.splitlines()]
        self.assertEqual(sorted(int(result["id"]) for result in results), list(range(count)))
        self.assertEqual(coverage["coverage"]["requested"], count)
        return results, coverage["coverage"]

    def test_a_line_comes_when_its_call_is_done(self):
        calls = [slow(400)] + [slow(10)] * 19
        with Reader(self.server, request_bytes(calls)) as reader:
            reader.read_lines(19)
            self.assertNotIn(b'"id":"0"', reader.received)
            self.assertEqual(self.server.slow_stats()["in_flight"], 1)
            head, body = split(reader.read_rest())
        self.assertIn(f"\r\ncontent-type: {NDJSON}\r\n", head + "\r\n")
        results, coverage = self.check_answer(unchunk(body), 20)
        self.assertEqual((results[-1]["id"], coverage["succeeded"]), ("0", 20))

    def test_events_come_the_same_way(self):
        request = request_bytes([slow(200), slow(1)], accept="text/event-stream")
        with Reader(self.server, request) as reader:
            reader.read_until(b'"id":"1"')
            self.assertNotIn(b'"id":"0"', reader.received)
            head, body = split(reader.read_rest())
        self.assertIn("\r\ncontent-type: text/event-stream", head)
        events = unchunk(body).decode().split("\n\n")
        self.assertEqual(len([event for event in events if "data:" in event]), 3, events)

    def test_a_connection_serves_on_after_one(self):
        request = request_bytes([slow(1)] * 3, connection="keep-alive")
        with Reader(self.server, request) as reader:
            reader.read_until(b"\r\n0\r\n\r\n")
            self.check_answer(unchunk(split(bytes(reader.received))[1]), 3)
            reader.received.clear()
            reader.connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertTrue(reader.read_rest().endswith(b"\r\n\r\nalive\n"))

    def test_http_1_0_gets_it_without_chunks(self):
        request = request_bytes([slow(1)] * 3, version="1.0", connection="keep-alive")
        with Reader(self.server, request) as reader:
            head, body = split(reader.read_rest())
        self.assertNotIn("transfer-encoding", head)
        self.assertIn("\r\nconnection: close", head)
        self.check_answer(body, 3)

    def test_there_is_no_head_of_one(self):
        reply = self.server.request("HEAD", "/fanout")
        self.assertEqual((reply.status, reply.headers["allow"]), (405, "GET, POST"))

    def test_a_body_of_another_type_is_refused(self):
        for headers in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/json-seq"},
                        {"Content-Type": "application/json", "Content-Encoding": "gzip"}):
            reply = self.server.request("POST", "/fanout", b'{"requests":[]}', headers)
            self.assertEqual((reply.status, reply.headers["accept"]), (415, "application/json"))

    def test_its_calls_end_when_the_client_goes(self):
        with Reader(self.server, request_bytes([slow(1)] + [slow(60000)] * 20)) as reader:
            reader.read_lines(1)
            self.server.wait_for_in_flight(20)
        self.server.wait_for_in_flight(0)

    def test_a_deadline_ends_it_whole(self):
        request = request_bytes([slow(60000)] + [slow(1)] * 9, deadline_ms=250)
        with Reader(self.server, request) as reader:
            results, coverage = self.check_answer(unchunk(split(reader.read_rest())[1]), 10)
        self.assertEqual(coverage["degraded"], {"timeout": 1})
        self.assertEqual([r["id"] for r in results if r.get("error") == "timeout"], ["0"])
        self.server.wait_for_in_flight(0)

    def test_a_reader_that_does_not_read_holds_up_its_own_calls_alone(self):
        count, each = 200, 100 * 1024
        self.server.get("/fanout?n=200&delay_ms=0&max_parallel=50")
        before = memory_bytes(self.server)
        made = self.server.slow_stats()["total"]
        request = request_bytes([slow(0, f"&bytes={each}")] * count, max_parallel=50)
        with Reader(self.server, request, receive_bytes=65536) as reader:
            reader.read_lines(1)
            wait_until_steady(lambda: self.server.slow_stats()["total"])
            held = self.server.slow_stats()["total"] - made
            self.assertLess(held, count)
            reply = self.server.get("/fanout?n=20&delay_ms=5")
            self.assertEqual(reply.json()["ok"], 20)
            if PATIENCE == 1:
                self.assertLess(memory_bytes(self.server) - before, 32 << 20)
            results, coverage = self.check_answer(unchunk(split(reader.read_rest())[1]), count)
        self.assertEqual({len(result["body"]) for result in results}, {each})
        self.assertEqual(coverage["succeeded"], count)


class Drain(unittest.TestCase):
    def test_one_that_has_begun_is_sent_to_its_end(self):
        with Server() as server, Reader(server, request_bytes([slow(200), slow(1)])) as reader:
            reader.read_lines(1)
            server.process.send_signal(signal.SIGTERM)
            lines = unchunk(split(reader.read_rest())[1]).splitlines()
            self.assertEqual(json.loads(lines[-1])["coverage"]["succeeded"], 2)
            self.assertEqual(server.process.wait(10 * PATIENCE), 0)

    def test_one_that_is_cut_says_what_it_has(self):
        with Server("--drain-ms", "50") as server:
            with Reader(server, request_bytes([slow(60000), slow(1)])) as reader:
                reader.read_lines(1)
                server.process.send_signal(signal.SIGTERM)
                lines = unchunk(split(reader.read_rest())[1]).splitlines()
            self.assertEqual(json.loads(lines[-1])["coverage"]["degraded"], {"canceled": 1})
            self.assertEqual(server.process.wait(10 * PATIENCE), 0)


class HalfClose(unittest.TestCase):
    """A client that has nothing more to say."""

    def coverage(self, server):
        with Reader(server, request_bytes([slow(200), slow(1)])) as reader:
            reader.read_lines(1)
            reader.connection.shutdown(socket.SHUT_WR)
            lines = unchunk(split(reader.read_rest())[1]).splitlines()
        return json.loads(lines[-1])["coverage"]

    def test_one_that_may_still_read_gets_all_of_it(self):
        with Server("--half-close", "keep") as server:
            self.assertEqual(self.coverage(server)["succeeded"], 2)

    def test_for_one_that_is_taken_for_gone_no_call_is_waited_for(self):
        with Server() as server:
            self.assertEqual(self.coverage(server)["degraded"], {"canceled": 1})


def memory_bytes(server):
    with open(f"/proc/{server.process.pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def wait_until_steady(figure):
    """Until it stays what it is for a while."""
    last, since = figure(), 0

    def is_steady():
        nonlocal last, since
        now = figure()
        since = since + 1 if now == last else 0
        last = now
        return since == 20

    wait_until(is_steady, "steady figure")


if __name__ == "__main__":
    fanoutd.main()
