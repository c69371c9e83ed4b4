#include "capture/attach/attach_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#define HEADERS 64
#define PAGE 4096u

/* What is used of an image that was found to be whole. */
struct elf_view {
	const Elf64_Phdr *headers;
	size_t nheaders;
	size_t dynamic, ndynamic; /* offset in the file; entries, up to and with those that end it */
	size_t end;               /* the first entry that ends it */
	uint64_t strings;         /* address of the string table */
	uint64_t nstrings;        /* its bytes */
	size_t flags, count;      /* entries DT_FLAGS_1 and DT_RELACOUNT; SIZE_MAX: there is none */
	bool has_filter;
};

/* Do n bytes from at lie in a file of size bytes? */
static bool lies_within(uint64_t at, uint64_t n, size_t size)
{
	return at <= size && n <= size - at;
}

/* Entry i of the dynamic section. */
static Elf64_Dyn entry_at(const unsigned char *image, const struct elf_view *v, size_t i)
{
	Elf64_Dyn d;
	memcpy(&d, image + v->dynamic + i * sizeof(d), sizeof(d));
	return d;
}

/* Header i. */
static Elf64_Phdr header_at(const struct elf_view *v, size_t i)
{
	Elf64_Phdr h;
	memcpy(&h, v->headers + i, sizeof(h));
	return h;
}

/* Reads what the dynamic section says. False: a needed entry is missing, or nothing ends the section. */
static bool read_dynamic(const unsigned char *image, struct elf_view *v)
{
	v->flags = v->count = SIZE_MAX;
	for (size_t i = 0; i < v->ndynamic; i++) {
		const Elf64_Dyn d = entry_at(image, v, i);
		switch (d.d_tag) {
		case DT_NULL:
			v->end = i;
			return v->strings && v->nstrings;
		case DT_STRTAB:
			v->strings = d.d_un.d_ptr;
			break;
		case DT_STRSZ:
			v->nstrings = d.d_un.d_val;
			break;
		case DT_FLAGS_1:
			v->flags = i;
			break;
		case DT_RELACOUNT:
			v->count = i;
			break;
		case DT_AUXILIARY:
		case DT_FILTER:
			v->has_filter = true;
			break;
		default:
			break;
		}
	}
	return false;
}

/* False: it is no whole shared library of this machine. */
static bool read_view(const unsigned char *image, size_t n, struct elf_view *ret)
{
	Elf64_Ehdr e;
	size_t sections = 0;
	*ret = (struct elf_view){0};
	if (n < sizeof(e))
		return false;
	memcpy(&e, image, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_ident[EI_DATA] != ELFDATA2LSB || e.e_type != ET_DYN || e.e_machine != EM_X86_64 ||
	    e.e_phentsize != sizeof(Elf64_Phdr) || e.e_phnum > HEADERS ||
	    !lies_within(e.e_phoff, (uint64_t)e.e_phnum * sizeof(Elf64_Phdr), n))
		return false;
	ret->headers = (const Elf64_Phdr *)(const void *)(image + e.e_phoff);
	ret->nheaders = e.e_phnum;
	for (size_t i = 0; i < ret->nheaders; i++) {
		const Elf64_Phdr h = header_at(ret, i);
		if (!lies_within(h.p_offset, h.p_filesz, n))
			return false;
		if (h.p_type != PT_DYNAMIC)
			continue;
		sections++;
		ret->dynamic = h.p_offset;
		ret->ndynamic = h.p_filesz / sizeof(Elf64_Dyn);
	}
	return sections == 1 && read_dynamic(image, ret);
}

/* Do the n bytes from at belong to a segment, or to the headers? */
static bool is_used(const struct elf_view *v, const unsigned char *image, uint64_t at, uint64_t n)
{
	const uint64_t headers = (uint64_t)((const unsigned char *)v->headers - image);
	if (at < headers + v->nheaders * sizeof(Elf64_Phdr) && headers < at + n)
		return true;
	for (size_t i = 0; i < v->nheaders; i++) {
		const Elf64_Phdr h = header_at(v, i);
		if (at < h.p_offset + h.p_filesz && h.p_offset < at + n)
			return true;
	}
	return false;
}

/* Mapped bytes of no segment, for `need` bytes: behind one that is only read, up to the end of its last page. Their
 * offset, and in *ret_address where they are mapped; 0: there are none. */
static uint64_t find_room(const unsigned char *image, size_t n, const struct elf_view *v, size_t need,
                          uint64_t *ret_address)
{
	static const unsigned char zeros[PAGE];
	for (size_t i = 0; i < v->nheaders; i++) {
		const Elf64_Phdr h = header_at(v, i);
		const uint64_t at = h.p_offset + h.p_filesz, left = -at & (PAGE - 1);
		if (h.p_type != PT_LOAD || h.p_flags & PF_W || h.p_filesz != h.p_memsz || left < need ||
		    !lies_within(at, need, n) || h.p_vaddr % PAGE != h.p_offset % PAGE || is_used(v, image, at, need) ||
		    memcmp(image + at, zeros, need) != 0)
			continue;
		*ret_address = h.p_vaddr + h.p_filesz;
		return at;
	}
	return 0;
}

/* Where `need` entries that may be used begin to be given out: those that end the section but for its last one, then
 * DT_RELACOUNT. ret has room for two. False: there are too few. */
static bool find_entries(const unsigned char *image, const struct elf_view *v, size_t need, size_t ret[2])
{
	size_t got = 0;
	for (size_t i = v->end; got < need && i + 1 < v->ndynamic; i++) {
		if (entry_at(image, v, i).d_tag != DT_NULL || entry_at(image, v, i + 1).d_tag != DT_NULL)
			break;
		ret[got++] = i;
	}
	if (got < need && v->count != SIZE_MAX)
		ret[got++] = v->count;
	return got == need;
}

/* Writes entry i. */
static void put_entry(unsigned char *image, const struct elf_view *v, size_t i, Elf64_Sxword tag, uint64_t value)
{
	const Elf64_Dyn d = {.d_tag = tag, .d_un.d_val = value};
	memcpy(image + v->dynamic + i * sizeof(d), &d, sizeof(d));
}

int attach_elf_add(unsigned char *image, size_t n, const char *library)
{
	struct elf_view v;
	size_t entries[2] = {0}, need = strlen(library) + 1;
	uint64_t address = 0;
	if (!read_view(image, n, &v))
		return -ENOEXEC;
	if (v.has_filter)
		return -EEXIST;
	const uint64_t room = need <= PAGE ? find_room(image, n, &v, need, &address) : 0;
	if (!room || !find_entries(image, &v, v.flags == SIZE_MAX ? 2 : 1, entries))
		return -ENOSPC;
	memcpy(image + room, library, need);
	/* The linker adds the value to the table's address, and does not ask whether it lies in the table. */
	put_entry(image, &v, entries[0], DT_AUXILIARY, address - v.strings);
	if (v.flags == SIZE_MAX)
		put_entry(image, &v, entries[1], DT_FLAGS_1, DF_1_NODELETE);
	else
		put_entry(image, &v, v.flags, DT_FLAGS_1, entry_at(image, &v, v.flags).d_un.d_val | DF_1_NODELETE);
	return 0;
}

bool attach_elf_names(const unsigned char *image, size_t n, const char *symbol)
{
	struct elf_view v;
	const size_t len = strlen(symbol) + 1;
	if (!read_view(image, n, &v))
		return false;
	for (size_t i = 0; i < v.nheaders; i++) {
		const Elf64_Phdr h = header_at(&v, i);
		if (h.p_type != PT_LOAD || v.strings < h.p_vaddr || v.strings - h.p_vaddr >= h.p_filesz)
			continue;
		const uint64_t skip = v.strings - h.p_vaddr, left = h.p_filesz - skip;
		const unsigned char *p = image + h.p_offset + skip;
		const size_t size = v.nstrings < left ? v.nstrings : left;
		/* Names may share their ends: this one may be the end of another. */
		return memmem(p, size, symbol, len) != NULL;
	}
	return false;
}
