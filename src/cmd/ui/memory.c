#include "cmd/ui/memory.h"

#include "base/late/late.h"
#include "base/memory.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Passes on what was allocated. p; notes it if there was no memory. */
static void *got(void *p)
{
	if (!p)
		memory_note_lack();
	return p;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
int __wrap_asprintf(char **ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int __real_vasprintf(char **ret, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* All of __wrap_: as the function, and a lack of memory is noted. */
void *__wrap_malloc(size_t n)
{
	return got(__real_malloc(n));
}

/* Allocates zeroed memory. As the function; a lack of memory is noted. */
void *__wrap_calloc(size_t n, size_t size)
{
	return got(__real_calloc(n, size));
}

/* A size of 0 frees: NULL is then no lack. */
void *__wrap_realloc(void *p, size_t n)
{
	void *more = __real_realloc(p, n);
	return n ? got(more) : more;
}

/* Copies a text. As the function; a lack of memory is noted. */
char *__wrap_strdup(const char *s)
{
	return got(__real_strdup(s));
}

/* Copies a text of at most n bytes. As the function; a lack of memory is noted. */
char *__wrap_strndup(const char *s, size_t n)
{
	return got(__real_strndup(s, n));
}

/* Prints into new memory. As the function; a lack of memory is noted. */
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
{
	int n = __real_vasprintf(ret, fmt, ap);
	got(n < 0 ? NULL : *ret);
	return n;
}

/* In the place of the C library's (the linker's --wrap): tells where memory lacked. As asprintf. */
int __wrap_asprintf(char **ret, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = __wrap_vasprintf(ret, fmt, ap);
	va_end(ap);
	return n;
}

/* Allocates memory for the JSON library. As malloc; a lack of memory is noted. */
static void *json_memory(size_t n)
{
	return got(__real_malloc(n));
}

/* SQLite tells its log of each allocation that failed. */
static void sqlite_said(void *arg, int code, const char *text)
{
	(void)arg, (void)text;
	if ((code & 0xff) == SQLITE_NOMEM)
		got(NULL);
}

/* Has jansson allocate by functions that note a lack of memory. Before anything is made by it: all its memory is
 * watched. */
static void watch_json(void)
{
	json_set_alloc_funcs(json_memory, free);
}

/* Has SQLite report a lack of memory. Before it is begun: its lacks of memory come to its log. */
static void watch_sqlite(void)
{
	sqlite3_config(SQLITE_CONFIG_LOG, sqlite_said, NULL);
}

void memory_watch(void)
{
	late_when_loaded(&late_jansson, watch_json);
	late_when_loaded(&late_sqlite, watch_sqlite);
}
