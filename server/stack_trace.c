#include "server/stack_trace.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/unwind_machine.h"

/* What a walk has come to. */
struct walk {
	const struct stack_snapshot *snapshot;
	struct stack_registers at; /* of the innermost frame */
	Dwarf_Addr pcs[STACK_FRAMES_MAX];
	unsigned count;
	Dwarf_Word last_sp; /* of the outermost frame so far */
};

struct stack_tracer {
	Dwfl *dwfl;
	Dwfl_Module *own; /* this program */
	int memory_fd;    /* /proc/self/mem, where a wrong address is an error; or -1 */
	struct walk *walk;
};

/* ------ what libdw asks of a stack that it is to unwind */

static const uintptr_t *word_at(const struct stack_snapshot *snapshot, Dwarf_Addr address)
{
	Dwarf_Addr offset = address - snapshot->registers.sp;

	if (offset / sizeof(uintptr_t) >= snapshot->count || offset % sizeof(uintptr_t) != 0)
		return NULL;
	return &snapshot->words[offset / sizeof(uintptr_t)];
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	bool is_first = *thread_arg == NULL;

	(void)dwfl;
	*thread_arg = arg;
	return is_first ? 1 : 0;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *arg)
{
	const struct stack_tracer *tracer = arg;
	const uintptr_t *word = word_at(tracer->walk->snapshot, address);

	(void)dwfl;
	if (word != NULL)
		*result = *word;
	return word != NULL;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct walk *walk = ((struct stack_tracer *)arg)->walk;
	const struct stack_registers *at = &walk->at;
	const Dwarf_Word sp = at->sp, fp = at->fp, link = at->link;

	dwfl_thread_state_register_pc(thread, at->pc);
	return dwfl_thread_state_registers(thread, UNWIND_SP, 1, &sp) &&
	       (fp == 0 || dwfl_thread_state_registers(thread, UNWIND_FP, 1, &fp)) &&
	       (link == 0 || dwfl_thread_state_registers(thread, UNWIND_LINK, 1, &link));
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct walk *walk = arg;
	bool is_activation = false;
	Dwarf_Addr pc;

	if (walk->count == STACK_FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &is_activation) ||
	    dwfl_frame_reg(frame, UNWIND_SP, &walk->last_sp) != 0)
		return DWARF_CB_ABORT;
	/* A return address is behind the call, which can be another line, or function. */
	walk->pcs[walk->count++] = pc - (is_activation ? 0 : 1);
	return DWARF_CB_OK;
}

static int walk_thread(Dwfl_Thread *thread, void *arg)
{
	(void)dwfl_thread_getframes(thread, take_frame, arg);
	return DWARF_CB_OK;
}

/* ------ frame pointers */

/*
 * The unwind tables lead from one function to the next by the stack pointer as long as no function
 * has moved its frame pointer there. The first that has ends the walk if the register is not
 * known, as of a thread that sleeps. Its frame is then looked for: the head of a chain of frames
 * that leads to the bottom of the stack. But between the variables of a function lie frames
 * of others that have returned; a true one is where a call of this very function returns to.
 */
enum likelihood { NO_FRAME, SOME_FRAME, MAYBE_FRAME, SURE_FRAME };

/* NULL: nothing is mapped there. (dwfl_addrmodule() counts gaps to the module before.) */
static Dwfl_Module *module_at(struct stack_tracer *tracer, Dwarf_Addr pc)
{
	Dwfl_Module *module = dwfl_addrmodule(tracer->dwfl, pc);
	Dwarf_Addr end = 0;

	if (module != NULL)
		(void)dwfl_module_info(module, NULL, NULL, &end, NULL, NULL, NULL, NULL);
	return pc < end ? module : NULL;
}

/* Whether the frame at @fp returns to code. */
static bool returns_to_code(struct stack_tracer *tracer, const struct stack_snapshot *snapshot,
                            uintptr_t fp)
{
	const uintptr_t *returns_to = word_at(snapshot, fp + sizeof(fp));

	return returns_to != NULL && module_at(tracer, *returns_to - 1) != NULL;
}

/* Whether a chain of frames begins at @fp, all of which return to code, and leads to that of the
 * runtime at the bottom, where 0 is. */
static bool is_chain(struct stack_tracer *tracer, const struct stack_snapshot *snapshot,
                     uintptr_t fp)
{
	const uintptr_t *saved = word_at(snapshot, fp);

	while (saved != NULL && *saved > fp && returns_to_code(tracer, snapshot, fp)) {
		fp = *saved;
		saved = word_at(snapshot, fp);
		if (saved != NULL && *saved == 0)
			return true;
	}
	return false;
}

/* 0: it has no name. */
static Dwarf_Addr start_of_function(struct stack_tracer *tracer, Dwarf_Addr pc)
{
	Dwfl_Module *module = module_at(tracer, pc);
	GElf_Off offset = 0;
	GElf_Sym symbol;

	if (module == NULL ||
	    dwfl_module_addrinfo(module, pc, &offset, &symbol, NULL, NULL, NULL) == NULL)
		return 0;
	return pc - offset;
}

/* Whether the function at @start has its frame at @fp. */
static enum likelihood likelihood(struct stack_tracer *tracer, const struct walk *walk,
                                  uintptr_t fp, Dwarf_Addr start)
{
	const uintptr_t *returns_to = word_at(walk->snapshot, fp + sizeof(fp));
	unsigned char code[CALL_BYTES];
	uint64_t target = 0;

	if (returns_to == NULL || !is_chain(tracer, walk->snapshot, fp) ||
	    pread(tracer->memory_fd, code, sizeof(code), (off_t)(*returns_to - sizeof(code))) !=
	            sizeof(code))
		return NO_FRAME;
	switch (call_before(*returns_to, code, &target)) {
	case CALL_NONE:
		break;
	case CALL_BY_POINTER:
		return MAYBE_FRAME;
	case CALL_BY_ADDRESS:
		return target == start ? SURE_FRAME : SOME_FRAME;
	}
	return NO_FRAME;
}

/* The frame of the outermost function so far; 0: there is none. */
static uintptr_t find_frame(struct stack_tracer *tracer, const struct walk *walk)
{
	enum likelihood best = NO_FRAME;
	uintptr_t found = 0;
	Dwarf_Addr start;

	if (walk->count == 0)
		return 0;
	start = start_of_function(tracer, walk->pcs[walk->count - 1]);
	for (Dwarf_Addr at = walk->last_sp;
	     best < SURE_FRAME && word_at(walk->snapshot, at) != NULL; at += sizeof(at)) {
		enum likelihood is = likelihood(tracer, walk, at, start);

		if (is > best) {
			best = is;
			found = at;
		}
	}
	return found;
}

static void walk_stack(struct stack_tracer *tracer, struct walk *walk)
{
	tracer->walk = walk;
	walk->count = 0;
	(void)dwfl_getthreads(tracer->dwfl, walk_thread, walk);
	tracer->walk = NULL;
}

/* ------ names */

/* Without what the compiler adds to the name of a copy that it has made, "receive.isra.0", and the
 * linker to that of a version. */
static void put_function(char function[STACK_FUNCTION_BYTES], Dwfl_Module *module, Dwarf_Addr pc)
{
	const char *name = module != NULL ? dwfl_module_addrname(module, pc) : NULL;
	Dwarf_Addr start = 0;

	if (name != NULL) {
		(void)snprintf(function, STACK_FUNCTION_BYTES, "%.*s", (int)strcspn(name, ".@"),
		               name);
		return;
	}
	name = module != NULL ? dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL)
	                      : NULL;
	if (name == NULL)
		name = "?";
	else if (strrchr(name, '/') != NULL)
		name = strrchr(name, '/') + 1;
	(void)snprintf(function, STACK_FUNCTION_BYTES, "%.50s+0x%llx", name,
	               (unsigned long long)(pc - start));
}

static void put_line(struct stack_frame *frame, Dwfl_Module *module, Dwarf_Addr pc)
{
	Dwfl_Line *line = module != NULL ? dwfl_module_getsrc(module, pc) : NULL;
	const char *file =
		line != NULL ? dwfl_lineinfo(line, NULL, &frame->line, NULL, NULL, NULL) : NULL;

	if (file == NULL)
		return;
	/* As seen from the directory of the build, which does not matter. */
	for (const char *up = strstr(file, "../"); up != NULL; up = strstr(file, "../"))
		file = up + 3;
	if (strlen(file) >= sizeof(frame->file))
		file += strlen(file) - (sizeof(frame->file) - 1);
	memcpy(frame->file, file, strlen(file) + 1);
}

static bool is_runtime(const struct stack_frame *frame)
{
	return frame->is_own && (strcmp(frame->function, "coroutine_main") == 0 ||
	                         strcmp(frame->function, "context_start") == 0);
}

/* From a stub that the linker has put between two functions, for which there is no table, to where
 * it returns. False: it is none. */
static bool leave_stub(struct stack_tracer *tracer, struct walk *walk)
{
	const uintptr_t *top = word_at(walk->snapshot, walk->at.sp);
	struct stack_registers at = {.sp = walk->at.sp, .fp = walk->at.fp};

	if (walk->at.link != 0) {
		at.pc = walk->at.link - 1;
	} else if (top != NULL) {
		at.pc = *top - 1;
		at.sp += sizeof(*top);
	}
	if (module_at(tracer, at.pc) == NULL)
		return false;
	walk->at = at;
	return true;
}

static void walk_snapshot(struct stack_tracer *tracer, struct walk *walk)
{
	walk->at = walk->snapshot->registers;
	walk_stack(tracer, walk);
	if (walk->count == 1 && leave_stub(tracer, walk))
		walk_stack(tracer, walk);
	if (walk->at.fp != 0)
		return;
	walk->at.fp = find_frame(tracer, walk);
	if (walk->at.fp != 0)
		walk_stack(tracer, walk);
}

/* False: the runtime begins here. */
static bool name_frame(struct stack_tracer *tracer, Dwarf_Addr pc, struct stack_frame *frame)
{
	Dwfl_Module *module = module_at(tracer, pc);

	*frame = (struct stack_frame){.is_own = module == tracer->own};
	put_function(frame->function, module, pc);
	put_line(frame, module, pc);
	return !is_runtime(frame);
}

unsigned stack_tracer_read(struct stack_tracer *tracer, const struct stack_snapshot *snapshot,
                           struct stack_frame frames[STACK_FRAMES_MAX])
{
	struct walk walk = {.snapshot = snapshot};
	unsigned count = 0;

	walk_snapshot(tracer, &walk);
	while (count < walk.count && name_frame(tracer, walk.pcs[count], &frames[count]))
		count++;
	return count;
}

unsigned stack_tracer_name_calls(struct stack_tracer *tracer, const void *const *pcs,
                                 unsigned count, struct stack_frame frames[STACK_FRAMES_MAX])
{
	unsigned named = 0;

	while (named < count && named < STACK_FRAMES_MAX &&
	       name_frame(tracer, (Dwarf_Addr)pcs[named] - (named > 0), &frames[named]))
		named++;
	return named;
}

void stack_tracer_name(struct stack_tracer *tracer, const struct stack_snapshot *snapshot,
                       char function[STACK_FUNCTION_BYTES])
{
	struct walk walk = {.snapshot = snapshot};

	function[0] = '\0';
	walk_snapshot(tracer, &walk);
	for (unsigned i = 0; i < walk.count; i++) {
		if (module_at(tracer, walk.pcs[i]) == tracer->own) {
			put_function(function, tracer->own, walk.pcs[i]);
			return;
		}
	}
}

/* ------ opening */

/* Debug information of its own, or under /usr/lib/debug; never one that is to be downloaded. */
static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_build_id_find_debuginfo,
};

int stack_tracer_open(struct stack_tracer **out)
{
	struct stack_tracer *tracer = calloc(1, sizeof(*tracer));

	if (tracer == NULL)
		return -ENOMEM;
	tracer->memory_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	tracer->dwfl = dwfl_begin(&callbacks);
	if (tracer->dwfl == NULL) {
		stack_tracer_close(tracer);
		return -ENOMEM;
	}
	if (dwfl_linux_proc_report(tracer->dwfl, getpid()) != 0 ||
	    dwfl_report_end(tracer->dwfl, NULL, NULL) != 0 ||
	    !dwfl_attach_state(tracer->dwfl, NULL, getpid(), &thread_callbacks, tracer)) {
		stack_tracer_close(tracer);
		return -ENODATA;
	}
	tracer->own = dwfl_addrmodule(tracer->dwfl, (Dwarf_Addr)&stack_tracer_open);
	*out = tracer;
	return 0;
}

void stack_tracer_close(struct stack_tracer *tracer)
{
	if (tracer == NULL)
		return;
	if (tracer->memory_fd >= 0)
		close(tracer->memory_fd);
	dwfl_end(tracer->dwfl);
	free(tracer);
}
