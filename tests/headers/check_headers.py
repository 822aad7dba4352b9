"""Every header compiles alone, and a second time after itself. TAP.

usage: check_headers.py SOURCE_ROOT COMPILER...
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

LAYERS = ["executors", "clients", "handlers", "server", "loadtests", "tests"]
# Parts of fiber.h and of context.h, which include one of them: see there.
PARTS = {f"executors/coroutine/fiber_{kind}.h" for kind in ("plain", "asan", "tsan")} | {
    f"executors/coroutine/context_{architecture}.h" for architecture in ("x86_64", "aarch64")}
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-DH2O_USE_LIBUV=0", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c"]


def main():
    root = pathlib.Path(sys.argv[1])
    compiler = sys.argv[2:]

    def compile_alone(header):
        return subprocess.run(
            [*compiler, *FLAGS, "-I", root, "-"], input=f'#include "{header}"\n' * 2,
            capture_output=True, text=True)

    every = (str(path.relative_to(root)) for layer in LAYERS for path in (root / layer).rglob("*.h"))
    headers = sorted(set(every) - PARTS)
    print(f"1..{len(headers)}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for number, (header, result) in enumerate(zip(headers, threads.map(compile_alone, headers)), 1):
            print("ok" if result.returncode == 0 else "not ok", number, "-", header)
            for line in result.stderr.splitlines()[:10]:
                print("#", line)


if __name__ == "__main__":
    main()
