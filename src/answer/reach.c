#include "answer/reach.h"

#include "base/buf.h"
#include "cc/withspec_keep.h"
#include "spec/make.h"
#include "spec/objects.h"
#include "spec/spec.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reach_slice {
	char *build_id;
	json_t *slice; /* NULL: there is none */
};

/* The bytes of a build-id; 0: it is none. */
static size_t parse_build_id(const char *hex, unsigned char ret[SPEC_BUILD_ID_MAX])
{
	size_t n = strlen(hex) / 2;
	if (!n || n > SPEC_BUILD_ID_MAX || strlen(hex) % 2)
		return 0;
	for (size_t i = 0; i < n; i++) {
		unsigned v;
		if (sscanf(hex + 2 * i, "%2x", &v) != 1)
			return 0;
		ret[i] = (unsigned char)v;
	}
	return n;
}

/* Made in a file that is gone at once. NULL: no bitcode is kept, or it failed. */
static json_t *make_kept_slice(const char *home, const char *build_id)
{
	char path[] = "/tmp/stemma-reach-XXXXXX";
	unsigned char id[SPEC_BUILD_ID_MAX];
	struct buf bitcode = {0};
	struct err err = {0};
	struct objects_bytes bytes;
	json_t *ret = NULL;
	size_t n = parse_build_id(build_id, id);
	int fd = n && withspec_kept_bitcode(home, id, n, &bitcode) ? mkstemp(path) : -1;
	if (fd >= 0) {
		char *files[] = {(char *)buf_cstr(&bitcode), NULL};
		close(fd);
		int r = bitcode.failed ? -1 : make_slice(files, path, &err);
		if (r == 0 && objects_map(path, &err, &bytes) == 0) {
			ret = json_loadb(bytes.p, bytes.n, 0, NULL);
			objects_unmap(&bytes);
		}
		unlink(path);
	}
	buf_release(&bitcode);
	return ret;
}

/* NULL: there is none. */
static const json_t *slice_of(struct reach_slices *c, const char *build_id)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->v[i].build_id, build_id))
			return c->v[i].slice;
	struct reach_slice *more = realloc(c->v, (c->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	c->v = more;
	struct reach_slice one = {strdup(build_id), NULL};
	if (!one.build_id)
		return NULL;
	one.slice = make_kept_slice(c->home, build_id);
	c->v[c->n++] = one;
	return one.slice;
}

/* Is the input the argument, or all arguments that are not told apart? */
static bool is_argument(const json_t *in, size_t argument)
{
	const char *kind = json_string_value(json_object_get(in, "kind"));
	const char *name = json_string_value(json_object_get(in, "name"));
	char text[24];
	snprintf(text, sizeof(text), "%zu", argument);
	return kind && (!strcmp(kind, "arguments") || (!strcmp(kind, "argument") && name && !strcmp(name, text)));
}

static bool has_id(const json_t *list, json_int_t id)
{
	size_t i;
	json_t *one;
	json_array_foreach(list, i, one) if (json_integer_value(one) == id) return true;
	return false;
}

enum reach reach_of_argument(struct reach_slices *c, const char *build_id, size_t argument)
{
	const json_t *s = argument ? slice_of(c, build_id) : NULL, *outputs = json_object_get(s, "outputs");
	size_t i, k;
	json_t *in, *out;
	if (!s || !json_array_size(outputs))
		return REACH_UNKNOWN;
	if (!json_is_array(json_object_get(s, "forbids")) || json_array_size(json_object_get(s, "forbids")))
		return REACH_MAY;
	json_array_foreach(json_object_get(s, "inputs"), i, in)
	{
		json_int_t id = json_integer_value(json_object_get(in, "id"));
		if (is_argument(in, argument))
			json_array_foreach(outputs, k, out) if (has_id(json_object_get(out, "may"), id)) return REACH_MAY;
	}
	return REACH_CANNOT;
}

void reach_release(struct reach_slices *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].build_id);
		json_decref(c->v[i].slice);
	}
	free(c->v);
	*c = (struct reach_slices){0};
}

const char *reach_word(enum reach r)
{
	return r == REACH_CANNOT ? "cannot" : r == REACH_MAY ? "may" : NULL;
}
