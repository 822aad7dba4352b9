"""What service managers, container runtimes and load balancers rely on."""

import os
import signal
import socket
import subprocess
import threading
import time
import unittest

import fanoutd
from fanoutd import PATIENCE, PROGRAM, Server, read_all, run_to_end, wait_until


class Healthcheck(unittest.TestCase):
    def check(self, *flags, code, says=None, env=None):
        result = run_to_end("--healthcheck", *flags, env=env)
        self.assertEqual(result.returncode, code, result.stderr)
        if says:
            self.assertIn(says, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_asks_the_server_that_has_the_same_settings(self):
        with Server() as server:
            env = {"FANOUTD_LISTEN": f"0.0.0.0:{server.port}"}
            self.check(code=0, env=env)
            self.check("--listen", f"localhost:{server.port}", code=0)

    def test_asks_a_url(self):
        with Server("--admin-listen", "127.0.0.1:0") as server:
            for port in (server.port, server.admin_port()):
                self.check(f"http://127.0.0.1:{port}/livez", code=0)
                self.check(f"http://localhost:{port}/readyz", code=0)
            self.check(f"http://127.0.0.1:{server.port}/nothing", code=1, says="the answer is 404")
            self.check(f"http://127.0.0.1:{server.port}", code=1, says="404")

    def test_says_that_a_server_is_draining(self):
        with Server("--drain-delay-ms", str(1000 * PATIENCE)) as server:
            server.process.send_signal(signal.SIGTERM)
            url = f"http://127.0.0.1:{server.port}/readyz"
            wait_until(lambda: run_to_end("--healthcheck", url).returncode == 1, "503")
            self.check(url, code=1, says="the answer is 503")
            self.assertEqual(server.process.wait(10 * PATIENCE), 0)

    def test_fails_where_nobody_answers_and_gives_up_where_nobody_does_in_time(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/readyz"
            start = time.monotonic()
            self.check(url, code=1, says="timed out")
            self.assertLess(time.monotonic() - start, 8 * PATIENCE)
        self.check(url, code=1, says="refused")

    def test_refuses_what_it_cannot_ask(self):
        self.check("https://127.0.0.1/", code=1, says="http://")
        self.check("localhost", code=2, says="--healthcheck")
        self.check("--listen", "127.0.0.1:0", code=1, says="which URL")


class GivenSockets(unittest.TestCase):
    def start(self, sockets, *flags, names=None):
        """fanoutd with sockets from descriptor 3 on; None is /dev/null."""
        script = "exec env LISTEN_PID=$$"
        if names is not None:
            script += f" LISTEN_FDNAMES={names}"
        script += f' LISTEN_FDS={len(sockets)} "$0" "$@"'
        copies = [os.dup(one.fileno()) if one else os.open(os.devnull, os.O_RDONLY) for one in sockets]
        for i, copy in enumerate(copies):
            script += f" {3 + i}<&{copy}"
        try:
            return subprocess.Popen(
                ["bash", "-c", script, PROGRAM, "--slow-listen", "127.0.0.1:0", *flags],
                pass_fds=copies, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        finally:
            for copy in copies:
                os.close(copy)

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=20 * PATIENCE)
        self.assertEqual(process.returncode, 0, log)

    def ask(self, listener, path):
        with socket.create_connection(listener.getsockname(), 20 * PATIENCE) as connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            return read_all(connection)

    def test_take_the_place_of_the_addresses(self):
        with socket.create_server(("127.0.0.1", 0)) as main, socket.create_server(("127.0.0.1", 0)) as admin:
            # Which also shows that what comes before the start waits.
            early = socket.create_connection(main.getsockname())
            early.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
            process = self.start([admin, main], names="admin-listen:listen")
            self.assertIn(b"alive", read_all(early))
            early.close()
            port = main.getsockname()[1]
            self.assertEqual(process.stdout.readline(), f"listening http://127.0.0.1:{port} (fan-out)\n")
            self.assertIn(b'"ok":2', self.ask(main, "/fanout?n=2&delay_ms=1"))
            self.assertIn(b" 404 ", self.ask(main, "/metrics"))
            self.assertIn(b"fanoutd_carriers", self.ask(admin, "/metrics"))
            self.assertIn(b"ready", self.ask(admin, "/readyz"))
            self.stop(process)

    def test_stay_open_for_the_next_server(self):
        with socket.create_server(("127.0.0.1", 0)) as main:
            process = self.start([main], names="fanoutd.socket")
            self.assertIn(b"alive", self.ask(main, "/livez"))
            self.stop(process)
            early = socket.create_connection(main.getsockname())
            early.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
            process = self.start([main])
            self.assertIn(b"alive", read_all(early))
            early.close()
            self.stop(process)

    def test_are_refused_if_they_make_no_sense(self):
        with socket.create_server(("127.0.0.1", 0)) as main, socket.socket() as idle:
            for sockets, names in (([main, main], "listen:bogus"), ([main, main], "listen:listen"),
                                   ([main, main], None), ([None], None), ([idle], "listen")):
                process = self.start(sockets, names=names)
                _, log = process.communicate(timeout=20 * PATIENCE)
                self.assertEqual(process.returncode, 1)
                self.assertRegex(log, r"^fanoutd: LISTEN_FDS: .*\n$")

    def test_of_another_process_are_left_alone(self):
        with Server(env={"LISTEN_PID": "1", "LISTEN_FDS": "1"}) as server:
            self.assertEqual(server.get("/livez").status, 200)


class NewConnections(unittest.TestCase):
    """200 a second, from before SIGTERM until the listener is closed."""

    def test_are_all_answered_through_the_whole_drain_delay(self):
        delay_s = 1
        with Server("--drain-delay-ms", str(delay_s * 1000)) as server:
            outcomes, lock = [], threading.Lock()
            threads, refused = [], threading.Event()

            def connect():
                began = time.monotonic()
                outcome = self.outcome_of_one(server)
                with lock:
                    outcomes.append((began, outcome))
                if outcome == "refused":
                    refused.set()

            start = signalled = time.monotonic()
            for i in range(1000):
                if refused.wait(max(0, start + i / 200 - time.monotonic())):
                    break
                if i == 40:
                    signalled = time.monotonic()
                    server.process.send_signal(signal.SIGTERM)
                threads.append(threading.Thread(target=connect))
                threads[-1].start()
            for thread in threads:
                thread.join()
            during = [outcome for began, outcome in outcomes if began < signalled + delay_s]
            self.assertGreater(len(during), 40 + 100 * delay_s / PATIENCE)
            self.assertEqual(set(during), {"answered"})
            # After it none is lost either: it is answered, or refused from the start.
            self.assertLessEqual({outcome for _, outcome in outcomes}, {"answered", "refused"})
            self.assertTrue(refused.is_set())
            self.assertEqual(server.process.wait(10 * PATIENCE), 0)

    def outcome_of_one(self, server):
        try:
            connection = server.connect()
        except ConnectionRefusedError:
            return "refused"
        with connection:
            try:
                connection.sendall(b"GET /fanout?n=1&delay_ms=5 HTTP/1.1\r\nHost: x\r\n\r\n")
                reply = connection.recv(65536)
            except ConnectionError:
                return "reset"
            return "answered" if reply.startswith(b"HTTP/1.1 200 ") else repr(reply)

    def test_are_never_reset_as_the_listener_closes(self):
        """Connecting as fast as can be: some come between the last accept and the close."""
        with Server() as server:
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: refuses(server), "refusal")

    def test_that_have_not_said_anything_may_still_do_so(self):
        with Server() as server, server.connect() as connection:
            server.get("/livez")
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: refuses(server), "refusal")
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertIn(b" 200 ", read_all(connection))


def refuses(server):
    try:
        server.connect().close()
    except ConnectionRefusedError:
        return True
    return False


if __name__ == "__main__":
    fanoutd.main()
