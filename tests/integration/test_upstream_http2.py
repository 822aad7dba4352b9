"""Calls over HTTP/2, to Debian's nghttpd: which share connections, and still end each on its own."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import fanoutd
from fanoutd import Server, wait_until
from tls_upstream import Authority, TlsServer


class Nghttpd:
    """Answers GET /ok?… with "ok". It can be stopped for a while, so that calls are in flight."""

    def __init__(self, authority, port=None):
        self.directory = tempfile.TemporaryDirectory()
        with open(os.path.join(self.directory.name, "ok"), "w") as file:
            file.write("ok")
        certificate, key = authority.signed("nghttpd")
        self.port = port or free_port()
        self.process = subprocess.Popen(
            ["nghttpd", "-a", "127.0.0.1", "-d", self.directory.name, str(self.port), key, certificate],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._listens, "nghttpd")

    def _listens(self):
        if self.process.poll() is not None:
            raise AssertionError("nghttpd has ended")
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except ConnectionRefusedError:
            return False
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.directory.cleanup()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def connections_to(port):
    """From /proc: the near ends of those that are established."""
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return {row[1] for row in rows if row[2].endswith(f":{port:04X}") and row[3] == "01"}


@unittest.skipUnless(shutil.which("nghttpd"), "nghttpd (of the package nghttp2-server) is not there")
class Http2(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()

    @classmethod
    def tearDownClass(cls):
        cls.authority.close()

    def server(self, target, *flags):
        return Server("--upstream", f"https://127.0.0.1:{target.port}/ok", "--upstream-http2",
                      "--upstream-ca", self.authority.ca, *flags, slow_listen="off")

    def in_flight(self, server, target, n, query=""):
        """Start n calls that find the upstream paused, and wait until all are under way."""
        before = parked_tasks(server)
        answer = server.in_background(f"/fanout?n={n}&delay_ms=0{query}")
        wait_until(lambda: parked_tasks(server) == before + n + 1, f"{n} calls")
        return answer

    def test_makes_a_thousand_calls_at_once_over_few_connections(self):
        with Nghttpd(self.authority) as target, self.server(target) as server:
            for _ in range(3):
                target.pause()
                answer = self.in_flight(server, target, 1000)
                target.resume()
                reply = answer.join().json()
                self.assertEqual(reply["ok"], 1000)
                self.assertEqual(reply["peak_in_flight"], 1000)
                self.assertLessEqual(len(connections_to(target.port)), 20)

    def test_calls_of_a_list_bring_headers_and_keep_those_of_the_reply(self):
        call = {"method": "POST", "headers": {"X-Some": "header"}, "body": {}, "url": "/ok"}
        calls = [{"id": str(i), **call} for i in range(50)]
        with Nghttpd(self.authority) as target, self.server(target) as server:
            answer = server.request("POST", "/fanout", json.dumps({"requests": calls}),
                                    {"Content-Type": "application/json"}).json()
        for response in answer["responses"]:
            self.assertEqual((response["status"], response["body"]), (200, "ok"))
            self.assertIn("last-modified", response["headers"])

    def test_speaks_http_1_without_the_flag(self):
        with Nghttpd(self.authority) as target:
            with Server("--upstream", f"https://127.0.0.1:{target.port}/ok", "--upstream-ca",
                        self.authority.ca, slow_listen="off") as server:
                self.assertEqual(server.get("/fanout?n=3&delay_ms=0").json()["ok"], 0)

    def test_cancelling_calls_leaves_others_on_the_same_connection_alone(self):
        with Nghttpd(self.authority) as target, self.server(target, "--carriers", "1") as server:
            self.assertEqual(server.get("/fanout?n=50&delay_ms=0").json()["ok"], 50)
            connections = connections_to(target.port)
            self.assertEqual(len(connections), 1)
            target.pause()
            others = self.in_flight(server, target, 20)
            with server.connect() as connection:
                connection.sendall(b"GET /fanout?n=30&delay_ms=0 HTTP/1.1\r\nHost: x\r\n\r\n")
                wait_until(lambda: parked_tasks(server) == 52, "51 calls and their requests")
            wait_until(lambda: parked_tasks(server) == 21, "end of the canceled ones")
            late = self.in_flight(server, target, 30, "&timeout_ms=50").join
            self.assertEqual(late().json()["errors"], {"timeout": 30})
            target.resume()
            self.assertEqual(others.join().json()["ok"], 20)
            self.assertEqual(server.get("/fanout?n=50&delay_ms=0").json()["ok"], 50)
            self.assertEqual(connections_to(target.port), connections)

    def test_keeps_no_connection_whose_calls_all_take_too_long(self):
        with Nghttpd(self.authority) as target, self.server(target, "--carriers", "1") as server:
            self.assertEqual(server.get("/fanout?n=50&delay_ms=0").json()["ok"], 50)
            before = connections_to(target.port)
            target.pause()
            reply = server.get("/fanout?n=50&delay_ms=0&timeout_ms=100").json()
            self.assertEqual(reply["errors"], {"timeout": 50})
            self.assertEqual(connections_to(target.port) & before, set())
            target.resume()
            self.assertEqual(server.get("/fanout?n=50&delay_ms=0").json()["ok"], 50)

    def test_recovers_from_an_outage_by_itself(self):
        with Nghttpd(self.authority) as target, self.server(target, "--carriers", "1") as server:
            self.assertEqual(server.get("/fanout?n=50&delay_ms=0").json()["ok"], 50)
            target.pause()
            answer = self.in_flight(server, target, 50)
            target.kill()
            errors = answer.join().json()["errors"]
            self.assertEqual(sum(errors.values()), 50)
            # libcurl tries again, with a server that is just closing its listener.
            self.assertLessEqual(set(errors), {"reset", "connect", "tls"})
            reply = server.get("/fanout?n=50&delay_ms=0").json()
            self.assertEqual(reply["errors"], {"connect": 50})
            with Nghttpd(self.authority, target.port):
                self.assertEqual(server.get("/fanout?n=50&delay_ms=0").json()["ok"], 50)


class Fallback(unittest.TestCase):
    def test_speaks_http_1_with_a_server_that_knows_no_other(self):
        authority = Authority()
        self.addCleanup(authority.close)
        with TlsServer(*authority.signed("old")) as target:
            with Server("--upstream", f"https://127.0.0.1:{target.port}/", "--upstream-http2",
                        "--upstream-ca", authority.ca, slow_listen="off") as server:
                for _ in range(2):
                    reply = server.get("/fanout?n=100&delay_ms=500").json()
                    self.assertEqual(reply["ok"], 100)
                    self.assertEqual(reply["statuses"], {"200": 100})
                # Not one after the other, which would take 50 s.
                self.assertLess(reply["call_ms"]["max"], 5000 * fanoutd.PATIENCE)


def parked_tasks(server):
    return server.metrics()['fanoutd_tasks{executor="coroutine",state="parked"}']


if __name__ == "__main__":
    fanoutd.main()
