"""./dev bench calls: what an HTTP call costs, in fanoutd's clients, with bare system calls, and elsewhere.

Each run starts, for each variant, a slow endpoint and a contestant, and asks it for n calls at once: cold, the
first request of the process; then twice to warm up; then warm. Runs go over all variants, so that a slow minute
of the machine hits all of them, and each run starts with another contestant.
"""

import argparse
import contextlib
import datetime
import math
import os
import resource
import statistics
import time

import calls_bounds
import contestants
from report import commit, listen_counters, machine, save, spread
from servers import Asker, Failure, Peak, Progress, run, start_slow_endpoint, table

CALLS = [100, 1000, 5000, 10000]
DELAYS_MS = [0, 1000]
QUICK_CALLS = [50, 100]
QUICK_DELAYS_MS = [0, 100]

WARM_UPS = 2
WARM_UP_DELAY_MS = 100  # at most: all connections are there after the cold request
WARM_CALLS = 20000  # without a delay a request is short: so many calls, in at least so many requests
WARM_REQUESTS = 3
QUICK_WARM_CALLS = 500

FDS = 20000  # of each process; fewer if the limit is lower
OWN_FDS = 200
BEYOND_FDS = (100000, 100)  # n and delay of the request that has more calls than there are descriptors
START_SECONDS = 0.6

READING = """\
Medians, with the smallest and largest in brackets. *CPU* is of the calling process alone, its whole server
included; *wall* is of one request, as its client sees it. *Floor* is `loadtests/floor`: connect, send, read and
epoll on one thread, every call started before a reply is read, no parsing. *RSS* is the most that the process
had during the request, above what it had before its first. *Opened* is what the slow endpoint saw of new
connections in one request, *failed* all calls of all runs."""


class Variant:
    def __init__(self, contestant, calls, delay_ms, kinds=("cold", "warm"), warm_calls=WARM_CALLS):
        self.contestant = contestant
        self.calls = calls
        self.delay_ms = delay_ms
        self.kinds = kinds
        self.warm_requests = 1 if delay_ms else max(WARM_REQUESTS, warm_calls // calls)
        self.samples = []  # of each run: {"cold": …, "warm": …}

    def __str__(self):
        return f"{self.contestant.name} n={self.calls} delay={self.delay_ms}"

    def expected_seconds(self):
        requests = 1
        delays_ms = self.delay_ms
        if "warm" in self.kinds:
            requests += WARM_UPS + self.warm_requests
            delays_ms += self.delay_ms + WARM_UPS * min(self.delay_ms, WARM_UP_DELAY_MS)
        delays_ms *= math.ceil(self.calls / FDS)
        return START_SECONDS + delays_ms / 1000 + requests * self.calls * self.contestant.call_us / 1e6

    def measure(self):
        with start_slow_endpoint(self.contestant.build) as slow_endpoint, \
                self.contestant.start(slow_endpoint) as server, Asker(server) as asker:
            rss_before_kib = server.status("VmRSS")

            def request(requests=1):
                return self._measure_requests(server, slow_endpoint, asker, rss_before_kib, requests)

            sample = {"cold": request()}
            if "warm" in self.kinds:
                for _ in range(WARM_UPS):
                    self._ask(asker, min(self.delay_ms, WARM_UP_DELAY_MS))
                sample["warm"] = request(self.warm_requests)
        self.samples.append(sample)

    def _ask(self, asker, delay_ms):
        answer, seconds = asker.get(f"/fanout?n={self.calls}&delay_ms={delay_ms}")
        if answer["client"] != self.contestant.name:
            raise Failure(f"{self}: the calls were made by {answer['client']}")
        return answer, seconds

    def _measure_requests(self, server, slow_endpoint, asker, rss_before_kib, requests):
        # No reset in between: the endpoint would count connections again that it knows.
        seen_before = slow_endpoint.get("/stats")[1]
        counters = listen_counters()
        # Watching takes CPU time from what is watched: only where there is time to wait.
        rss = Peak(server, "VmRSS") if self.delay_ms else contextlib.nullcontext()
        cpu_before = server.cpu_seconds()
        with rss:
            answered = [self._ask(asker, self.delay_ms) for _ in range(requests)]
        cpu = server.cpu_seconds() - cpu_before
        seen = slow_endpoint.get("/stats")[1]
        opened = seen["connections"] - seen_before["connections"]
        wall = sum(seconds for _, seconds in answered)
        return {
            "requests": requests,
            "cpu_us_per_call": cpu * 1e6 / (requests * self.calls),
            "wall_ms": wall * 1000 / requests,
            "calls_per_s": requests * self.calls / wall,
            "rss_kib_per_call": (rss.peak - rss_before_kib) / self.calls if self.delay_ms else None,
            "opened": opened / requests,
            "saw_at_once": seen["peak_in_flight"],  # so far
            "failed": sum(answer["failed"] for answer, _ in answered),
            **{name: value - counters[name] for name, value in listen_counters().items()},
        }

    def figures(self, kind, key):
        return [sample[kind][key] for sample in self.samples]

    def figure(self, kind, key, summary=statistics.median):
        values = self.figures(kind, key) if kind in self.kinds else []
        return None if not values or None in values else summary(values)

    def json(self):
        return {"client": self.contestant.name, "n": self.calls, "delay_ms": self.delay_ms, "samples": self.samples}


HEADING = ["client", "n", "CPU µs/call", "× floor", "wall ms", "over floor", "calls/s", "× floor",
           "RSS KiB/call", "opened", "failed"]


def row(variant, kind, floor):
    def beside(key, combine, form):
        base = floor.figure(kind, key) if floor and floor is not variant else None
        return "" if base is None else format(combine(variant.figure(kind, key), base), form)

    rss = variant.figures(kind, "rss_kib_per_call")
    made = sum(variant.figures(kind, "requests")) * variant.calls
    return [
        variant.contestant.name, f"{variant.calls:,}",
        spread(variant.figures(kind, "cpu_us_per_call"), 1),
        beside("cpu_us_per_call", calls_bounds.ratio, ".2f"),
        spread(variant.figures(kind, "wall_ms"), 1), beside("wall_ms", calls_bounds.difference, "+,.1f"),
        spread(variant.figures(kind, "calls_per_s")), beside("calls_per_s", calls_bounds.ratio, ".2f"),
        "" if None in rss else spread(rss, 1), spread(variant.figures(kind, "opened")),
        f"{sum(variant.figures(kind, 'failed')):,} of {made:,}",
    ]


def sections(variants):
    """A heading and a table for each delay, cold and warm."""
    by_name = {str(variant): variant for variant in variants}
    for delay_ms in sorted({variant.delay_ms for variant in variants}):
        for kind in ("cold", "warm"):
            chosen = [variant for variant in variants if variant.delay_ms == delay_ms and kind in variant.kinds]
            if chosen:
                yield f"## Calls of {delay_ms:,} ms, {kind}"
                yield table([HEADING] + [
                    row(variant, kind, by_name.get(f"floor n={variant.calls} delay={delay_ms}"))
                    for variant in chosen])


def overflows(variants):
    count = sum(sample[kind]["ListenOverflows"]
                for variant in variants for sample in variant.samples for kind in sample)
    return (f"Listen queues of the whole machine overflowed {count:,} times meanwhile: each time a connection came a "
            "second late.")


def report(setting, variants, bounds):
    where = setting["machine"]
    return "\n\n".join([
        "# What a call costs",
        f"{setting['date']}, fanoutd at {setting['commit']}, runs of each row: {setting['runs']}, {where['cpu']}, "
        f"{where['cores']} cores, Linux {where['kernel']}, {setting['fds']:,} file descriptors a process.",
        *[f"Without {name}: {reason}." for name, reason in setting["skipped"].items()],
        *sections(variants), READING, overflows(variants),
        "## Bounds", "\n".join(f"- {bound}" for bound in bounds)]) + "\n"


def judge(variants):
    by_size = {(v.contestant.name, v.calls, v.delay_ms): v for v in variants}

    def figure(client, n, delay_ms, kind, key, summary=statistics.median):
        variant = by_size.get((client, n, delay_ms))
        return variant.figure(kind, key, summary) if variant else None

    return calls_bounds.check(figure, {(v.calls, v.delay_ms) for v in variants if "warm" in v.kinds})


def limit_fds():
    """The same limit for all processes, so that what runs into it is seen on every machine."""
    fds = min(FDS, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    if fds < 0:  # RLIM_INFINITY
        fds = FDS
    resource.setrlimit(resource.RLIMIT_NOFILE, (fds, fds))
    return fds


def choose(able, arguments, fds, skipped):
    """The variants to measure; what cannot be is added to `skipped`."""
    sizes = []
    for calls in QUICK_CALLS if arguments.quick else CALLS:
        if calls + OWN_FDS > fds:
            skipped[f"n={calls:,}"] = f"no more than {fds:,} file descriptors"
        else:
            sizes.append(calls)
    warm_calls = QUICK_WARM_CALLS if arguments.quick else WARM_CALLS
    every = [Variant(contestant, calls, delay_ms, warm_calls=warm_calls)
             for delay_ms in (QUICK_DELAYS_MS if arguments.quick else DELAYS_MS)
             for calls in sizes for contestant in able]
    if not arguments.quick:
        every += [Variant(contestant, *BEYOND_FDS, kinds=("cold",))
                  for contestant in able if contestant.name == "http1"]
    variants = [variant for variant in every if arguments.only in str(variant)]
    if not variants:
        raise Failure(f"no variant has '{arguments.only}' in its name; they are: " + ", ".join(map(str, every)))
    return variants


def in_order(variants, number):
    """Run `number` of all variants: within a size, each run starts with another contestant."""
    sizes = list(dict.fromkeys((variant.calls, variant.delay_ms) for variant in variants))
    for calls, delay_ms in sizes:
        of_size = [v for v in variants if (v.calls, v.delay_ms) == (calls, delay_ms)]
        first = number % len(of_size)
        yield from of_size[first:] + of_size[:first]


def measure_all(variants, runs):
    progress = Progress()
    left = runs * sum(variant.expected_seconds() for variant in variants)
    print(f"{len(variants)} variants, runs of each: {runs}, about {left // 60:.0f} min {left % 60:.0f} s", flush=True)
    for number in range(runs):
        for variant in in_order(variants, number):
            progress.show(f"run {number + 1} of {runs}, {variant}, {left // 60:.0f} min {left % 60:02.0f} s left")
            variant.measure()
            left -= variant.expected_seconds()
    progress.clear()


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench calls")
    parser.add_argument("build")
    parser.add_argument("--quick", action="store_true",
                        help="few calls, one run: to see that everything runs, not for the figures")
    parser.add_argument("--runs", type=int, metavar="N", help="of each variant; default 5, quick 1")
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="variants whose name has TEXT in it, such as 'http1 n=1000 delay=0'")
    parser.add_argument("--results", default=os.path.join("loadtests", "results"), metavar="DIR",
                        help="where to keep them; default loadtests/results")
    arguments = parser.parse_args()
    if arguments.runs is None:
        arguments.runs = 1 if arguments.quick else 5
    if arguments.runs < 1:
        parser.error("--runs must be at least 1")
    return arguments


def main():
    arguments = parse_arguments()
    fds = limit_fds()
    able, skipped = contestants.prepare(arguments.build)
    variants = choose(able, arguments, fds, skipped)
    start = time.monotonic()
    measure_all(variants, arguments.runs)

    setting = {"date": datetime.date.today().isoformat(), "commit": commit(), "runs": arguments.runs,
               "fds": fds, "machine": machine(), "skipped": skipped}
    bounds = judge(variants)
    text = report(setting, variants, bounds)
    folder = save(arguments.results, "calls", setting,
                  {"variants": [variant.json() for variant in variants],
                   "bounds": [bound.json() for bound in bounds]}, text)
    print(text)
    print(f"{time.monotonic() - start:.0f} s; saved in {folder}/calls.md and calls.json")


if __name__ == "__main__":
    run(main)
