#include "capture/inject/sites.h"

#include <string.h>

/* What a C library's wrapper of a call does in a program with threads, as compilers have written it for 15 years:
 *
 *     sub $FRAME,%rsp; save the arguments in the frame; call enable_asynccancel; load them again; syscall;
 *     cmp $-4096,%rax; ja error; BACK: save rax; call disable_asynccancel; load rax; add $FRAME,%rsp; ret
 *     error: set errno and rax; jmp BACK
 *
 * Nothing else is understood: an instruction more, and the function is left as it is. */

enum { RAX = 0, RCX = 1, RSP = 4, RDI = 7, R10 = 10, REGISTERS = 16, FRAME_MAX = 0x70 };

struct reader {
	const unsigned char *code;
	size_t n, at;
};

struct part {
	size_t from, to;
};

struct move {
	bool memory, store, wide; /* between a register and the frame; to the frame; of 8 bytes */
	unsigned reg, other;      /* without memory: to, from */
	unsigned at;              /* in the frame */
};

/* Steps over the n bytes if they come next; else it stays where it is. */
static bool skip_if_equal(struct reader *r, const void *p, size_t n)
{
	if (r->at > r->n || r->n - r->at < n || memcmp(r->code + r->at, p, n) != 0)
		return false;
	r->at += n;
	return true;
}

#define EAT(r, ...) skip_if_equal(r, (const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__}))

/* mov between registers, or a register and the frame. False: it is no such instruction, and r stays. */
static bool eat_move(struct reader *r, struct move *ret)
{
	unsigned char b[5] = {0};
	size_t i = 0;
	if (r->at > r->n)
		return false;
	memcpy(b, r->code + r->at, r->n - r->at < sizeof(b) ? r->n - r->at : sizeof(b));
	unsigned rex = (b[0] & 0xf0) == 0x40 ? b[i++] : 0;
	unsigned op = b[i++], modrm = b[i++], mod = modrm >> 6;
	unsigned reg = (modrm >> 3 & 7) | (rex & 4) << 1;
	if (op != 0x89 && op != 0x8b)
		return false;
	if (mod == 3) {
		unsigned rm = (modrm & 7) | (rex & 1) << 3;
		*ret = (struct move){.reg = op == 0x89 ? rm : reg, .other = op == 0x89 ? reg : rm, .wide = rex & 8};
	} else {
		if (mod > 1 || (modrm & 7) != 4 || (rex & 3) || b[i++] != 0x24)
			return false;
		unsigned at = mod ? b[i++] : 0;
		if (at >= FRAME_MAX)
			return false;
		*ret = (struct move){.memory = true, .store = op == 0x89, .wide = rex & 8, .reg = reg, .at = at};
	}
	r->at += i;
	return r->at <= r->n;
}

/* An instruction of that opcode with a distance; *ret: where it leads. False: it is another one, and r stays. */
static bool eat_rel32(struct reader *r, unsigned char opcode, uint64_t addr, uint64_t *ret)
{
	int32_t d;
	if (!EAT(r, opcode) || r->n - r->at < sizeof(d))
		return false;
	memcpy(&d, r->code + r->at, sizeof(d));
	r->at += sizeof(d);
	*ret = addr + r->at + (uint64_t)(int64_t)d;
	return true;
}

/* `syscall`, and its result compared, of a call of that number. */
static bool eat_call(struct reader *r)
{
	return EAT(r, 0x0f, 0x05, 0x48, 0x3d, 0, 0xf0, 0xff, 0xff);
}

/* Steps over an instruction that sets eax to nr, if it comes next. */
static bool eat_number(struct reader *r, int nr)
{
	return nr == 0 ? EAT(r, 0x31, 0xc0) : EAT(r, 0xb8, (unsigned char)nr, (unsigned char)(nr >> 8), 0, 0);
}

/* ja; where it goes. Moves r->at behind it. False: there is none, or it leads out of the code. */
static bool eat_error(struct reader *r, size_t *ret)
{
	if (r->n - r->at < 2 || r->code[r->at] != 0x77 || r->code[r->at + 1] > 0x7f)
		return false;
	*ret = r->at + 2 + r->code[r->at + 1];
	r->at += 2;
	return *ret < r->n;
}

/* What it does with an error: errno, -1, and back. Where that ends; 0: it is something else. */
static size_t error_end(const struct reader *in, size_t at, size_t back)
{
	struct reader r = {in->code, in->n, at};
	/* Where errno is: in a table of a library's, or known in a static program. */
	const bool table = EAT(&r, 0x48, 0x8b);
	if ((!table && !EAT(&r, 0x48, 0xc7)) || r.n - r.at < 5 ||
	    (table ? (r.code[r.at] & 0xc7) != 5 : (r.code[r.at] & 0xf8) != 0xc0))
		return 0;
	unsigned char reg = table ? r.code[r.at] >> 3 & 7 : r.code[r.at] & 7;
	r.at += 5;
	if (!EAT(&r, 0xf7, 0xd8, 0x64, 0x89, reg) || reg == 4 || reg == 5 ||
	    !(EAT(&r, 0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff) || EAT(&r, 0xb8, 0xff, 0xff, 0xff, 0xff)))
		return 0;
	uint64_t to;
	if (eat_rel32(&r, 0xe9, 0, &to))
		return to == back ? r.at : 0;
	if (!EAT(&r, 0xeb) || r.at == r.n)
		return 0;
	r.at++;
	to = r.at + (uint64_t)(int64_t)(signed char)r.code[r.at - 1];
	return to == back ? r.at : 0;
}

/* May a jump of the function's other parts go there, however their bytes are read? */
static bool is_target(const unsigned char *code, size_t n, const struct part known[2], size_t from, size_t to)
{
	for (size_t i = 0; i + 2 <= n; i++) {
		for (size_t k = 0; k < 2; k++)
			if (i >= known[k].from && i < known[k].to)
				i = known[k].to;
		if (i + 2 > n)
			break;
		int64_t at = -1, far = -1;
		if ((code[i] & 0xf0) == 0x70 || code[i] == 0xeb || (code[i] & 0xfc) == 0xe0)
			at = (int64_t)i + 2 + (signed char)code[i + 1];
		if (i + 5 <= n && (code[i] == 0xe9 || (code[i] & 0xf0) == 0x80)) {
			int32_t d;
			memcpy(&d, code + i + 1, sizeof(d));
			far = (int64_t)i + 5 + d;
		}
		if ((at >= (int64_t)from && at < (int64_t)to) || (far >= (int64_t)from && far < (int64_t)to))
			return true;
	}
	return false;
}

/* Reads the instructions from behind the call to the result: where the way ends. False: it is another way. */
static bool eat_rest(struct reader *r, uint64_t addr, bool *used, uint64_t *ret_disable, struct part *ret_error)
{
	struct move m, kept;
	if (!eat_error(r, &ret_error->from))
		return false;
	ret_error->to = error_end(r, ret_error->from, r->at);
	if (!ret_error->to || !eat_move(r, &m) || m.memory || m.reg != RDI || m.wide)
		return false;
	if (!eat_move(r, &kept) || !kept.memory || !kept.store || kept.reg != RAX)
		return false;
	if (used)
		memset(used + kept.at, 1, 8);
	return eat_rel32(r, 0xe8, addr, ret_disable) && eat_move(r, &m) && m.memory && !m.store && m.reg == RAX &&
	       m.at == kept.at && m.wide == kept.wide;
}

/* The end of the frame. */
static bool eat_end(struct reader *r, unsigned frame)
{
	return EAT(r, 0x48, 0x83, 0xc4, (unsigned char)frame, 0xc3);
}

/* The two functions at the ends of the way are the same for all calls of a library; the first one sets them. */
static bool has_same_ends(uint64_t ends[2], uint64_t enable, uint64_t disable)
{
	if (!ends[0]) {
		ends[0] = enable;
		ends[1] = disable;
	}
	return ends[0] == enable && ends[1] == disable;
}

/* Adds a site, with the 5 bytes that are there. False: SITES_MAX are there. */
static bool append_site(struct sites *s, const struct site *t, const unsigned char *code, uint64_t addr)
{
	if (s->n == SITES_MAX)
		return false;
	s->site[s->n] = *t;
	s->site[s->n].taken = 5;
	memset(s->site[s->n].bytes, 0, SITE_BYTES);
	memcpy(s->site[s->n].bytes, code + (t->offset - addr), 5);
	s->n++;
	return true;
}

/* The way that begins here, of a call that moves bytes of the descriptor in rdi or closes it. False: it is another way,
 * or has no room in its frame. */
static bool find_framed_call(struct reader r, uint64_t addr, const struct site *first, struct sites *s,
                             uint64_t ends[2])
{
	const unsigned char *code = r.code;
	bool used[FRAME_MAX + 8] = {0};
	unsigned saved[REGISTERS];
	uint64_t enable, disable;
	struct move m;
	struct part known[2] = {{.from = r.at}};
	memset(saved, 0xff, sizeof(saved));
	if (!EAT(&r, 0x48, 0x83, 0xec) || r.at == r.n || code[r.at] >= FRAME_MAX)
		return false;
	unsigned frame = code[r.at++];
	size_t begin;
	while (begin = r.at, !eat_rel32(&r, 0xe8, addr, &enable)) {
		if (!eat_move(&r, &m) || !m.memory || !m.store || m.at + (m.wide ? 8 : 4) > frame)
			return false;
		saved[m.reg] = m.at;
		memset(used + m.at, 1, m.wide ? 8 : 4);
	}
	bool numbered = false;
	while (!eat_call(&r)) {
		if (!numbered && eat_number(&r, first->nr)) {
			numbered = true;
			continue;
		}
		if (EAT(&r, 0x45, 0x31, 0xc0)) /* the upper half of an offset */
			continue;
		if (!eat_move(&r, &m))
			return false;
		bool loads =
		    m.memory && !m.store && m.reg != RAX && (saved[m.reg] == m.at || (m.reg == R10 && saved[RCX] == m.at));
		bool copies = !m.memory && m.other == RAX && m.reg != RSP && !m.wide && !numbered;
		if (!loads && !copies)
			return false;
	}
	size_t call = r.at - 8;
	if (!numbered || saved[RDI] >= frame || !eat_rest(&r, addr, used, &disable, &known[1]))
		return false;
	size_t end = r.at;
	if (!eat_end(&r, frame) || !has_same_ends(ends, enable, disable))
		return false;
	known[0].to = r.at;
	if (is_target(code, r.n, known, end + 1, end + 5))
		return false;
	unsigned slot = 0;
	while (slot + 4 <= frame && (used[slot] || used[slot + 1] || used[slot + 2] || used[slot + 3]))
		slot += 4;
	if (slot + 4 > frame)
		return false;
	struct site t = *first;
	t.single = 0;
	t.slot = (uint8_t)slot;
	t.frame = (uint8_t)frame;
	t.call = addr + call;
	t.offset = addr + begin;
	t.target = enable;
	t.kind = first->kind == SITE_CLOSE ? SITE_SHUT : SITE_BEGIN;
	if (!append_site(s, &t, code, addr) || first->kind == SITE_CLOSE)
		return s->site[s->n - 1].kind == SITE_SHUT;
	t.offset = addr + end;
	t.target = 0;
	t.kind = SITE_DONE;
	return append_site(s, &t, code, addr);
}

/* An open: its frame is larger, but of it no more is asked than where its result is. False: it is another way. */
static bool find_framed_open(struct reader r, uint64_t addr, const struct site *first, struct sites *s,
                             const uint64_t ends[2])
{
	const unsigned char *code = r.code;
	uint64_t disable, target = 0;
	struct part error;
	if (!eat_number(&r, first->nr))
		return false;
	size_t call = r.at;
	if (!eat_call(&r) || !eat_rest(&r, addr, NULL, &disable, &error) || !ends[0] || disable != ends[1])
		return false;
	size_t end = r.at;
	if (!eat_rel32(&r, 0xe9, addr, &target))
		return false;
	struct site t = *first;
	t.single = 0;
	t.call = addr + call;
	t.offset = addr + end;
	t.target = target;
	t.kind = SITE_OPENED;
	return append_site(s, &t, code, addr);
}

bool sites_threads(const unsigned char *code, size_t n, uint64_t addr, const struct site *first, struct sites *s,
                   uint64_t ret_ends[2])
{
	const size_t had = s->n;
	const bool open = first->kind == SITE_OPEN;
	const unsigned descriptor = first->from == RDI ? first->to : first->from; /* the other one */
	if (!open && first->kind != SITE_CLOSE && (first->kind != SITE_MOVE || descriptor != SITE_NONE))
		return false;
	for (size_t i = 0; i < n; i++) {
		struct reader r = {code, n, i};
		if (open ? find_framed_open(r, addr, first, s, ret_ends) : find_framed_call(r, addr, first, s, ret_ends))
			return true;
		s->n = had;
	}
	return false;
}

/* ---- opens, of which more has to be known where the thread writes down what it opened ---- */

/* Is the register preserved by calls, by its number, as instructions have it: registers that a called function must
 * keep. */
static bool is_preserved(unsigned reg)
{
	return reg == 3 || reg == 5 || (reg >= 12 && reg < 16); /* rbx, rbp, r12 to r15 */
}

/* Where an argument is loaded from: the frame, or a register that calls preserve. */
static bool place_of(const struct move *m, struct framed_place *ret)
{
	*ret = (struct framed_place){.reg = m->memory ? SITE_NONE : (uint8_t)m->other, .at = (uint8_t)m->at};
	return m->memory ? !m->store : is_preserved(m->other);
}

enum { RDX = 2, RSI = 6, R8 = 8 };

/* Reads the instructions from behind the call that begins the time to the system call: the arguments. False: it is
 * another way. */
static bool eat_arguments(struct reader *r, struct framed_open *ret)
{
	bool path = false, flags = false, folder = false, mode = false, number = false;
	for (struct move m; !eat_call(r);) {
		struct framed_place place;
		if (!number && eat_number(r, 257)) {
			number = true;
		} else if (!folder && EAT(r, 0xbf, 0x9c, 0xff, 0xff, 0xff)) {
			folder = ret->here = true;
		} else if (!eat_move(r, &m)) {
			return false;
		} else if (!m.memory && m.other == RAX && m.reg == R8 && !m.wide && !number) {
			continue; /* the answer of the function that was called, for the one at the end */
		} else if (!place_of(&m, &place)) {
			return false;
		} else if (m.reg == RSI && m.wide && !path) {
			ret->path = place;
			path = true;
		} else if (m.reg == RDX && !m.wide && !flags) {
			ret->flags = place;
			flags = true;
		} else if (m.reg == RDI && !m.wide && !folder) {
			ret->folder = place;
			folder = true;
		} else if (m.reg == R10 && !m.wide && m.memory && !mode) {
			ret->mode = place.at;
			mode = true;
		} else {
			return false;
		}
	}
	return path && flags && folder && mode && number;
}

/* Is it in these bytes of the frame? */
static bool lies_in(struct framed_place p, unsigned size, unsigned from, unsigned to)
{
	return p.reg == SITE_NONE && p.at < to && from < p.at + size;
}

/* Where errno is behind the thread pointer stands in a table of the library's. */
static bool errno_word(const struct reader *in, size_t at, uint64_t addr, uint64_t *ret)
{
	int32_t d;
	if (at + 7 > in->n || in->code[at] != 0x48 || in->code[at + 1] != 0x8b || (in->code[at + 2] & 0xc7) != 5)
		return false;
	memcpy(&d, in->code + at + 3, sizeof(d));
	*ret = addr + at + 7 + (uint64_t)(int64_t)d;
	return true;
}

/* The one that begins with the call at r. False: it is another way, or its result would be written over. */
static bool read_framed(struct reader r, uint64_t addr, struct framed_open *ret)
{
	const size_t begin = r.at;
	struct part known[2] = {{.from = begin}};
	struct reader probe;
	struct move kept;
	uint64_t disable;
	*ret = (struct framed_open){.begin = addr + begin};
	if (!eat_rel32(&r, 0xe8, addr, &ret->begins) || !eat_arguments(&r, ret))
		return false;
	ret->call = addr + r.at - 8;
	probe = r;
	if (!eat_rest(&r, addr, NULL, &disable, &known[1]) || !errno_word(&r, known[1].from, addr, &ret->error))
		return false;
	/* Where the result is kept, nothing else may be that is needed behind it. */
	if (!eat_error(&probe, &(size_t){0}) || !eat_move(&probe, &kept) || !eat_move(&probe, &kept))
		return false;
	const unsigned from = kept.at, to = kept.at + (kept.wide ? 8 : 4);
	if (lies_in(ret->path, 8, from, to) || lies_in(ret->flags, 4, from, to))
		return false;
	const size_t end = r.at;
	ret->end = addr + end;
	if (!eat_rel32(&r, 0xe9, addr, &ret->back))
		return false;
	known[0].to = r.at;
	memcpy(ret->was[0], r.code + begin, sizeof(ret->was[0]));
	memcpy(ret->was[1], r.code + end, sizeof(ret->was[1]));
	return !is_target(r.code, r.n, known, begin + 1, begin + 5) && !is_target(r.code, r.n, known, end + 1, end + 5);
}

bool sites_framed_open(const unsigned char *code, size_t n, uint64_t addr, struct framed_open *ret)
{
	for (size_t i = 0; i < n; i++)
		if (code[i] == 0xe8 && read_framed((struct reader){code, n, i}, addr, ret))
			return true;
	return false;
}

uint32_t sites_cancel(const unsigned char *code, size_t n)
{
	/* mov %fs:0x10,%rcx; mov CANCEL(%rcx),%edx */
	static const unsigned char begin[] = {0x64, 0x48, 0x8b, 0x0c, 0x25, 0x10, 0, 0, 0, 0x8b, 0x91};
	/* What is to be cancelled here: bit 3, and of bits 0, 4 and 5 none. */
	static const unsigned char asked[] = {0x83, 0xe2, 0x3b, 0x83, 0xca, 0x02, 0x83, 0xfa, 0x0a};
	enum { NEAR = 64, MOST = 4096 };
	uint32_t ret;
	if (n < sizeof(begin) + sizeof(ret) || memcmp(code, begin, sizeof(begin)) != 0 ||
	    !memmem(code, n < NEAR ? n : NEAR, asked, sizeof(asked)))
		return 0;
	memcpy(&ret, code + sizeof(begin), sizeof(ret));
	return ret < MOST ? ret : 0;
}

bool sites_is_framed(const struct sites *s, uint64_t offset)
{
	for (size_t i = 0; i < s->nframed; i++)
		if (offset == s->framed[i].call + 2)
			return true;
	return false;
}
