"""./dev bench e1: the fan-out of one-second calls, on every executor, with a short and a long listen backlog.

Each run starts a slow endpoint and a fanoutd and asks twice: cold, when every connection is still to be
opened, and warm. Rounds go over all variants, so that a slow minute of the machine hits all of them.
"""

import argparse
import datetime
import os
import statistics
import time

from report import commit, listen_counters, machine, save, spread
from servers import Failure, Progress, measure_fanout, run, start_fanoutd, start_slow_endpoint, table

DELAY_MS = 1000
LATE_MS = DELAY_MS + 900  # a lost SYN or ACK is sent again after 1 s: such a call is later than this

EXECUTORS = {
    "coroutine": ["--executor", "coroutine"],
    "pool of 100": ["--executor", "pool", "--pool-threads", "100"],
    "pool of 1,000": ["--executor", "pool", "--pool-threads", "1000"],
    "thread": ["--executor", "thread"],
}
CALLS = [200, 1000]
BACKLOGS = [50, 4096]

# By executor, calls and backlog.
PUBLISHED = {
    ("coroutine", 200, 4096): "1.1–1.4 s",
    ("coroutine", 1000, 4096): "2,183 ms",
    ("coroutine", 1000, 50): "1 in 10 failed",
    ("pool of 100", 1000, 4096): "10.6 s",
}

READING = """\
Published: Java 25 on 8 cores, virtual threads and a fixed pool of 100, backlogs of 1,000 and 50. The floor is
1,000 ms, and 10,000 ms for 1,000 calls on a pool of 100.

Medians, with the smallest and largest in brackets. *Failed* and *late* (by over 900 ms) are calls of the cold
requests of all runs; *overflows* and *drops* are what ListenOverflows and ListenDrops of the whole machine
grew by in them. *Saw* is the most calls that the slow endpoint had at once. CPU, threads and RSS are of fanoutd
alone: the slow endpoint is a process of its own."""


class Variant:
    def __init__(self, executor, calls, backlog):
        self.executor = executor
        self.calls = calls
        self.backlog = backlog
        self.samples = []  # of cold and warm requests: {"cold": …, "warm": …}
        rounds = calls / 100 if executor == "pool of 100" else 1
        self.expected_seconds = 2 * max(1, rounds) + 0.7

    def __str__(self):
        return f"{self.executor} n={self.calls} backlog={self.backlog}"

    def measure(self, build, on_tick):
        query = f"n={self.calls}&delay_ms={DELAY_MS}&detail=1"
        with start_slow_endpoint(build, self.backlog) as slow_endpoint, \
                start_fanoutd(build, slow_endpoint, EXECUTORS[self.executor]) as server:
            sample = {}
            for kind in ("cold", "warm"):
                before = listen_counters()
                request = measure_fanout(server, slow_endpoint, query, on_tick)
                after = listen_counters()
                request["late"] = count_late(request["answer"].pop("calls"))
                for name, value in after.items():
                    request[name] = value - before[name]
                sample[kind] = request
        self.samples.append(sample)

    def figures(self, kind, key):
        return [sample[kind][key] for sample in self.samples]

    def answers(self, kind, key):
        return [sample[kind]["answer"][key] for sample in self.samples]

    def row(self):
        made = self.calls * len(self.samples)
        cpu_per_call = [cpu * 1000 / self.calls for cpu in self.figures("cold", "cpu_ms")]
        warm_cpu_per_call = [cpu * 1000 / self.calls for cpu in self.figures("warm", "cpu_ms")]
        return [
            self.executor, f"{self.calls:,}", f"{self.backlog:,}",
            spread(self.figures("cold", "wall_ms")), spread(self.figures("warm", "wall_ms")),
            f"{sum(self.answers('cold', 'failed')):,} of {made:,}", f"{sum(self.figures('cold', 'late')):,}",
            f"{sum(self.figures('cold', 'ListenOverflows')):,}", f"{sum(self.figures('cold', 'ListenDrops')):,}",
            spread(self.figures("cold", "saw_at_once")), spread(cpu_per_call), spread(warm_cpu_per_call),
            spread(self.figures("warm", "threads")),
            f"{statistics.median(self.figures('warm', 'rss_kib')) / 1024:.0f}",
            PUBLISHED.get((self.executor, self.calls, self.backlog), ""),
        ]


HEADING = ["executor", "n", "backlog", "cold ms", "warm ms", "failed", "late", "overflows", "drops", "saw",
           "cold CPU µs/call", "warm CPU µs/call", "threads", "RSS MiB", "published"]


def count_late(calls):
    return sum((call.get("ms") or 0) > LATE_MS for call in calls)


def report(setting, variants):
    where = setting["machine"]
    return "\n\n".join([
        "# E1: one request makes n calls of one second each",
        f"{setting['date']}, fanoutd at {setting['commit']}, {setting['runs']} runs of each row, {where['cpu']}, "
        f"{where['cores']} cores, Linux {where['kernel']}, net.core.somaxconn {where['somaxconn']}.",
        table([HEADING] + [variant.row() for variant in variants]),
        READING]) + "\n"


def time_left(variants, runs):
    left = sum((runs - len(variant.samples)) * variant.expected_seconds for variant in variants)
    return f"{left // 60:.0f} min {left % 60:02.0f} s left"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench e1")
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="of each variant; default 5")
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="variants whose name has TEXT in it, such as 'coroutine n=1000 backlog=50'")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("--runs must be at least 1")
    return arguments


def main():
    arguments = parse_arguments()
    every = [Variant(executor, calls, backlog)
             for calls in CALLS for backlog in BACKLOGS for executor in EXECUTORS]
    variants = [variant for variant in every if arguments.only in str(variant)]
    if not variants:
        raise Failure(f"no variant has '{arguments.only}' in its name; they are: " + ", ".join(map(str, every)))

    progress = Progress()
    start = time.monotonic()
    for number in range(1, arguments.runs + 1):
        for variant in variants:
            line = f"run {number} of {arguments.runs}, {variant}, {time_left(variants, arguments.runs)}"
            variant.measure(arguments.build, lambda elapsed: progress.show(f"{line}, {elapsed:.1f} s"))
    progress.clear()

    setting = {"date": datetime.date.today().isoformat(), "commit": commit(), "runs": arguments.runs,
               "delay_ms": DELAY_MS, "late_ms": LATE_MS, "machine": machine()}
    text = report(setting, variants)
    folder = save(os.path.join("loadtests", "results"), "e1", setting,
                  {"variants": [vars(variant) for variant in variants]}, text)
    print(text)
    print(f"{time.monotonic() - start:.0f} s; saved in {folder}/e1.md and e1.json")


if __name__ == "__main__":
    run(main)
