"""./dev bench quota: executors under a CPU quota: the fan-out of one-second calls, and calls that compute.

Each cell starts a slow endpoint, outside of the quota, and a fanoutd within it (in-quota). Rounds go over all
cells, so that a slow minute of the machine hits all of them.
"""

import argparse
import concurrent.futures
import datetime
import math
import os
import time

from report import commit, machine, save, spread
from servers import Asker, Failure, Progress, Server, run, start_slow_endpoint, table

IN_QUOTA = os.path.join(os.path.dirname(__file__), "in-quota")
CPUS = [0.5, 1, 1.5, 2]
EXECUTORS = {"coroutine": None, "pool of 8": 8, "pool of 64": 64, "pool of 200": 200, "pool of 1,000": 1000}
QUICK_CPUS = [0.5, 1]

START_SECONDS = 1

READING = """\
Medians, with the smallest and largest in brackets. *Fan-out*: one request whose calls take a second each; *n* is
chosen so that a pool takes some 5 s; *p99* is of its calls. *Mixed*: clients that ask without a pause, each request
for calls of 100 ms that burn 1 ms of CPU each after their reply; *p99* is of the requests, so that it says what is
waited for, too. *Throttled* is for how long, all CPUs together, the kernel held the process back, *periods* in how
many of the quota's periods of 100 ms. *Of the quota* is the CPU time that was used; the slow endpoint and the
clients are outside."""


def percentile(values, percent):
    """Nearest rank."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


class FanOut:
    """One request, many calls that wait."""

    name = "Fan-out"
    delay_s = 1
    rounds = 5  # of a pool

    def __init__(self, quick):
        self.calls = 200 if quick else 1000
        if quick:
            self.rounds = 2

    def n(self, threads):
        return self.calls if threads is None else min(self.calls, self.rounds * threads)

    def expected_seconds(self, threads, _cpus):
        return 2 * self.delay_s * (1 if threads is None else math.ceil(self.n(threads) / threads))

    def measure(self, server, n):
        with Asker(server) as asker:
            answer, seconds = asker.get(f"/fanout?n={n}&delay_ms={self.delay_s * 1000}")
        return {"calls": n, "failed": answer["failed"], "seconds": seconds,
                "p99_ms": answer["call_ms"]["p99"] if answer["call_ms"] else None}


class Mixed:
    """Many requests, whose calls wait and then compute."""

    name = "Mixed"
    clients = 8
    calls = 25
    delay_ms = 100
    cpu_us = 1000

    def __init__(self, quick):
        self.seconds = 1 if quick else 4

    def n(self, _threads):
        return self.calls

    def expected_seconds(self, threads, cpus):
        at_once = self.clients * self.calls
        waited = self.delay_ms / 1000 * (1 if threads is None else math.ceil(at_once / threads))
        computed = at_once * self.cpu_us / 1e6 / cpus
        return self.seconds + max(waited, computed)

    def measure(self, server, n):
        start = time.monotonic()

        def ask():
            asked = []
            with Asker(server) as asker:
                while time.monotonic() - start < self.seconds:
                    asked.append(asker.get(f"/fanout?n={n}&delay_ms={self.delay_ms}&cpu_us={self.cpu_us}"))
            return asked

        with concurrent.futures.ThreadPoolExecutor(self.clients) as pool:
            asking = [pool.submit(ask) for _ in range(self.clients)]
            answered = [answer for client in asking for answer in client.result()]
        return {"calls": n * len(answered), "failed": sum(answer["failed"] for answer, _ in answered),
                "seconds": time.monotonic() - start,
                "p99_ms": 1000 * percentile([seconds for _, seconds in answered], 99)}


def group_of(pid):
    """The directory of the cgroup that limits the CPU time of `pid`."""
    with open(f"/proc/{pid}/cgroup") as lines:
        groups = {controllers: path for _, controllers, path in (line.rstrip("\n").split(":", 2) for line in lines)}
    version_1 = [path for controllers, path in groups.items() if "cpu" in controllers.split(",")]
    with open("/proc/self/mounts") as lines:
        for _, point, kind, options, *_ in map(str.split, lines):
            if version_1 and kind == "cgroup" and "cpu" in options.split(","):
                return point + version_1[0]
            if not version_1 and kind == "cgroup2":
                return point + groups[""]
    raise Failure("no cgroup hierarchy is mounted")


def throttling(group):
    with open(f"{group}/cpu.stat") as lines:
        stat = {name: int(value) for name, value in map(str.split, lines)}
    ns = stat["throttled_time"] if "throttled_time" in stat else stat["throttled_usec"] * 1000
    return {"periods": stat["nr_periods"], "throttled_periods": stat["nr_throttled"], "throttled_s": ns / 1e9}


class Cell:
    def __init__(self, load, executor, cpus, build):
        self.load = load
        self.executor = executor
        self.threads = EXECUTORS[executor]
        self.cpus = cpus
        self.build = build
        self.n = load.n(self.threads)
        self.samples = []

    def __str__(self):
        return f"{self.load.name.lower()} {self.executor} cpus={self.cpus}"

    def expected_seconds(self):
        return START_SECONDS + self.load.expected_seconds(self.threads, self.cpus)

    def _start(self, upstream):
        flags = ["--executor", "coroutine"]
        if self.threads:
            flags = ["--executor", "pool", "--pool-threads", str(self.threads)]
        return Server([IN_QUOTA, str(self.cpus), os.path.join(self.build, "server", "fanoutd"), "--experiments",
                       "--listen", "127.0.0.1:0", "--slow-listen", "off", "--upstream", upstream.url + "/slow", *flags],
                      "fan-out")

    def measure(self):
        with start_slow_endpoint(self.build) as slow_endpoint, self._start(slow_endpoint) as server:
            group = group_of(server.process.pid)
            with Asker(server) as asker:
                asker.get(f"/fanout?n={self.n}&delay_ms=0")
            before, cpu_before = throttling(group), server.cpu_seconds()
            sample = self.load.measure(server, self.n)
            after = throttling(group)
            sample["cpu_s"] = server.cpu_seconds() - cpu_before
            sample["threads"] = server.status("Threads")
            sample |= {name: after[name] - before[name] for name in after}
        self.samples.append(sample)

    def row(self, cores):
        def figures(name):
            return [sample[name] for sample in self.samples]

        def cell(of, digits=0):
            values = list(map(of, self.samples))
            return "" if None in values else spread(values, digits)

        bound = " (machine-bound)" if self.cpus >= cores else ""
        return [
            self.executor, f"{self.cpus}{bound}", f"{self.n:,}",
            cell(lambda sample: sample["calls"] / sample["seconds"]), cell(lambda sample: sample["p99_ms"]),
            cell(lambda sample: sample["throttled_s"], 2),
            cell(lambda sample: 100 * sample["throttled_periods"] / max(1, sample["periods"])) + " %",
            cell(lambda sample: 100 * sample["cpu_s"] / sample["seconds"] / self.cpus) + " %",
            cell(lambda sample: sample["threads"]),
            f"{sum(figures('failed')):,} of {sum(figures('calls')):,}",
        ]

    def json(self):
        return {"load": self.load.name, "executor": self.executor, "cpus": self.cpus, "n": self.n,
                "samples": self.samples}


HEADING = ["executor", "CPUs", "n", "calls/s", "p99 ms", "throttled s", "periods", "of the quota", "threads", "failed"]


def report(setting, cells):
    where = setting["machine"]
    sections = []
    for name in dict.fromkeys(cell.load.name for cell in cells):
        rows = [cell.row(where["cores"]) for cell in cells if cell.load.name == name]
        sections += [f"## {name}", table([HEADING] + rows)]
    return "\n\n".join([
        "# Executors under a CPU quota",
        f"{setting['date']}, fanoutd at {setting['commit']}, runs of each row: {setting['runs']}, {where['cpu']}, "
        f"{where['cores']} cores, Linux {where['kernel']}.",
        *sections, READING]) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench quota")
    parser.add_argument("build")
    parser.add_argument("--quick", action="store_true",
                        help="two quotas, short, one run: to see that everything runs, not for the figures")
    parser.add_argument("--runs", type=int, metavar="N", help="of each cell; default 3, quick 1")
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="cells whose name has TEXT in it, such as 'mixed pool of 8 cpus=0.5'")
    parser.add_argument("--results", default=os.path.join("loadtests", "results"), metavar="DIR",
                        help="where to keep them; default loadtests/results")
    arguments = parser.parse_args()
    if arguments.runs is None:
        arguments.runs = 1 if arguments.quick else 3
    if arguments.runs < 1:
        parser.error("--runs must be at least 1")
    return arguments


def choose(arguments):
    every = [Cell(load, executor, cpus, arguments.build)
             for load in (FanOut(arguments.quick), Mixed(arguments.quick))
             for cpus in (QUICK_CPUS if arguments.quick else CPUS) for executor in EXECUTORS]
    cells = [cell for cell in every if arguments.only in str(cell)]
    if not cells:
        raise Failure(f"no cell has '{arguments.only}' in its name; they are: " + ", ".join(map(str, every)))
    return cells


def measure_all(cells, runs):
    progress = Progress()
    left = runs * sum(cell.expected_seconds() for cell in cells)
    print(f"{len(cells)} cells, runs of each: {runs}, about {left // 60:.0f} min {left % 60:.0f} s", flush=True)
    for number in range(runs):
        for cell in cells:
            progress.show(f"run {number + 1} of {runs}, {cell}, {left // 60:.0f} min {left % 60:02.0f} s left")
            cell.measure()
            left -= cell.expected_seconds()
    progress.clear()


def main():
    arguments = parse_arguments()
    cells = choose(arguments)
    start = time.monotonic()
    measure_all(cells, arguments.runs)

    setting = {"date": datetime.date.today().isoformat(), "commit": commit(), "runs": arguments.runs,
               "machine": machine()}
    text = report(setting, cells)
    folder = save(arguments.results, "quota", setting, {"cells": [cell.json() for cell in cells]}, text)
    print(text)
    print(f"{time.monotonic() - start:.0f} s; saved in {folder}/quota.md and quota.json")


if __name__ == "__main__":
    run(main)
