/* attach_copy.h - sealed copies of shared libraries, changed by attach_elf_add. Internal to capture.
 *
 * A copy is memory that nobody can change any more, the recorder included, before anybody else gets its descriptor. One
 * is made once a run for each library, by whoever needs it first: the size of the library, some ms. */
#ifndef STEMMA_CAPTURE_ATTACH_ATTACH_COPY_H
#define STEMMA_CAPTURE_ATTACH_ATTACH_COPY_H

#include <stdbool.h>
#include <stdint.h>

struct attach_copies;

/* Of libraries that are to have `library`, an absolute path, as their auxiliary one, and that define or need one of the
 * symbols (NULL at their end; they must outlive the copies). NULL: no memory, or the path
 * cannot be used. They last as long as the recorder. */
struct attach_copies *attach_copies_new(const char *library, const char *const *symbols);

/* What the linker knows the copy of that file by, where one was made. False: none was. */
bool attach_copies_identity(const struct attach_copies *c, uint64_t dev, uint64_t ino, uint64_t *ret_dev,
                            uint64_t *ret_ino);
/* The copy of that file, whatever became of the file since: for a process that has it. A descriptor of its own, to read
 * only, which the caller closes; -errno. Does not wait for the file system. */
int attach_copies_again(const struct attach_copies *c, uint64_t dev, uint64_t ino);
/* The copy of the file at path, if that is still the inode ino of dev (as fileid_dev has it), and code may be run from
 * it there. A descriptor of its own, to read only, which the caller closes; -errno: there is none to be had. Any
 * thread; reads the file system, and may wait for it. */
int attach_copies_get(struct attach_copies *c, const char *path, uint64_t dev, uint64_t ino);

#endif
