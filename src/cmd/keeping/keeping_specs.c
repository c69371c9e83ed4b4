#include "cmd/keeping/keeping_specs.h"

#include "base/io.h"
#include "spec/spec.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const ends[] = {".bc", ".spec"};

/* The build-id that a file is named by, as bytes: how many; 0: it is named otherwise. */
static size_t parse_name(const char *name, unsigned char ret[SPEC_BUILD_ID_MAX])
{
	size_t n = 0;
	for (; isxdigit((unsigned char)name[0]) && isxdigit((unsigned char)name[1]) && n < SPEC_BUILD_ID_MAX; name += 2) {
		char two[3] = {name[0], name[1], '\0'};
		ret[n++] = (unsigned char)strtoul(two, NULL, 16);
	}
	return strcmp(name, ends[0]) && strcmp(name, ends[1]) ? 0 : n;
}

/* Has the record a build that made it? 1, 0, -errno. */
static int has_build(struct store *s, const unsigned char *id, size_t n)
{
	store_id *ids = NULL;
	size_t builds = 0;
	int r = store_builds_of(s, (struct str){0}, str_n((const char *)id, n), (struct str){0}, &ids, &builds);
	free(ids);
	return r < 0 ? r : builds > 0;
}

static int append_name(struct keeping_specs *k, const char *name, size_t n)
{
	for (size_t i = 0; i < k->n; i++)
		if (!strncmp(k->names[i], name, n) && !k->names[i][n])
			return 0;
	char **more = realloc(k->names, (k->n + 1) * sizeof(*more));
	char *one = strndup(name, n);
	if (more)
		k->names = more;
	if (!more || !one) {
		free(one);
		return -ENOMEM;
	}
	k->names[k->n++] = one;
	return 0;
}

int keeping_specs_find(struct cmd *c, struct keeping_specs *ret)
{
	struct buf path = {0};
	unsigned char id[SPEC_BUILD_ID_MAX];
	struct dirent *e;
	int r = 0;
	*ret = (struct keeping_specs){0};
	buf_printf(&path, "%s/spec", store_home(c->store));
	DIR *d = path.failed ? NULL : opendir(buf_cstr(&path));
	if (!d)
		r = path.failed ? -ENOMEM : errno == ENOENT ? 0 : -errno;
	while (r >= 0 && d && (e = readdir(d))) {
		size_t n = parse_name(e->d_name, id);
		r = n ? has_build(c->store, id, n) : 0;
		if (r > 0)
			r = append_name(ret, e->d_name, 2 * n);
	}
	if (d)
		closedir(d);
	buf_release(&path);
	return r < 0 ? r : 0;
}

int keeping_specs_sweep(struct cmd *c, const struct keeping_specs *k, uint64_t *ret_removed)
{
	unsigned char id[SPEC_BUILD_ID_MAX];
	int r = 0;
	*ret_removed = 0;
	for (size_t i = 0; r >= 0 && i < k->n; i++) {
		struct buf path = {0};
		buf_printf(&path, "%s.bc", k->names[i]);
		r = path.failed ? -ENOMEM : has_build(c->store, id, parse_name(buf_cstr(&path), id));
		for (size_t e = 0; r == 0 && e < sizeof(ends) / sizeof(ends[0]); e++) {
			buf_reset(&path);
			buf_printf(&path, "%s/spec/%s%s", store_home(c->store), k->names[i], ends[e]);
			if (path.failed)
				r = -ENOMEM;
			else if (unlink(buf_cstr(&path)) == 0)
				*ret_removed += 1;
			else if (errno != ENOENT)
				r = -errno;
		}
		buf_release(&path);
	}
	return r < 0 ? r : 0;
}

void keeping_specs_release(struct keeping_specs *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->names[i]);
	free(k->names);
	*k = (struct keeping_specs){0};
}
