/* objects.h - what lies in object files, programs and archives: a section, the build-id, the members. ELF of 64 bits,
 * little-endian; the archives of ar, in GNU's form, thin ones too. Every input is hostile: offsets are held against
 * sizes. Everything returned points into the bytes that were given. */
#ifndef STEMMA_SPEC_OBJECTS_H
#define STEMMA_SPEC_OBJECTS_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

struct objects_bytes {
	char *p;
	size_t n;
};

/* A file's bytes, read-only and as they are now: a copy, so that who shortens the file meanwhile ends nobody. At most
 * OBJECTS_MAX bytes. 0 or -errno. */
#define OBJECTS_MAX (1ull << 32)
/* Maps a file into memory. -errno, -EFBIG, -EISDIR with a sentence. ret: objects_unmap. */
int objects_map(const char *path, struct err *err, struct objects_bytes *ret);

void objects_unmap(struct objects_bytes *b);

/* 64 bits, little-endian. */
bool objects_is_elf(struct str file);

bool objects_is_archive(struct str file);
bool objects_is_bitcode(struct str file);
/* Who wrote it, as it says in its first block ("LLVM14.0.6"), whatever version it is of; false: it does not say. */
bool objects_bitcode_producer(struct str bitcode, char *ret, size_t size);
/* The bytes of the section; where several have the name, the first. 0 or -ENOENT. */
int objects_section(struct str file, const char *name, struct str *ret);
/* Its length, at most 64; 0 none. */
int objects_build_id(struct str file, unsigned char *ret);
/* The next member of an archive: start with *pos = 0. 1, 0 no more, -EBADMSG. Of a thin archive's members there are
 * only names, and *ret_data has no bytes (p is NULL). */
int objects_member(struct str archive, size_t *pos, struct str *ret_name, struct str *ret_data);

#endif
