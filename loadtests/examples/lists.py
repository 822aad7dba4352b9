#!/usr/bin/env python3
"""What the three shell scripts beside this do, with nothing but Python's standard library.

usage: lists.py [URL OF FANOUTD]
"""

import json
import sys
import urllib.request

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"


def fan_out(calls, accept="application/json", **options):
    """The open answer to a list of calls."""
    request = urllib.request.Request(
        f"{URL}/fanout",
        json.dumps({"requests": calls, **options}).encode(),
        {"Content-Type": "application/json", "Accept": accept},
    )
    return urllib.request.urlopen(request, timeout=30)


def as_they_come(calls, **options):
    """Each result as soon as it is there, and the coverage last."""
    with fan_out(calls, "application/x-ndjson", **options) as lines:
        for line in lines:
            yield json.loads(line)


def tell_receivers():
    """An event for 500 receivers: some are busy at times, every fiftieth is gone."""
    calls = []
    for i in range(1, 501):
        query = "status=410" if i % 50 == 0 else "status=503&fail_percent=5"
        calls.append({
            "id": f"receiver-{i}", "upstream": "receivers", "method": "POST", "url": f"/slow?ms=20&{query}",
            "headers": {"Idempotency-Key": f"event-7-{i}"}, "body": {"event": "paid", "order": 7},
        })
    failed = []
    for result in as_they_come(calls, deadline_ms=5000):
        if "coverage" in result:
            print("told", result["coverage"]["succeeded"], "of", result["coverage"]["requested"])
        elif result.get("status") != 200:
            failed.append(result["id"])
    print("not told:", *failed)


def ask_for_a_price():
    """The price from the first of three shops; the other two calls are cancelled."""
    shops = {"a": 50, "b": 500, "c": 5000}
    calls = [{"id": shop, "upstream": f"shop-{shop}", "url": f"/slow?ms={ms}"} for shop, ms in shops.items()]
    with fan_out(calls, policy="first", deadline_ms=2000) as answer:
        first = [each for each in json.load(answer)["responses"] if each.get("status") == 200][0]
    print("shop", first["id"], "says", first["body"], "after", first["ms"], "ms")


def look_after_regions():
    """Healthy is what three of five regions say so of, within a second."""
    regions = {"north": "ms=20", "east": "ms=40", "south": "ms=60", "west": "ms=20&fault=reset", "moon": "ms=9000"}
    calls = [{"id": region, "upstream": "regions", "url": f"/slow?{query}"} for region, query in regions.items()]
    with fan_out(calls, policy="quorum", quorum=3, deadline_ms=1000) as answer:
        coverage = json.load(answer)["coverage"]
    print("healthy" if coverage["succeeded"] >= 3 else "not healthy", coverage["degraded"])


if __name__ == "__main__":
    tell_receivers()
    ask_for_a_price()
    look_after_regions()
