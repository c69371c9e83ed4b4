/* attach.h - a library of ours is loaded with a library that it stands before, by the programs that load that one, and
 * by no others (doc/hdf5.md, "Which programs are observed").
 *
 * The dynamic linker's open of such a library is stopped as any open is. It is answered with a descriptor of a sealed
 * copy, which names ours as its auxiliary library (attach_copy.h). So nothing is in the program's environment, and a
 * program that loads no such library pays nothing but a look at the name of what its linker opens.
 *
 * A process that has mapped the copy gets it again, whatever became of the process or the file: by another inode the
 * linker would load the library twice. Else it is given if, and only if, all of these hold; if not, the program opens
 * its own file as ever:
 * - the dynamic linker makes the call, to read only, and no byte of that library is mapped in the process yet, so that
 *   the linker does not load it twice;
 * - the process runs as the recorder's user, in its root and mount namespace, has not confined itself, and was not
 *   taken up from a recorder that was killed;
 * - the library is a local file, of the inode that was found, may be mapped for execution there, was not changed in the
 *   last 20 ms, and has room for the entry;
 * - the kernel can give a descriptor as the answer to a call (Linux 5.14).
 *
 * Cost: 2 us for each library of a matching name, 50 us the maps of the process, and once a run a copy of each such
 * library, 1 ms for 4 MB. */
#ifndef STEMMA_CAPTURE_ATTACH_ATTACH_H
#define STEMMA_CAPTURE_ATTACH_ATTACH_H

struct attach;
struct sup;

/* `library`, an absolute path, is loaded with those whose file's name begins with "lib", contains one of `names`, and
 * that define or need one of `symbols` (both end with NULL and must outlive the run). NULL: no memory, or the path
 * cannot be used. It lasts as long as the recorder. */
struct attach *attach_new(const char *library, const char *const *names, const char *const *symbols);
/* Does nothing where s->attach is NULL. */
extern const struct feature attach_feature;

#endif
