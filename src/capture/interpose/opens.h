/* opens.h - one definition for each name by which the C library opens or makes a file, of those that return a
 * descriptor.
 *
 * Before it is included, OPENS and MAKES are defined, each a definition of the function `name`: its parameters are
 * args, and REAL(name) call calls the real one. In OPENS the folder is dirfd, `path` and `flags` are the parameters'
 * names, and with_mode is a statement that comes first: it gets `mode`, which is there only for some flags. In MAKES
 * the call itself chooses the name, which stands in `path` afterwards. Included once a library. */
#ifndef STEMMA_CAPTURE_INTERPOSE_OPENS_H
#define STEMMA_CAPTURE_INTERPOSE_OPENS_H

#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>

#define TAKES_MODE(flags) (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE)
#define GET_MODE                                                                                                       \
	mode_t mode = 0;                                                                                                   \
	if (TAKES_MODE(flags)) {                                                                                           \
		va_list ap;                                                                                                    \
		va_start(ap, flags);                                                                                           \
		mode = va_arg(ap, mode_t);                                                                                     \
		va_end(ap);                                                                                                    \
	}
#define NO_MODE (void)0
#define CREATS const int flags = O_CREAT | O_WRONLY | O_TRUNC

OPENS(open, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode), GET_MODE)
OPENS(open64, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode), GET_MODE)
OPENS(openat, dir, (int dir, const char *path, int flags, ...), (dir, path, flags, mode), GET_MODE)
OPENS(openat64, dir, (int dir, const char *path, int flags, ...), (dir, path, flags, mode), GET_MODE)
OPENS(__open_2, AT_FDCWD, (const char *path, int flags), (path, flags), NO_MODE)
OPENS(__open64_2, AT_FDCWD, (const char *path, int flags), (path, flags), NO_MODE)
OPENS(__openat_2, dir, (int dir, const char *path, int flags), (dir, path, flags), NO_MODE)
OPENS(__openat64_2, dir, (int dir, const char *path, int flags), (dir, path, flags), NO_MODE)
OPENS(creat, AT_FDCWD, (const char *path, mode_t mode), (path, mode), CREATS)
OPENS(creat64, AT_FDCWD, (const char *path, mode_t mode), (path, mode), CREATS)

MAKES(mkstemp, (char *path), (path))
MAKES(mkstemp64, (char *path), (path))
MAKES(mkostemp, (char *path, int flags), (path, flags))
MAKES(mkostemp64, (char *path, int flags), (path, flags))
MAKES(mkstemps, (char *path, int tail), (path, tail))
MAKES(mkstemps64, (char *path, int tail), (path, tail))
MAKES(mkostemps, (char *path, int tail, int flags), (path, tail, flags))
MAKES(mkostemps64, (char *path, int tail, int flags), (path, tail, flags))

#endif
