#include "answer/zarr/zarr_meta.h"

#include <errno.h>
#include <jansson.h>

/* Reads a list of whole numbers: a shape. ret: room for ZARR_RANK_MAX. 0, -EINVAL: no list of so few whole numbers
 * of at least `least`; ret may be changed. */
static int read_numbers(const json_t *list, uint64_t least, unsigned *ret_n, uint64_t *ret)
{
	size_t n = json_array_size(list);
	if (!json_is_array(list) || n > ZARR_RANK_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(list, i);
		if (!json_is_integer(v) || json_integer_value(v) < (json_int_t)least)
			return -EINVAL;
		ret[i] = (uint64_t)json_integer_value(v);
	}
	*ret_n = (unsigned)n;
	return 0;
}

/* The type by its name; a structure of several has none. */
static void read_type(const json_t *type, struct zarr_meta *m)
{
	const char *text =
	    json_is_object(type) ? json_string_value(json_object_get(type, "name")) : json_string_value(type);
	if (!text)
		text = json_is_array(type) ? "compound" : "?";
	size_t n = strlen(text);
	n = n < sizeof(m->type) - 1 ? n : sizeof(m->type) - 1;
	memcpy(m->type, text, n);
	m->type[n] = '\0';
}

/* The separator; with `given` where nothing is said. 0, -EINVAL. */
static int read_separator(const json_t *v, char given, struct zarr_meta *m)
{
	const char *text = v ? json_string_value(v) : NULL;
	m->separator = given;
	if (!v)
		return 0;
	if (!text || (strcmp(text, ".") != 0 && strcmp(text, "/") != 0))
		return -EINVAL;
	m->separator = *text;
	return 0;
}

/* Reads the shape of an array and that of its chunks. 0, -EINVAL: not both are lists of numbers, and equally long. */
static int read_shape(const json_t *shape, const json_t *chunk, struct zarr_meta *m)
{
	unsigned n = 0;
	int r = read_numbers(shape, 0, &m->rank, m->shape);
	if (r == 0)
		r = read_numbers(chunk, 1, &n, m->chunk);
	return r == 0 && n != m->rank ? -EINVAL : r;
}

/* Version 2 of the format. 0, -EINVAL. */
static int read_second(const json_t *o, struct zarr_meta *m)
{
	if (json_integer_value(json_object_get(o, "zarr_format")) != 2)
		return -EINVAL;
	const json_t *shape = json_object_get(o, "shape");
	m->kind = shape ? ZARR_ARRAY : ZARR_GROUP;
	if (!shape)
		return 0;
	read_type(json_object_get(o, "dtype"), m);
	int r = read_separator(json_object_get(o, "dimension_separator"), '.', m);
	return r == 0 ? read_shape(shape, json_object_get(o, "chunks"), m) : r;
}

/* Version 3 of the format, with chunks in a regular grid. 0, -EINVAL, also of what it knows not. */
static int read_third(const json_t *o, struct zarr_meta *m)
{
	const char *node = json_string_value(json_object_get(o, "node_type"));
	if (json_integer_value(json_object_get(o, "zarr_format")) != 3 || !node)
		return -EINVAL;
	m->kind = strcmp(node, "array") == 0 ? ZARR_ARRAY : ZARR_GROUP;
	if (strcmp(node, "group") == 0)
		return 0;
	const json_t *grid = json_object_get(o, "chunk_grid"), *key = json_object_get(o, "chunk_key_encoding");
	const char *grid_name = json_string_value(json_object_get(grid, "name")),
	           *key_name = json_string_value(json_object_get(key, "name"));
	if (m->kind != ZARR_ARRAY || !grid_name || strcmp(grid_name, "regular") != 0 || !key_name ||
	    (strcmp(key_name, "default") != 0 && strcmp(key_name, "v2") != 0))
		return -EINVAL;
	m->prefixed = *key_name == 'd';
	read_type(json_object_get(o, "data_type"), m);
	int r =
	    read_separator(json_object_get(json_object_get(key, "configuration"), "separator"), m->prefixed ? '/' : '.', m);
	const json_t *chunk = json_object_get(json_object_get(grid, "configuration"), "chunk_shape");
	return r == 0 ? read_shape(json_object_get(o, "shape"), chunk, m) : r;
}

int zarr_meta_read(struct str text, unsigned version, struct zarr_meta *ret)
{
	json_error_t why;
	*ret = (struct zarr_meta){.version = version};
	json_t *o = text.n && text.n <= ZARR_META_MAX ? json_loadb(text.p, text.n, 0, &why) : NULL;
	int r = json_is_object(o) ? version == 2 ? read_second(o, ret) : read_third(o, ret) : -EINVAL;
	json_decref(o);
	if (r < 0)
		*ret = (struct zarr_meta){.kind = ZARR_NONE};
	return r;
}

/* How many chunks lie along a dimension. */
static uint64_t count_along(const struct zarr_meta *m, unsigned i)
{
	return m->shape[i] / m->chunk[i] + (m->shape[i] % m->chunk[i] != 0);
}

uint64_t zarr_meta_chunks(const struct zarr_meta *m)
{
	uint64_t n = m->kind == ZARR_ARRAY && m->version;
	for (unsigned i = 0; i < m->rank && n; i++)
		if (__builtin_mul_overflow(n, count_along(m, i), &n))
			return 0;
	return n;
}

/* A number in decimal, without zeros before it. */
static bool read_index(struct str s, uint64_t *ret)
{
	*ret = 0;
	if (!s.n || s.n > 19 || (s.n > 1 && *s.p == '0'))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		*ret = *ret * 10 + (uint64_t)(s.p[i] - '0');
	}
	return true;
}

bool zarr_meta_index(const struct zarr_meta *m, struct str name, uint64_t ret[ZARR_RANK_MAX])
{
	if (m->kind != ZARR_ARRAY || !m->version || !name.n)
		return false;
	if (m->prefixed) {
		if (*name.p != 'c')
			return false;
		name = str_n(name.p + 1, name.n - 1);
		if (!m->rank)
			return !name.n;
		if (!name.n || *name.p != m->separator)
			return false;
		name = str_n(name.p + 1, name.n - 1);
	}
	if (!m->rank) /* one chunk, "0" */
		return str_is(name, "0");
	for (unsigned i = 0; i < m->rank; i++) {
		const bool last = i + 1 == m->rank;
		const char *end = last ? name.p + name.n : memchr(name.p, m->separator, name.n);
		if (!end || !read_index(str_n(name.p, (size_t)(end - name.p)), &ret[i]) || ret[i] >= count_along(m, i))
			return false;
		if (!last)
			name = str_n(end + 1, name.n - (size_t)(end + 1 - name.p));
	}
	return true;
}
