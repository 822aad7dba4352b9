"""What fanoutd's calls may cost, against the floor of the same run. Figures in, verdicts out.

A figure is asked for as figure(client, n, delay_ms, kind, key), is the median of all runs unless a sixth argument
says otherwise, and None if it was not measured.
"""


class Bound:
    def __init__(self, text, limit, unit, measured, at_least=False):
        self.text = text
        self.limit = limit
        self.unit = unit
        self.measured = measured  # None: not in this run
        self.at_least = at_least

    @property
    def held(self):
        if self.measured is None:
            return None
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def __str__(self):
        verdict = {True: "held", False: "NOT held", None: "not measured"}[self.held]
        measured = "" if self.measured is None else f": {self.measured:,.2f}{self.unit}"
        limit = f"at {'least' if self.at_least else 'most'} {self.limit:g}{self.unit}"
        return f"{verdict}: {self.text} {limit}{measured}"

    def json(self):
        return {"text": str(self), "limit": self.limit, "measured": self.measured, "held": self.held}


def ratio(value, base):
    return None if value is None or not base else value / base


def difference(value, base):
    return None if value is None or base is None else value - base


def against_the_floor(figure):
    def pair(n, delay_ms, kind, key):
        return figure("http1", n, delay_ms, kind, key), figure("floor", n, delay_ms, kind, key)

    yield Bound("http1, n=1,000, no delay, warm: CPU of the whole server per call", 1.9, " × the floor's",
                ratio(*pair(1000, 0, "warm", "cpu_us_per_call")))
    yield Bound("http1, n=1,000, no delay, warm: calls/s", 0.55, " × the floor's",
                ratio(*pair(1000, 0, "warm", "calls_per_s")), at_least=True)
    for n, kind, limit in ((1000, "warm", 25), (1000, "cold", 40), (10000, "warm", 15)):
        yield Bound(f"http1, n={n:,}, 1 s, {kind}: wall", limit, " ms over the floor",
                    difference(*pair(n, 1000, kind, "wall_ms")))


def linear(figure):
    for client, limit in (("http1", 1.3), ("curl", 1.6)):
        for kind in ("warm", "cold"):
            many, few = (figure(client, n, 1000, kind, "cpu_us_per_call") for n in (10000, 1000))
            yield Bound(f"{client}, n=10,000, 1 s, {kind}: CPU per call", limit, " × that at n=1,000",
                        ratio(many, few))


def memory(figure):
    for kind in ("warm", "cold"):
        yield Bound(f"http1, n=10,000, 1 s, {kind}: RSS per call in flight, stack included", 10, " KiB",
                    figure("http1", 10000, 1000, kind, "rss_kib_per_call"))


def connections(figure, sizes):
    opened = [(figure("http1", n, delay_ms, "warm", "opened"), n) for n, delay_ms in sizes]
    percent = [100 * count / n for count, n in opened if count is not None]
    yield Bound("http1, any n and delay: after three fan-outs, new connections of a further one", 5, " % of n",
                max(percent, default=None))
    yield Bound("http1, n=100,000, 100 ms, 20,000 descriptors: failed calls", 0, "",
                figure("http1", 100000, 100, "cold", "failed", max))


def check(figure, sizes):
    """All bounds; `sizes` are the (n, delay_ms) that were measured cold and warm."""
    return [*against_the_floor(figure), *linear(figure), *memory(figure), *connections(figure, sizes)]
