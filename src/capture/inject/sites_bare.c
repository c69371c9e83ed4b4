#include "capture/inject/sites_int.h"

#include <stdlib.h>
#include <string.h>

/* A static program without names. Its calls are found by their bytes: the number is loaded, `syscall`, the result is
 * compared. Compilers and the C library have put them so for 15 years; what looks otherwise is left as it is, and what
 * it moves is missed by the kernel's totals. These do not show when a descriptor becomes another file: a call that may
 * do that and cannot be changed makes the whole program one that is left as it is. */

enum { NUMBERS = 512, NR_MAX = 1024, NO_NUMBER = -1, BEFORE = 24, WAY = 64 };
enum { NR_CLONE = 56, NR_VFORK = 58, NR_PRLIMIT = 302, NR_CLONE3 = 435, NR_FCNTL = 72 };

/* The length of an instruction that may stand between the load of the number and the call, and puts an argument where
 * it belongs: moves and clears of registers but rax. 0: it is another one. */
static size_t argument_length(const unsigned char *c, size_t n)
{
	const size_t rex = n && (c[0] & 0xf0) == 0x40;
	if (n < rex + 2)
		return 0;
	const unsigned op = c[rex], modrm = c[rex + 1];
	const bool high = rex && c[0] & 1, reg_high = rex && c[0] & 4;
	if (op > 0xb8 && op <= 0xbf && !(rex && c[0] & 8))
		return rex + 5 <= n ? rex + 5 : 0;
	if (op == 0xb8 && high && !(c[0] & 8))
		return rex + 5 <= n ? rex + 5 : 0;
	if (modrm >> 6 != 3)
		return 0;
	const bool to_rm = op == 0x89 || op == 0x31, to_reg = op == 0x8b || op == 0x63;
	if ((to_rm && ((modrm & 7) || high)) || (to_reg && ((modrm >> 3 & 7) || reg_high)))
		return rex + 2;
	return 0;
}

/* The number of the call at `at`, and where it is loaded. NO_NUMBER: it is not known. *ret_sure: those bytes cannot be
 * another instruction's end. */
static int read_call_number(const unsigned char *code, size_t at, size_t *ret_load, bool *ret_sure)
{
	for (size_t back = 2; back <= BEFORE && back <= at; back++) {
		const size_t load = at - back;
		uint32_t nr = 0;
		size_t i = 0;
		if (code[load] == 0x31 && code[load + 1] == 0xc0) {
			i = load + 2;
		} else if (code[load] == 0xb8 && back >= LOAD_BYTES) {
			memcpy(&nr, code + load + 1, sizeof(nr));
			i = load + LOAD_BYTES;
		}
		if (!i || nr >= NR_MAX)
			continue;
		for (size_t n; i < at && (n = argument_length(code + i, at - i)); i += n)
			;
		if (i != at)
			continue;
		*ret_load = load;
		*ret_sure = !load || (code[load - 1] & 0xf0) != 0x40;
		return (int)nr;
	}
	return NO_NUMBER;
}

/* Does a check whether there are threads end there? */
static bool is_check(const unsigned char *code, size_t end)
{
	static const unsigned char old[] = {0x64, 0x8b, 0x04, 0x25, 0x18, 0, 0, 0, 0x85, 0xc0};
	const unsigned char *c = code + end;
	return (end >= 7 && c[-7] == 0x80 && c[-6] == 0x3d && !c[-1]) ||
	       (end >= sizeof(old) && !memcmp(c - sizeof(old), old, sizeof(old)));
}

/* Is the call behind such a check, and made where there are none? */
static bool is_behind_check(const unsigned char *code, size_t load)
{
	enum { MOVE = 3 }; /* the length of one that may stand between the check and the jump that goes elsewhere */
	for (size_t back = 2; back <= 16 && back + 16 <= load; back++) {
		const size_t jump = load - back;
		const unsigned char *c = code + jump;
		const bool near = (c[0] & 0xfe) == 0x74, far = back >= 6 && c[0] == 0x0f && (c[1] & 0xfe) == 0x84;
		if (!near && !far)
			continue;
		size_t i = jump + (near ? 2 : 6);
		for (size_t n; i < load && (n = argument_length(code + i, load - i)); i += n)
			;
		if (i == load &&
		    (is_check(code, jump) || (argument_length(c - MOVE, MOVE) == MOVE && is_check(code, jump - MOVE))))
			return true;
	}
	return false;
}

/* Do functions end and begin at that address, which is a multiple of 16? */
static bool is_edge(const unsigned char *code, size_t at)
{
	static const unsigned char pads[][8] = {{3, 0x0f, 0x1f, 0x00},
	                                        {4, 0x0f, 0x1f, 0x40, 0x00},
	                                        {5, 0x0f, 0x1f, 0x44, 0x00, 0x00},
	                                        {7, 0x0f, 0x1f, 0x80, 0, 0, 0, 0}};
	static const unsigned char longest[] = {0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};
	if (at < sizeof(longest))
		return false;
	if (code[at - 1] == 0xc3 || code[at - 1] == 0x90 || code[at - 1] == 0xcc)
		return true;
	for (size_t i = 0; i < sizeof(pads) / sizeof(pads[0]); i++)
		if (!memcmp(code + at - pads[i][0], pads[i] + 1, pads[i][0]))
			return true;
	return !memcmp(code + at - sizeof(longest), longest, sizeof(longest));
}

/* Does the instruction there jump by a short way between from and to, both not? */
static bool jumps_into(const unsigned char *code, size_t i, size_t from, size_t to)
{
	size_t at = i;
	while (code[at] == 0x2e || code[at] == 0x3e || code[at] == 0xf2)
		at++; /* hints */
	if ((code[at] & 0xf0) != 0x70 && code[at] != 0xeb && (code[at] & 0xfc) != 0xe0)
		return false;
	const int64_t target = (int64_t)at + 2 + (signed char)code[at + 1];
	return target > (int64_t)from && target < (int64_t)to;
}

/* May anything go to the middle of the bytes that change? Far jumps are looked for at the end (is_reached). The
 * instructions near are read from where a function seems to begin, farther off than a short jump reaches; that they are
 * read right is known when the load and the call are among them. Where they cannot be read so, every byte may be a
 * jump. */
bool sites_is_entered_near(const unsigned char *code, size_t n, uint64_t addr, size_t load, size_t at, size_t taken)
{
	enum { SHORT = 136, FARTHEST = 1024 };
	const size_t last = n - at > taken + SHORT ? at + taken + SHORT : n;
	for (size_t back = SHORT; back < FARTHEST && back < at; back++) {
		const size_t begin = at - back;
		if ((addr + begin) % 16 || !is_edge(code, begin))
			continue;
		bool seen_load = false, seen_call = false, enters = false;
		size_t i = begin, length = 1;
		for (; i < last && length; i += length) {
			seen_load |= i == load;
			seen_call |= i == at;
			length = sites_length(code + i, n - i);
			enters |= length && jumps_into(code, i, at, at + taken);
		}
		if (seen_load && seen_call && i >= last)
			return enters;
	}
	return sites_is_entered(code, n, at);
}

/* Does a function begin there? Behind a call whose result is kept none of these comes. */
static bool is_beginning(const unsigned char *c)
{
	return (c[0] == 0x48 && (c[1] == 0x83 || c[1] == 0x81) && c[2] == 0xec) || (c[0] & 0xf8) == 0x50 ||
	       (c[0] == 0x41 && (c[1] & 0xfc) == 0x54) || (c[0] == 0xf3 && c[1] == 0x0f && c[2] == 0x1e) ||
	       (c[0] == 0x80 && c[1] == 0x3d) || c[0] == 0xb8 || (c[0] == 0x31 && c[1] == 0xc0);
}

/* May the call at `at` be the second of two ways in which the C library makes it? May it be the way of programs with
 * threads? There a function is called before, whose result is kept. A thread that is cancelled is unwound from that
 * call: it must stay where it is. */
static bool is_second(const unsigned char *code, uint64_t addr, size_t load, size_t at)
{
	for (size_t k = load > WAY ? load - WAY : 0; k + 5 <= load; k++) {
		if (code[k] != 0xe8 || (code[k + 4] != 0 && code[k + 4] != 0xff))
			continue;
		bool kept = false, apart = (addr + k + 5) % 16 == 0 && is_beginning(code + k + 5);
		for (size_t i = k + 5; i + 2 <= at; i++) {
			const unsigned modrm = code[i + 1];
			kept |= code[i] == 0x89 && !(modrm >> 3 & 7) && (modrm != 0xc0 || (code[i - 1] & 0xf0) == 0x40);
			apart |= i <= load && (addr + i) % 16 == 0 && is_edge(code, i);
		}
		if (kept && !apart)
			return true;
	}
	return false;
}

/* Would a number that has a file be another's from then on, and nothing of it be seen? What is made under a number that
 * is free is looked up when it has bytes; after a close that is not seen the next open is one too many. */
static bool changes_descriptors(unsigned kind)
{
	return kind == SITE_DUP2 || kind == SITE_RANGE;
}

const struct wanted *sites_what(int nr)
{
	static const struct wanted copies = {"", NR_FCNTL, SITE_FCNTL, SITE_NONE, SITE_NONE, 0};
	for (size_t i = 0; i < sites_nwanted; i++)
		if (sites_wanted[i].nr == nr && nr >= 0 && sites_wanted[i].kind != SITE_MARK)
			return &sites_wanted[i];
	return nr == NR_FCNTL ? &copies : NULL;
}

#define LOOKED 512 /* places of calls that are wanted; each takes 0.2 ms at worst. A C library has 100 */
struct finding {
	struct sites *s;
	unsigned looked;
	uint8_t first[NUMBERS], second[NUMBERS]; /* ways of that call */
};

/* Makes a process or a thread. A child that shares the memory has to be told from its parent. False: no room, or
 * something jumps to its bytes. */
static bool mark_bare_clone(struct sites *s, const unsigned char *code, size_t n, uint64_t addr, int nr, size_t load,
                            size_t at)
{
	static const unsigned char fork_flags[] = {0xbf, 0x11, 0x00, 0x20, 0x01}; /* mov $FLAGS,%edi: memory of its own */
	const size_t from = load > BEFORE ? load - BEFORE : 0;
	if (nr == NR_CLONE && memmem(code + from, load - from, fork_flags, sizeof(fork_flags)))
		return true;
	const struct wanted w = {"", nr, SITE_MARK, SITE_NONE, SITE_NONE, 0};
	const size_t had = s->n;
	if (load + LOAD_BYTES != at || code[load] != 0xb8 || sites_is_entered_near(code, n, addr, load, load, LOAD_BYTES))
		return false;
	sites_add(s, &w, addr + load, LOAD_BYTES, code + load);
	return s->n > had;
}

/* One `syscall`. False: the program is to be left alone. */
static bool look_at_bare_call(struct finding *f, const unsigned char *code, size_t n, uint64_t addr, size_t at)
{
	/* syscall(): mov %rdi,%rax; ... mov 8(%rsp),%r9 */
	static const unsigned char any[] = {0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca,
	                                    0x4d, 0x89, 0xc2, 0x4d, 0x89, 0xc8, 0x4c, 0x8b, 0x4c, 0x24, 0x08};
	static const struct wanted all = {"syscall", -1, SITE_ANY, SITE_NONE, SITE_NONE, 0};
	struct sites *s = f->s;
	size_t load = 0;
	bool sure = false;
	if (at >= sizeof(any) && !memcmp(code + at - sizeof(any), any, sizeof(any))) {
		const bool alone =
		    sites_is_call(code, n, at) && !sites_is_entered_near(code, n, addr, at - sizeof(any), at, SITE_BYTES);
		if (alone)
			sites_add(s, &all, addr + at, SITE_BYTES, code + at);
		return alone;
	}
	const int nr = read_call_number(code, at, &load, &sure);
	if (nr == NR_CLONE || nr == NR_VFORK || nr == NR_CLONE3)
		return ++f->looked <= LOOKED && mark_bare_clone(s, code, n, addr, nr, load, at);
	if (nr != NR_PRLIMIT && (!sites_what(nr) || nr >= NUMBERS))
		return true;
	if (++f->looked > LOOKED)
		return false;
	const bool checked = is_behind_check(code, load);
	const bool call = sites_is_call(code, n, at) && !sites_is_entered_near(code, n, addr, load, at, SITE_BYTES);
	if (nr == NR_PRLIMIT && call && !s->start) /* of a limit that is not set: its third argument is cleared */
		for (size_t i = load > 8 ? load - 8 : 0; i + 2 <= at; i++)
			if (code[i] == 0x31 && code[i + 1] == 0xd2)
				s->start = addr + at;
	const struct wanted *w = sites_what(nr);
	if (!w)
		return true;
	if (call && sure && is_second(code, addr, load, at) && !checked) {
		f->second[nr] += f->second[nr] < 255;
		return true;
	}
	if (!call || !sure)
		return !changes_descriptors(w->kind);
	const size_t had = s->n;
	sites_add(s, w, addr + at, SITE_BYTES, code + at);
	if (s->n == had)
		return false;
	s->site[had].single = checked;
	s->site[had].loaded =
	    code[load] == 0xb8 && load + LOAD_BYTES == at && !sites_is_entered_near(code, n, addr, load, load, LOAD_BYTES);
	f->first[nr] += s->site[had].single && f->first[nr] < 255;
	return true;
}

/* Order of qsort: by offset. */
static int by_offset(const void *a, const void *b)
{
	const struct site *x = a, *y = b;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Something jumps into a site's bytes: then it is none. Its place in s, s->n where there is none; loads before sites
 * that are jumped to do not count. */
static size_t avoid_reached_sites(struct sites *s, const unsigned char *code, size_t n, uint64_t addr)
{
	for (size_t i = 0; i + 5 <= n; i++) {
		const bool conditional = i && code[i - 1] == 0x0f && (code[i] & 0xf0) == 0x80;
		if (code[i] != 0xe9 && !conditional)
			continue;
		int32_t d;
		memcpy(&d, code + i + 1, sizeof(d));
		const uint64_t to = addr + i + 5 + (uint64_t)(int64_t)d;
		size_t lo = 0, hi = s->n; /* the sites before it */
		while (lo < hi) {
			const size_t mid = lo + (hi - lo) / 2;
			if (s->site[mid].offset < to)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo && to - s->site[lo - 1].offset < s->site[lo - 1].taken)
			return lo - 1;
		if (lo < s->n && s->site[lo].offset > to && s->site[lo].offset - to < LOAD_BYTES)
			s->site[lo].loaded = 0;
	}
	return s->n;
}

size_t sites_reached(const struct image *im, struct sites *s)
{
	size_t n;
	uint64_t addr;
	qsort(s->site, s->n, sizeof(s->site[0]), by_offset);
	for (size_t i = 0; i < im->nph; i++) {
		const unsigned char *code = sites_code(im, i, &n, &addr);
		const size_t found = code ? avoid_reached_sites(s, code, n, addr) : s->n;
		if (found < s->n)
			return found;
	}
	return s->n;
}

bool sites_bare(const struct image *im, struct sites *s)
{
	static const int needed[] = {0, 1, 3, 257};
	static const unsigned char call[] = {0x0f, 0x05};
	struct finding f = {.s = s};
	size_t n = 0;
	uint64_t addr = 0;
	for (size_t i = 0; i < im->nph; i++) {
		const unsigned char *code = sites_code(im, i, &n, &addr), *at = code;
		for (; at && (at = memmem(at, n - (size_t)(at - code), call, sizeof(call))); at += sizeof(call))
			if (!look_at_bare_call(&f, code, n, addr, (size_t)(at - code)))
				return false;
	}
	if (sites_reached(im, s) < s->n)
		return false;
	/* Each way of programs with threads belongs to a function that has the other one, too. */
	for (int nr = 0; nr < NUMBERS; nr++) {
		const struct wanted *w = sites_what(nr);
		if (w && changes_descriptors(w->kind) && f.second[nr] > f.first[nr])
			return false;
	}
	size_t has = 0;
	for (size_t k = 0; k < sizeof(needed) / sizeof(needed[0]); k++)
		for (size_t i = 0; i < s->n; i++)
			if (s->site[i].nr == needed[k]) {
				has++;
				break;
			}
	return has == sizeof(needed) / sizeof(needed[0]);
}
