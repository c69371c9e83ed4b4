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

/* Which of them were only handed to the run, open, as by a shell's redirection. */
static int mark_handed(struct store *s, store_id run, struct outputs *o)
{
	store_id *execs = NULL;
	size_t n = 0;
	struct edges out = {0}, gens = {0};
	int rc = store_run_execs(s, run, &execs, &n);
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		rc = store_outputs(s, execs[i], &out);
		for (size_t k = 0; rc >= 0 && k < out.n; k++) {
			struct version_sort v;
			struct output *x = NULL;
			rc = store_version_sort(s, out.v[k].to, &v);
			for (size_t f = 0; rc == 1 && f < o->n && !x; f++)
				x = o->v[f].file == v.file ? &o->v[f] : NULL;
			if (rc == 1 && x)
				rc = store_gens(s, out.v[k].to, &gens);
			for (size_t g = 0; rc >= 0 && x && g < gens.n; g++)
				if (gens.v[g].to == execs[i]) {
					x->written = true;
					x->opened |= gens.v[g].api != TERM_api_inherit;
				}
		}
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

static int outputs_of(struct store *s, store_id id, struct outputs *ret)
{
	struct reported_list l;
	struct run_info run;
	int rc = store_run(s, id, &run);
	char *cwd = rc == 1 ? strndup(run.cwd.p ? run.cwd.p : "", run.cwd.n) : NULL;
	*ret = (struct outputs){0};
	if (!cwd)
		return rc < 0 ? rc : -ENOMEM;
	size_t n = strlen(cwd);
	rc = store_reported(s, id, EVENT_digest, &l);
	ret->v = rc == 0 ? calloc(l.n + 1, sizeof(*ret->v)) : NULL;
	for (size_t i = 0; ret->v && i < l.n; i++) {
		const struct event_digest *d = &l.v[i].ev.digest;
		if (d->usage != TERM_usage_output)
			continue;
		bool below = d->path.n > n + 1 && !memcmp(d->path.p, cwd, n) && d->path.p[n] == '/';
		struct output *x = &ret->v[ret->n++];
		*x = (struct output){.name = below ? strndup(d->path.p + n + 1, d->path.n - n - 1)
		                                   : strndup(d->path.p ? d->path.p : "", d->path.n),
		                     .path = strndup(d->path.p ? d->path.p : "", d->path.n),
		                     .digest = strndup(d->digest.p ? d->digest.p : "", d->digest.n)};
		if (!x->name || !x->path || !x->digest)
			rc = -ENOMEM;
		else if (store_file_by_identity(s, d->domain, d->ino, d->gen, &x->file) != 1)
			x->file = 0;
	}
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

/* Word by word the same, but for numbers, which may differ by the tolerance. */
static bool texts_near(const char *a, const char *b, double relative, double absolute)
{
	for (;;) {
		while (between(*a) && *a == *b)
			a++, b++;
		size_t n = 0, k = 0;
		while (a[n] && !between(a[n]))
			n++;
		while (b[k] && !between(b[k]))
			k++;
		if (!n || !k)
			return !*a && !*b;
		if (n != k || memcmp(a, b, n) != 0) {
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
			if (gap > absolute && gap > relative * fmax(fabs(p), fabs(q)))
				return false;
		}
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

static int one_output(struct compare *c, const struct output *a, const struct output *b, const char *tolerance)
{
	double relative = 0, absolute = 0;
	enum compare_verdict v = COMPARE_DIFFERENT;
	if ((a && !*a->digest) || (b && !*b->digest))
		v = COMPARE_UNKNOWN;
	else if (a && b && !strcmp(a->digest, b->digest))
		v = COMPARE_IDENTICAL;
	else if (a && b && tolerance && tolerance_read(tolerance, &relative, &absolute)) {
		size_t n, k;
		char *x = read_unchanged_text(a->path, a->digest, &n), *y = read_unchanged_text(b->path, b->digest, &k);
		if (x && y && texts_near(x, y, relative, absolute))
			v = COMPARE_WITHIN;
		free(x);
		free(y);
	}
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
	for (size_t i = 0; rc == 0 && i < t.n; i++) {
		const struct trust_difference *d = &t.v[i];
		struct compare_item *x = append_compared(c, d->claim ? d->claim->name : d->seen->name, false,
		                                         d->kind == TRUST_UNKNOWN ? COMPARE_UNKNOWN
		                                         : d->within              ? COMPARE_WITHIN
		                                                                  : COMPARE_DIFFERENT);
		if (!x)
			rc = -ENOMEM;
		if (x) {
			x->before = joined(d->claim);
			x->after = joined(d->seen);
		}
	}
	for (size_t i = 0; rc == 0 && i < claim.part[TRUST_RESULTS].n; i++) {
		const struct element *x = &claim.part[TRUST_RESULTS].v[i];
		bool told = false;
		for (size_t k = 0; k < t.n; k++)
			told |= t.v[k].claim == x;
		struct compare_item *item = told ? NULL : append_compared(c, x->name, false, COMPARE_IDENTICAL);
		if (!told && !item)
			rc = -ENOMEM;
		if (item)
			item->before = joined(x);
	}
	trust_release(&t);
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
	for (size_t i = 0; rc == 0 && i < x.n; i++)
		rc = one_output(ret, &x.v[i], find_output(&y, x.v[i].name), tolerance);
	for (size_t i = 0; rc == 0 && i < y.n; i++)
		if (!find_output(&x, y.v[i].name) && x.n)
			rc = one_output(ret, NULL, &y.v[i], tolerance);
	ret->verdict = COMPARE_UNKNOWN;
	for (size_t i = 0; i < ret->n; i++)
		if (!ret->v[i].handed)
			ret->verdict = COMPARE_IDENTICAL;
	for (size_t i = 0; i < ret->n; i++) {
		if (ret->v[i].handed)
			continue;
		enum compare_verdict v = ret->v[i].verdict;
		/* A difference is one, whatever else is not known. */
		if (ret->verdict != COMPARE_DIFFERENT && v > ret->verdict)
			ret->verdict = v;
		if (v == COMPARE_DIFFERENT)
			ret->verdict = v;
	}
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
