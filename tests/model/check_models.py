"""Searches the models through, and with each planted mistake for that mistake. TAP.

usage: check_models.py COMPILER...
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STUCK = "invalid end state"
VIOLATED = "assertion violated"
# A model, what may be defined in it, and what the search then has to find.
MISTAKES = {
    "handover": {
        "PUSHED_ON_ITS_STACK": VIOLATED,
        "CLAIM_WITHOUT_COMPARE": VIOLATED,
        "CALL_WITHOUT_COMPARE": VIOLATED,
        "SPARE_AFTER_CLAIM": STUCK,
        "PARKED_WITHOUT_COMPARE": STUCK,
        "SLEEPS_WITHOUT_LOOKING": STUCK,
    },
    "ready_bit": {"CLEARED_AFTER_EAGAIN": STUCK, "WAITS_WITHOUT_LOOKING": STUCK},
}
MEMORY_MIB = 2048
DEPTH = 200000
LONGEST_S = 60


def run(command, directory):
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=LONGEST_S)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stdout}{done.stderr}")
    return done.stdout


def search(compiler, model, defines):
    """What the search says: it ends with the first error."""
    with tempfile.TemporaryDirectory() as directory:
        run(["spin", "-a", *defines, HERE / f"{model}.pml"], directory)
        run([*compiler, "-w", "-O2", "-DSAFETY", f"-DMEMLIM={MEMORY_MIB}", "-o", "pan", "pan.c"],
            directory)
        return run(["./pan", f"-m{DEPTH}"], directory)


def is_as_expected(report, error):
    if re.search(r"max search depth too small|MEMLIM|out of memory", report):
        return False
    found = int(re.search(r"errors: (\d+)", report)[1])
    if error:
        return found == 1 and error in report
    # A statement that is never reached shows that the model is not what it seems to be.
    return found == 0 and not re.search(r'\.pml:\d+, state \d+, "(?!-end-)', report)


def main():
    if not shutil.which("spin"):
        print("1..0 # SKIP spin is not installed (Debian package spin)")
        return
    cases = [(model, mistake, error) for model, mistakes in MISTAKES.items()
             for mistake, error in [(None, None), *mistakes.items()]]
    print(f"1..{len(cases)}")
    for number, (model, mistake, error) in enumerate(cases, 1):
        try:
            report = search(sys.argv[1:], model, [f"-D{mistake}"] if mistake else [])
            good = is_as_expected(report, error)
        except (RuntimeError, subprocess.TimeoutExpired) as failure:
            good, report = False, str(failure)
        states = re.search(r"(\d+) states, stored", report)
        what = f"finds {mistake}" if mistake else "has no error"
        print("ok" if good else "not ok", number, "-", model, what,
              f"in {states[1]} states" if states else "", flush=True)
        for line in [] if good else report.splitlines():
            print("# " + line)


if __name__ == "__main__":
    main()
