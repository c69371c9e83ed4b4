#include "capture/inject/sites_int.h"

#include <string.h>

/* musl. Its calls are `syscall` and whatever the compiler put behind it: where that is some moves and comparisons of
 * registers, which can be done elsewhere as well, there is room for a jump. What number a call has is guessed from the
 * bytes before, and the stub looks: a wrong guess costs knowledge, no truth. The calls in which a thread can be
 * cancelled are made in one place, in assembler, which stays as it is: the handler of the signal that cancels looks
 * whether the thread stands there. What changes is the jump that the function which all of them call consists of.
 *
 * Known are the bytes of the assembler, and that function as compilers make it; what looks otherwise does not match,
 * and the program is left alone. */

enum { BEFORE = 48, FARTHER = 256, ARGUMENT = 128, NUMBERS = 512, CALL = 2, JUMP = 5 };
enum { NR_DUP2 = 33, NR_CLONE = 56, NR_VFORK = 58, NR_DUP3 = 292, NR_CLONE3 = 435 };

/* __syscall_cp_asm(), to its jump where it is cancelled. */
static const unsigned char cancel_point[] = {0x8b, 0x07, 0x85, 0xc0, 0x75, 0x24, 0x49, 0x89, 0xfb, 0x48, 0x89,
                                             0xf0, 0x48, 0x89, 0xd7, 0x48, 0x89, 0xce, 0x4c, 0x89, 0xc2, 0x4d,
                                             0x89, 0xca, 0x4c, 0x8b, 0x44, 0x24, 0x08, 0x4c, 0x8b, 0x4c, 0x24,
                                             0x10, 0x4c, 0x89, 0x5c, 0x24, 0x08, 0x0f, 0x05, 0xc3, 0xe9};
#define CANCEL_CALL 39 /* its `syscall` */
/* What a static program has instead of it where none is ever cancelled. */
static const unsigned char no_cancel[] = {0x48, 0x89, 0xf8, 0x4d, 0x89, 0xc2, 0x48, 0x89, 0xf7, 0x4d, 0x89, 0xc8, 0x48,
                                          0x89, 0xd6, 0x4c, 0x8b, 0x4c, 0x24, 0x08, 0x48, 0x89, 0xca, 0x0f, 0x05, 0xc3};
/* __clone(), to its call and what it asks of it. */
static const unsigned char clone_call[] = {0x31, 0xc0, 0xb0, 0x38, 0x49, 0x89, 0xfb, 0x48, 0x89, 0xd7,
                                           0x4c, 0x89, 0xc2, 0x4d, 0x89, 0xc8, 0x4c, 0x8b, 0x54, 0x24,
                                           0x08, 0x4d, 0x89, 0xd9, 0x48, 0x83, 0xe6, 0xf0, 0x48, 0x83,
                                           0xee, 0x08, 0x48, 0x89, 0x0e, 0x0f, 0x05, 0x85, 0xc0};
#define CLONE_CALL 35
#define CLONE_TAKEN 7 /* the room for the function's argument on the new stack, and the argument put there */

/* The length of an instruction that may be done elsewhere: it has registers and nothing else. 0: it is another one. */
static size_t movable_length(const unsigned char *c, size_t n)
{
	const size_t rex = n && (c[0] & 0xf0) == 0x40;
	if (n < rex + 2 || c[rex + 1] >> 6 != 3)
		return 0;
	switch (c[rex]) {
	case 0x31: /* xor */
	case 0x39: /* cmp */
	case 0x3b:
	case 0x63: /* movslq */
	case 0x85: /* test */
	case 0x89: /* mov */
	case 0x8b:
		return rex + 2;
	case 0x83: /* with a small number */
		return n < rex + 3 ? 0 : rex + 3;
	default:
		return 0;
	}
}

/* A small number that is loaded into the register last before `at`; -1: none. */
static int find_loaded_number(const unsigned char *code, size_t at, size_t far, unsigned reg)
{
	for (size_t back = JUMP; back <= far && back < at; back++) {
		const unsigned char *c = code + at - back;
		uint32_t nr;
		memcpy(&nr, c + 1, sizeof(nr));
		if (c[0] == (0xb8 | (reg & 7)) && nr < NUMBERS && (reg < 8 || c[-1] == 0x41))
			return (int)nr;
	}
	return -1;
}

/* What the number of the call at `at` seems to be; -1: nothing says. */
static int guess_call_number(const unsigned char *code, size_t at)
{
	for (size_t back = 2; back <= BEFORE && back < at; back++) {
		const unsigned char *c = code + at - back;
		uint32_t nr = NUMBERS;
		if (back >= JUMP)
			memcpy(&nr, c + 1, sizeof(nr));
		if (c[0] == 0xb8 && nr < NUMBERS && c[-1] != 0x41)
			return (int)nr;
		if (c[0] == 0x31 && c[1] == 0xc0 && c[-1] != 0x45)
			return 0;
		if (c[0] == 0x89 && (c[1] & 0xc7) == 0xc0 && (c[-1] == 0x48 || c[-1] == 0x4c)) /* mov reg,%rax */
			return find_loaded_number(code, at - back, FARTHER, (c[1] >> 3 & 7) | (c[-1] == 0x4c ? 8 : 0));
	}
	return -1;
}

/* Bytes in what is executed of the file: exactly one place, or none is known. */
struct place {
	const unsigned char *code;
	size_t n, at;
	uint64_t addr; /* of code */
};

/* How often they are there; *ret: the last place. */
static unsigned find_bytes(const struct image *im, const void *bytes, size_t size, struct place *ret)
{
	unsigned found = 0;
	for (size_t i = 0; i < im->nph; i++) {
		size_t n;
		uint64_t addr;
		const unsigned char *code = sites_code(im, i, &n, &addr), *at = code;
		for (; at && (at = memmem(at, n - (size_t)(at - code), bytes, size)); at++, found++)
			*ret = (struct place){code, n, (size_t)(at - code), addr};
	}
	return found;
}

static bool is_called_from_place(const struct place *p, uint64_t addr);

/* Instructions of that opcode, a call or a jump that is a function of its own, by which the code gets to an address
 * from `first` to `last`. */
static unsigned find_going(const struct place *p, unsigned char opcode, uint64_t first, uint64_t last, size_t *ret_at,
                           uint64_t *ret_to)
{
	enum { CALLS = 0xe8 };
	unsigned found = 0;
	for (size_t i = 0; i + JUMP <= p->n; i++) {
		int32_t d;
		if (p->code[i] != opcode)
			continue;
		memcpy(&d, p->code + i + 1, sizeof(d));
		const uint64_t to = p->addr + i + JUMP + (uint64_t)(int64_t)d;
		if (to < first || to > last || (opcode != CALLS && !is_called_from_place(p, p->addr + i)))
			continue;
		*ret_at = i;
		*ret_to = to;
		found++;
	}
	return found;
}

/* Whether a call instruction in the place leads to addr. */
static bool is_called_from_place(const struct place *p, uint64_t addr)
{
	size_t at;
	uint64_t to;
	return find_going(p, 0xe8, addr, addr, &at, &to) > 0;
}

/* Where it says, behind the thread's pointer, that the thread is to be cancelled: what is asked before each call, by
 * this address. 0: not known. */
static uint8_t find_flag(const unsigned char *code, size_t n)
{
	static const unsigned char self[] = {0x64, 0x48, 0x8b, 0x1c, 0x25, 0, 0, 0, 0}, /* mov %fs:0,%rbx */
	    address[] = {0x48, 0x8d, 0x7b};                                             /* lea FLAG(%rbx),%rdi */
	const unsigned char *at = memmem(code, n, address, sizeof(address));
	const size_t rest = at ? n - (size_t)(at - code) : 0;
	if (rest <= sizeof(address) || !memmem(code, n, self, sizeof(self)) ||
	    memmem(at + 1, rest - 1, address, sizeof(address)) || at[sizeof(address)] > 127)
		return 0;
	return at[sizeof(address)];
}

/* The function that all calls pass in which a thread can be cancelled, and where these are made. False: this is no such
 * library. */
static bool find_cancel(const struct image *im, struct sites *s)
{
	enum { HEAD = 128, TAIL = 256 };
	static const struct wanted w = {"__syscall_cp", -1, SITE_CANCEL, SITE_NONE, SITE_NONE, 0};
	struct place p;
	size_t nstays = 0, at, from;
	uint64_t to, none, first, last;
	if (find_bytes(im, cancel_point, sizeof(cancel_point), &p) == 1) {
		s->stays[nstays++] = p.addr + p.at + CANCEL_CALL;
		if (find_going(&p, 0xe8, p.addr + p.at, p.addr + p.at, &at, &none) != 1)
			return false;
		last = p.addr + at;
		first = at > HEAD ? last - HEAD : p.addr;
		from = at;
	} else if (find_bytes(im, no_cancel, sizeof(no_cancel), &p) == 1) {
		first = last = p.addr + p.at;
		from = p.at;
	} else {
		return false;
	}
	if (find_going(&p, 0xe9, first, last, &at, &to) != 1)
		return false;
	for (size_t i = to - p.addr; i + CALL <= p.n && i < from + TAIL && nstays < SITES_STAYS; i++)
		if (p.code[i] == 0x0f && p.code[i + 1] == 0x05)
			s->stays[nstays++] = p.addr + i;
	const size_t had = s->n;
	sites_add(s, &w, p.addr + at, JUMP, p.code + at);
	s->site[had].target = to;
	s->site[had].single = 1;
	s->site[had].slot = from + p.addr == to ? 0 : find_flag(p.code + (to - p.addr), from - (to - p.addr));
	s->site[had].loaded = s->site[had].slot || from + p.addr == to;
	return nstays;
}

/* Makes a process or a thread that may share the memory. False: it is none that can be marked. */
static bool mark_musl_clone(struct sites *s, const unsigned char *code, uint64_t addr, int nr, size_t at)
{
	const struct wanted w = {"", nr, SITE_MARK, SITE_NONE, SITE_NONE, 0};
	const bool is_clone = nr == NR_CLONE;
	const size_t before = is_clone ? CLONE_TAKEN : LOAD_BYTES, had = s->n;
	const unsigned char load[LOAD_BYTES] = {0xb8, (unsigned char)nr};
	if (!is_clone && (nr != NR_VFORK || at < LOAD_BYTES || memcmp(code + at - LOAD_BYTES, load, LOAD_BYTES) != 0))
		return false;
	sites_add(s, &w, addr + at - before, (unsigned)before, code + at - before);
	if (s->n == had)
		return false;
	s->site[had].before = is_clone;
	return true;
}

/* What is wanted of a system call, by its number. Also of the calls that only musl makes. NULL: none of that number.
 */
static const struct wanted *wanted_by_number(int nr)
{
	static const struct wanted more[] = {{"", 2, SITE_OPEN, SITE_NONE, SITE_NONE, 0},
	                                     {"", 284, SITE_MADE, SITE_NONE, SITE_NONE, 0},
	                                     {"", 253, SITE_MADE, SITE_NONE, SITE_NONE, 0},
	                                     {"", 282, SITE_MADE, SITE_NONE, SITE_NONE, 0}};
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (more[i].nr == nr)
			return &more[i];
	return sites_what(nr);
}

/* Was a site found already that makes this system call? nr: the system call. */
static bool has_site_of(const struct sites *s, enum site_kind kind, int nr)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->site[i].kind == kind && s->site[i].nr == nr)
			return true;
	return false;
}

/* Is the number the function's first argument, as that of syscall()? */
static bool is_argument(const unsigned char *code, size_t at)
{
	static const unsigned char moved[] = {0x48, 0x89, 0xf8}; /* mov %rdi,%rax */
	const size_t from = at > ARGUMENT ? at - ARGUMENT : 0;
	return memmem(code + from, at - from, moved, sizeof(moved));
}

/* Must it be a site, or the program is left alone? A descriptor is another file's from then on; of a child that shares
 * the memory nothing would be known; and what is read and written goes through the one place. */
static bool must_be_site(unsigned kind)
{
	return kind == SITE_DUP2 || kind == SITE_RANGE || kind == SITE_MARK || kind == SITE_CANCEL;
}

/* One `syscall`. False: the program is to be left alone. */
static bool look_at_musl_call(struct sites *s, const unsigned char *code, size_t n, uint64_t addr, size_t at)
{
	static const struct wanted some = {"", -1, SITE_SOME, SITE_NONE, SITE_NONE, 0};
	static const struct wanted any = {"syscall", -1, SITE_ANY, SITE_NONE, SITE_NONE, 0};
	static const unsigned char keeps[] = {0x48, 0x89, 0xc7}; /* mov %rax,%rdi */
	for (size_t i = 0; i < SITES_STAYS; i++)
		if (s->stays[i] == addr + at)
			return true;
	if (at >= CLONE_CALL && n - at >= sizeof(clone_call) - CLONE_CALL &&
	    !memcmp(code + at - CLONE_CALL, clone_call, sizeof(clone_call)))
		return mark_musl_clone(s, code, addr, NR_CLONE, at);
	const int nr = guess_call_number(code, at);
	if (nr == NR_CLONE || nr == NR_VFORK || nr == NR_CLONE3)
		return nr == NR_VFORK && mark_musl_clone(s, code, addr, nr, at);
	/* Of the number nothing is known, but that what gives errno is called behind: standard I/O, or syscall(). */
	const bool unknown = nr < 0 && n - at >= CALL + sizeof(keeps) && !memcmp(code + at + CALL, keeps, sizeof(keeps));
	const struct wanted *w =
	    unknown ? is_argument(code, at) && !has_site_of(s, SITE_ANY, -1) ? &any : &some : wanted_by_number(nr);
	if (!w)
		return true;
	size_t taken = CALL;
	for (size_t more = 1; taken < JUMP && more; taken += more)
		more = movable_length(code + at + taken, n - at - taken);
	const bool fits = taken >= JUMP && taken <= SITE_BYTES && !sites_is_entered_near(code, n, addr, at, at, taken);
	if (!fits)
		return !must_be_site(w->kind);
	const size_t had = s->n;
	sites_add(s, w, addr + at, (unsigned)taken, code + at);
	if (s->n == had)
		return false; /* no room */
	s->site[had].nr = nr;
	s->site[had].guessed = !unknown;
	s->site[had].loaded = nr == 2 && at >= LARGE_BYTES && !memcmp(code + at - LARGE_BYTES, SITES_LARGE, LARGE_BYTES) &&
	                      !sites_is_entered_near(code, n, addr, at, at - LARGE_BYTES, LARGE_BYTES);
	s->site[had].single = 1;
	return true;
}

bool sites_musl(const struct image *im, struct sites *s)
{
	static const unsigned char call[] = {0x0f, 0x05}, tail[] = {0x0f, 0x05, 0xc3},
	                           pop[] = {0x58, 0xc3}; /* pop %rax; ret */
	s->musl = true;
	if (!find_cancel(im, s))
		return false;
	for (size_t i = 0; i < im->nph; i++) {
		size_t n;
		uint64_t addr;
		const unsigned char *code = sites_code(im, i, &n, &addr), *at = code;
		for (; at && (at = memmem(at, n - (size_t)(at - code), call, sizeof(call))); at += sizeof(call))
			if (!look_at_musl_call(s, code, n, addr, (size_t)(at - code)))
				return false;
	}
	for (size_t i; (i = sites_reached(im, s)) < s->n;) {
		if (must_be_site(s->site[i].kind))
			return false;
		memmove(&s->site[i], &s->site[i + 1], (--s->n - i) * sizeof(s->site[0]));
	}
	for (size_t i = 1; i < s->n; i++) /* in order */
		if (s->site[i].offset < s->site[i - 1].offset + s->site[i - 1].taken)
			return false;
	/* Of a static program what nobody calls is not there. */
	if (!im->alone && (!has_site_of(s, SITE_DUP2, NR_DUP2) || !has_site_of(s, SITE_DUP2, NR_DUP3) ||
	                   !has_site_of(s, SITE_MARK, NR_CLONE) || !has_site_of(s, SITE_MARK, NR_VFORK)))
		return false;
	return sites_find_gadget(im, tail, sizeof(tail), s, &s->gadget) &&
	       (sites_find_sigreturn(im, s) || sites_find_gadget(im, pop, sizeof(pop), s, &s->pop));
}

bool sites_stay(const struct sites *s, uint64_t offset)
{
	for (size_t i = 0; i < SITES_STAYS; i++)
		if (s->stays[i] && offset == s->stays[i] + CALL)
			return true;
	return false;
}
