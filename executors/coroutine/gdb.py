"""Coroutines in gdb: of a running fanoutd, or in a core file. Needs debug information.

    gdb -x executors/coroutine/gdb.py -p PID
    gdb -x executors/coroutine/gdb.py build/server/fanoutd CORE

    info coroutines [MAX]          number, state, carrier and task of each, at most MAX (100)
    coroutine NUMBER               go to the stack of one: bt, frame, up, info locals work there
    coroutine none                 back to the thread's own stack
    coroutine-backtrace-all [MAX]  the stacks of all, at most MAX (100)

Numbers hold until the process runs on; the address of a struct coroutine is taken as well.

A stack that was left is shown without a register being written, which a core file would not
allow and which would endanger a live process: while a coroutine is chosen, an unwinder says that
the caller of the thread's innermost frame is where the coroutine left it (struct context).
A filter keeps the thread's frame out of backtraces; `down` still shows it.
"""

import gdb
import gdb.unwinder

MOST_SHOWN = 100


class Registers:
    """gdb's names of what a switch keeps in struct context; the compiler keeps the others."""

    def __init__(self, stack_pointer, frame_pointer, resume):
        self.stack_pointer = stack_pointer
        self.frame_pointer = frame_pointer
        self.resume = resume


ARCHITECTURES = {
    "i386:x86-64": Registers("rsp", "rbp", "rip"),
    "aarch64": Registers("sp", "x29", "pc"),
}


def registers_kept():
    name = gdb.selected_inferior().architecture().name()
    if name not in ARCHITECTURES:
        raise gdb.GdbError(f"coroutines of {name} are not known")
    return ARCHITECTURES[name]


def constant(name):
    return int(gdb.parse_and_eval(name))


def address_of(symbol):
    """None if there is no such symbol."""
    try:
        return int(gdb.parse_and_eval(f"(unsigned long)&{symbol}"))
    except gdb.error:
        return None


def pointer_to(type_name, address):
    return gdb.Value(address).cast(gdb.lookup_type(type_name).pointer())


def linked(first, link):
    while int(first) != 0:
        yield first
        first = first[link]


class Executors:
    """Finds executors from the stacks of their threads, whatever they are doing now."""

    DEEPEST = 64

    # In which function which variable leads where; each may be lost where a thread stands. That of
    # the monitor is always one; before it has begun it takes a driver.
    PATHS = {
        "monitor_main": [("executor", None, "")],
        "wait_locked": [("monitor", None, "executor")],
        "carrier_poll": [("carrier", None, "executor")],
        "coroutine_carrier_drive": [("carrier", None, "executor")],
        "coroutine_main": [
            ("coroutine", None, "carrier executor"),
            ("fiber", "struct coroutine", "carrier executor"),
        ],
    }

    def find(self):
        if gdb.selected_thread() is None:
            raise gdb.GdbError("there is no process and no core file")
        found = {}
        for _ in each_thread():
            executor = self._of_this_thread()
            if executor is not None:
                found[int(executor)] = executor
        return [found[address] for address in sorted(found)]

    def _of_this_thread(self):
        frame = gdb.newest_frame()
        for _ in range(self.DEEPEST):
            if frame is None:
                return None
            for path in self.PATHS.get(frame.name(), []):
                executor = self._follow(frame, *path)
                if executor is not None:
                    return executor
            frame = frame.older()
        return None

    @staticmethod
    def _follow(frame, variable, type_name, fields):
        try:
            value = frame.read_var(variable)
        except ValueError:
            return None
        if value.is_optimized_out:
            return None
        if type_name:
            value = pointer_to(type_name, int(value))
        for field in fields.split():
            value = value[field]
        return value


class Coroutine:
    def __init__(self, number, value, thread):
        self.number = number
        self.value = value  # struct coroutine *
        self.thread = thread  # that is on its stack, or None

    @property
    def address(self):
        return int(self.value)

    @property
    def stack_pointer(self):
        return int(self.value["fiber"]["context"]["stack_pointer"])

    @property
    def carrier(self):
        return int(self.value["carrier"]["id"])

    @property
    def has_task(self):
        """Not while a task that has returned is being reported: it may be gone."""
        return int(self.value["task"]) != 0

    @property
    def function(self):
        if not self.has_task:
            return "-"
        return self.value["task"]["run"].format_string(symbols=True, address=False).strip("<>")

    @property
    def name(self):
        name = self.value["name"]
        return name.string() if int(name) else self.function

    def registers(self):
        """Those that the coroutine kept when it left its stack, by gdb's names."""
        context = self.value["fiber"]["context"]
        word = gdb.lookup_type("unsigned long")
        return {name: context[field].cast(word) for field, name in vars(registers_kept()).items()}

    @property
    def has_begun(self):
        return int(self.registers()[registers_kept().resume]) != address_of("context_start")

    @property
    def state(self):
        if not self.has_task:
            return "ending"
        if self.thread is not None:
            return f"running, thread {self.thread.num}"
        if not self.has_begun:
            return "new"
        if int(self.value["task"]["permit"]) == constant("PERMIT_PARKED"):
            return f"parked, {self.waits_for}"
        if self._is_calling():
            return "in carrier_call()"
        return "ready"

    @property
    def waits_for(self):
        """As enum wait_kind says it."""
        return str(self.value["task"]["site"]["kind"]).removeprefix("WAIT_").lower()

    def _is_calling(self):
        carrier = self.value["carrier"]
        if int(carrier["current"]) != self.address or int(carrier["driver"]) == 0:
            return False
        driver = carrier["driver"].cast(gdb.lookup_type("struct driver").pointer())
        return int(driver["after"]) == constant("AFTER_CALL")


class Coroutines:
    """Those of all executors, numbered from 1 on: by carrier, the oldest first."""

    def __init__(self):
        self.threads = stack_pointers_of_threads()

    def __iter__(self):
        number = 0
        for executor in Executors().find():
            for value in self._live(executor):
                number += 1
                yield Coroutine(number, value, self._thread_on(value))

    def find(self, wanted):
        """By number or address."""
        for coroutine in self:
            if wanted in (coroutine.number, coroutine.address):
                return coroutine
        raise gdb.GdbError(f"there is no coroutine {wanted}")

    def _thread_on(self, value):
        low = int(value["stack"]["low"])
        for stack_pointer, thread in self.threads:
            if low <= stack_pointer < int(value):
                return thread
        return None

    @staticmethod
    def _live(executor):
        for i in range(int(executor["created"])):
            yield from linked(executor["carriers"][i]["coroutines"]["first"], "live_next")


def each_thread():
    """Each is the current one while it is looked at."""
    chosen_thread, chosen_frame = gdb.selected_thread(), gdb.selected_frame()
    try:
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            yield thread
    finally:
        chosen_thread.switch()
        chosen_frame.select()


def stack_pointers_of_threads():
    return [(int(gdb.parse_and_eval("(unsigned long)$sp")), thread) for thread in each_thread()]


class View:
    """The coroutine whose stack is shown in place of its thread's, if one is."""

    def __init__(self):
        self.coroutine = None
        self.thread = None
        self.innermost = None  # stack pointer of the thread
        self.registers = None
        self.has_expired = False  # the process has run since

    def show(self, coroutine):
        self.leave()
        self.thread = gdb.selected_thread()
        self.innermost = int(gdb.newest_frame().read_register("sp"))
        self.registers = coroutine.registers()
        self.has_expired = False
        self.coroutine = coroutine
        gdb.invalidate_cached_frames()
        frame = gdb.newest_frame()
        while frame is not None and not self.is_where_it_left(frame):
            frame = frame.older()
        if frame is None:
            self.leave()
            raise gdb.GdbError("gdb does not ask for the frames of this thread")
        frame.select()

    def leave(self):
        if self.coroutine is None:
            return
        self.coroutine = None
        gdb.invalidate_cached_frames()

    def expire(self):
        self.has_expired = True

    def leave_if_expired(self):
        if self.coroutine is not None and self.has_expired:
            print("[the process has run: no coroutine is chosen any more]")
            self.leave()

    def is_shown_on(self, thread):
        return self.coroutine is not None and thread.ptid == self.thread.ptid

    def is_where_it_left(self, frame):
        """Whether this is where the coroutine left its stack."""
        return frame.pc() == int(self.registers[registers_kept().resume])

    def unwind(self, pending_frame):
        """What to say of the frame's caller; None: nothing."""
        if not self.is_shown_on(gdb.selected_thread()):
            return None
        if int(pending_frame.read_register("sp")) != self.innermost:
            return None
        # gdb refuses a caller that lies below its callee, wherever their stacks are.
        info = pending_frame.create_unwind_info(
            FrameId(self.coroutine.value["fiber"]["context"]["stack_pointer"], self.registers[registers_kept().resume])
        )
        for name, value in self.registers.items():
            info.add_saved_register(name, value)
        return info


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class CoroutineUnwinder(gdb.unwinder.Unwinder):
    def __init__(self, view):
        super().__init__("coroutine")
        self.view = view

    def __call__(self, pending_frame):
        return self.view.unwind(pending_frame)


class CoroutineFilter:
    """Leaves the frames of the thread, which stand before those of a chosen coroutine, out of
    backtraces."""

    def __init__(self, view):
        self.view = view
        self.name = "coroutine"
        self.enabled = True
        self.priority = 100
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        if not self.view.is_shown_on(gdb.selected_thread()):
            return frames
        return self._without_the_threads(frames)

    def _without_the_threads(self, frames):
        has_come = False
        for frame in frames:
            has_come = has_come or self.view.is_where_it_left(frame.inferior_frame())
            if has_come:
                yield frame


def most_of(argument):
    try:
        return int(argument) if argument else MOST_SHOWN
    except ValueError:
        raise gdb.GdbError("the argument is how many to show at most") from None


def first_of(coroutines, most):
    """Pairs of a coroutine and None, at most so many; then None and how many were left out."""
    left_out = 0
    for coroutine in coroutines:
        if coroutine.number <= most:
            yield coroutine, None
        else:
            left_out += 1
    yield None, left_out


class InfoCoroutines(gdb.Command):
    """List coroutines: info coroutines [MAX]

Number, state, carrier, function and task name of each, at most MAX (100)."""

    def __init__(self, view):
        super().__init__("info coroutines", gdb.COMMAND_STATUS)
        self.view = view

    def invoke(self, argument, _from_tty):
        chosen = self.view.coroutine and self.view.coroutine.address
        print(f"  {'Id':<6} {'State':<20} {'Carrier':<8} {'Function':<24} Task")
        for coroutine, left_out in first_of(Coroutines(), most_of(argument)):
            if coroutine is None:
                if left_out:
                    print(f"and {left_out} more")
                continue
            mark = "*" if coroutine.address == chosen else " "
            print(
                f"{mark} {coroutine.number:<6} {coroutine.state:<20} {coroutine.carrier:<8} "
                f"{coroutine.function:<24} {coroutine.name}"
            )


def go_to(view, coroutine):
    """Have its stack be the current one. Raises if it has none."""
    if coroutine.thread is not None:
        view.leave()
        coroutine.thread.switch()
        gdb.newest_frame().select()
    elif not coroutine.has_task:
        raise gdb.GdbError(f"coroutine {coroutine.number} has returned: its stack is empty")
    elif not coroutine.has_begun:
        raise gdb.GdbError(f"coroutine {coroutine.number} has not begun: its stack is empty")
    else:
        view.show(coroutine)


def title(coroutine):
    return (
        f"coroutine {coroutine.number} ({coroutine.name}), {coroutine.state}, "
        f"carrier {coroutine.carrier}, (struct coroutine *) {coroutine.address:#x}"
    )


class ChooseCoroutine(gdb.Command):
    """Go to the stack of a coroutine: coroutine NUMBER | ADDRESS | none

Until the process runs on, or another is chosen, backtraces and frames of this thread are the
coroutine's. With none, they are the thread's again; without an argument, say which is chosen."""

    def __init__(self, view):
        super().__init__("coroutine", gdb.COMMAND_STACK)
        self.view = view

    def invoke(self, argument, _from_tty):
        if argument == "none":
            self.view.leave()
        elif argument:
            coroutine = Coroutines().find(int(gdb.parse_and_eval(argument)))
            go_to(self.view, coroutine)
            print(f"[{title(coroutine)}]")
            gdb.execute("frame")
        elif self.view.coroutine is None:
            print("[no coroutine is chosen]")
        else:
            print(f"[{title(self.view.coroutine)}]")


class BacktraceAll(gdb.Command):
    """Print the stacks of all coroutines: coroutine-backtrace-all [MAX]

At most MAX (100) of them."""

    def __init__(self, view):
        super().__init__("coroutine-backtrace-all", gdb.COMMAND_STACK)
        self.view = view

    def invoke(self, argument, _from_tty):
        thread, chosen = gdb.selected_thread(), self.view.coroutine
        try:
            for coroutine, left_out in first_of(Coroutines(), most_of(argument)):
                if coroutine is not None:
                    print(f"\n{title(coroutine)}")
                    self._print_stack(coroutine)
                elif left_out:
                    print(f"\nand {left_out} more")
        finally:
            self.view.leave()
            thread.switch()
            if chosen is not None:
                self.view.show(chosen)

    def _print_stack(self, coroutine):
        try:
            go_to(self.view, coroutine)
            gdb.execute("backtrace")
        except gdb.error as error:
            print(error)


def install():
    view = View()
    gdb.unwinder.register_unwinder(None, CoroutineUnwinder(view), replace=True)
    CoroutineFilter(view)
    InfoCoroutines(view)
    ChooseCoroutine(view)
    BacktraceAll(view)
    # What was saved is no longer true then.
    gdb.events.cont.connect(lambda _event: view.leave())
    # Nor after a call of a function, during which all threads run; but within that event gdb does
    # not bear it that its frames change.
    gdb.events.inferior_call.connect(lambda _event: view.expire())
    gdb.events.before_prompt.connect(view.leave_if_expired)


install()
