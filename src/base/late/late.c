#include "base/late/late.h"

#include <dlfcn.h>
#include <errno.h>
#if __has_include(<gnu/lib-names.h>)
#include <gnu/lib-names.h>
#else
#define LIBM_SO "libm.so.6"
#endif
#include <stdio.h>
#include <unistd.h>

#define SQLITE "libsqlite3.so.0"
#define JANSSON "libjansson.so.4"
#define SERD "libserd-0.so.0"
#define PCRE2 "libpcre2-8.so.0"

/* What a packager's tools read to know what the program loads by itself (UAPI group: ELF dlopen metadata). */
#define NOTE(feature, priority, soname)                                                                                \
	"{\"feature\":\"" feature "\",\"priority\":\"" priority "\",\"soname\":[\"" soname "\"]}"
#define NOTES                                                                                                          \
	"[" NOTE("index", "required", SQLITE) "," NOTE("json", "required", JANSSON) "," NOTE(                              \
	    "rdf", "recommended", SERD) "," NOTE("sparql", "suggested", PCRE2) "]"

#ifdef STEMMA_LATE
__attribute__((used, section(".note.dlopen"), aligned(4))) static const struct {
	unsigned owner_size, text_size, type;
	char owner[4];
	char text[(sizeof(NOTES) + 3) & ~3u];
} note = {4, sizeof(NOTES), 0x407c0c0a, "FDO", NOTES};
#endif

struct late late_sqlite = {.soname = SQLITE}, late_jansson = {.soname = JANSSON}, late_serd = {.soname = SERD},
            late_pcre2 = {.soname = PCRE2}, late_math = {.soname = LIBM_SO};

int late_load(struct late *l, struct err *err)
{
#ifdef STEMMA_LATE
	if (__atomic_load_n(&l->handle, __ATOMIC_ACQUIRE))
		return 0;
	void *h = dlopen(l->soname, RTLD_LAZY | RTLD_LOCAL); /* once more at the same time: the same handle */
	if (!h)
		return err_set(err, 0, "%s", dlerror()), -ENOENT;
	__atomic_store_n(&l->handle, h, __ATOMIC_RELEASE);
	if (l->ready)
		l->ready();
#else
	(void)l, (void)err;
#endif
	return 0;
}

void late_when_loaded(struct late *l, void (*ready)(void))
{
#ifdef STEMMA_LATE
	l->ready = ready;
#else
	(void)l;
	ready();
#endif
}

void *late_find(struct late *l, void **at, const char *name)
{
	struct err err = {0};
	void *f = late_load(l, &err) < 0 ? NULL : dlsym(l->handle, name);
	if (!f) { /* as the loader would have said at the start */
		dprintf(2, "stemma: %s\n", err.text[0] ? err.text : dlerror());
		_exit(125);
	}
	__atomic_store_n(at, f, __ATOMIC_RELEASE);
	return f;
}
