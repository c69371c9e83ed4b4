#include "trust/compare.h"

#include "base/io.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MAX (64u << 20) /* bytes of a file that are compared number by number */

const char *compare_verdict_name(enum compare_verdict v)
{
	static const char *const words[] = {"identical", "within tolerance", "different", "unknown"};
	return words[v];
}

struct output {
	char *name, *path, *digest; /* relative to the working directory of the run; digest "": there is none */
	store_id file;              /* 0 not known */
	bool written, opened;       /* an execution of the run did so; opened: by itself */
};
struct outputs {
	struct output *v;
	size_t n;
};

static void outputs_release(struct outputs *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->v[i].name);
		free(o->v[i].path);
		free(o->v[i].digest);
	}
	free(o->v);
}

/* The execution wrote the version: does that make one of the outputs one that was written, or opened, by the run? gens:
 * room. 0 or -errno. */
static int mark_written(struct store *s, store_id exec, store_id version, struct outputs *o, struct edges *gens)
{
	struct version_sort v;
	struct output *x = NULL;
	int rc = store_version_sort(s, version, &v);
	for (size_t f = 0; rc == 1 && f < o->n && !x; f++)
		x = o->v[f].file == v.file ? &o->v[f] : NULL;
	if (rc == 1 && x)
		rc = store_gens(s, version, gens);
	for (size_t g = 0; rc >= 0 && x && g < gens->n; g++)
		if (gens->v[g].to == exec) {
			x->written = true;
			x->opened |= gens->v[g].api != TERM_api_inherit;
		}
	return rc < 0 ? rc : 0;
}

/* Which of them were only handed to the run, open, as by a shell's redirection. */
static int mark_handed(struct store *s, store_id run, struct outputs *o)
{
	store_id *execs = NULL;
	size_t n = 0;
	struct edges out = {0}, gens = {0};
	int rc = store_run_execs(s, run, &execs, &n);
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		rc = store_outputs(s, execs[i], &out);
		for (size_t k = 0; rc >= 0 && k < out.n; k++)
			rc = mark_written(s, execs[i], out.v[k].to, o, &gens);
	}
	free(execs);
	edges_release(&out);
	edges_release(&gens);
	return rc < 0 ? rc : 0;
}

static bool is_handed_through(const struct output *x)
{
	return x && x->written && !x->opened;
}

/* The output that the digest is of. cwd: the run's. 0, -ENOMEM; what was copied of it is the caller's in any case. */
static int read_output(struct store *s, const struct event_digest *d, const char *cwd, struct output *ret)
{
	size_t n = strlen(cwd);
	bool below = d->path.n > n + 1 && !memcmp(d->path.p, cwd, n) && d->path.p[n] == '/';
	*ret = (struct output){.name = below ? strndup(d->path.p + n + 1, d->path.n - n - 1)
	                                     : strndup(d->path.p ? d->path.p : "", d->path.n),
	                       .path = strndup(d->path.p ? d->path.p : "", d->path.n),
	                       .digest = strndup(d->digest.p ? d->digest.p : "", d->digest.n)};
	if (!ret->name || !ret->path || !ret->digest)
		return -ENOMEM;
	if (store_file_by_identity(s, d->domain, d->ino, d->gen, &ret->file) != 1)
		ret->file = 0;
	return 0;
}

/* The files that the run left, as far as it told digests of them. 0 or -errno; release ret in any case. */
static int outputs_of(struct store *s, store_id id, struct outputs *ret)
{
	struct reported_list l;
	struct run_info run;
	int rc = store_run(s, id, &run);
	char *cwd = rc == 1 ? strndup(run.cwd.p ? run.cwd.p : "", run.cwd.n) : NULL;
	*ret = (struct outputs){0};
	if (!cwd)
		return rc < 0 ? rc : -ENOMEM;
	rc = store_reported(s, id, EVENT_digest, &l);
	ret->v = rc == 0 ? calloc(l.n + 1, sizeof(*ret->v)) : NULL;
	for (size_t i = 0; ret->v && rc == 0 && i < l.n; i++)
		if (l.v[i].ev.digest.usage == TERM_usage_output)
			rc = read_output(s, &l.v[i].ev.digest, cwd, &ret->v[ret->n++]);
	if (rc == 0 && ret->v)
		rc = mark_handed(s, id, ret);
	if (rc == 0 && !ret->v)
		rc = -ENOMEM;
	reported_list_release(&l);
	free(cwd);
	return rc;
}

/* The file, where it still has that digest; malloc'ed, with a NUL. */
static char *read_unchanged_text(const char *path, const char *digest, size_t *ret_n)
{
	struct digest d;
	struct stat st;
	char now[DIGEST_TEXT], *p = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= TEXT_MAX && digest_fd(NULL, fd, &d, NULL) == 0) {
		digest_text(&d, now);
		if (!strcmp(now, digest) && (p = malloc((size_t)st.st_size + 1))) {
			ssize_t k = io_pread(fd, p, (size_t)st.st_size, 0);
			*ret_n = k > 0 ? (size_t)k : 0;
			p[*ret_n] = '\0';
			if (memchr(p, '\0', *ret_n)) { /* no text */
				free(p);
				p = NULL;
			}
		}
	}
	close(fd);
	return p;
}

static bool between(char c)
{
	return isspace((unsigned char)c) || c == ',' || c == ';' || c == ':' || c == '=' || c == '[' || c == ']' ||
	       c == '{' || c == '}' || c == '(' || c == ')' || c == '"';
}

/* Are two words both numbers, and near enough? */
static bool numbers_near(const char *a, size_t n, const char *b, size_t k, double relative, double absolute)
{
	char x[64], y[64];
	double p, q;
	if (n >= sizeof(x) || k >= sizeof(y))
		return false;
	memcpy(x, a, n);
	memcpy(y, b, k);
	x[n] = y[k] = '\0';
	if (!value_number(x, &p) || !value_number(y, &q))
		return false;
	double gap = fabs(p - q);
	return !(gap > absolute && gap > relative * fmax(fabs(p), fabs(q)));
}

static size_t word_length(const char *p)
{
	size_t n = 0;
	while (p[n] && !between(p[n]))
		n++;
	return n;
}

/* Word by word the same, but for numbers, which may differ by the tolerance. */
static bool texts_near(const char *a, const char *b, double relative, double absolute)
{
	for (;;) {
		while (between(*a) && *a == *b)
			a++, b++;
		size_t n = word_length(a), k = word_length(b);
		if (!n || !k)
			return !*a && !*b;
		bool same = n == k && memcmp(a, b, n) == 0;
		if (!same && !numbers_near(a, n, b, k, relative, absolute))
			return false;
		a += n;
		b += k;
	}
}

static struct compare_item *append_compared(struct compare *c, const char *name, bool file,
                                            enum compare_verdict verdict)
{
	struct compare_item *more = realloc(c->v, (c->n + 1) * sizeof(*more));
	char *own = strdup(name);
	if (more)
		c->v = more;
	if (!more || !own) {
		free(own);
		return NULL;
	}
	c->v[c->n] = (struct compare_item){.name = own, .file = file, .verdict = verdict};
	return &c->v[c->n++];
}

static const struct output *find_output(const struct outputs *o, const char *name)
{
	for (size_t i = 0; i < o->n; i++)
		if (!strcmp(o->v[i].name, name))
			return &o->v[i];
	return NULL;
}

/* Are both files there as they were, and the same but for numbers within the tolerance (may be NULL: none)? */
static bool outputs_near(const struct output *a, const struct output *b, const char *tolerance)
{
	double relative = 0, absolute = 0;
	if (!tolerance || !tolerance_read(tolerance, &relative, &absolute))
		return false;
	size_t n, k;
	char *x = read_unchanged_text(a->path, a->digest, &n), *y = read_unchanged_text(b->path, b->digest, &k);
	bool near = x && y && texts_near(x, y, relative, absolute);
	free(x);
	free(y);
	return near;
}

/* a, b: NULL where there is no such output on that side. */
static enum compare_verdict compare_outputs(const struct output *a, const struct output *b, const char *tolerance)
{
	if ((a && !*a->digest) || (b && !*b->digest))
		return COMPARE_UNKNOWN;
	if (!a || !b)
		return COMPARE_DIFFERENT;
	if (!strcmp(a->digest, b->digest))
		return COMPARE_IDENTICAL;
	return outputs_near(a, b, tolerance) ? COMPARE_WITHIN : COMPARE_DIFFERENT;
}

static int one_output(struct compare *c, const struct output *a, const struct output *b, const char *tolerance)
{
	enum compare_verdict v = compare_outputs(a, b, tolerance);
	struct compare_item *i = append_compared(c, a ? a->name : b->name, true, v);
	if (!i)
		return -ENOMEM;
	i->handed = v != COMPARE_IDENTICAL && (!a || is_handed_through(a)) && (!b || is_handed_through(b));
	if (i->handed)
		i->verdict = COMPARE_UNKNOWN;
	i->before = a ? strdup(a->digest) : NULL;
	i->after = b ? strdup(b->digest) : NULL;
	return 0;
}

static char *joined(const struct element *x)
{
	struct buf b = {0};
	for (size_t i = 0; x && i < x->n; i++)
		buf_printf(&b, "%s%s", i ? ", " : "", x->value[i]);
	char *text = x ? strdup(buf_cstr(&b)) : NULL;
	buf_release(&b);
	return text;
}

/* A result that differs, or that is not known on one side. */
static int append_difference(struct compare *c, const struct trust_difference *d)
{
	enum compare_verdict v = d->kind == TRUST_UNKNOWN ? COMPARE_UNKNOWN
	                         : d->within              ? COMPARE_WITHIN
	                                                  : COMPARE_DIFFERENT;
	struct compare_item *x = append_compared(c, d->claim ? d->claim->name : d->seen->name, false, v);
	if (!x)
		return -ENOMEM;
	x->before = joined(d->claim);
	x->after = joined(d->seen);
	return 0;
}

/* A result of the claim, unless one of the differences is of it. */
static int append_same(struct compare *c, const struct trust *t, const struct element *x)
{
	for (size_t k = 0; k < t->n; k++)
		if (t->v[k].claim == x)
			return 0;
	struct compare_item *item = append_compared(c, x->name, false, COMPARE_IDENTICAL);
	if (!item)
		return -ENOMEM;
	item->before = joined(x);
	return 0;
}

static int compare_results(struct compare *c, struct witness *a, struct witness *b, const char *tolerance,
                           struct err *err)
{
	struct trust_side seen = {0}, claim = {0};
	struct trust t;
	if (a->side.absent[TRUST_RESULTS] || b->side.absent[TRUST_RESULTS])
		return 0;
	seen.part[TRUST_RESULTS] = b->side.part[TRUST_RESULTS];
	claim.part[TRUST_RESULTS] = a->side.part[TRUST_RESULTS];
	int rc = trust_measure(&seen, &claim, tolerance, err, &t);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < t.n; i++)
		rc = append_difference(c, &t.v[i]);
	for (size_t i = 0; rc == 0 && i < claim.part[TRUST_RESULTS].n; i++)
		rc = append_same(c, &t, &claim.part[TRUST_RESULTS].v[i]);
	trust_release(&t);
	return rc;
}

/* Of all that was compared: unknown if nothing was; the worst there is, but a difference is one, whatever else is not
 * known. */
static enum compare_verdict overall_verdict(const struct compare *c)
{
	enum compare_verdict all = COMPARE_UNKNOWN;
	for (size_t i = 0; i < c->n; i++)
		if (!c->v[i].handed)
			all = COMPARE_IDENTICAL;
	for (size_t i = 0; i < c->n; i++) {
		enum compare_verdict v = c->v[i].verdict;
		if (c->v[i].handed)
			continue;
		if (v == COMPARE_DIFFERENT || (all != COMPARE_DIFFERENT && v > all))
			all = v;
	}
	return all;
}

static int compare_all_outputs(struct compare *c, const struct outputs *before, const struct outputs *after,
                               const char *tolerance)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < before->n; i++)
		rc = one_output(c, &before->v[i], find_output(after, before->v[i].name), tolerance);
	for (size_t i = 0; rc == 0 && i < after->n; i++)
		if (!find_output(before, after->v[i].name) && before->n)
			rc = one_output(c, NULL, &after->v[i], tolerance);
	return rc;
}

int compare_runs(struct store *s, store_id before, store_id after, const struct witness_options *o,
                 const char *tolerance, struct err *err, struct compare *ret)
{
	struct witness a = {0}, b = {0};
	struct outputs x = {0}, y = {0};
	*ret = (struct compare){0};
	int rc = witness_runs(s, &before, 1, o, err, &a);
	if (rc == 0)
		rc = witness_runs(s, &after, 1, o, err, &b);
	if (rc == 0)
		rc = outputs_of(s, before, &x);
	if (rc == 0)
		rc = outputs_of(s, after, &y);
	/* Without extractors the results are the outputs, which come below. */
	struct reported_list told = {0};
	if (rc == 0)
		rc = store_reported(s, before, EVENT_result, &told);
	bool extracted = told.n > 0;
	reported_list_release(&told);
	if (rc == 0 && extracted)
		rc = compare_results(ret, &a, &b, tolerance, err);
	if (rc == 0)
		rc = compare_all_outputs(ret, &x, &y, tolerance);
	ret->verdict = overall_verdict(ret);
	outputs_release(&x);
	outputs_release(&y);
	witness_release(&a);
	witness_release(&b);
	return rc < 0 ? err_set(err, rc == -EINVAL ? 0 : -rc, "cannot compare the runs"), rc : 0;
}

void compare_release(struct compare *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].name);
		free(c->v[i].before);
		free(c->v[i].after);
	}
	free(c->v);
	*c = (struct compare){0};
}
