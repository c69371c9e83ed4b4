/* elfid.h - the build-id of an ELF file, and notes like it. Everything in the file may be a lie; what does not fit is
 * no id. Nothing is kept; any thread. */
#ifndef STEMMA_BASE_OS_ELFID_H
#define STEMMA_BASE_OS_ELFID_H

#include <stdint.h>

#define ELFID_MAX 64 /* bytes of a build-id, or of a note; sha1 has 20 */

/* The build-id of an open file, whose offset stays; bytes, 0 none, or -errno. */
int elfid_build_id(int fd, unsigned char ret[ELFID_MAX]);
/* Reads what the note of that owner and type holds; as elfid_build. */
int elfid_note(int fd, const char *owner, uint32_t type, unsigned char ret[ELFID_MAX]);

#endif
