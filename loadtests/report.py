"""What a report says beside its figures, how it writes them, and where it is kept."""

import json
import os
import platform
import statistics
import subprocess


def spread(values, digits=0):
    """The median, with the smallest and the largest in brackets."""
    middle, low, high = (f"{value:,.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return middle if low == high else f"{middle} ({low}…{high})"


def machine():
    model = "unknown"
    with open("/proc/cpuinfo") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    with open("/proc/sys/net/core/somaxconn") as limit:
        somaxconn = int(limit.read())
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "kernel": platform.release().split("-")[0],
            "somaxconn": somaxconn}


def commit():
    def git(*arguments):
        return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "--short", "HEAD") + ("-dirty" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def listen_counters():
    """ListenOverflows and ListenDrops of this network namespace since it was made."""
    with open("/proc/net/netstat") as netstat:
        lines = [line.split() for line in netstat if line.startswith("TcpExt:")]
    counters = dict(zip(lines[0], lines[1]))
    return {name: int(counters[name]) for name in ("ListenOverflows", "ListenDrops")}


def save(results, name, setting, figures, text):
    """Keep `text` as NAME.md, `setting` and `figures` as NAME.json; returns the folder in `results`."""
    folder = os.path.join(results, f"{setting['date']}-{setting['commit']}")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".md"), "w") as markdown:
        markdown.write(text)
    with open(os.path.join(folder, name + ".json"), "w") as raw:
        json.dump({**setting, **figures}, raw, indent=1)
        raw.write("\n")
    return folder
