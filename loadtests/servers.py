"""Starting, asking, watching and stopping the programs that a load test measures."""

import contextlib
import http.client
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

START_SECONDS = 10
STOP_SECONDS = 10
SAMPLE_SECONDS = 0.02


class Failure(Exception):
    """A run that cannot go on; its text is one line for the user."""


class Server:
    """A program that prints `listening http://HOST:PORT (WHAT)` once it can be called."""

    def __init__(self, arguments, what):
        self.name = os.path.basename(arguments[0])
        self.log = tempfile.TemporaryFile("w+")
        try:
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True)
        except OSError as error:
            raise Failure(f"cannot start {arguments[0]}: {error.strerror}") from error
        self.lines = queue.Queue()
        threading.Thread(target=self._read_output, daemon=True).start()
        try:
            self.url = self._wait_until_listening(what)
        except BaseException:
            self.stop()
            raise

    def _read_output(self):
        with self.process.stdout as lines:
            for line in lines:
                self.lines.put(line)
        self.lines.put(None)

    def _wait_until_listening(self, what):
        deadline = time.monotonic() + START_SECONDS
        wanted = re.compile(r"listening (http://\S+) \(" + re.escape(what) + r"\)")
        while True:
            try:
                line = self.lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise Failure(f"{self.name} was not ready after {START_SECONDS} s") from None
            if line is None:
                self.process.wait()
                raise Failure(f"{self.name} did not start: {self._last_words()}")
            found = wanted.match(line)
            if found:
                return found[1]

    def _last_words(self):
        self.log.seek(0)
        words = self.log.read().strip().splitlines()
        return words[-1] if words else f"exit code {self.process.returncode}"

    def get(self, path, method="GET", seconds=60):
        """The status and the JSON that `path` answers with."""
        address = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=seconds)
        try:
            connection.request(method, path)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read() or b"null")
        except (OSError, http.client.HTTPException, ValueError) as error:
            died = self.process.poll()
            if died is not None:
                raise Failure(f"{self.name} ended with {died}: {self._last_words()}") from error
            raise Failure(f"{self.name} did not answer {path}: {error!r}") from error
        finally:
            connection.close()

    def cpu_seconds(self):
        """CPU time of the process so far, ended threads included."""
        # The clock that clock_getcpuclockid(3) computes from a pid.
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def status(self, field):
        """A number from /proc/PID/status, such as Threads, or VmHWM in KiB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            for line in status:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
        raise Failure(f"{self.name} has ended")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop()


def start_slow_endpoint(build, backlog=4096):
    program = os.path.join(build, "server", "slow-endpoint")
    return Server([program, "--listen", "127.0.0.1:0", "--backlog", str(backlog)], "slow endpoint")


def start_fanoutd(build, upstream, flags):
    """fanoutd alone, without a slow endpoint of its own, calling the one at `upstream`."""
    program = os.path.join(build, "server", "fanoutd")
    return Server([program, "--listen", "127.0.0.1:0", "--slow-listen", "off",
                   "--upstream", upstream.url + "/slow", *flags], "fan-out")


class Peak:
    """The largest that a number in /proc/PID/status was while the block ran; calls on_tick(seconds) meanwhile."""

    def __init__(self, server, field, on_tick=None):
        self.server = server
        self.field = field
        self.on_tick = on_tick
        self.peak = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._sample)

    def _sample(self):
        start = time.monotonic()
        while True:
            with contextlib.suppress(OSError, Failure):
                self.peak = max(self.peak, self.server.status(self.field))
            if self.on_tick:
                self.on_tick(time.monotonic() - start)
            if self.ended.wait(SAMPLE_SECONDS):
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exception):
        self.ended.set()
        self.thread.join()


class Asker:
    """GET requests to one server, one after another over one connection, so that they take little time here."""

    def __init__(self, server):
        self.server = server
        address = urllib.parse.urlsplit(server.url)
        self.connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)

    def get(self, path):
        """What `path` answered, and after how many seconds. Anything but 200 is a Failure."""
        start = time.monotonic()
        try:
            self.connection.request("GET", path)
            reply = self.connection.getresponse()
            body = reply.read()
        except (OSError, http.client.HTTPException) as error:
            raise Failure(f"{self.server.name} did not answer {path}: {error!r}") from error
        elapsed = time.monotonic() - start
        if reply.status != 200:
            raise Failure(f"{self.server.name} answered {path} with {reply.status}: {body.decode(errors='replace')}")
        return json.loads(body), elapsed

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.connection.close()


def measure_fanout(server, slow_endpoint, query, on_tick=None):
    """One GET /fanout: what it answered, and what it took."""
    slow_endpoint.get("/stats/reset", method="POST")
    cpu_before = server.cpu_seconds()
    with Peak(server, "Threads", on_tick) as threads:
        start = time.monotonic()
        status, answer = server.get("/fanout?" + query)
        wall = time.monotonic() - start
    if status != 200:
        raise Failure(f"/fanout?{query} answered {status}: {answer.get('detail')}")
    cpu = server.cpu_seconds() - cpu_before
    _, seen = slow_endpoint.get("/stats")
    return {
        "wall_ms": wall * 1000,
        "cpu_ms": cpu * 1000,
        "threads": threads.peak,
        "rss_kib": server.status("VmHWM"),
        "saw_at_once": seen["peak_in_flight"],
        "answer": answer,
    }


class Progress:
    """A line that is written over again and again, on a terminal only."""

    def __init__(self, stream=sys.stderr):
        self.stream = stream if stream.isatty() else None

    def show(self, text):
        if self.stream:
            self.stream.write("\r\x1b[K" + text)
            self.stream.flush()

    def clear(self):
        self.show("")


def table(rows):
    """Rows of strings, the first of them the heading, as a Markdown table with aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))) + " |"
             for row in rows]
    rule = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
    lines.insert(1, "| " + " | ".join(rule) + " |")
    return "\n".join(lines)


def run(main):
    """Call main(); a failure becomes one line and exit code 1, a signal stops all servers."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda caught, _: sys.exit(128 + caught))
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    try:
        main()
    except Failure as failure:
        Progress().clear()
        sys.exit(f"{name}: {failure}")
    except KeyboardInterrupt:
        Progress().clear()
        sys.exit(f"{name}: interrupted")
