"""What ./dev bench calls compares: servers that answer GET /fanout?n=N&delay_ms=MS, each with calls of its own kind."""

import os
import shutil
import subprocess

from servers import Server, start_fanoutd


class Floor:
    """Bare system calls: what all others are compared with."""

    name = "floor"
    call_us = 20  # about what a cold call takes, endpoint included: for the estimate alone

    def prepare(self, build):
        self.program = os.path.join(build, "loadtests", "floor")
        return None

    def start(self, slow_endpoint):
        upstream = slow_endpoint.url.removeprefix("http://")
        return Server([self.program, "--listen", "127.0.0.1:0", upstream], "floor")


class Fanoutd:
    """fanoutd on coroutines, with one of its clients."""

    def __init__(self, client, call_us):
        self.name = client
        self.call_us = call_us

    def prepare(self, build):
        check = subprocess.run(
            [os.path.join(build, "server", "fanoutd"), "--client", self.name, "--check-config"],
            capture_output=True, text=True)
        if check.returncode != 0:
            return f"this build of fanoutd has no --client {self.name}"
        return None

    def start(self, slow_endpoint):
        return start_fanoutd(self.build, slow_endpoint, ["--executor", "coroutine", "--client", self.name])


class Go:
    """Go's net/http, a goroutine for each call."""

    name = "go"
    call_us = 60
    source = os.path.join(os.path.dirname(__file__), "peers", "go_fanout", "main.go")

    def prepare(self, build):
        if not shutil.which("go"):
            return "go is not installed (Debian: golang-go)"
        self.program = os.path.join(build, "loadtests", "go-fanout")
        # Its standard library alone: no module, no network.
        made = subprocess.run(["go", "build", "-o", self.program, self.source], capture_output=True, text=True,
                              env={**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOPROXY": "off"})
        if made.returncode != 0:
            return "go build failed: " + (made.stderr.strip().splitlines() or ["no reason given"])[-1]
        return None

    def start(self, slow_endpoint):
        return Server([self.program, "-listen", "127.0.0.1:0", "-upstream", slow_endpoint.url + "/slow"], "go")


def prepare(build):
    """Those that can run, and why the others cannot: {name: reason}."""
    able, skipped = [], {}
    for contestant in (Floor(), Fanoutd("http1", 30), Fanoutd("curl", 150), Go()):
        contestant.build = build
        reason = contestant.prepare(build)
        if reason:
            skipped[contestant.name] = reason
        else:
            able.append(contestant)
    return able, skipped
