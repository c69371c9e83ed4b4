#include "capture/call_trace/stacks/unwind.h"

#include "base/hex.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROCESSES = 64, HEADER = 1024, CHAINS = 256, NAME = 8192 };

/* What of registers and memory is as it is; the rest is poison. */
enum trust { TRUST_ALL, TRUST_RETURNS /* addresses of functions' callers */, TRUST_STACK /* and those on the stack */ };

struct process {
	pid_t pid;
	uint64_t image, state, used;
	bool attached;
	Dwfl *dwfl;
};
struct module {
	struct module *next;
	uint32_t number;
	char *key; /* identity, a space, path */
};
struct unwinder {
	struct unwind_calls calls;
	struct process processes[PROCESSES];
	struct module *modules[CHAINS];
	uint32_t n_modules;
	uint64_t clock;
	/* What is being asked. */
	const struct stack_question *q;
	const unsigned char *bytes;
	uint64_t page_at; /* the page that was asked for last; 1: none */
	size_t page_n;
	unsigned char page[STACK_PAGE];
	struct unwound *to;
	uint64_t pcs[STACK_FRAMES];
	bool deep, whole, beyond; /* beyond: it read what was not sent along */
	enum trust trust;
	size_t n_pcs; /* where not all is trusted: the addresses of the first time */
};
#define POISON 0xbad0bad0bad0bad8u /* no address: what is found by it is not found */
/* libdw's callbacks that find files have no argument of ours. */
static struct unwinder *current;

/* Reads memory of the stack, from what came with the question, else page by page from the process. How many bytes
 * could be read. */
static size_t read_stack_memory(struct unwinder *u, uint64_t at, void *ret, size_t n)
{
	unsigned char *to = ret;
	size_t done = 0;
	while (done < n) {
		uint64_t from = at + done, page = from & ~(uint64_t)(STACK_PAGE - 1);
		const unsigned char *p = NULL;
		size_t k = 0;
		if (from >= u->q->at && from - u->q->at < u->q->n) {
			p = u->bytes + (from - u->q->at);
			k = u->q->n - (size_t)(from - u->q->at);
		} else {
			if (u->page_at != page) {
				u->page_n = u->calls.memory(u->calls.arg, page, u->page, STACK_PAGE);
				u->page_at = page;
			}
			if (from - page >= u->page_n)
				break;
			p = u->page + (from - page);
			k = u->page_n - (size_t)(from - page);
		}
		if (k > n - done)
			k = n - done;
		memcpy(to + done, p, k);
		done += k;
	}
	return done;
}

/* ---- the files ---- */

/* Is it the file that is mapped there? A name may be another file's by now: then there is no way on, rather than a
 * wrong one. Headers and, with most linkers, the build-id are in the first KiB, which no program changes. */
static bool is_mapped(struct unwinder *u, int fd, uint64_t base)
{
	unsigned char there[HEADER], here[HEADER];
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	ssize_t n = pread(fd, here, sizeof(here), 0);
	return n >= 64 && read_stack_memory(u, base, there, (size_t)n) == (size_t)n && !memcmp(here, there, (size_t)n);
}

/* libdwfl's callback. A descriptor of the module's file and in *ret_name its path, both libdwfl's then; -1: it is not
 * found, or another file is there now. */
static int find_elf(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, char **ret_name, Elf **elf)
{
	struct unwinder *u = current;
	char path[NAME];
	(void)mod, (void)data, (void)elf;
	*ret_name = NULL;
	if (*name != '/')
		return -1;
	for (int i = 0; i < 2; i++) {
		/* In the folder tree of the process; and where the name is gone, its program is there all the same. */
		int n = i ? snprintf(path, sizeof(path), "/proc/%d/exe", u->q->tid)
		          : snprintf(path, sizeof(path), "/proc/%d/root%s", u->q->tid, name);
		int fd = n < (int)sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
		if (fd >= 0 && is_mapped(u, fd, base)) {
			*ret_name = strdup(path);
			return fd;
		}
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* Tables to unwind by are in the files themselves. Always -1: nothing is looked for. */
static int find_debuginfo(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, const char *file,
                          const char *link, GElf_Word crc, char **ret_name)
{
	(void)mod, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
	*ret_name = NULL;
	return -1;
}

/* Its build-id in hex, else SIZE.TIME (ns) of the file, else "-". */
static void format_module_identity(Dwfl_Module *mod, const char *file, char *ret, size_t size)
{
	const unsigned char *id;
	GElf_Addr at;
	struct stat st;
	int n = dwfl_module_build_id(mod, &id, &at);
	if (n > 0 && 2 * (size_t)n < size)
		hex_text(id, (size_t)n, ret);
	else if (file && stat(file, &st) == 0)
		snprintf(ret, size, "%lld.%lld", (long long)st.st_size,
		         (long long)st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec);
	else
		snprintf(ret, size, "-");
}

/* Tells of it where it is new. False: too many, no memory, or nobody is there any more. */
static bool number_module(struct unwinder *u, const char *identity, const char *path, uint32_t *ret)
{
	char key[NAME];
	uint32_t h = 5381;
	if (snprintf(key, sizeof(key), "%s %s", identity, path) >= (int)sizeof(key))
		return false;
	for (const char *p = key; *p; p++)
		h = h * 33 + (unsigned char)*p;
	struct module **chain = &u->modules[h % CHAINS], *m;
	for (m = *chain; m && strcmp(m->key, key) != 0; m = m->next)
		;
	if (!m) {
		if (u->n_modules == STACK_MODULES || !(m = calloc(1, sizeof(*m))))
			return false;
		m->key = strdup(key);
		if (!m->key || !u->calls.module(u->calls.arg, u->n_modules, identity, path)) {
			free(m->key);
			free(m);
			return false;
		}
		m->number = u->n_modules++;
		m->next = *chain;
		*chain = m;
	}
	*ret = m->number;
	return true;
}

/* Which module, said to who asked at the first time: kept with libdw's, 0 not known yet. */
static uint32_t module_number(struct unwinder *u, Dwfl_Module *mod)
{
	void **data;
	const char *main_file = NULL, *name = dwfl_module_info(mod, &data, NULL, NULL, NULL, NULL, &main_file, NULL);
	char identity[160];
	uint32_t number;
	if (*data)
		return (uint32_t)((uintptr_t)*data - 1);
	format_module_identity(mod, main_file, identity, sizeof(identity));
	if (!number_module(u, identity, name ? name : "?", &number))
		return STACK_ANONYMOUS;
	*data = (void *)((uintptr_t)number + 1);
	return number;
}

/* ---- libdw's questions ---- */

/* A callback of libdwfl: gives the one thread that was asked for, then 0. */
static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl;
	struct unwinder *u = current;
	(void)arg;
	if (*thread)
		return 0;
	*thread = u;
	return u->q->tid;
}

/* Only of the thread that is asked about. */
static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	(void)dwfl, (void)arg;
	*thread = current;
	return tid == current->q->tid;
}

/* May unwinding go by a value, without asking whether it changes? Addresses of callers; with TRUST_STACK places on the
 * stack, too. */
static bool is_trusted(const struct unwinder *u, uint64_t value)
{
	if (u->trust == TRUST_ALL || (u->trust == TRUST_STACK && value >= u->q->at && value - u->q->at < u->q->n))
		return true;
	for (size_t i = 0; i < u->n_pcs; i++)
		if (u->pcs[i] == value)
			return true;
	return false;
}

/* libdwfl's callback. A value that is not trusted reads as POISON; where the others were read is noted in u->to. */
static bool memory_read(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *ret, void *arg)
{
	struct unwinder *u = current;
	struct unwound *to = u->to;
	(void)dwfl, (void)arg;
	u->beyond |= at < u->q->at || at - u->q->at + sizeof(*ret) > u->q->n;
	if (read_stack_memory(u, at, ret, sizeof(*ret)) != sizeof(*ret))
		return false;
	if (!is_trusted(u, *ret))
		*ret = POISON;
	else if (to->n_words < STACK_WORDS)
		to->words[to->n_words++] = (uint32_t)(at - u->q->at);
	else
		u->beyond = true;
	return true;
}

/* libdwfl's callback. Registers that are not trusted are POISON. */
static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	(void)arg;
	const struct stack_question *q = current->q;
	Dwarf_Word v[STACK_REGISTERS];
	for (int i = 0; i < STACK_USED; i++) {
		bool own = i == STACK_POINTER, kept = !own && q->registers[i] != q->pc && is_trusted(current, q->registers[i]);
		v[i] = own || kept ? q->registers[i] : q->registers[i] == q->pc ? q->pc : POISON;
		current->to->registers |= (uint32_t)kept << i;
	}
	if (!dwfl_thread_state_registers(thread, 0, STACK_USED, v))
		return false;
	dwfl_thread_state_register_pc(thread, q->pc);
	return true;
}

/* Where no table tells who called, libdw goes by the frame pointer, which may be any number: that would be a guess. */
static bool has_table(Dwfl_Module *mod, Dwarf_Addr pc)
{
	Dwarf_Addr bias;
	Dwarf_Frame *frame;
	for (int i = 0; i < 2; i++) {
		Dwarf_CFI *cfi = i ? dwfl_module_dwarf_cfi(mod, &bias) : dwfl_module_eh_cfi(mod, &bias);
		if (cfi && dwarf_cfi_addrframe(cfi, pc - bias, &frame) == 0) {
			free(frame);
			return true;
		}
	}
	return false;
}

/* libdwfl's callback for each frame. Ends the walk at STACK_FRAMES, at a thread's begin, and where no table says who
 * called. */
static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct unwinder *u = arg;
	Dwarf_Addr pc, bias = 0, start = 0;
	bool before;
	if (u->to->n == STACK_FRAMES) {
		u->deep = true;
		return DWARF_CB_ABORT;
	}
	if (!dwfl_frame_pc(frame, &pc, &before))
		return DWARF_CB_ABORT;
	if (!pc) { /* where a thread begins, by convention */
		u->whole = true;
		return DWARF_CB_ABORT;
	}
	bool interrupted = before && u->to->n;
	Dwfl_Module *mod = dwfl_addrmodule(dwfl_thread_dwfl(dwfl_frame_thread(frame)), pc - !interrupted);
	if (u->trust == TRUST_ALL)
		u->pcs[u->to->n] = pc;
	struct stack_frame *f = &u->to->frames[u->to->n++];
	*f = (struct stack_frame){.module = STACK_ANONYMOUS, .flags = interrupted ? FRAME_INTERRUPTED : 0};
	if (!mod)
		return DWARF_CB_ABORT;
	if (!dwfl_module_getelf(mod, &bias)) {
		dwfl_module_info(mod, NULL, &start, NULL, NULL, NULL, NULL, NULL);
		bias = start;
	}
	f->module = module_number(u, mod);
	f->offset = f->module == STACK_ANONYMOUS ? 0 : pc - bias;
	return has_table(mod, pc - !interrupted) ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/* ---- processes ---- */

/* Frees what is held of the process; the slot is empty then. */
static void end_process(struct process *p)
{
	if (p->dwfl)
		dwfl_end(p->dwfl);
	*p = (struct process){0};
}

/* Begins to unwind stacks of the process that is asked about: one that is known, else the place of the one that was
 * used longest ago. NULL: libdwfl cannot. */
static struct process *attach_process(struct unwinder *u)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = find_elf, .find_debuginfo = find_debuginfo};
	static const Dwfl_Thread_Callbacks threads = {.next_thread = next_thread,
	                                              .get_thread = get_thread,
	                                              .memory_read = memory_read,
	                                              .set_initial_registers = set_registers};
	const struct stack_question *q = u->q;
	struct process *p = &u->processes[0];
	for (int i = 0; i < PROCESSES; i++) {
		struct process *x = &u->processes[i];
		if (x->pid == q->pid) {
			p = x;
			break;
		}
		if (x->used < p->used)
			p = x;
	}
	if (p->pid != q->pid || p->image != q->image)
		end_process(p);
	p->used = ++u->clock;
	if (p->dwfl && p->state == q->state)
		return p;
	if (!p->dwfl)
		p->dwfl = dwfl_begin(&callbacks);
	p->pid = q->pid;
	p->image = q->image;
	p->state = q->state;
	if (!p->dwfl)
		return NULL;
	dwfl_report_begin(p->dwfl);
	/* By the thread: of a process whose first one has ended there is nothing by its own number. */
	if (dwfl_linux_proc_report(p->dwfl, q->tid) != 0 || dwfl_report_end(p->dwfl, NULL, NULL) != 0) {
		end_process(p);
		return NULL;
	}
	if (!p->attached)
		p->attached = dwfl_attach_state(p->dwfl, NULL, q->pid, &threads, u);
	if (!p->attached) {
		end_process(p);
		return NULL;
	}
	return p;
}

/* calls is copied. NULL: no memory. */
struct unwinder *unwinder_new(const struct unwind_calls *calls)
{
	struct unwinder *u = calloc(1, sizeof(*u));
	if (u)
		u->calls = *calls;
	return u;
}

/* Fills ret with the frames and says how it ended: whole, too deep, or early. trust: which addresses may be callers. */
static void unwind_process(struct unwinder *u, struct process *p, enum trust trust, struct unwound *ret)
{
	u->trust = trust;
	u->to = ret;
	u->deep = u->whole = u->beyond = false;
	ret->n = ret->n_words = 0;
	ret->registers = 0;
	int r = dwfl_getthread_frames(p->dwfl, u->q->tid, take_frame, u);
	ret->end = u->deep ? STACK_DEEP : r == 0 || u->whole ? STACK_WHOLE : STACK_EARLY;
}

/* What else registers and stack hold, counters, say, changes from call to call, and the stack does not. So it is
 * unwound again with all poisoned that is no address of a caller: if the same comes out, it did not depend on the rest.
 * Where a function has a frame pointer, addresses on the stack count as well. False: nothing short of everything gives
 * the same stack. */
static bool find_words(struct unwinder *u, struct process *p, struct unwound *ret)
{
	static struct unwound again;
	u->n_pcs = ret->n;
	for (enum trust trust = TRUST_RETURNS; trust <= TRUST_STACK; trust++) {
		unwind_process(u, p, trust, &again);
		if (u->beyond || again.n != ret->n || again.end != ret->end ||
		    memcmp(again.frames, ret->frames, ret->n * sizeof(*ret->frames)) != 0)
			continue;
		memcpy(ret->words, again.words, again.n_words * sizeof(*again.words));
		ret->n_words = again.n_words;
		ret->registers = again.registers;
		return true;
	}
	return false;
}

void unwinder_stack(struct unwinder *u, const struct stack_question *q, const void *bytes, struct unwound *ret)
{
	current = u;
	u->q = q;
	u->bytes = bytes;
	u->page_at = 1;
	ret->n = ret->n_words = 0;
	ret->end = STACK_EARLY;
	struct process *p = attach_process(u);
	if (!p)
		return;
	unwind_process(u, p, TRUST_ALL, ret);
	if (u->beyond || !ret->n || !find_words(u, p, ret))
		ret->n_words = 0;
}

/* For when a process ended or called exec. Nothing if it is not held. */
void unwinder_forget(struct unwinder *u, pid_t pid)
{
	for (int i = 0; i < PROCESSES; i++)
		if (u->processes[i].pid == pid)
			end_process(&u->processes[i]);
}
