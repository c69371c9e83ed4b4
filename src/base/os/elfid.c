/* elfid.c - notes of ELF files. By hand: it is asked for each library of each link, and libelf would
 * cost every start of the program more than reading these few bytes. Everything in the file may be a lie; what does not
 * fit is no id. */
#include "base/os/elfid.h"

#include "base/io.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#define PHDRS_MAX 64
#define NOTES_MAX 65536

struct segment {
	uint64_t offset, size, align;
};

/* n rounded up to a multiple of align, a power of two. */
static size_t padded(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

struct note {
	const char *owner;
	uint32_t type;
};

/* Bytes of what the note holds, 0: it is not among these. */
static int id_in(const char *p, size_t n, size_t align, const struct note *want, unsigned char ret[ELFID_MAX])
{
	while (n >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr h; /* that of 32 bits is the same */
		memcpy(&h, p, sizeof(h));
		size_t name = padded(h.n_namesz, align), desc = padded(h.n_descsz, align);
		if (h.n_namesz > n || h.n_descsz > n || name > n - sizeof(h) || h.n_descsz > n - sizeof(h) - name)
			return 0;
		if (h.n_type == want->type && h.n_namesz == strlen(want->owner) + 1 &&
		    memcmp(p + sizeof(h), want->owner, h.n_namesz) == 0) {
			if (h.n_descsz == 0 || h.n_descsz > ELFID_MAX)
				return 0;
			memcpy(ret, p + sizeof(h) + name, h.n_descsz);
			return (int)h.n_descsz;
		}
		if (desc > n - sizeof(h) - name)
			return 0;
		p += sizeof(h) + name + desc;
		n -= sizeof(h) + name + desc;
	}
	return 0;
}

/* A note of a segment. Its length; 0: there is none, or the segment is too long; -errno. */
static int id_of_segment(int fd, const struct segment *s, const struct note *want, unsigned char ret[ELFID_MAX])
{
	char small[1024], *room = small;
	if (s->size > NOTES_MAX)
		return 0;
	if (s->size > sizeof(small) && !(room = malloc((size_t)s->size)))
		return -ENOMEM;
	ssize_t n = io_pread(fd, room, (size_t)s->size, s->offset);
	int got = n > 0 ? id_in(room, (size_t)n, s->align == 8 ? 8 : 4, want, ret) : (int)n;
	if (room != small)
		free(room);
	return got;
}

/* Only of ELF files of this machine's byte order. Its length; 0: there is none; -errno. */
static int note_of(int fd, const struct note *want, unsigned char ret[ELFID_MAX])
{
	union {
		Elf64_Ehdr e64;
		Elf32_Ehdr e32;
	} e;
	union {
		Elf64_Phdr p64[PHDRS_MAX];
		Elf32_Phdr p32[PHDRS_MAX];
	} ph;
	ssize_t n = io_pread(fd, &e, sizeof(e), 0);
	if (n < 0)
		return (int)n;
	if (n < (ssize_t)sizeof(e.e32) || memcmp(e.e32.e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	bool wide = e.e32.e_ident[EI_CLASS] == ELFCLASS64;
	/* Numbers of the other byte order would be read wrongly: no id, then. */
	if (e.e32.e_ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB) ||
	    (wide && n < (ssize_t)sizeof(e.e64)))
		return 0;
	size_t count = wide ? e.e64.e_phnum : e.e32.e_phnum, size = wide ? sizeof(ph.p64[0]) : sizeof(ph.p32[0]);
	uint64_t at = wide ? e.e64.e_phoff : e.e32.e_phoff;
	if (count > PHDRS_MAX || (wide ? e.e64.e_phentsize : e.e32.e_phentsize) != size)
		return 0;
	n = io_pread(fd, &ph, count * size, at);
	if (n < 0)
		return (int)n;
	count = (size_t)n / size;
	for (size_t i = 0; i < count; i++) {
		struct segment s = wide ? (struct segment){ph.p64[i].p_offset, ph.p64[i].p_filesz, ph.p64[i].p_align}
		                        : (struct segment){ph.p32[i].p_offset, ph.p32[i].p_filesz, ph.p32[i].p_align};
		if ((wide ? ph.p64[i].p_type : ph.p32[i].p_type) != PT_NOTE)
			continue;
		int got = id_of_segment(fd, &s, want, ret);
		if (got != 0)
			return got;
	}
	return 0;
}

int elfid_build_id(int fd, unsigned char ret[ELFID_MAX])
{
	return note_of(fd, &(struct note){"GNU", NT_GNU_BUILD_ID}, ret);
}

int elfid_note(int fd, const char *owner, uint32_t type, unsigned char ret[ELFID_MAX])
{
	return note_of(fd, &(struct note){owner, type}, ret);
}
