#include "cc/cache.h"

#include "base/io.h"

#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG_BYTES 65536 /* of a configuration file; a whole one with comments has 3 KiB */

/* Places of ccache that a variable or, where that is not set, a line of its configuration names. */
static const struct {
	const char *variable, *key;
} places[] = {{"CCACHE_DIR", "cache_dir"},
              {"CCACHE_TEMPDIR", "temporary_dir"},
              {"CCACHE_LOGFILE", "log_file"},
              {"CCACHE_STATSLOG", "stats_log"}};
#define N_PLACES (sizeof(places) / sizeof(places[0]))

bool cache_is(const char *program)
{
	return strcmp(program, "ccache") == 0 || strcmp(program, "sccache") == 0;
}

/* Copies the path without slashes at its end. Nothing for "/", a relative one, or where there is no room. */
static void append_cache_dir(struct cache_dirs *d, const char *path)
{
	size_t n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		n--;
	if (n > 1 && path[0] == '/' && d->n < sizeof(d->v) / sizeof(d->v[0]) && (d->v[d->n] = strndup(path, n)))
		d->n++;
}

/* Adds a folder of a cache. As it is written, and as the kernel calls it: a cache may use either. */
static void put_both(struct cache_dirs *d, const char *path)
{
	char real[PATH_MAX];
	append_cache_dir(d, path);
	if (realpath(path, real) && strcmp(real, path) != 0)
		append_cache_dir(d, real);
}

/* Never NULL; empty: not known. */
static const char *home_of(void)
{
	const char *home = getenv("HOME");
	if (home && *home)
		return home;
	const struct passwd *p = getpwuid(geteuid());
	return p ? p->pw_dir : "";
}

/* HOME/.NAME where ccache has that from long ago, else below the caches of the user. */
static void put_default(struct cache_dirs *d, const char *name, bool legacy)
{
	const char *xdg = getenv("XDG_CACHE_HOME");
	char path[PATH_MAX];
	struct stat st;
	if (legacy && snprintf(path, sizeof(path), "%s/.%s", home_of(), name) < (int)sizeof(path) && stat(path, &st) == 0 &&
	    S_ISDIR(st.st_mode))
		put_both(d, path);
	else if (snprintf(path, sizeof(path), "%s%s/%s", xdg && *xdg ? xdg : home_of(), xdg && *xdg ? "" : "/.cache",
	                  name) < (int)sizeof(path))
		put_both(d, path);
}

/* The value with $NAME and ${NAME} as they are now; what is cut off at the end of ret names no folder. */
static void with_variables(const char *value, size_t n, char *ret, size_t room)
{
	size_t at = 0;
	for (size_t i = 0; i < n && at + 1 < room;) {
		char name[256];
		size_t from = i + 1, k = 0;
		bool braces = value[i] == '$' && from < n && value[from] == '{';
		from += braces;
		while (value[i] == '$' && from + k < n && k + 1 < sizeof(name) &&
		       (braces ? value[from + k] != '}'
		               : strchr("_0123456789", value[from + k]) || (value[from + k] | 32) - 'a' < 26u))
			k++;
		if (!k) {
			ret[at++] = value[i++];
			continue;
		}
		memcpy(name, value + from, k);
		name[k] = '\0';
		const char *v = getenv(name);
		size_t len = v ? strlen(v) : 0;
		len = len < room - 1 - at ? len : room - 1 - at;
		memcpy(ret + at, v ? v : "", len);
		at += len;
		i = from + k + braces;
	}
	ret[at] = '\0';
}

/* The last line `key = value` that counts; of several files the last one is the user's. */
static void read_config(const char *path, char (*value)[PATH_MAX])
{
	char *text = malloc(CONFIG_BYTES);
	int fd = text ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	ssize_t n = fd < 0 ? -1 : io_pread(fd, text, CONFIG_BYTES - 1, 0);
	if (fd >= 0)
		close(fd);
	if (n > 0)
		text[n] = '\0';
	for (char *line = text; n > 0 && line && *line;) {
		size_t len = strcspn(line, "\n");
		char *next = line[len] ? line + len + 1 : NULL;
		line[len] = '\0';
		char *p = line + strspn(line, " \t"), *eq = strchr(p, '=');
		size_t k = eq ? (size_t)(eq - p) : 0;
		while (k && strchr(" \t", p[k - 1]))
			k--;
		for (size_t i = 0; i < N_PLACES && k; i++)
			if (strlen(places[i].key) == k && memcmp(places[i].key, p, k) == 0) {
				const char *v = eq + 1 + strspn(eq + 1, " \t");
				size_t m = strlen(v);
				while (m && strchr(" \t\r", v[m - 1]))
					m--;
				with_variables(v, m, value[i], sizeof(value[i]));
			}
		line = next;
	}
	free(text);
}

/* ccache's. */
static bool is_config(const char *path)
{
	const char *slash = strrchr(path, '/'), *own = getenv("CCACHE_CONFIGPATH"), *second = getenv("CCACHE_CONFIGPATH2");
	return (slash && strcmp(slash + 1, "ccache.conf") == 0) || (own && strcmp(own, path) == 0) ||
	       (second && strcmp(second, path) == 0);
}

/* Where ccache keeps what it has: by the settings that it read, variables first. No memory: none. */
static void find_ccache(const struct observed *s, struct cache_dirs *ret)
{
	char(*value)[PATH_MAX] = calloc(N_PLACES, sizeof(*value));
	if (!value)
		return;
	for (size_t i = 0; i < s->files.n; i++)
		if (s->files.v[i].read && cache_is(observed_program(s, s->files.v[i].image)) && is_config(s->files.v[i].path)) {
			read_config(s->files.v[i].path, value);
			append_cache_dir(ret, s->files.v[i].path);
		}
	for (size_t i = 0; i < N_PLACES; i++) {
		const char *v = getenv(places[i].variable);
		v = v && *v ? v : value[i];
		if (*v)
			put_both(ret, v);
		else if (i == 0)
			put_default(ret, "ccache", true);
	}
	free(value);
}

void cache_dirs_find(const struct observed *s, struct cache_dirs *ret)
{
	bool ccache = false, sccache = false;
	*ret = (struct cache_dirs){0};
	for (size_t i = 0; i < s->images.n; i++) {
		const char *program = observed_program(s, (uint32_t)i);
		ccache |= strcmp(program, "ccache") == 0;
		sccache |= strcmp(program, "sccache") == 0;
	}
	if (ccache)
		find_ccache(s, ret);
	if (sccache) {
		const char *dir = getenv("SCCACHE_DIR");
		if (dir && *dir)
			put_both(ret, dir);
		else
			put_default(ret, "sccache", false);
	}
}

/* d is empty then. */
void cache_dirs_release(struct cache_dirs *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->v[i]);
	*d = (struct cache_dirs){0};
}

bool cache_dirs_have(const struct cache_dirs *d, const char *path)
{
	for (size_t i = 0; i < d->n; i++) {
		size_t n = strlen(d->v[i]);
		if (strncmp(path, d->v[i], n) == 0 && (path[n] == '/' || path[n] == '\0'))
			return true;
	}
	return false;
}
