/* Where the region lies, and where the library is. */
#include "base/io.h"
#include "base/os/memfile.h"
#include "capture/launch/run.h"
#include "capture/preload/safe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "stemma-safe"
#define CORES_MAX 16 /* 1 MiB for each */

static bool is_preloadable(const char *path)
{
	return !path[strcspn(path, ": ")] && access(path, R_OK) == 0;
}

bool run_library_path(const char *built, const char *name, char *ret, size_t n)
{
	char exe[4096], path[4096 + 128];
	ssize_t k = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[k > 0 ? k : 0] = '\0';
	char *slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	/* Of the tree that this program was built in or installed to, before that which the build was meant for. */
	const char *const tails[] = {built, "../" STEMMA_LIBDIR "/stemma"};
	for (size_t i = 0; slash && i < sizeof(tails) / sizeof(tails[0]); i++) {
		char *real;
		snprintf(path, sizeof(path), "%s/%s/%s", exe, tails[i], name);
		real = realpath(path, NULL);
		bool found = real && is_preloadable(real) && snprintf(ret, n, "%s", real) < (int)n;
		free(real);
		if (found)
			return true;
	}
	snprintf(path, sizeof(path), "%s/%s", STEMMA_PREFIX "/" STEMMA_LIBDIR "/stemma", name);
	return is_preloadable(path) && snprintf(ret, n, "%s", path) < (int)n;
}

bool safe_library_path(char *ret, size_t n)
{
	return run_library_path("../capture/preload/library", "libstemma-safe.so", ret, n);
}

static void token_make(char ret[SAFE_TOKEN], uint64_t word)
{
	for (int i = 0; i < SAFE_TOKEN; i++)
		ret[i] = "0123456789abcdef"[word >> 4 * i & 15];
}

/* /proc may show the processes of another namespace, under other numbers. */
static bool path_make(int fd, char *ret, size_t n)
{
	char self[24];
	ssize_t k = readlink("/proc/self", self, sizeof(self) - 1);
	self[k > 0 ? k : 0] = '\0';
	return k > 0 && snprintf(ret, n, "/proc/%s/fd/%d", self, fd) < (int)n && access(ret, R_OK | W_OK) == 0;
}

int safe_place_make(struct safe_place *ret, struct err *err)
{
	char path[64];
	uint64_t word;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t size = (size_t)(cores < 1 ? 1 : cores > CORES_MAX ? CORES_MAX : cores) << 20;
	*ret = (struct safe_place){.fd = -1, .size = size};
	if (!safe_library_path(ret->library, sizeof(ret->library)))
		return err_set(err, ENOENT, "the library of --capture=safe was not found");
	int rc = ret->fd = memfile_sealed(NAME, size);
	/* All of its room now: a program must never meet a page that there is no room for. */
	if (rc >= 0)
		rc = fchmod(ret->fd, 0600) < 0 ? -errno : -posix_fallocate(ret->fd, 0, (off_t)size);
	if (rc == 0)
		rc = !path_make(ret->fd, path, sizeof(path))                      ? -ENOENT
		     : getrandom(&word, sizeof(word), 0) != (ssize_t)sizeof(word) ? -EIO
		                                                                  : 0;
	if (rc == 0) {
		ret->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ret->fd, 0);
		rc = ret->map == MAP_FAILED ? -errno : 0;
	}
	if (rc < 0) {
		ret->map = NULL;
		safe_place_release(ret);
		return err_set(err, -rc,
		               rc == -ENOENT ? "programs would not find what they write to: there is no /proc"
		                             : "no room for what programs have to say");
	}
	struct safe_region *r = ret->map;
	r->nchunks = (uint32_t)(size / SAFE_PAGE) - 1;
	r->pid = (uint32_t)getpid();
	token_make(r->token, word);
	r->magic = SAFE_MAGIC;
	return 0;
}

/* What the dynamic linker will do with the library, as the beginning of the command's file tells; later programs are
 * looked at by the library itself, before each exec. */
enum fits { FITS, FITS_NOT, FITS_ASAN };

static bool mentions_library(const char *text, size_t n, const char *word)
{
	return memmem(text, n, word, strlen(word)) != NULL;
}

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

bool run_library_enter(const char *library, const char *command)
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

void safe_place_enter(const struct safe_place *p, const char *command)
{
	char path[64], value[64 + 1 + SAFE_TOKEN + 1];
	const struct safe_region *r = p->map;
	if (!r || !path_make(p->fd, path, sizeof(path)) || !run_library_enter(p->library, command))
		return;
	snprintf(value, sizeof(value), "%s:%.*s", path, SAFE_TOKEN, r->token);
	setenv(SAFE_ENV, value, 1);
}

void safe_place_release(struct safe_place *p)
{
	if (p->map)
		munmap(p->map, p->size);
	if (p->fd >= 0)
		close(p->fd);
	p->map = NULL;
	p->fd = -1;
}

int capture_probe_safe(struct err *err)
{
	struct safe_place p;
	int rc = safe_place_make(&p, err);
	if (rc == 0)
		safe_place_release(&p);
	return rc;
}
