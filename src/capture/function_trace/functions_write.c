#include "capture/function_trace/functions_write.h"

#include "base/buf.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CHAINS = 4096, FLUSH = 1 << 16 };
#define STACK_ALTERNATE UINT32_MAX

struct frame {
	uint64_t sp, back; /* back: address in the program, meaningful where function's program is */
	uint32_t function, stack;
	uint32_t level; /* how many the kernel's program took to be open below it */
};
struct thread {
	struct thread *next; /* in its chain */
	uint32_t tid, pid;
	struct frame *frames;
	size_t n_frames, cap_frames;
	uint64_t *stacks; /* their ends, by number */
	uint32_t n_stacks, stack;
	char name[64]; /* as in trace_info */
	const char *began;
	char *exe; /* as it was started; NULL: not known */
	uint64_t started;
	unsigned made;    /* threads that it created */
	size_t inherited; /* frames that its maker had open */
	struct buf out;
	uint64_t written;
	char file[64]; /* "" none yet */
	bool full, switched, doubtful, deep;
};
struct functions_writer {
	const struct found *found;
	struct thread *threads[CHAINS];
	size_t n_threads;
	uint64_t traces;
	int failed;
	bool beyond;
};

struct functions_writer *functions_writer_new(const struct found *found)
{
	struct functions_writer *w = calloc(1, sizeof(*w));
	if (w)
		w->found = found;
	return w;
}

/* Where the pointer to the thread is, or is to be put: NULL is there if it is not known. */
static struct thread **function_thread_slot(struct functions_writer *w, uint32_t tid)
{
	struct thread **at = &w->threads[tid % CHAINS];
	while (*at && (*at)->tid != tid)
		at = &(*at)->next;
	return at;
}

/* Begins the trace of a thread. NULL: no memory, or too many: w->beyond. */
static struct thread *thread_new(struct functions_writer *w, uint32_t tid, uint32_t pid)
{
	struct thread **at = function_thread_slot(w, tid),
	              *t = w->n_threads < FUNCTIONS_THREADS ? calloc(1, sizeof(*t)) : NULL;
	if (!t) {
		w->beyond = true;
		return NULL;
	}
	t->tid = tid;
	t->pid = pid;
	t->began = "fork";
	snprintf(t->name, sizeof(t->name), tid == pid ? "0" : "?");
	t->next = *at;
	*at = t;
	w->n_threads++;
	return t;
}

/* ---- the file ---- */

/* Appends the name with control characters and backslashes as \xNN. */
static void append_function_name(struct buf *b, const char *p)
{
	for (; *p; p++)
		if ((unsigned char)*p < 32 || *p == 127 || *p == '\\')
			buf_printf(b, "\\x%02x", (unsigned char)*p);
		else
			buf_char(b, *p);
}

/* Appends what has gathered to the thread's file, if it has one. The first error is in w->failed. */
static void flush_function_trace(struct functions_writer *w, struct thread *t)
{
	size_t done;
	if (t->out.failed && !w->failed)
		w->failed = ENOMEM;
	if (!t->out.n || !*t->file)
		return;
	int fd = open(t->file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : io_write(fd, t->out.p, t->out.n, &done);
	if (r < 0 && !w->failed)
		w->failed = -r;
	if (fd >= 0)
		close(fd);
	t->written += t->out.n;
	buf_reset(&t->out);
}

/* Writes what waits if it is much. A trace that grew too long ends with the line "g full", once. */
static void flush_function_trace_if_full(struct functions_writer *w, struct thread *t)
{
	if (t->out.n >= FLUSH)
		flush_function_trace(w, t);
	if (!t->full && t->written > FUNCTIONS_BYTES) {
		t->full = true;
		buf_str(&t->out, str_of("g full\n"));
	}
}

/* Notes in the trace that something is missing. Nothing where there is no file, or it is full. */
static void put_gap(struct functions_writer *w, struct thread *t, const char *why)
{
	if (!t->full && *t->file) {
		buf_printf(&t->out, "g %s\n", why);
		flush_function_trace_if_full(w, t);
	}
}

/* Writes the head of a thread's trace. Of the functions, all that could have been seen have their line: that they
 * were not entered is known, too. */
static void append_trace_head(struct functions_writer *w, struct thread *t, uint32_t function)
{
	const struct found_program *p = &w->found->programs[w->found->v[function].program];
	struct timespec now;
	struct buf *b = &t->out;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(t->file, sizeof(t->file), "%u-%u-%llu.functions", t->pid, t->tid, (unsigned long long)w->traces++);
	buf_str(b, str_of("stemma-functions 1\nexe "));
	/* Of a library it is what was started that the trace is of. */
	append_function_name(b, p->library && t->exe ? t->exe : p->path);
	if (!p->library)
		buf_printf(b, "\nstate %llu %lld", (unsigned long long)p->size, (long long)p->time);
	buf_printf(b, "\nbegan %s\nprocess %u %llu %lld\nthread %s\n\n", t->began, t->pid,
	           (unsigned long long)(t->started / (uint64_t)(1000000000 / sysconf(_SC_CLK_TCK))),
	           now.tv_sec * 1000000000LL + now.tv_nsec, t->name);
	for (size_t i = 0; i < w->found->n; i++) {
		buf_str(b, str_of("f "));
		append_function_name(b, w->found->v[i].name);
		buf_char(b, '\n');
	}
	for (size_t i = 0; i < t->inherited && i < t->n_frames; i++)
		buf_printf(b, "b %u\n", t->frames[i].function);
	t->inherited = 0;
}

/* Frees the frames and stacks of the thread, which has none then. */
static void drop_frames(struct thread *t)
{
	free(t->frames);
	free(t->stacks);
	t->frames = NULL;
	t->stacks = NULL;
	t->n_frames = t->cap_frames = t->inherited = 0;
	t->n_stacks = t->stack = 0;
}

/* The end of what it did in this program. */
static void close_trace(struct functions_writer *w, struct thread *t, const char *how)
{
	if (*t->file && !t->full)
		buf_printf(&t->out, "e %s\n", how);
	flush_function_trace(w, t);
	*t->file = '\0';
	t->written = 0;
	t->full = t->switched = t->doubtful = t->deep = false;
	drop_frames(t);
}

/* Closes its trace with `how`, and forgets the thread. */
static void thread_over(struct functions_writer *w, uint32_t tid, const char *how)
{
	struct thread **at = function_thread_slot(w, tid), *t = *at;
	if (!t)
		return;
	close_trace(w, t, how);
	*at = t->next;
	w->n_threads--;
	buf_release(&t->out);
	free(t->exe);
	free(t);
}

/* ---- what is told ---- */

/* A child: a process goes on with what its maker had open; of a thread the number is noted that its maker gave it. */
static void handle_fork_record(struct functions_writer *w, const struct function_exec_record *e)
{
	uint32_t tid = (uint32_t)e->head.sp, pid = (uint32_t)e->head.back;
	struct thread *maker = *function_thread_slot(w, e->head.tid);
	thread_over(w, tid, "stopped"); /* its end was lost */
	struct thread *t = thread_new(w, tid, pid);
	if (!t)
		return;
	t->started = e->started;
	t->exe = maker && maker->exe ? strdup(maker->exe) : NULL;
	if (tid != pid) {
		t->began = "thread";
		if (maker && *maker->name != '?' && strlen(maker->name) + 12 < sizeof(t->name))
			snprintf(t->name, sizeof(t->name), "%.50s.%u", maker->name, maker->made++);
		return;
	}
	/* What its maker had open it has, too. */
	if (!maker || !maker->n_frames)
		return;
	t->frames = malloc(maker->n_frames * sizeof(*t->frames));
	t->stacks = malloc((maker->n_stacks + 1) * sizeof(*t->stacks));
	if (!t->frames || !t->stacks) {
		drop_frames(t);
		return;
	}
	memcpy(t->frames, maker->frames, maker->n_frames * sizeof(*t->frames));
	if (maker->n_stacks)
		memcpy(t->stacks, maker->stacks, maker->n_stacks * sizeof(*t->stacks));
	t->n_frames = t->cap_frames = t->inherited = maker->n_frames;
	t->n_stacks = maker->n_stacks;
	t->stack = maker->stack;
}

/* The process's trace ends with "exec", and another one begins. */
static void handle_exec_record(struct functions_writer *w, const struct function_exec_record *e)
{
	uint32_t old = (uint32_t)e->head.sp;
	if (old != e->head.tid)
		thread_over(w, old, "exec");
	struct thread *t = *function_thread_slot(w, e->head.tid);
	if (t)
		close_trace(w, t, "exec");
	else
		t = thread_new(w, e->head.tid, e->head.pid);
	if (!t)
		return;
	free(t->exe);
	t->exe = strndup(e->name, RECORD_NAME_MAX);
	t->started = e->started;
	t->began = "exec";
	t->made = 0;
	snprintf(t->name, sizeof(t->name), "0");
}

/* The thread is on another stack, known by its end. Beyond 4096, or without memory, it counts as the first one. */
static void on_stack(struct functions_writer *w, const struct function_record *e)
{
	struct thread *t = *function_thread_slot(w, e->tid);
	uint64_t end = (uint64_t)e->back;
	if (!t)
		return;
	for (t->stack = 0; t->stack < t->n_stacks; t->stack++)
		if (t->stacks[t->stack] == end)
			return;
	uint64_t *v = t->n_stacks < 4096 ? realloc(t->stacks, (t->n_stacks + 1) * sizeof(*v)) : NULL;
	if (!v) {
		t->stack = 0;
		return;
	}
	t->stacks = v;
	v[t->n_stacks++] = end;
}

/* Was the new one entered by a jump at the end of the function that is on top (a tail call)? Both have one place on the
 * stack and return to one place; the call there says which of them it is of. */
static bool is_tail_call(const struct functions_writer *w, const struct frame *top, const struct frame *f)
{
	const struct found_function *a = &w->found->v[top->function], *b = &w->found->v[f->function];
	if (top->function == f->function || top->back != f->back || a->program != b->program)
		return false;
	uint64_t called = functions_found_call(&w->found->programs[b->program], f->back);
	return called && called != b->address;
}

/* How many frames are over when f is entered. `open`: so many of those that the kernel's program knows are not, for the
 * return addresses that they found are where they were. A return address that nobody has overwritten may lie there
 * still; so where f was called from one of the functions, the frame of that one is the innermost that is open. */
static size_t frames_over(struct functions_writer *w, struct thread *t, const struct frame *f, bool own)
{
	const struct found_function *v = &w->found->v[f->function], *caller;
	size_t n = t->n_frames, same = n;
	/* Frames of other stacks that lie above the last of this one are over, or wait for good. */
	while (same && t->frames[same - 1].stack != f->stack)
		same--;
	if (same)
		n = same;
	while (
	    n && t->frames[n - 1].level >= f->level &&
	    !(t->frames[n - 1].stack == f->stack && t->frames[n - 1].sp == f->sp && is_tail_call(w, &t->frames[n - 1], f)))
		n--;
	while (n && t->frames[n - 1].stack == f->stack && t->frames[n - 1].sp < f->sp)
		n--;
	caller = own ? functions_found_at(w->found, v->program, f->back - 1) : NULL;
	for (size_t k = n; caller && k; k--) {
		const struct found_function *is = &w->found->v[t->frames[k - 1].function];
		/* A jump from its end has taken the caller's place. */
		if (t->frames[k - 1].stack == f->stack && t->frames[k - 1].sp == f->sp)
			break;
		if (is == caller)
			return t->n_frames - k;
	}
	return t->n_frames - n;
}

/* Room for one more frame? False: too many, or no memory. */
static bool frames_room(struct thread *t)
{
	if (t->n_frames < t->cap_frames)
		return true;
	size_t more = t->cap_frames ? 2 * t->cap_frames : 64;
	struct frame *p = more > FUNCTIONS_DEPTH ? NULL : realloc(t->frames, more * sizeof(*p));
	if (!p)
		return false;
	t->frames = p;
	t->cap_frames = more;
	return true;
}

/* What makes it unsure which frames are open, told once each: another stack, or one that could not be read. */
static void put_stack_gaps(struct functions_writer *w, struct thread *t, const struct function_record *e,
                           const struct frame *f)
{
	if (t->n_frames && f->stack != STACK_ALTERNATE && t->frames[t->n_frames - 1].stack != f->stack &&
	    t->frames[t->n_frames - 1].stack != STACK_ALTERNATE && !t->switched) {
		t->switched = true;
		put_gap(w, t, "stacks");
	}
	if (e->flags & RECORD_UNKNOWN && !t->doubtful) {
		t->doubtful = true;
		put_gap(w, t, "stack");
	}
}

/* Writes what has been left since, then that the function was entered: 'c' by the program itself, 'o' by others. */
static void handle_entry_record(struct functions_writer *w, const struct function_record *e)
{
	struct thread *t = *function_thread_slot(w, e->tid);
	if (e->function >= w->found->n)
		return;
	const struct found_function *v = &w->found->v[e->function];
	struct frame f = {.sp = e->sp,
	                  .back = v->address + v->probe + (uint64_t)e->back,
	                  .function = e->function,
	                  .level = e->pid,
	                  .stack = e->flags & RECORD_ALTERNATE ? STACK_ALTERNATE
	                           : t                         ? t->stack
	                                                       : 0};
	if (!t && !(t = thread_new(w, e->tid, e->tid)))
		return;
	if (!*t->file)
		append_trace_head(w, t, e->function);
	if (t->full)
		return;
	put_stack_gaps(w, t, e, &f);
	bool own = !(e->flags & RECORD_UNREAD) && functions_found_own(&w->found->programs[v->program], f.back);
	size_t over = frames_over(w, t, &f, own);
	if (over)
		buf_printf(&t->out, "r %zu\n", over);
	t->n_frames -= over;
	if (!frames_room(t)) {
		if (!t->deep)
			put_gap(w, t, "deep");
		t->deep = true;
		return;
	}
	t->frames[t->n_frames++] = f;
	buf_printf(&t->out, "%c %u\n", own ? 'c' : 'o', e->function);
	flush_function_trace_if_full(w, t);
}

/* A thread ended: "thread", "exit", or "killed SIGNAL" after the status in sp. */
static void handle_exit_record(struct functions_writer *w, const struct function_record *e)
{
	char how[32] = "exit";
	if (e->sp & 0x7f)
		snprintf(how, sizeof(how), "killed %u", (unsigned)(e->sp & 0x7f));
	else if (!e->flags && !e->back)
		snprintf(how, sizeof(how), "thread");
	thread_over(w, e->tid, how);
}

/* One record of size bytes. One of an unknown kind is passed over. */
void functions_writer_add(struct functions_writer *w, const struct function_record *t, size_t size)
{
	const struct function_exec_record *e = (const struct function_exec_record *)t;
	switch (t->what) {
	case RECORD_ENTER:
		handle_entry_record(w, t);
		break;
	case RECORD_STACK:
		on_stack(w, t);
		break;
	case RECORD_FORK:
		if (size >= offsetof(struct function_exec_record, name))
			handle_fork_record(w, e);
		break;
	case RECORD_EXEC:
		if (size >= sizeof(*e))
			handle_exec_record(w, e);
		break;
	case RECORD_EXIT:
		handle_exit_record(w, t);
		break;
	}
}

void functions_writer_gap(struct functions_writer *w, const char *why)
{
	for (size_t i = 0; i < CHAINS; i++)
		for (struct thread *t = w->threads[i]; t; t = t->next)
			put_gap(w, t, why);
}

void functions_writer_end(struct functions_writer *w, uint64_t *ret_traces, int *ret_failed)
{
	for (size_t i = 0; i < CHAINS; i++)
		while (w->threads[i])
			thread_over(w, w->threads[i]->tid, "stopped");
	*ret_traces = w->traces;
	*ret_failed = w->failed ? w->failed : w->beyond ? EAGAIN : 0;
	free(w);
}
