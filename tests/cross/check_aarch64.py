"""Builds context_check.c for aarch64 and runs it under an emulator. Its TAP is passed on.

usage: check_aarch64.py CONTEXT_CHECK_C SOURCE_ROOT
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

COMPILER = "aarch64-linux-gnu-gcc"
EMULATORS = ["qemu-aarch64", "qemu-aarch64-static"]


def skip(reason):
    print("1..0 # SKIP", reason)
    sys.exit(0)


def build(source, root, program):
    flags = ["-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-static", f"-I{root}"]
    assembly = root / "executors/coroutine/context_aarch64.S"
    subprocess.run([COMPILER, *flags, source, assembly, "-o", program], check=True)


def main():
    source, root = sys.argv[1], pathlib.Path(sys.argv[2])
    emulator = next(filter(None, map(shutil.which, EMULATORS)), None)
    if shutil.which(COMPILER) is None:
        skip(f"no {COMPILER}")
    if emulator is None:
        skip(f"no {EMULATORS[0]}")
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory) / "context_check"
        build(source, root, program)
        sys.exit(subprocess.run([emulator, program], timeout=60).returncode)


if __name__ == "__main__":
    main()
