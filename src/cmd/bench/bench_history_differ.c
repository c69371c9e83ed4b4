/* bench_history_differ.c - what changed together with a benchmark's figures. */
#include "base/digest.h"
#include "cmd/bench/bench_history.h"
#include "cmd/ui/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct differing {
	struct store *s;
	const struct past *p;
	size_t bench[4]; /* two before, two after */
	struct past_difference *v;
	size_t n;
	int rc;
};

/* Takes over before and after; NULL: there was no memory for one. */
static void append_past_difference(struct differing *d, const char *of, const char *name, char *before, char *after)
{
	struct past_difference *more = realloc(d->v, (d->n + 1) * sizeof(*more));
	char *own = strdup(name);
	d->v = more ? more : d->v;
	if (more && own && before && after) {
		d->v[d->n++] = (struct past_difference){of, own, before, after};
		return;
	}
	d->rc = -ENOMEM;
	free(own);
	free(before);
	free(after);
}

/* The value in all runs of the benchmark, its parts with commas between them; malloc'ed; "" it has none. NULL: it is
 * not known, or the runs differ. */
static char *value_of(const struct differing *d, size_t which, enum trust_part part, const char *name)
{
	const struct past_bench *b = &d->p->v[d->bench[which]];
	const struct element *x = elements_find(&b->w.side.part[part], str_of(name));
	struct buf text = {0};
	if (x && (x->varied || x->unknown || (x->runs && x->runs < b->n)))
		return NULL;
	for (size_t i = 0; x && i < x->n; i++)
		buf_printf(&text, "%s%s", i ? ", " : "", x->value[i]);
	char *ret = text.failed ? NULL : strdup(buf_cstr(&text));
	buf_release(&text);
	return ret;
}

/* Tells it where it is the same in both runs before, the same in both after, and another then. */
static void compare_name(struct differing *d, enum trust_part part, const char *name)
{
	char *v[4];
	for (size_t i = 0; i < 4; i++)
		v[i] = value_of(d, i, part, name);
	bool known = v[0] && v[1] && v[2] && v[3];
	if (known && !strcmp(v[0], v[1]) && !strcmp(v[2], v[3]) && strcmp(v[1], v[2]) != 0) {
		append_past_difference(d, trust_part_name(part), name, v[1], v[2]);
		v[1] = v[2] = NULL;
	}
	for (size_t i = 0; i < 4; i++)
		free(v[i]);
}

/* Names that either of the two has, each once. */
static void compare_part(struct differing *d, enum trust_part part)
{
	const struct elements *before = &d->p->v[d->bench[1]].w.side.part[part],
	                      *after = &d->p->v[d->bench[2]].w.side.part[part];
	for (size_t i = 0; i < before->n; i++)
		compare_name(d, part, before->v[i].name);
	for (size_t i = 0; i < after->n; i++)
		if (!elements_find(before, str_of(after->v[i].name)))
			compare_name(d, part, after->v[i].name);
}

/* ---- how the program was built ---- */

struct built {
	char *command, *commit;
};

/* Takes the first of the builds: returns 1. In any case: the walk ends there. */
static int take_build(void *arg, const struct store_build *b)
{
	struct built *x = arg;
	struct buf command = {0};
	fmt_argv(&command, &b->argv, false, 2000);
	free(x->command);
	free(x->commit);
	x->command = strdup(buf_cstr(&command));
	x->commit = strndup(b->commit.p ? b->commit.p : "", b->commit.n);
	buf_release(&command);
	return 1;
}

/* The last compiler's command that made a file with this digest (sha256:...). */
static void find_built(struct differing *d, const char *digest, struct built *ret)
{
	struct digest bytes;
	store_id *ids = NULL;
	size_t n = 0;
	if (!digest_parse(str_of(digest), &bytes))
		return;
	int rc = store_builds_of(d->s, str_n((const char *)bytes.b, DIGEST_BYTES), str_n("", 0), str_n("", 0), &ids, &n);
	if (rc >= 0 && n)
		rc = store_build(d->s, ids[n - 1], take_build, ret);
	if (rc < 0)
		d->rc = rc;
	free(ids);
}

/* Tells whether the program was built by another command, or from another commit. What is not known is not compared. */
static void compare_builds(struct differing *d, const char *before, const char *after)
{
	struct built was = {0}, is = {0};
	find_built(d, before, &was);
	find_built(d, after, &is);
	if (was.command && is.command && strcmp(was.command, is.command) != 0)
		append_past_difference(d, "build", "command", strdup(was.command), strdup(is.command));
	if (was.commit && is.commit && strcmp(was.commit, is.commit) != 0)
		append_past_difference(d, "build", "commit", strdup(was.commit), strdup(is.commit));
	free(was.command);
	free(was.commit);
	free(is.command);
	free(is.commit);
}

int past_differ(struct store *s, const struct past *p, const struct past_series *x, size_t at,
                struct past_difference **ret, size_t *ret_n)
{
	struct differing d = {
	    .s = s, .p = p, .bench = {x->bench[at - 2], x->bench[at - 1], x->bench[at], x->bench[at + 1]}};
	compare_part(&d, TRUST_INPUTS);
	compare_part(&d, TRUST_PARAMETERS);
	compare_part(&d, TRUST_INVARIANTS);
	size_t n = d.n;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(d.v[i].name, "binary"))
			compare_builds(&d, d.v[i].before, d.v[i].after);
	*ret = d.v;
	*ret_n = d.n;
	return d.rc;
}
