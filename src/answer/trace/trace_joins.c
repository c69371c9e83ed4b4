#include "answer/trace/trace_joins.h"

#include "spec/spec_join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Points into l->path. */
static const char *library_name(const struct trace_library *l)
{
	const char *slash = strrchr(l->path, '/');
	return slash ? slash + 1 : l->path;
}

/* The specification of the library of that name; NULL: the side has none. */
static const struct spec *library_spec(const struct trace_file *f, const char *name)
{
	for (uint32_t i = 0; i < f->n_libraries; i++)
		if (f->libraries[i].spec && strcmp(library_name(&f->libraries[i].told), name) == 0)
			return f->libraries[i].spec;
	return NULL;
}

/* Joins the specifications of the parts (the program, its libraries) into one. *ret: the specification of all parts;
 * that of one part is itself, of none NULL. Joined ones are j's. 0, -ENOMEM, or as spec_join. */
static int make_join(struct trace_joins *j, const struct trace_join *wanted, const struct spec **ret)
{
	*ret = NULL;
	if (wanted->n <= 1) {
		*ret = wanted->n ? wanted->part[0] : NULL;
		return 0;
	}
	for (size_t i = 0; i < j->n; i++)
		if (j->v[i].n == wanted->n && !memcmp(j->v[i].part, wanted->part, wanted->n * sizeof(wanted->part[0]))) {
			*ret = j->v[i].joined;
			return 0;
		}
	struct trace_join *v = realloc(j->v, (j->n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	j->v = v;
	v[j->n] = *wanted;
	int r = spec_join(wanted->part, wanted->n, &v[j->n].joined);
	if (r == 0)
		*ret = v[j->n++].joined;
	return r;
}

int trace_joins_find(struct trace_joins *j, const struct trace_file *const f[2], const struct spec *ret[2])
{
	struct trace_join wanted[2] = {0};
	ret[0] = f[0]->spec;
	ret[1] = f[1]->spec;
	for (int s = 0; s < 2; s++) {
		if (f[s]->spec)
			wanted[s].part[wanted[s].n++] = f[s]->spec;
		else if (f[s]->info.spec)
			return 0;
	}
	for (int from = 0; from < 2; from++)
		for (uint32_t i = 0; i < f[from]->n_libraries; i++) {
			const char *name = library_name(&f[from]->libraries[i].told);
			const struct spec *of[2] = {library_spec(f[0], name), library_spec(f[1], name)};
			if ((from && of[0]) || (!of[0] && !of[1]))
				continue;
			for (int s = 0; s < 2; s++)
				wanted[s].part[wanted[s].n++] = of[s] ? of[s] : of[!s];
		}
	for (int s = 0; s < 2; s++) {
		int r = make_join(j, &wanted[s], &ret[s]);
		if (r < 0)
			return r;
	}
	return 0;
}

size_t trace_joins_parts(const struct trace_joins *j, const struct spec *s, const struct spec *const **ret)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->v[i].joined == s) {
			*ret = j->v[i].part;
			return j->v[i].n;
		}
	return 0;
}

/* j is empty then. */
void trace_joins_release(struct trace_joins *j)
{
	for (size_t i = 0; i < j->n; i++)
		spec_free(j->v[i].joined);
	free(j->v);
	*j = (struct trace_joins){0};
}
