"""executors/coroutine/gdb.py, on live processes and on core files."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import fanoutd
from fanoutd import Server, wait_until

SCRIPT = os.environ["GDB_SCRIPT"]
WAITING_COROUTINES = os.environ["WAITING_COROUTINES"]
SKIPPED = 77  # for meson
ROW = re.compile(r"^[ *] (\d+) +(parked, \w+|ready|new|ending|running, thread \d+) +(\d+) +(\S+) +(.+)$", re.M)


def gdb(*arguments, commands):
    """What gdb prints."""
    line = ["gdb", "-nx", "-batch", "-ex", "set width 0", "-x", SCRIPT, *arguments]
    for command in commands:
        line += ["-ex", command]
    done = subprocess.run(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        env={**os.environ, "DEBUGINFOD_URLS": ""},
    )
    return done.stdout


def rows(text):
    """(number, state, carrier, function, task) of each coroutine listed."""
    return [(int(n), state, int(carrier), *rest) for n, state, carrier, *rest in ROW.findall(text)]


def allow_a_core():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)


class Program:
    """waiting-coroutines, once all are where they stay."""

    def __init__(self, *arguments, directory=None):
        self.process = subprocess.Popen(
            [WAITING_COROUTINES, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=directory,
            preexec_fn=allow_a_core,
            text=True,
        )
        assert self.process.stdout.readline() == "waiting\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=60)

    @property
    def pid(self):
        return str(self.process.pid)


class Gdb(unittest.TestCase):
    def check_listed(self, text):
        listed = rows(text)
        self.assertEqual([row[0] for row in listed], list(range(1, 6)), text)
        tasks = sorted((row[4], row[3]) for row in listed)
        self.assertEqual(
            tasks,
            [("parent", "parent_run")]
            + [("parked child", "child_run")] * 3
            + [("reader", "reader_run")],
        )
        for _, state, carrier, _, task in listed:
            self.assertIn(carrier, (0, 1))
            if task == "reader":
                self.assertRegex(state, r"running, thread \d+")
            else:
                waits_for = "children" if task == "parent" else "latch"
                self.assertEqual(state, f"parked, {waits_for}")
        return {task: number for number, _, _, _, task in listed}

    def check_stacks(self, *arguments, numbers):
        """Of each kind, as the stack of the one thread that gdb has chosen."""
        text = gdb(
            *arguments,
            commands=[
                f"coroutine {numbers['parent']}",
                "backtrace",
                "echo ---\\n",
                f"coroutine {numbers['parked child']}",
                "frame function wait_for_the_end",
                "info locals",
                "coroutine",
                "echo ---\\n",
                "coroutine none",
                "backtrace",
                "echo ---\\n",
                f"coroutine {numbers['reader']}",
                "backtrace",
            ],
        )
        parent, child, thread, reader = text.split("---\n")
        self.assertRegex(parent, r"\[coroutine \d+ \(parent\), parked, children, carrier \d, .*\]")
        self.assert_calls(parent, ["coroutine_main", "parent_run", "scope_join", "coroutine_park"])
        self.assertNotIn(" main (", parent)
        self.assertRegex(child, r"squared = (49|64|81)\b")
        self.assertRegex(child, r"\[coroutine \d+ \(parked child\), parked")
        # The kernel gives the signal that makes a core to main() as a rule, not always.
        self.assertRegex(thread, r" (main|driver_main|monitor_main) \(")
        self.assertNotIn("coroutine_park", thread)
        self.assert_calls(reader, ["coroutine_main", "reader_run", "read_to_the_end"])

    def assert_calls(self, text, functions):
        """They stand in the backtrace, the outermost first."""
        named = re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\w+) \(", text, re.M)[::-1]
        named = iter(named)
        for function in functions:
            self.assertIn(function, named, text)

    def test_lists_and_shows_stacks_of_a_live_process(self):
        with Program() as program:
            numbers = self.check_listed(gdb("-p", program.pid, commands=["info coroutines"]))
            self.check_stacks("-p", program.pid, numbers=numbers)
        self.assertEqual(program.process.returncode, 0)  # it has gone on unharmed

    def test_shows_all_stacks_but_no_more_than_asked_for(self):
        with Program() as program:
            text = gdb(
                "-p",
                program.pid,
                commands=["coroutine-backtrace-all", "echo ---\\n", "coroutine-backtrace-all 2"]
                + ["echo ---\\n", "info coroutines 2"],
            )
        everything, two, list_of_two = text.split("---\n")
        self.assertEqual(everything.count("coroutine_main"), 5, everything)
        for number in (7, 8, 9):
            self.assertIn(f"number={number}", everything)
        self.assertEqual(two.count("coroutine_main"), 2, two)
        self.assertIn("and 3 more", two)
        self.assertEqual(len(rows(list_of_two)), 2)
        self.assertIn("and 3 more", list_of_two)

    def test_a_coroutine_is_left_when_the_process_runs_on(self):
        with Program() as program:
            text = gdb(
                "-p",
                program.pid,
                commands=["coroutine 2", "handle SIGUSR1 stop nopass"]
                + [f"shell kill -USR1 {program.pid}", "coroutine", "continue", "coroutine"]
                + ["coroutine 99"],
            )
        self.assertEqual(text.count("[coroutine 2 ("), 2, text)
        self.assertEqual(text.count("[no coroutine is chosen]"), 1)
        self.assertIn("there is no coroutine 99", text)
        self.assertEqual(program.process.returncode, 0)

    def test_lists_all_while_one_is_being_ended(self):
        text = gdb(
            WAITING_COROUTINES,
            commands=["set disable-randomization off", "break scope_child_done"]
            + ["run < /dev/null", "info coroutines", "coroutine-backtrace-all", "kill"],
        )
        listed = rows(text)
        self.assertIn(("ending", "-", "parked child"), [(row[1], *row[3:]) for row in listed], text)
        self.assertIn(("parked, children", "parent"), [(row[1], row[4]) for row in listed], text)
        self.assertRegex(text, r"coroutine \d+ \(parked child\), ending")
        self.assertNotIn("Python Exception", text)

    def test_lists_and_shows_stacks_of_a_core_by_gdb(self):
        # gdb gives up a whole mapping when it comes to a guard made by madvise.
        with tempfile.TemporaryDirectory() as directory, Program("mprotect") as program:
            core = os.path.join(directory, "core")
            gdb("-p", program.pid, commands=[f"generate-core-file {core}"])
            self.check_core(core)

    def test_lists_and_shows_stacks_of_a_core_by_the_kernel(self):
        with tempfile.TemporaryDirectory() as directory:
            with Program(directory=directory) as program:
                program.process.send_signal(signal.SIGABRT)
                program.process.wait(60)
            cores = [name for name in os.listdir(directory) if name.startswith("core")]
            if not cores:
                self.skipTest("kernel.core_pattern puts core files elsewhere")
            self.check_core(os.path.join(directory, cores[0]))

    def check_core(self, core):
        arguments = [WAITING_COROUTINES, core]
        numbers = self.check_listed(gdb(*arguments, commands=["info coroutines"]))
        self.check_stacks(*arguments, numbers=numbers)

    def test_shows_the_calls_of_a_fan_out(self):
        with Server("--carriers", "2") as server:
            fan_out = server.in_background("/fanout?n=20&delay_ms=5000")
            server.wait_for_in_flight(20)
            pid = str(server.process.pid)
            text = gdb("-p", pid, commands=["info coroutines", "coroutine-backtrace-all"])
            listed = rows(text)
            self.assertEqual(len(listed), 21, text)
            self.assertEqual([row[4] for row in listed].count("fanout call"), 20)
            for function, times in (("batch_call_make", 20), ("scope_join", 1), ("coroutine_main", 21)):
                called = len(re.findall(rf"^#.* {function} \(", text, re.M))
                self.assertEqual(called, times, text)
            self.assertEqual(fan_out.join().json()["ok"], 20)
            wait_until(lambda: server.slow_stats()["in_flight"] == 0, "end of the calls")


def reason_to_skip():
    if shutil.which("gdb") is None:
        return "no gdb"
    with Program() as program:
        text = gdb("-p", program.pid, commands=["info threads"])
    if "Operation not permitted" in text:
        return "this system forbids ptrace"
    if "Python" in text and "not supported" in text:
        return "this gdb has no Python"
    return None


if __name__ == "__main__":
    reason = reason_to_skip()
    if reason:
        print("skipped:", reason)
        sys.exit(SKIPPED)
    fanoutd.main()
