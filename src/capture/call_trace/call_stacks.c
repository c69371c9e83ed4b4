#include "capture/call_trace/call_stacks.h"

#include "capture/supervisor/super.h"

#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

enum { STATES = 4096, WAIT_MS = 10, FIRST_SLOTS = 256, UNKNOWN = -1, SETS = 64, WAYS = 4, MESSAGES = 8192 };

/* A function's frame (module, offset with its flag), or a stack (its caller's, its frame). */
struct stack_slot {
	uint64_t a, b;
	uint32_t number; /* and 1; 0 free */
	bool stack;
};

/* A stack, and what it was found by. Sets of WAYS, by where the thread stood. */
struct known_stack {
	uint64_t pc, sp, state, image;
	uint32_t registers, n;
	uint32_t extent; /* bytes from the stack pointer in which all words lie */
	uint64_t register_values[STACK_USED + 1];
	struct known_word {
		uint32_t offset;
		uint64_t value;
	} * words; /* NULL: there is none */
	int64_t stack;
};

struct stacker {
	int fd;
	uint64_t states[STATES]; /* by process: so many times other code was mapped; numbers that meet cost a look only */
	char **modules;          /* identity and path, as lines have them */
	size_t n, cap;
	uint32_t *told; /* by the unwinder's number */
	size_t n_told;
	char in[STACK_MESSAGE] __attribute__((aligned(16)));
	char out[STACK_MESSAGE] __attribute__((aligned(16)));
	char reply[STACK_PAGE + sizeof(struct stack_question)] __attribute__((aligned(16)));
	unsigned turn;      /* of the ways */
	uint64_t number;    /* of the last question */
	bool asked[STATES]; /* about a process of this number */
};

/* ret->known: false where it cannot be told. */
void stands_at(pid_t tid, struct stands *ret)
{
	ret->known = false;
#if defined(__x86_64__)
	struct user_regs_struct r;
	struct iovec v = {&r, sizeof(r)};
	if (syscall(SYS_ptrace, PTRACE_GETREGSET, (long)tid, NT_PRSTATUS, &v) < 0 || v.iov_len != sizeof(r))
		return;
	const uint64_t by_number[] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
	                              r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
	memcpy(ret->registers, by_number, sizeof(by_number));
	ret->pc = r.rip;
	ret->known = true;
#elif defined(__aarch64__)
	struct user_regs_struct r;
	struct iovec v = {&r, sizeof(r)};
	if (syscall(SYS_ptrace, PTRACE_GETREGSET, (long)tid, NT_PRSTATUS, &v) < 0 || v.iov_len != sizeof(r))
		return;
	memcpy(ret->registers, r.regs, sizeof(r.regs));
	ret->registers[STACK_POINTER] = r.sp;
	ret->pc = r.pc;
	ret->known = true;
#else
	(void)tid;
#endif
}

struct stacker *stacker_new(int fd)
{
	struct stacker *k = calloc(1, sizeof(*k));
	if (k)
		k->fd = fd;
	return k;
}

/* Closes the helper's socket: no stacks are asked for any more. */
static void give_up(struct stacker *k)
{
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
}

/* NULL is no error. */
void stacker_release(struct stacker *k)
{
	if (!k)
		return;
	give_up(k);
	for (size_t i = 0; i < k->n; i++)
		free(k->modules[i]);
	free(k->modules);
	free(k->told);
	free(k);
}

/* s is empty then. */
void emitted_stacks_release(struct emitted_stacks *s)
{
	for (int i = 0; s->known && i < SETS * WAYS; i++)
		free(s->known[i].words);
	free(s->known);
	free(s->slots);
	free(s->module);
	*s = (struct emitted_stacks){0};
}

void stacker_maps(struct stacker *k, pid_t pid)
{
	k->states[(unsigned)pid % STATES]++;
}

/* ---- the unwinder ---- */

/* Sends n bytes to the helper that unwinds stacks. False: it did not take all at once, or is gone. */
static bool send_all(struct stacker *k, const void *p, size_t n)
{
	ssize_t r;
	/* It reads before it answers, and is asked one thing at a time: what does not fit was not read for long. */
	while ((r = send(k->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 && errno == EINTR)
		;
	return r == (ssize_t)n;
}

/* Its length; -1: no answer within STACKED_MS, in which the job goes on; 0: it is gone. */
static ssize_t receive_answer(struct stacker *k, struct sup *s)
{
	for (int waited = 0; waited < STACKED_MS; waited += WAIT_MS) {
		struct pollfd p = {.fd = k->fd, .events = POLLIN};
		int r = poll(&p, 1, WAIT_MS);
		if (r > 0)
			return recv(k->fd, k->in, sizeof(k->in), MSG_DONTWAIT);
		sup_goes_on(s);
	}
	return -1;
}

/* Answers with n bytes of the thread's memory; with none if they cannot be read, or are more than a page. */
static bool send_memory(struct stacker *k, pid_t tid, uint64_t at, size_t n)
{
	struct stack_question *q = (struct stack_question *)k->reply;
	ssize_t got = n <= STACK_PAGE ? remote_read(tid, at, q + 1, n) : -1;
	*q = (struct stack_question){.kind = ASK_MEMORY, .n = got > 0 ? (uint32_t)got : 0, .at = at};
	return send_all(k, q, sizeof(*q) + q->n);
}

/* Appends the text with control characters and backslashes as \xNN. */
static void print_escaped(struct buf *b, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127 || text[i] == '\\')
			buf_printf(b, "\\x%02x", (unsigned char)text[i]);
		else
			buf_char(b, text[i]);
}

/* Makes the table of stacks that were told larger, to n numbers, if there is memory. */
static void grow_told(struct stacker *k, size_t n)
{
	uint32_t *v = realloc(k->told, n * sizeof(*v));
	if (!v)
		return;
	memset(v + k->n_told, 0xff, (n - k->n_told) * sizeof(*v));
	k->told = v;
	k->n_told = n;
}

/* Its number is from here on this module. False: what it says makes no sense, or there is no room. */
static bool take_module(struct stacker *k, const struct stack_answer *a)
{
	struct buf b = {0};
	const char *text = (const char *)(a + 1);
	size_t i;
	if (a->module >= STACK_MODULES || memchr(text, '\0', a->n))
		return false;
	print_escaped(&b, text, a->n);
	const char *key = buf_cstr(&b);
	for (i = 0; i < k->n && strcmp(k->modules[i], key) != 0; i++)
		;
	if (i == k->n && k->n == k->cap) {
		size_t cap = k->cap ? 2 * k->cap : 64;
		char **v = cap <= STACK_MODULES ? realloc(k->modules, cap * sizeof(*v)) : NULL;
		if (v) {
			k->modules = v;
			k->cap = cap;
		}
	}
	if (a->module >= k->n_told)
		grow_told(k, (size_t)a->module + 64);
	if (i == k->n && k->n < k->cap && !b.failed && (k->modules[k->n] = strdup(key)))
		k->n++;
	bool done = i < k->n && a->module < k->n_told;
	if (done)
		k->told[a->module] = (uint32_t)i;
	buf_release(&b);
	return done;
}

/* The answer is in k->in; NULL: there is none. The thread stands meanwhile, so the unwinder may say no more than
 * MESSAGES before it: 256 frames have no more modules, and 32 pages each that have not been sent. */
static const struct stack_answer *ask_unwinder(struct stacker *k, struct sup *s, pid_t pid, pid_t tid, uint64_t image,
                                               const struct stands *at)
{
	struct stack_question *q = (struct stack_question *)k->out;
	const struct stack_answer *a = (const struct stack_answer *)k->in;
	*q = (struct stack_question){.kind = ASK_STACK,
	                             .pid = pid,
	                             .tid = tid,
	                             .number = ++k->number,
	                             .image = image,
	                             .state = k->states[(unsigned)pid % STATES],
	                             .at = at->registers[STACK_POINTER],
	                             .pc = at->pc};
	memcpy(q->registers, at->registers, sizeof(q->registers));
	k->asked[(unsigned)pid % STATES] = true;
	ssize_t got = remote_read(tid, q->at, q + 1, STACK_BYTES);
	q->n = got > 0 ? (uint32_t)got : 0;
	if (!send_all(k, q, sizeof(*q) + q->n))
		return NULL;
	for (unsigned said = 0; said < MESSAGES; said++) {
		ssize_t n = receive_answer(k, s);
		if (n < (ssize_t)sizeof(*a))
			return NULL;
		size_t rest = (size_t)n - sizeof(*a);
		switch (a->kind) {
		case REPLY_WANTS:
			if (!send_memory(k, tid, a->at, a->n))
				return NULL;
			break;
		case REPLY_MODULE:
			if (a->n != rest || !take_module(k, a))
				return NULL;
			break;
		case REPLY_STACK:
			if (a->number != q->number)
				return NULL;
			return a->n <= STACK_FRAMES && a->words <= STACK_WORDS &&
			               rest == a->n * sizeof(struct stack_frame) + a->words * sizeof(uint32_t)
			           ? a
			           : NULL;
		case REPLY_LOST: /* another process answers from now on, which has named nothing yet */
			k->n_told = 0;
			free(k->told);
			k->told = NULL;
			if (a->number == q->number)
				return a;
			break; /* it had not taken this question; the other one will */
		default:
			return NULL;
		}
	}
	return NULL;
}

/* The process is over: the unwinder forgets it. Nothing if it was never asked about. */
void stacker_gone(struct stacker *k, pid_t pid)
{
	struct stack_question q = {.kind = ASK_GONE, .pid = pid};
	if (!k->asked[(unsigned)pid % STATES])
		return;
	k->asked[(unsigned)pid % STATES] = false;
	if (k->fd >= 0 && !send_all(k, &q, sizeof(q)))
		give_up(k);
}

/* ---- the lines ---- */

/* A hash of two words; the order counts. */
static uint64_t mix_words(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b << 17) ^ (b >> 47)) * 0x9e3779b97f4a7c15u;
	h = (h ^ (h >> 29) ^ b) * 0xbf58476d1ce4e5b9u;
	return h ^ (h >> 32);
}

/* Makes the table of stacks twice as large. False: no memory, or STACKED_MOST are there. */
static bool double_stack_slots(struct emitted_stacks *s)
{
	uint32_t size = s->slots ? 2 * (s->mask + 1) : FIRST_SLOTS;
	struct stack_slot *v = s->n < STACKED_MOST ? calloc(size, sizeof(*v)) : NULL;
	if (!v)
		return false;
	for (uint32_t i = 0; s->slots && i <= s->mask; i++) {
		const struct stack_slot *x = &s->slots[i];
		uint32_t at = (uint32_t)mix_words(x->a, x->b) & (size - 1);
		while (x->number && v[at].number)
			at = (at + 1) & (size - 1);
		if (x->number)
			v[at] = *x;
	}
	free(s->slots);
	s->slots = v;
	s->mask = size - 1;
	return true;
}

/* The number of what is called so; *ret_new: it has just got it. -1: no memory, or too many. */
static int64_t number_stack(struct emitted_stacks *s, bool stack, uint64_t a, uint64_t b, bool *ret_new)
{
	*ret_new = false;
	if ((!s->slots || s->n >= (s->mask + 1) / 2) && !double_stack_slots(s))
		return UNKNOWN;
	uint32_t at = (uint32_t)mix_words(a, b) & s->mask;
	for (; s->slots[at].number; at = (at + 1) & s->mask)
		if (s->slots[at].a == a && s->slots[at].b == b && s->slots[at].stack == stack)
			return s->slots[at].number - 1;
	uint32_t *n = stack ? &s->stacks : &s->frames;
	s->slots[at] = (struct stack_slot){a, b, ++*n, stack};
	s->n++;
	*ret_new = true;
	return *n - 1;
}

/* The trace's number for a module, and 1; 0: there is no memory. */
static uint32_t emit_module(struct stacker *k, struct emitted_stacks *s, uint32_t module, struct buf *text)
{
	if (module >= s->n_module) {
		size_t more = (size_t)module + 16;
		uint32_t *v = realloc(s->module, more * sizeof(*v));
		if (!v)
			return 0;
		memset(v + s->n_module, 0, (more - s->n_module) * sizeof(*v));
		s->module = v;
		s->n_module = more;
	}
	if (!s->module[module]) {
		buf_printf(text, "m %u ", s->modules);
		buf_str(text, str_of(k->modules[module]));
		buf_char(text, '\n');
		s->module[module] = ++s->modules;
	}
	return s->module[module];
}

/* Writes the frame where it is new. Its number in the trace, or UNKNOWN. */
static int64_t emit_frame(struct stacker *k, struct emitted_stacks *s, const struct stack_frame *f, struct buf *text)
{
	bool fresh, anonymous = f->module == STACK_ANONYMOUS;
	char interrupted = f->flags & FRAME_INTERRUPTED ? 's' : 'r';
	uint32_t module = 0;
	if (!anonymous && (f->module >= k->n_told || k->told[f->module] >= k->n))
		return UNKNOWN;
	if (!anonymous && !(module = emit_module(k, s, k->told[f->module], text)))
		return UNKNOWN;
	uint64_t offset = anonymous ? 0 : f->offset;
	int64_t n = number_stack(s, false, (uint64_t)module << 8 | (unsigned char)interrupted, offset, &fresh);
	if (n < 0 || !fresh)
		return n;
	if (anonymous)
		buf_printf(text, "f %lld - 0 %c\n", (long long)n, interrupted);
	else
		buf_printf(text, "f %lld %u %llx %c\n", (long long)n, module - 1, (unsigned long long)offset, interrupted);
	return n;
}

/* Stacks are numbered from 1: 0 is the beginning of the thread, and what begins elsewhere has no number. */
static int64_t emit_stack(struct stacker *k, struct emitted_stacks *s, const struct stack_answer *a, struct buf *text)
{
	const struct stack_frame *f = (const struct stack_frame *)(a + 1);
	int64_t outer = a->end == STACK_WHOLE ? 0 : UNKNOWN;
	if (!a->n)
		return UNKNOWN;
	for (uint32_t i = a->n; i-- > 0;) {
		bool fresh;
		int64_t frame = emit_frame(k, s, &f[i], text);
		int64_t stack = frame < 0 ? UNKNOWN : number_stack(s, true, (uint64_t)outer, (uint64_t)frame, &fresh);
		if (stack < 0)
			return UNKNOWN;
		if (fresh && outer < 0)
			buf_printf(text, "k %lld - %lld\n", (long long)stack + 1, (long long)frame);
		else if (fresh)
			buf_printf(text, "k %lld %lld %lld\n", (long long)stack + 1, (long long)outer, (long long)frame);
		outer = stack + 1;
	}
	return outer;
}

/* ---- what is known already ---- */

/* The set of WAYS stacks in which one that stands so is kept; NULL: no memory. */
static struct known_stack *known_stacks_at(struct emitted_stacks *s, const struct stands *at)
{
	if (!s->known && !(s->known = calloc(SETS * WAYS, sizeof(*s->known))))
		return NULL;
	return &s->known[mix_words(at->pc, at->registers[STACK_POINTER]) % SETS * WAYS];
}

/* Are the registers and words that the stack was found by as they were, in the same program with the same mappings? */
static bool is_stack_unchanged(const struct known_stack *x, const struct stands *at, uint64_t image, uint64_t state,
                               const unsigned char *bytes, size_t n)
{
	if (!x->words || x->pc != at->pc || x->sp != at->registers[STACK_POINTER] || x->image != image ||
	    x->state != state || x->extent > n)
		return false;
	const uint64_t registers = x->registers; /* of 32 bits, of which all may be used */
	for (int i = 0; registers >> i; i++)
		if (registers >> i & 1 && x->register_values[i] != at->registers[i])
			return false;
	for (uint32_t i = 0; i < x->n; i++)
		if (memcmp(bytes + x->words[i].offset, &x->words[i].value, sizeof(x->words[i].value)) != 0)
			return false;
	return true;
}

/* Looks whether the stack was met before, by the words on it that are known to tell stacks apart. UNKNOWN: it has to
 * be asked for. Else the stack's number in the trace. */
static int64_t find_known(struct stacker *k, struct emitted_stacks *s, pid_t pid, pid_t tid, uint64_t image,
                          const struct stands *at)
{
	const struct known_stack *set = known_stacks_at(s, at);
	unsigned char *bytes = (unsigned char *)k->out;
	uint32_t extent = 0;
	for (int i = 0; set && i < WAYS; i++)
		if (set[i].words && set[i].sp == at->registers[STACK_POINTER] && set[i].extent > extent)
			extent = set[i].extent;
	ssize_t n = extent ? remote_read(tid, at->registers[STACK_POINTER], bytes, extent) : 0;
	for (int i = 0; n > 0 && i < WAYS; i++)
		if (is_stack_unchanged(&set[i], at, image, k->states[(unsigned)pid % STATES], bytes, (size_t)n))
			return set[i].stack;
	return UNKNOWN;
}

/* The answer, and the question's bytes, are still there. */
static void keep_known(struct stacker *k, struct emitted_stacks *s, uint64_t image, const struct stands *at,
                       int64_t stack)
{
	const struct stack_question *q = (const struct stack_question *)k->out;
	const struct stack_answer *a = (const struct stack_answer *)k->in;
	const unsigned char *bytes = (const unsigned char *)(q + 1);
	struct known_stack *set = known_stacks_at(s, at);
	if (!set || !a->words || stack < 0 || (uint64_t)a->registers >> STACK_USED)
		return;
	struct known_stack *x = &set[k->turn++ % WAYS], fresh = {.pc = at->pc,
	                                                         .sp = at->registers[STACK_POINTER],
	                                                         .state = q->state,
	                                                         .image = image,
	                                                         .registers = a->registers,
	                                                         .n = a->words,
	                                                         .stack = stack};
	for (int i = 0; i < STACK_USED; i++)
		fresh.register_values[i] = at->registers[i];
	fresh.words = malloc(a->words * sizeof(*fresh.words));
	for (uint32_t i = 0; fresh.words && i < a->words; i++) {
		struct known_word *w = &fresh.words[i];
		memcpy(&w->offset, (const char *)(a + 1) + a->n * sizeof(struct stack_frame) + i * sizeof(uint32_t),
		       sizeof(w->offset));
		if (q->n < sizeof(w->value) || w->offset > q->n - sizeof(w->value)) {
			free(fresh.words);
			return;
		}
		memcpy(&w->value, bytes + w->offset, sizeof(w->value));
		if (w->offset + sizeof(w->value) > fresh.extent)
			fresh.extent = w->offset + (uint32_t)sizeof(w->value);
	}
	if (!fresh.words)
		return;
	free(x->words);
	*x = fresh;
}

void stacker_emit(struct stacker *k, struct sup *s, struct emitted_stacks *said, pid_t pid, pid_t tid, uint64_t image,
                  const struct stands *at, struct buf *text)
{
	int64_t stack = at->known && k->fd >= 0 ? find_known(k, said, pid, tid, image, at) : UNKNOWN;
	if (stack < 0 && at->known && k->fd >= 0) {
		const struct stack_answer *a = ask_unwinder(k, s, pid, tid, image, at);
		if (a && a->kind == REPLY_STACK) {
			stack = emit_stack(k, said, a, text);
			keep_known(k, said, image, at, stack);
		} else if (!a) {
			give_up(k);
			sup_gap(s, NULL, TERM_gap_lost, 0, "call stacks: the unwinder no longer answers");
		}
	}
	if (said->any && stack == said->last)
		return;
	if (stack < 0)
		buf_printf(text, "s -\n");
	else
		buf_printf(text, "s %lld\n", (long long)stack);
	said->any = true;
	said->last = stack;
}
