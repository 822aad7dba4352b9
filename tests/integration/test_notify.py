"""What a service manager is told while fanoutd starts, reloads, runs and stops."""

import http.client
import select
import signal
import socket
import tempfile
import time
import unittest

import fanoutd
from fanoutd import PATIENCE, Server, wait_until


class Manager:
    """The socket that a service manager waits on for news."""

    def __init__(self, abstract=False):
        self.directory = tempfile.TemporaryDirectory()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = f"{self.directory.name}/notify"
        self.name = "@" + path if abstract else path
        self.socket.bind("\0" + path if abstract else path)
        self.socket.settimeout(20 * PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.directory.cleanup()

    def next(self):
        return self.socket.recv(4096).decode()

    def is_silent_for(self, seconds):
        return not select.select([self.socket], [], [], seconds)[0]


class Notifications(unittest.TestCase):
    def test_tell_of_start_reload_and_stop(self):
        for abstract in (False, True):
            with Manager(abstract) as manager, tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write("{}")
                file.flush()
                with Server("--config", file.name, env={"NOTIFY_SOCKET": manager.name}) as server:
                    self.assertEqual(manager.next(), "READY=1")
                    before_us = time.monotonic_ns() // 1000
                    server.process.send_signal(signal.SIGHUP)
                    first, _, moment = manager.next().partition("\n")
                    self.assertEqual(first, "RELOADING=1")
                    self.assertRegex(moment, r"^MONOTONIC_USEC=\d+$")
                    self.assertGreaterEqual(int(moment.split("=")[1]), before_us)
                    self.assertEqual(manager.next(), "READY=1")
                    server.process.send_signal(signal.SIGTERM)
                    self.assertEqual(manager.next(), "STOPPING=1")

    def test_start_without_a_manager_that_listens(self):
        for name in ("/nonexistent/socket", "relative", "/" + "x" * 200):
            with Server(env={"NOTIFY_SOCKET": name}) as server:
                self.assertEqual(server.get("/livez").status, 200)

    def test_come_for_the_watchdog_while_all_goes_on(self):
        with Manager() as manager:
            env = {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "4000000"}
            with Server(env=env):
                self.assertEqual(manager.next(), "READY=1")
                for _ in range(2):
                    self.assertEqual(manager.next(), "WATCHDOG=1")

    def test_are_not_sent_for_the_watchdog_of_another_process(self):
        with Manager() as manager:
            env = {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}
            with Server(env=env):
                self.assertEqual(manager.next(), "READY=1")
                self.assertTrue(manager.is_silent_for(2.2))

    @unittest.skipUnless(fanoutd.EXECUTOR == "coroutine", "others have no carriers")
    def test_do_not_come_while_no_carrier_gets_on(self):
        """Without spare drivers a task that computes keeps the only carrier."""
        with Manager() as manager:
            env = {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "1000000"}
            flags = ["--experiments", "--carriers", "1", "--spare-drivers", "0"]
            server = Server(*flags, env=env)
            try:
                self.assertEqual(manager.next(), "READY=1")
                answer = server.in_background("/cpu?n=1&iterations=100000000000")
                wait_until(lambda: is_busy(server), "task")
                while not manager.is_silent_for(2.2):
                    self.assertEqual(manager.next(), "WATCHDOG=1")
                    self.assertTrue(answer.is_alive())
                self.assertEqual(server.get("/livez").status, 200)
                self.assertTrue(answer.is_alive())
            finally:
                server.kill()
            with self.assertRaises((OSError, http.client.HTTPException)):
                answer.join()


def is_busy(server):
    metrics = server.metrics()
    return metrics[f'fanoutd_tasks{{executor="{fanoutd.EXECUTOR}",state="running"}}'] > 0


if __name__ == "__main__":
    fanoutd.main()
