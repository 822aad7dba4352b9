"""Starts and talks to the real fanoutd. Every wait has an end, and what was started is stopped."""

import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

PROGRAM = os.environ["FANOUTD"]
EXECUTOR = os.environ.get("EXECUTOR", "coroutine")
# How much slower than a plain build this one may be (sanitizers).
PATIENCE = int(os.environ.get("PATIENCE", "1"))
STARTS_WITHIN_S = 10 * PATIENCE


class Reply:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)


class Server:
    """A running fanoutd, on free ports."""

    def __init__(
        self,
        *flags,
        env=None,
        executor=EXECUTOR,
        max_fds=None,
        host="127.0.0.1",
        slow_listen="127.0.0.1:0",
        stderr=None,
        through=(),
    ):
        """@through is a command that runs what it is given, in the same process."""
        self.host = host
        listen = f"[{host}]:0" if ":" in host else f"{host}:0"
        command = [*through, PROGRAM, "--listen", listen, "--executor", executor]
        if slow_listen:
            command += ["--slow-listen", slow_listen]
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command + list(flags),
            env={**os.environ, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=self.log if stderr is None else stderr,
            preexec_fn=limit_fds(max_fds),
            text=True,
        )
        try:
            self.port = self._read_port("fan-out")
            self.slow_port = self._read_port("slow endpoint") if slow_listen != "off" else None
        except BaseException:
            if not self.log.closed:
                self.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(20 * PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        text = self.log_text()
        self._close()
        if kind is None and status != 0:
            raise AssertionError(f"exit status {status}\n{text}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._close()

    def _close(self):
        self.process.stdout.close()
        self.log.close()

    def log_text(self):
        self.log.seek(0)
        return self.log.read()

    def admin_port(self):
        """Logged a moment after the lines on stdout."""
        line = re.compile(r"event=admin_listening .*port=(\d+)")
        wait_until(lambda: line.search(self.log_text()), "the admin listener")
        return int(line.search(self.log_text())[1])

    def _read_port(self, what):
        watchdog = threading.Timer(STARTS_WITHIN_S, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline()
        watchdog.cancel()
        match = re.fullmatch(rf"listening http://(?:[\d.]+|\[::1\]):(\d+) \({what}\)\n", line)
        if not match:
            raise AssertionError(f"expected a {what} line, got {line!r}\n{self.log_text()}")
        return int(match[1])

    def request(self, method, path, body=None, headers=None, port=None, timeout=60):
        connection = http.client.HTTPConnection(
            "127.0.0.1" if port else self.host, port or self.port, timeout=timeout
        )
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path, **how):
        return self.request("GET", path, **how)

    def slow_stats(self):
        return self.get("/stats", port=self.slow_port).json()

    def connect(self, timeout=30):
        return socket.create_connection((self.host, self.port), timeout=timeout)

    def raw(self, request, timeout=30):
        """Send bytes, and read until the server closes the connection."""
        with self.connect(timeout) as connection:
            connection.sendall(request)
            return read_all(connection)

    def in_background(self, path):
        return Background(self, path)

    def metrics(self):
        return parse_metrics(self.get("/metrics").body.decode())

    def wait_for_in_flight(self, count):
        wait_until(lambda: self.slow_stats()["in_flight"] == count, f"{count} calls in flight")


class Background(threading.Thread):
    """A GET on a thread of its own; join() returns the reply or raises what went wrong."""

    def __init__(self, server, path):
        super().__init__()
        self.server = server
        self.path = path
        self.reply = None
        self.error = None
        self.start()

    def run(self):
        try:
            self.reply = self.server.get(self.path)
        except (OSError, http.client.HTTPException) as error:
            self.error = error

    def join(self, timeout=60):
        super().join(timeout)
        if self.is_alive():
            raise AssertionError(f"no answer to {self.path}")
        if self.error:
            raise self.error
        return self.reply


def limit_fds(count):
    if count is None:
        return None
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def read_all(connection):
    received = b""
    while True:
        try:
            chunk = connection.recv(65536)
        except ConnectionResetError:
            return received
        if not chunk:
            return received
        received += chunk


def wait_until(condition, what, within_s=10):
    """Poll: what is waited for happens in another process."""
    end = time.monotonic() + within_s * PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"still no {what}")
        time.sleep(0.005)


def run_to_end(*flags, env=None):
    """Run fanoutd with flags that make it end by itself."""
    return subprocess.run(
        [PROGRAM, *flags],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=STARTS_WITHIN_S,
    )


SAMPLE = re.compile(
    r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*",?)*\})? (\S+)'
)


def parse_metrics(text):
    """Strictly: {name{labels}: value}. A sample needs its family's HELP and TYPE before it."""
    samples = {}
    families = {}
    current = None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split(" ")[2]
            assert current not in families, f"{current} comes twice"
            families[current] = None
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current and kind in ("counter", "gauge", "histogram"), line
            families[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            name = match[1]
            if families[current] == "histogram":
                name = re.sub("_(bucket|sum|count)$", "", name)
            assert name == current, f"{line} among {current}"
            key = match[1] + (match[2] or "")
            assert key not in samples, f"{key} comes twice"
            samples[key] = float(match[3])
    assert text.endswith("\n")
    return samples


def main():
    unittest.main(verbosity=2)
