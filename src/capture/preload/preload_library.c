#include "capture/preload/preload_library.h"
#include "base/io.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* May this user read the file? */
static bool is_readable(const char *path)
{
	return access(path, R_OK) == 0;
}

/* The dynamic linker takes a blank or a colon for the end of a path. */
static bool is_preloadable(const char *path)
{
	return !path[strcspn(path, ": ")] && is_readable(path);
}

/* Finds a file of stemma's own: beside this program where it was built, or where it was installed. installed: the
 * folder in the prefix. fits: of the file's whole path. False: none fits. ret has room for n bytes. */
static bool find_library(const char *built, const char *installed, const char *name, bool (*fits)(const char *path),
                         char *ret, size_t n)
{
	char exe[4096], path[4096 + 128];
	ssize_t k = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[k > 0 ? k : 0] = '\0';
	char *slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	/* Of the tree that this program was built in or installed to, before that which the build was meant for. */
	for (int i = 0; slash && i < 2; i++) {
		char *real;
		snprintf(path, sizeof(path), "%s/%s%s/%s", exe, i ? "../" : "", i ? installed : built, name);
		real = access(path, F_OK) == 0 ? realpath(path, NULL) : NULL; /* which asks for each folder on the way */
		bool found = real && fits(real) && snprintf(ret, n, "%s", real) < (int)n;
		free(real);
		if (found)
			return true;
	}
	snprintf(path, sizeof(path), "%s/%s/%s", STEMMA_PREFIX, installed, name);
	return fits(path) && snprintf(ret, n, "%s", path) < (int)n;
}

bool preload_library_find(const char *built, const char *name, char *ret, size_t n)
{
	/* Debian's Java looks for its libraries in a folder of their own. */
	return find_library(built, STEMMA_LIBDIR, name, is_readable, ret, n) ||
	       find_library(built, STEMMA_LIBDIR "/jni", name, is_readable, ret, n);
}

bool preload_library_path(const char *built, const char *name, char *ret, size_t n)
{
	return find_library(built, STEMMA_LIBDIR "/stemma", name, is_preloadable, ret, n);
}

/* What the dynamic linker will do with the library, as the beginning of the command's file tells; later programs are
 * looked at by the library itself, before each exec. */
enum fits { FITS, FITS_NOT, FITS_ASAN };

/* word may stand anywhere in the text, which needs no NUL. */
static bool mentions_library(const char *text, size_t n, const char *word)
{
	return memmem(text, n, word, strlen(word)) != NULL;
}

/* Can the library be preloaded into the command? By the program at that name, or the interpreter of a script. FITS
 * also where it cannot be read. */
static enum fits command_fits(const char *name)
{
	enum { HEAD = 262144 };
	char path[4096], *head = malloc(HEAD);
	enum fits ret = FITS;
	const char *dirs = strchr(name, '/') ? NULL : getenv("PATH");
	snprintf(path, sizeof(path), "%s", name);
	for (const char *d = dirs; d && *d; d += strcspn(d, ":"), d += *d == ':') {
		snprintf(path, sizeof(path), "%.*s/%s", (int)strcspn(d, ":"), d, name);
		if (access(path, X_OK) == 0)
			break;
	}
	for (int links = 0; head && links < 4; links++) {
		size_t n = io_text(path, head, HEAD);
		if (n > 2 && head[0] == '#' && head[1] == '!') {
			snprintf(path, sizeof(path), "%.*s", (int)strcspn(head + 2 + strspn(head + 2, " \t"), " \t\n"),
			         head + 2 + strspn(head + 2, " \t"));
			continue;
		}
		if (n < EI_NIDENT || memcmp(head, ELFMAG, SELFMAG))
			break;
		if (head[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) || mentions_library(head, n, "/ld-musl"))
			ret = FITS_NOT;
		else if (mentions_library(head, n, "libasan.so") || mentions_library(head, n, "libclang_rt.asan"))
			ret = FITS_ASAN;
		break;
	}
	free(head);
	return ret;
}

bool preload_library_enter(const char *library, const char *command)
{
	const char *old = getenv("LD_PRELOAD");
	char *both = NULL;
	enum fits fits = command_fits(command);
	if (fits == FITS_NOT)
		return false;
	if (fits == FITS_ASAN) { /* else it ends at once, for not being the first library */
		const char *options = getenv("ASAN_OPTIONS");
		char *more = NULL;
		if (asprintf(&more, "verify_asan_link_order=0%s%s", options ? ":" : "", options ? options : "") < 0)
			return false;
		setenv("ASAN_OPTIONS", more, 1);
		free(more);
	}
	if (old && *old && asprintf(&both, "%s:%s", library, old) < 0)
		return false;
	setenv("LD_PRELOAD", both ? both : library, 1);
	free(both);
	return true;
}
