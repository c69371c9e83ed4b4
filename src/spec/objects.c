#include "spec/objects.h"

#include "base/io.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int objects_map(const char *path, struct err *err, struct objects_bytes *ret)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return err_set(err, errno, "cannot open '%s'", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > OBJECTS_MAX) {
		close(fd);
		return err_set(err, S_ISDIR(st.st_mode) ? EISDIR : EFBIG, "cannot read '%s'", path);
	}
	size_t n = (size_t)st.st_size;
	void *p = mmap(NULL, n ? n : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ssize_t got = p == MAP_FAILED ? -ENOMEM : io_pread(fd, p, n, 0);
	close(fd);
	if (got < 0) {
		if (p != MAP_FAILED)
			munmap(p, n ? n : 1);
		return err_set(err, (int)-got, "cannot read '%s'", path);
	}
	*ret = (struct objects_bytes){p, n};
	if ((size_t)got < n) /* it was shortened: the rest stays zero */
		ret->n = n;
	return 0;
}

/* It is empty then. Nothing if it is not mapped. */
void objects_unmap(struct objects_bytes *b)
{
	if (b->p)
		munmap(b->p, b->n ? b->n : 1);
	*b = (struct objects_bytes){0};
}

bool objects_is_elf(struct str f)
{
	return f.n >= sizeof(Elf64_Ehdr) && memcmp(f.p, ELFMAG, SELFMAG) == 0 && f.p[EI_CLASS] == ELFCLASS64 &&
	       f.p[EI_DATA] == ELFDATA2LSB;
}

/* By its first bytes, a thin one too. */
bool objects_is_archive(struct str f)
{
	return f.n >= 8 && (memcmp(f.p, "!<arch>\n", 8) == 0 || memcmp(f.p, "!<thin>\n", 8) == 0);
}

/* By its first bytes, with or without a wrapper. */
bool objects_is_bitcode(struct str f)
{
	return f.n >= 4 && (memcmp(f.p, "BC\xc0\xde", 4) == 0 || memcmp(f.p, "\xde\xc0\x17\x0b", 4) == 0);
}

/* ---- the first block of bitcode ---- */

/* LLVM's bitstream: little-endian, the lowest bit first. Behind the end all bits are 0. */
struct bits {
	struct str s;
	size_t at;
};

/* n bits, the lowest first; behind the end zeros. n: 64 at most. */
static uint64_t read_bits(struct bits *b, unsigned n)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < n; i++, b->at++)
		if (b->at / 8 < b->s.n)
			v |= (uint64_t)((unsigned char)b->s.p[b->at / 8] >> b->at % 8 & 1) << i;
	return v;
}

/* LLVM's numbers of varying length, in pieces of n bits. */
static uint64_t take_varying(struct bits *b, unsigned n)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 60; shift += n - 1) {
		uint64_t part = read_bits(b, n);
		v |= (part & ((1u << (n - 1)) - 1)) << shift;
		if (!(part >> (n - 1)))
			break;
	}
	return v;
}

/* What the parts of this reader know of the bitstream: the ids of what it is made of, and the kinds of operands. */
enum { BITS_END, BITS_ENTER, BITS_DEFINE, BITS_PLAIN, BITS_FIRST_OWN };
enum { BITS_LITERAL, BITS_FIXED, BITS_VARYING, BITS_ARRAY, BITS_CHAR6 };
#define BITS_IDENTIFICATION 13 /* the block that names who wrote it */

/* The bitcode itself, where a wrapper is around it. False: that one says that it begins beyond the end. */
static bool unwrap_bitcode(struct str *f)
{
	if (f->n < 16 || memcmp(f->p, "\xde\xc0\x17\x0b", 4) != 0)
		return true;
	struct bits head = {*f, 64};
	uint64_t offset = read_bits(&head, 32);
	if (offset > f->n)
		return false;
	*f = str_n(f->p + offset, f->n - offset);
	return true;
}

/* Goes into the first block, which is that of who wrote it. The width of ids there, 0: it is no such bitcode. */
static unsigned enter_identification(struct bits *b)
{
	if (b->s.n < 16 || memcmp(b->s.p, "BC\xc0\xde", 4) != 0 || read_bits(b, 2) != BITS_ENTER ||
	    take_varying(b, 8) != BITS_IDENTIFICATION)
		return 0;
	unsigned width = (unsigned)take_varying(b, 4);
	b->at = (b->at + 31) / 32 * 32 + 32;
	return width < 2 || width > 32 ? 0 : width;
}

/* Reads how the record is written: a literal 1, then an array of characters. *ret_bits: of one, 0: 6, of an alphabet of
 * 64. False: it is written in another way. */
static bool read_text_layout(struct bits *b, unsigned width, unsigned *ret_bits)
{
	struct {
		unsigned kind, value;
	} op[3] = {0};
	if (read_bits(b, width) != BITS_DEFINE || take_varying(b, 5) != 3)
		return false;
	for (unsigned i = 0; i < 3; i++) {
		bool literal = read_bits(b, 1);
		op[i].kind = literal ? BITS_LITERAL : (unsigned)read_bits(b, 3);
		if (literal || op[i].kind == BITS_FIXED || op[i].kind == BITS_VARYING)
			op[i].value = (unsigned)take_varying(b, literal ? 8 : 5);
	}
	*ret_bits = op[2].kind == BITS_CHAR6 ? 0 : op[2].value;
	bool chars = op[2].kind == BITS_CHAR6 || (op[2].kind == BITS_FIXED && op[2].value && op[2].value <= 8);
	return op[0].kind == BITS_LITERAL && op[0].value == 1 && op[1].kind == BITS_ARRAY && chars;
}

bool objects_bitcode_producer(struct str f, char *ret, size_t size)
{
	static const char char6[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
	unsigned bits;
	if (!unwrap_bitcode(&f))
		return false;
	struct bits b = {f, 32};
	unsigned width = enter_identification(&b);
	/* The text is the first record. */
	if (!width || !read_text_layout(&b, width, &bits) || read_bits(&b, width) != BITS_FIRST_OWN)
		return false;
	uint64_t n = take_varying(&b, 6);
	if (n == 0 || n >= size)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		unsigned v = (unsigned)read_bits(&b, bits ? bits : 6);
		ret[i] = bits ? (char)v : char6[v];
		if (ret[i] < ' ' || ret[i] > '~')
			return false;
	}
	ret[n] = '\0';
	return true;
}

/* f must have that many bytes; they need not be aligned. */
static Elf64_Ehdr read_elf_header(struct str f)
{
	Elf64_Ehdr h;
	memcpy(&h, f.p, sizeof(h));
	return h;
}

/* Reads the head of a section. False: there is no such header within the file. */
static bool section_header(struct str f, const Elf64_Ehdr *h, uint64_t i, Elf64_Shdr *ret)
{
	if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff > f.n || i >= (f.n - h->e_shoff) / sizeof(Elf64_Shdr))
		return false;
	memcpy(ret, f.p + h->e_shoff + i * sizeof(Elf64_Shdr), sizeof(*ret));
	return true;
}

int objects_section(struct str f, const char *name, struct str *ret)
{
	Elf64_Shdr first, names, s;
	size_t want = strlen(name) + 1;
	if (!objects_is_elf(f))
		return -ENOENT;
	Elf64_Ehdr h = read_elf_header(f);
	if (!h.e_shoff || !section_header(f, &h, 0, &first))
		return -ENOENT;
	/* More than 65,279 sections: the counts are in the first. */
	uint64_t n = h.e_shnum ? h.e_shnum : first.sh_size;
	uint64_t at = h.e_shstrndx == SHN_XINDEX ? first.sh_link : h.e_shstrndx;
	if (!section_header(f, &h, at, &names) || names.sh_offset > f.n || names.sh_size > f.n - names.sh_offset)
		return -ENOENT;
	for (uint64_t i = 1; i < n && section_header(f, &h, i, &s); i++) {
		if (s.sh_name >= names.sh_size || names.sh_size - s.sh_name < want ||
		    memcmp(f.p + names.sh_offset + s.sh_name, name, want) != 0)
			continue;
		if (s.sh_type == SHT_NOBITS || s.sh_offset > f.n || s.sh_size > f.n - s.sh_offset)
			return -ENOENT;
		*ret = str_n(f.p + s.sh_offset, s.sh_size);
		return 0;
	}
	return -ENOENT;
}

int objects_build_id(struct str f, unsigned char *ret)
{
	struct str notes;
	Elf64_Nhdr n;
	if (objects_section(f, ".note.gnu.build-id", &notes) < 0 || notes.n < sizeof(n) + 4)
		return 0;
	memcpy(&n, notes.p, sizeof(n));
	if (n.n_type != NT_GNU_BUILD_ID || n.n_namesz != 4 || memcmp(notes.p + sizeof(n), "GNU", 4) != 0 ||
	    n.n_descsz > 64 || n.n_descsz > notes.n - sizeof(n) - 4)
		return 0;
	memcpy(ret, notes.p + sizeof(n) + 4, n.n_descsz);
	return (int)n.n_descsz;
}

/* ---- archives ---- */

struct member_header {
	char name[16], date[12], uid[6], gid[6], mode[8], size[10], end[2];
};

/* Reads the number at the beginning of p. false: no digit. */
static bool parse_decimal_prefix(const char *p, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;
	for (; i < n && p[i] >= '0' && p[i] <= '9'; i++)
		v = v * 10 + (uint64_t)(p[i] - '0');
	*ret = v;
	return i > 0;
}

/* The table of long names is the member "//", one of the first two. */
static struct str long_names(struct str a)
{
	struct member_header h;
	uint64_t size;
	for (size_t pos = 8, i = 0; i < 3 && a.n - pos >= sizeof(h); i++) {
		memcpy(&h, a.p + pos, sizeof(h));
		pos += sizeof(h);
		if (!parse_decimal_prefix(h.size, sizeof(h.size), &size) || size > a.n - pos)
			break;
		if (memcmp(h.name, "// ", 3) == 0)
			return str_n(a.p + pos, size);
		if (h.name[0] != '/')
			break;
		pos += size + (size & 1);
		if (pos > a.n)
			break;
	}
	return (struct str){0};
}

int objects_member(struct str a, size_t *pos, struct str *ret_name, struct str *ret_data)
{
	struct member_header h;
	uint64_t size, at;
	bool thin = a.n >= 8 && memcmp(a.p, "!<thin>\n", 8) == 0;
	if (*pos == 0)
		*pos = 8;
	for (;;) {
		if (*pos >= a.n)
			return 0;
		if (a.n - *pos < sizeof(h))
			return -EBADMSG;
		size_t name_at = *pos;
		memcpy(&h, a.p + *pos, sizeof(h));
		*pos += sizeof(h);
		if (memcmp(h.end, "`\n", 2) != 0 || !parse_decimal_prefix(h.size, sizeof(h.size), &size))
			return -EBADMSG;
		bool table = h.name[0] == '/' && !(h.name[1] >= '0' && h.name[1] <= '9');
		struct str data = {0};
		if (!thin || table) {
			if (size > a.n - *pos)
				return -EBADMSG;
			data = str_n(a.p + *pos, size);
			*pos += size + (size & 1);
		}
		if (table)
			continue;
		struct str name = str_n(a.p + name_at, sizeof(h.name));
		if (h.name[0] == '/') {
			struct str names = long_names(a);
			if (!parse_decimal_prefix(h.name + 1, sizeof(h.name) - 1, &at) || at >= names.n)
				return -EBADMSG;
			const char *end = memchr(names.p + at, '\n', names.n - at);
			name = str_n(names.p + at, end ? (size_t)(end - names.p) - at : names.n - at);
		}
		while (name.n && (name.p[name.n - 1] == ' ' || name.p[name.n - 1] == '/'))
			name.n--;
		*ret_name = name;
		*ret_data = data;
		return 1;
	}
}
