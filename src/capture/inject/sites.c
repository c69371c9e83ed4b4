#include "capture/inject/sites_int.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (64u << 20)
#define ALONE_MAX (8u << 20) /* bytes of a static program: its names are looked through 70 times, 5 ms */
#define LOADER_SITES 12      /* for which there is room; it has 8 to 10 */

enum { RDX = 2, RSI = 6, RDI = 7, R10 = 10 };

const struct wanted sites_wanted[] = {
    {"read", 0, SITE_MOVE, RDI, SITE_NONE, 0},
    {"__read_nocancel", 0, SITE_MOVE, RDI, SITE_NONE, 0},
    {"write", 1, SITE_MOVE, SITE_NONE, RDI, 0},
    {"__write_nocancel", 1, SITE_MOVE, SITE_NONE, RDI, 0},
    {"pread64", 17, SITE_MOVE, RDI, SITE_NONE, 1},
    {"__pread64_nocancel", 17, SITE_MOVE, RDI, SITE_NONE, 1},
    {"pwrite64", 18, SITE_MOVE, SITE_NONE, RDI, 1},
    {"readv", 19, SITE_MOVE, RDI, SITE_NONE, 1},
    {"writev", 20, SITE_MOVE, SITE_NONE, RDI, 1},
    {"preadv", 295, SITE_MOVE, RDI, SITE_NONE, 1},
    {"preadv64", 295, SITE_MOVE, RDI, SITE_NONE, 1},
    {"pwritev", 296, SITE_MOVE, SITE_NONE, RDI, 1},
    {"pwritev64", 296, SITE_MOVE, SITE_NONE, RDI, 1},
    {"preadv2", 327, SITE_MOVE, RDI, SITE_NONE, 1},
    {"preadv64v2", 327, SITE_MOVE, RDI, SITE_NONE, 1},
    {"pwritev2", 328, SITE_MOVE, SITE_NONE, RDI, 1},
    {"pwritev64v2", 328, SITE_MOVE, SITE_NONE, RDI, 1},
    {"sendfile", 40, SITE_MOVE, RSI, RDI, 1},
    {"sendfile64", 40, SITE_MOVE, RSI, RDI, 1},
    {"copy_file_range", 326, SITE_MOVE, RDI, RDX, 1},
    {"splice", 275, SITE_SPLICE, RDI, RDX, 0},
    {"tee", 276, SITE_SPLICE, RDI, RSI, 0},
    {"open", 257, SITE_OPEN, SITE_NONE, SITE_NONE, 0},
    {"open64", 257, SITE_OPEN, SITE_NONE, SITE_NONE, 0},
    {"openat", 257, SITE_OPEN, SITE_NONE, SITE_NONE, 0},
    {"openat64", 257, SITE_OPEN, SITE_NONE, SITE_NONE, 0},
    {"__open_nocancel", 257, SITE_OPEN, SITE_NONE, SITE_NONE, 0},
    {"__open64_nocancel", 257, SITE_OPEN, SITE_NONE, SITE_NONE, 0},
    {"__openat_nocancel", 257, SITE_OPEN, SITE_NONE, SITE_NONE, 0},
    {"__openat64_nocancel", 257, SITE_OPEN, SITE_NONE, SITE_NONE, 0},
    {"creat", 85, SITE_OPEN, SITE_NONE, SITE_NONE, 0},
    {"creat64", 85, SITE_OPEN, SITE_NONE, SITE_NONE, 0},
    {"close", 3, SITE_CLOSE, SITE_NONE, SITE_NONE, 0},
    {"__close_nocancel", 3, SITE_CLOSE, SITE_NONE, SITE_NONE, 0},
    {"dup", 32, SITE_DUP, SITE_NONE, SITE_NONE, 0},
    {"dup2", 33, SITE_DUP2, SITE_NONE, SITE_NONE, 0},
    {"dup3", 292, SITE_DUP2, SITE_NONE, SITE_NONE, 0},
    {"close_range", 436, SITE_RANGE, SITE_NONE, SITE_NONE, 0},
    {"pipe", 22, SITE_PIPE, RDI, SITE_NONE, 0},
    {"pipe", 293, SITE_PIPE, RDI, SITE_NONE, 0}, /* as pipe2 with no flags */
    {"pipe2", 293, SITE_PIPE, RDI, SITE_NONE, 0},
    {"socketpair", 53, SITE_PAIR, R10, SITE_NONE, 0},
    {"socket", 41, SITE_MADE, SITE_NONE, SITE_NONE, 0},
    {"accept", 43, SITE_MADE, SITE_NONE, SITE_NONE, 0},
    {"accept4", 288, SITE_MADE, SITE_NONE, SITE_NONE, 0},
    {"eventfd", 290, SITE_MADE, SITE_NONE, SITE_NONE, 0},
    {"timerfd_create", 283, SITE_MADE, SITE_NONE, SITE_NONE, 0},
    {"signalfd", 289, SITE_MADE, SITE_NONE, SITE_NONE, 0},
    {"inotify_init1", 294, SITE_MADE, SITE_NONE, SITE_NONE, 0},
    {"mmap", 9, SITE_MAP, SITE_NONE, SITE_NONE, 0},
    {"mmap64", 9, SITE_MAP, SITE_NONE, SITE_NONE, 0},
    {"vfork", 58, SITE_MARK, SITE_NONE, SITE_NONE, 0},
    {"clone", 56, SITE_MARK, SITE_NONE, SITE_NONE, 0},
};
const size_t sites_nwanted = sizeof(sites_wanted) / sizeof(sites_wanted[0]);
/* Without these nothing can be counted. */
static const char *const needed[] = {"read", "write", "open64", "close", "dup2", "vfork"};
/* ... of programs with threads: the ways of these. What goes another way of theirs is missed by the kernel's totals. */
static const char *const needed_threads[] = {"read", "write", "open", "close"};

/* Do n bytes at off lie inside the file? No overflow: off and n come from a hostile file. */
static bool is_inside_file(const struct image *im, uint64_t off, uint64_t n)
{
	return off <= im->n && n <= im->n - off;
}

/* Does it say that it is a program that may lie anywhere, and no library? */
static bool is_pie(const struct image *im)
{
	for (size_t i = 0; i < im->nph; i++) {
		const Elf64_Phdr *p = &im->ph[i];
		if (p->p_type != PT_DYNAMIC || p->p_offset % 8 || !is_inside_file(im, p->p_offset, p->p_filesz))
			continue;
		const Elf64_Dyn *d = (const Elf64_Dyn *)(im->p + p->p_offset);
		for (size_t k = 0; k < p->p_filesz / sizeof(*d) && d[k].d_tag != DT_NULL; k++)
			if (d[k].d_tag == DT_FLAGS_1)
				return d[k].d_un.d_val & DF_1_PIE;
	}
	return false;
}

/* Reads the head of a library or a program without libraries, x86-64. False: it is none, or damaged, or too large. */
static bool parse_elf(struct image *im)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)im->p;
	if (im->n < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != EM_X86_64 ||
	    (h->e_type != ET_DYN && h->e_type != ET_EXEC))
		return false;
	if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_phentsize != sizeof(Elf64_Phdr) || h->e_shoff % 8 ||
	    h->e_phoff % 8 || !is_inside_file(im, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)) ||
	    !is_inside_file(im, h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr)))
		return false;
	im->sh = (const Elf64_Shdr *)(im->p + h->e_shoff);
	im->nsh = h->e_shnum;
	im->ph = (const Elf64_Phdr *)(im->p + h->e_phoff);
	im->nph = h->e_phnum;
	im->moves = h->e_type == ET_DYN && is_pie(im);
	im->alone = h->e_type == ET_EXEC || im->moves;
	for (size_t i = 0; i < im->nph; i++)
		if (im->alone && im->ph[i].p_type == PT_INTERP)
			return false; /* a program that has libraries */
	return !im->alone || im->n <= ALONE_MAX;
}

const unsigned char *sites_code(const struct image *im, size_t segment, size_t *ret_n, uint64_t *ret_addr)
{
	const Elf64_Phdr *p = &im->ph[segment];
	if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !is_inside_file(im, p->p_offset, p->p_filesz))
		return NULL;
	*ret_n = p->p_filesz;
	*ret_addr = p->p_vaddr;
	return im->p + p->p_offset;
}

/* What is at an address that may be used so, and how much there is of it; NULL: nothing. */
static const unsigned char *image_bytes_at(const struct image *im, uint64_t addr, unsigned flags, size_t *ret_n)
{
	for (size_t i = 0; i < im->nph; i++) {
		const Elf64_Phdr *p = &im->ph[i];
		if (p->p_type != PT_LOAD || (p->p_flags & flags) != flags || !is_inside_file(im, p->p_offset, p->p_filesz) ||
		    addr < p->p_vaddr || addr - p->p_vaddr >= p->p_filesz)
			continue;
		*ret_n = p->p_filesz - (addr - p->p_vaddr);
		return im->p + p->p_offset + (addr - p->p_vaddr);
	}
	return NULL;
}

/* Bytes in an executable segment at a virtual address; *ret_n how many follow. NULL where there are none. */
static const unsigned char *code_at(const struct image *im, uint64_t addr, size_t *ret_n)
{
	return image_bytes_at(im, addr, PF_X, ret_n);
}

/* Is the number put into eax shortly before `at`? */
static bool loads_number(const unsigned char *code, size_t at, int nr)
{
	unsigned char mov[5] = {0xb8, (unsigned char)nr, (unsigned char)(nr >> 8), 0, 0};
	for (size_t back = 2; back <= 20 && back <= at; back++) {
		if (nr == 0 && code[at - back] == 0x31 && code[at - back + 1] == 0xc0)
			return true;
		if (back >= 5 && !memcmp(code + at - back, mov, 5))
			return true;
	}
	return false;
}

bool sites_is_call(const unsigned char *code, size_t n, size_t at)
{
	const unsigned char *c = code + at;
	return at + SITE_BYTES <= n && c[0] == 0x0f && c[1] == 0x05 && c[2] == 0x48 && c[3] == 0x3d && c[4] <= 1 &&
	       c[5] == 0xf0 && c[6] == 0xff && c[7] == 0xff;
}

/* May there be a call instruction that leads into the same library? Nothing is decoded: what looks like one will do.
 */
static bool has_call(const unsigned char *code, size_t n)
{
	/* A call instruction's target lies in the library: its displacement is small. */
	for (size_t i = 0; i + 5 <= n; i++)
		if (code[i] == 0xe8 && (code[i + 4] == 0 || code[i + 4] == 0xff) && (code[i + 3] < 0x20 || code[i + 3] > 0xdf))
			return true;
	return false;
}

void sites_add(struct sites *s, const struct wanted *w, uint64_t offset, unsigned taken, const unsigned char *code)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->site[i].offset == offset)
			return;
	if (s->n == SITES_MAX)
		return;
	struct site *t = &s->site[s->n++];
	*t = (struct site){.offset = offset,
	                   .nr = w->nr,
	                   .kind = (uint8_t)w->kind,
	                   .from = w->from,
	                   .to = w->to,
	                   .positional = w->positional,
	                   .taken = (uint8_t)taken};
	memcpy(t->bytes, code, taken);
}

/* The first call in the function that is what is looked for. What stands behind a call instruction is the way of a
 * program with threads. False: there is none, or one that cannot be replaced. */
static bool find_call_site(const unsigned char *code, size_t n, const struct wanted *w, uint64_t addr, struct sites *s)
{
	if (w->kind == SITE_MARK) {
		const unsigned char pre[7] = {0xb8, (unsigned char)w->nr, (unsigned char)(w->nr >> 8), 0, 0, 0x0f, 0x05};
		for (size_t i = 0; i + sizeof(pre) <= n; i++)
			if (!memcmp(code + i, pre, sizeof(pre))) {
				sites_add(s, w, addr + i, 5, code + i);
				return true;
			}
		return false;
	}
	for (size_t i = 0; i + SITE_BYTES <= n; i++) {
		const unsigned char *c = code + i;
		if (c[0] != 0x0f || c[1] != 0x05)
			continue;
		if (!sites_is_call(code, n, i) || !loads_number(code, i, w->nr) || has_call(code, i))
			return false;
		sites_add(s, w, addr + i, SITE_BYTES, c);
		const unsigned char mov[LOAD_BYTES] = {0xb8, (unsigned char)w->nr, (unsigned char)(w->nr >> 8), 0, 0};
		if (s->n && s->site[s->n - 1].offset == addr + i)
			s->site[s->n - 1].loaded = i >= LOAD_BYTES && !memcmp(c - LOAD_BYTES, mov, LOAD_BYTES);
		return true;
	}
	return false;
}

/* Finds a symbol by the symbol table of an image that stands alone, else by the dynamic one. False: it has no such
 * symbol. */
static bool symbol_of(const struct image *im, const char *name, unsigned type, uint64_t *ret_addr, uint64_t *ret_size)
{
	for (size_t i = 0; i < im->nsh; i++) {
		const Elf64_Shdr *h = &im->sh[i];
		if (h->sh_type != (im->alone ? SHT_SYMTAB : SHT_DYNSYM) || h->sh_entsize != sizeof(Elf64_Sym) ||
		    h->sh_offset % 8 || !is_inside_file(im, h->sh_offset, h->sh_size) || h->sh_link >= im->nsh)
			continue;
		const Elf64_Shdr *t = &im->sh[h->sh_link];
		if (!is_inside_file(im, t->sh_offset, t->sh_size))
			continue;
		const Elf64_Sym *sym = (const Elf64_Sym *)(im->p + h->sh_offset);
		size_t len = strlen(name) + 1;
		for (size_t k = 0; k < h->sh_size / sizeof(*sym); k++)
			if (ELF64_ST_TYPE(sym[k].st_info) == type && sym[k].st_shndx != SHN_UNDEF && sym[k].st_size &&
			    sym[k].st_name < t->sh_size && len <= t->sh_size - sym[k].st_name &&
			    !memcmp(im->p + t->sh_offset + sym[k].st_name, name, len)) {
				*ret_addr = sym[k].st_value;
				*ret_size = sym[k].st_size;
				return true;
			}
	}
	return false;
}

/* Its address and size. False if there is no such function. */
static bool find_function_symbol(const struct image *im, const char *name, uint64_t *ret_addr, uint64_t *ret_size)
{
	return symbol_of(im, name, STT_FUNC, ret_addr, ret_size);
}

/* Where a thread's number is kept, as the library tells debuggers: bits, how many, offset. 0: not known. */
static uint32_t find_tid(const struct image *im)
{
	enum { TCB_MAX = 4096 };
	uint64_t addr, size;
	uint32_t v[3];
	size_t n;
	const unsigned char *at = symbol_of(im, "_thread_db_pthread_tid", STT_OBJECT, &addr, &size) && size == sizeof(v)
	                              ? image_bytes_at(im, addr, PF_R, &n)
	                              : NULL;
	if (!at || n < sizeof(v))
		return 0;
	memcpy(v, at, sizeof(v));
	return v[0] == 32 && v[1] == 1 && v[2] < TCB_MAX && v[2] % 4 == 0 ? v[2] : 0;
}

/* Finds bytes in code. As memmem, of bytes whose first one is rare in code: a fourth to a sixth of its time, which
 * is 0.5 ms of a library. */
static const unsigned char *find_rare(const unsigned char *code, size_t n, const unsigned char *bytes, size_t size)
{
	const unsigned char *at = code;
	for (; n >= size && (at = memchr(at, bytes[0], n - size + 1 - (size_t)(at - code))); at++)
		if (!memcmp(at, bytes, size))
			return at;
	return NULL;
}

/* clone3 has no name outside the library, so its place is found by the bytes before it, and added to s. True: one place
 * makes it, or none (older libraries). False: several do, s holds the first, and the image is not to be used. */
static bool find_clone3(const struct image *im, struct sites *s)
{
	static const struct wanted w = {"", 435, SITE_MARK, SITE_NONE, SITE_NONE, 0};
	static const unsigned char pre[7] = {0xb8, 0xb3, 0x01, 0, 0, 0x0f, 0x05};
	unsigned found = 0;
	for (size_t i = 0; i < im->nph; i++) {
		const Elf64_Phdr *p = &im->ph[i];
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !is_inside_file(im, p->p_offset, p->p_filesz))
			continue;
		const unsigned char *code = im->p + p->p_offset, *at = code;
		while (at && (at = find_rare(at, p->p_filesz - (size_t)(at - code), pre, sizeof(pre)))) {
			if (found++ == 0)
				sites_add(s, &w, p->p_vaddr + (uint64_t)(at - code), 5, at);
			at++;
		}
	}
	return found <= 1;
}

bool sites_is_entered(const unsigned char *code, size_t n, size_t at)
{
	enum { NEAR = 4096 };
	const size_t first = at > NEAR ? at - NEAR : 0, last = n - at > NEAR ? at + NEAR : n;
	for (size_t i = first; i + 5 <= last; i++) {
		int64_t to = -1, far = -1;
		if ((code[i] & 0xf0) == 0x70 || code[i] == 0xeb || (code[i] & 0xfc) == 0xe0)
			to = (int64_t)i + 2 + (signed char)code[i + 1];
		if (code[i] == 0xe8 || code[i] == 0xe9 || (code[i] & 0xf0) == 0x80) {
			int32_t d;
			memcpy(&d, code + i + 1, sizeof(d));
			far = (int64_t)i + 5 + d;
		}
		const int64_t from = (int64_t)at, end = (int64_t)at + SITE_BYTES;
		if ((to > from && to < end) || (far > from && far < end))
			return true;
	}
	return false;
}

/* fcntl's number is loaded where it cannot be cancelled in a function without a name, by which it duplicates. */
static void find_fcntl(const struct image *im, struct sites *s)
{
	enum { MOST = 4 };
	static const struct wanted w = {"", 72, SITE_FCNTL, SITE_NONE, SITE_NONE, 0};
	static const unsigned char pre[] = {0xb8, 72, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d};
	uint64_t addr = 0, size = 0;
	unsigned found = 0;
	find_function_symbol(im, "fcntl", &addr, &size); /* that waits for locks there, and duplicates nothing */
	for (size_t i = 0; i < im->nph; i++) {
		const Elf64_Phdr *p = &im->ph[i];
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !is_inside_file(im, p->p_offset, p->p_filesz))
			continue;
		const unsigned char *code = im->p + p->p_offset;
		size_t n = p->p_filesz;
		const unsigned char *c = code;
		for (; found < MOST && (c = find_rare(c, n - (size_t)(c - code), pre, sizeof(pre))); c++) {
			const size_t at = (size_t)(c - code) + LOAD_BYTES;
			const uint64_t to = p->p_vaddr + at;
			if (sites_is_call(code, n, at) && (to < addr || to - addr >= size) && !sites_is_entered(code, n, at)) {
				sites_add(s, &w, to, SITE_BYTES, code + at);
				found++;
			}
		}
	}
}

/* syscall(): the number is its argument. */
static void find_any(const struct image *im, struct sites *s)
{
	static const struct wanted w = {"syscall", -1, SITE_ANY, SITE_NONE, SITE_NONE, 0};
	uint64_t addr, size;
	size_t n;
	const unsigned char *code = find_function_symbol(im, w.name, &addr, &size) ? code_at(im, addr, &n) : NULL;
	if (code && n > size)
		n = size;
	for (size_t i = 0; code && i + SITE_BYTES <= n; i++)
		if (sites_is_call(code, n, i)) {
			sites_add(s, &w, addr + i, SITE_BYTES, code + i);
			break;
		}
}

bool sites_find_gadget(const struct image *im, const unsigned char *tail, size_t size, const struct sites *s,
                       uint64_t *ret)
{
	for (size_t i = 0; i < im->nph; i++) {
		const Elf64_Phdr *p = &im->ph[i];
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !is_inside_file(im, p->p_offset, p->p_filesz))
			continue;
		const unsigned char *code = im->p + p->p_offset, *at = code;
		for (; (at = memmem(at, p->p_filesz - (size_t)(at - code), tail, size)); at++) {
			const uint64_t addr = p->p_vaddr + (uint64_t)(at - code);
			bool apart = true;
			for (size_t k = 0; k < s->n; k++)
				apart &= addr + size <= s->site[k].offset || s->site[k].offset + SITE_BYTES <= addr;
			if (apart) {
				*ret = addr;
				return true;
			}
		}
	}
	return false;
}

/* A call that returns at once, in a function that is no site. False: there is none. */
static bool find_gadget(const struct image *im, struct sites *s)
{
	static const unsigned char tail[] = {0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, 0x73, 0x01, 0xc3};
	uint64_t addr, size;
	size_t n;
	static const char *const names[] = {"setpgid", "getpgid", "setsid", "umask"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const unsigned char *code = find_function_symbol(im, names[i], &addr, &size) ? code_at(im, addr, &n) : NULL;
		const unsigned char *at = code ? memmem(code, size < n ? size : n, tail, sizeof(tail)) : NULL;
		if (at) {
			s->gadget = addr + (uint64_t)(at - code);
			return true;
		}
	}
	return im->alone && sites_find_gadget(im, tail, sizeof(tail), s, &s->gadget);
}

/* Where a call begins that needs no cancellation; 0: there is none. */
static void find_start(const struct image *im, struct sites *s)
{
	static const struct wanted w = {"", 302, SITE_OPEN, SITE_NONE, SITE_NONE, 0};
	static const char *const names[] = {"getrlimit64", "getrlimit", "__getrlimit"};
	struct sites one = {0};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !one.n; i++) {
		uint64_t addr, size;
		size_t n;
		const unsigned char *code = find_function_symbol(im, names[i], &addr, &size) ? code_at(im, addr, &n) : NULL;
		if (code)
			find_call_site(code, size < n ? size : n, &w, addr, &one);
	}
	s->start = one.n ? one.site[0].offset : 0;
}

/* False: it is not there. */
bool sites_find_sigreturn(const struct image *im, struct sites *s)
{
	static const unsigned char body[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	for (size_t i = 0; i < im->nph; i++) {
		const Elf64_Phdr *p = &im->ph[i];
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !is_inside_file(im, p->p_offset, p->p_filesz))
			continue;
		const unsigned char *code = im->p + p->p_offset, *at = memmem(code, p->p_filesz, body, sizeof(body));
		if (at) {
			s->sigreturn = p->p_vaddr + (uint64_t)(at - code);
			return true;
		}
	}
	return false;
}

/* Reads the whole file. The caller frees ret->p. 0; -ENOEXEC: it is no such file; -ENOMEM; -errno. */
static int read_image(int fd, struct image *ret)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < 64 || st.st_size > FILE_MAX)
		return -ENOEXEC;
	struct image im = {.n = (size_t)st.st_size, .p = malloc((size_t)st.st_size)};
	if (!im.p)
		return -ENOMEM;
	size_t have = 0;
	for (ssize_t got; have < im.n && (got = pread(fd, im.p + have, im.n - have, (off_t)have)) > 0;)
		have += (size_t)got;
	im.n = have;
	if (!parse_elf(&im)) {
		free(im.p);
		return -ENOEXEC;
	}
	*ret = im;
	return 0;
}

/* Sites apart from each other: one's bytes are not another's. */
static bool are_apart(const struct sites *s)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < i; k++)
			if (s->site[i].offset < s->site[k].offset + SITE_BYTES &&
			    s->site[k].offset < s->site[i].offset + SITE_BYTES)
				return false;
	return true;
}

/* The opens of programs with threads, of a library that has names. All of them end and begin by the same functions. */
static void find_framed(const struct image *im, struct sites *s)
{
	static const char *const names[] = {"open64", "openat64"};
	static_assert(sizeof(names) / sizeof(names[0]) == SITES_FRAMED, "one each");
	if (im->alone || !s->tid)
		return;
	for (size_t i = 0; i < SITES_FRAMED; i++) {
		struct framed_open *f = &s->framed[s->nframed];
		uint64_t addr, size;
		size_t n, nbegins;
		if (!find_function_symbol(im, names[i], &addr, &size))
			continue;
		const unsigned char *code = code_at(im, addr, &n), *begins;
		if (!code || !sites_framed_open(code, n < size ? n : size, addr, f) ||
		    !(begins = code_at(im, f->begins, &nbegins)))
			continue;
		const uint32_t cancel = sites_cancel(begins, nbegins);
		if (!cancel || (s->cancel && s->cancel != cancel))
			continue;
		s->cancel = cancel;
		s->nframed++;
	}
}

/* Whether it has a full table of symbols, not only the dynamic one. */
static bool has_names(const struct image *im)
{
	for (size_t i = 0; i < im->nsh; i++)
		if (im->sh[i].sh_type == SHT_SYMTAB)
			return true;
	return false;
}

/* Finds the sites of a C library that is not glibc. 0; -ENOEXEC: it is none that is known. */
static int read_other(const struct image *im, struct sites *ret)
{
	struct sites s = {.alone = im->alone, .moves = im->moves};
	if (!sites_musl(im, &s))
		return -ENOEXEC;
	*ret = s;
	return 0;
}

int sites_read(int fd, struct sites *ret)
{
	struct image im;
	struct sites s = {0}, threads = {0};
	size_t essential = 0, ways = 0;
	uint64_t ends[2] = {0};
	int rc = read_image(fd, &im);
	if (rc < 0)
		return rc;
	s.alone = im.alone;
	s.moves = im.moves;
	if (im.alone && !has_names(&im)) {
		static const unsigned char tail[] = {0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, 0x73, 0x01, 0xc3};
		rc = sites_bare(&im, &s) && sites_find_gadget(&im, tail, sizeof(tail), &s, &s.gadget) &&
		             sites_find_sigreturn(&im, &s) && are_apart(&s)
		         ? 0
		         : read_other(&im, &s);
		free(im.p);
		if (rc == 0)
			*ret = s;
		return rc;
	}
	for (size_t i = 0; i < sites_nwanted; i++) {
		uint64_t addr, size;
		size_t n;
		if (!find_function_symbol(&im, sites_wanted[i].name, &addr, &size))
			continue;
		const unsigned char *code = code_at(&im, addr, &n);
		const size_t had = s.n;
		if (code && n > size)
			n = size;
		if (!code || !find_call_site(code, n, &sites_wanted[i], addr, &s)) {
			s.unmarked |= sites_wanted[i].kind == SITE_MARK;
			continue;
		}
		if (s.n > had && sites_wanted[i].kind != SITE_MARK && !strstr(sites_wanted[i].name, "_nocancel") &&
		    has_call(code, n)) {
			s.site[had].single = 1;
			if (sites_threads(code, n, addr, &s.site[had], &threads, ends))
				for (size_t k = 0; k < sizeof(needed_threads) / sizeof(needed_threads[0]); k++)
					ways += !strcmp(needed_threads[k], sites_wanted[i].name);
		}
		for (size_t k = 0; k < sizeof(needed) / sizeof(needed[0]); k++)
			essential += !strcmp(needed[k], sites_wanted[i].name);
	}
	/* Of a static program some may not be there, since nobody calls them. */
	const size_t least = im.alone ? 3 : sizeof(needed) / sizeof(needed[0]);
	find_start(&im, &s);
	find_fcntl(&im, &s);
	find_any(&im, &s);
	if (essential < least || !find_clone3(&im, &s) || !find_gadget(&im, &s) || !sites_find_sigreturn(&im, &s))
		rc = -ENOEXEC;
	s.tid = find_tid(&im);
	if (ways < sizeof(needed_threads) / sizeof(needed_threads[0]) || threads.n > SITES_MAX - s.n)
		s.tid = 0;
	for (size_t i = 0; s.tid && i < threads.n; i++)
		s.site[s.n++] = threads.site[i];
	find_framed(&im, &s);
	if (!are_apart(&s))
		rc = -ENOEXEC;
	if (rc < 0)
		rc = read_other(&im, &s);
	free(im.p);
	if (rc == 0)
		*ret = s;
	return rc;
}

/* ---- the loader ---- */

/* The number of the call at `at`, which is loaded right before it; -1: it is not. A prefix would make another
 * instruction of the bytes. */
static int number_at(const unsigned char *code, size_t at)
{
	/* open: the number, and then the arguments of openat are put where they belong. */
	static const unsigned char moved[] = {0x48, 0x89, 0xfe, 0xbf, 0x9c, 0xff, 0xff, 0xff};
	if (at >= 3 && code[at - 2] == 0x31 && code[at - 1] == 0xc0 && (code[at - 3] & 0xf0) != 0x40)
		return 0;
	if (at > sizeof(moved) && !memcmp(code + at - sizeof(moved), moved, sizeof(moved)))
		at -= sizeof(moved);
	if (at < LOAD_BYTES + 1 || code[at - LOAD_BYTES] != 0xb8 || (code[at - LOAD_BYTES - 1] & 0xf0) == 0x40)
		return -1;
	uint32_t nr;
	memcpy(&nr, code + at - LOAD_BYTES + 1, sizeof(nr));
	return nr < 1024 ? (int)nr : -1;
}

int sites_read_loader(int fd, struct sites *ret)
{
	static const struct wanted of[] = {
	    {"", 0, SITE_MOVE, RDI, SITE_NONE, 0},         {"", 1, SITE_MOVE, SITE_NONE, RDI, 0},
	    {"", 17, SITE_MOVE, RDI, SITE_NONE, 1},        {"", 20, SITE_MOVE, SITE_NONE, RDI, 1},
	    {"", 257, SITE_OPEN, SITE_NONE, SITE_NONE, 0}, {"", 3, SITE_CLOSE, SITE_NONE, SITE_NONE, 0},
	    {"", 9, SITE_MAP, SITE_NONE, SITE_NONE, 0},
	};
	struct image im;
	struct sites s = {0};
	bool opens = false, closes = false, reads = false;
	int rc = read_image(fd, &im);
	if (rc < 0)
		return rc;
	for (size_t i = 0; !im.alone && i < im.nph; i++) {
		const Elf64_Phdr *p = &im.ph[i];
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !is_inside_file(&im, p->p_offset, p->p_filesz))
			continue;
		const unsigned char *code = im.p + p->p_offset;
		const size_t n = p->p_filesz;
		for (size_t at = 0; at + SITE_BYTES <= n; at++) {
			if (!sites_is_call(code, n, at) || sites_is_entered(code, n, at))
				continue;
			const int nr = number_at(code, at);
			for (size_t k = 0; k < sizeof(of) / sizeof(of[0]); k++)
				if (of[k].nr == nr) {
					sites_add(&s, &of[k], p->p_vaddr + at, SITE_BYTES, code + at);
					opens |= nr == 257;
					closes |= nr == 3;
					reads |= nr == 0;
				}
		}
	}
	free(im.p);
	if (!opens || !closes || !reads || s.n > LOADER_SITES || !are_apart(&s))
		return -ENOEXEC;
	*ret = s;
	return 0;
}
