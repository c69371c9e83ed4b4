#include "trust/compare.h"

#include "base/io.h"
#include "base/os/engine_paths.h"
#include "trust/dates.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MAX (64u << 20) /* bytes of a file that are compared number by number */

/* Static. */
const char *compare_verdict_name(enum compare_verdict v)
{
	static const char *const words[] = {"identical", "within tolerance", "alike", "unknown", "different"};
	return words[v];
}

/* The file, where it still has that digest; malloc'ed, with a NUL. text: none that has a NUL. */
static char *read_unchanged(const char *path, const char *digest, bool text, size_t *ret_n)
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
			if (text && memchr(p, '\0', *ret_n)) {
				free(p);
				p = NULL;
			}
		}
	}
	close(fd);
	return p;
}

/* Whether a character separates words or numbers of an output. */
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

/* Up to what separates words. */
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

/* Adds a row to the comparison. NULL: no memory. Valid until another is added. */
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

/* Are both files there as they were, and the same but for numbers within the tolerance (may be NULL: none)? */
static bool outputs_near(const struct output *a, const struct output *b, const char *tolerance)
{
	double relative = 0, absolute = 0;
	if (!tolerance || !tolerance_read(tolerance, &relative, &absolute))
		return false;
	size_t n, k;
	char *x = read_unchanged(a->path, a->digest, true, &n), *y = read_unchanged(b->path, b->digest, true, &k);
	bool near = x && y && texts_near(x, y, relative, absolute);
	free(x);
	free(y);
	return near;
}

/* Are both files there as they were, and the same but for dates? */
static bool outputs_differ_in_dates(const struct output *a, const struct output *b)
{
	size_t n = 0, k = 0;
	if (!a || !b || !*a->digest || !*b->digest)
		return false;
	char *x = read_unchanged(a->path, a->digest, false, &n), *y = read_unchanged(b->path, b->digest, false, &k);
	bool only = x && y && dates_only(str_n(x, n), str_n(y, k));
	free(x);
	free(y);
	return only;
}

/* a, b: NULL where there is no such output on that side. *ret_by: by what they were compared. */
static enum compare_verdict compare_outputs(const struct output *a, const struct output *b, const char *tolerance,
                                            enum output_by *ret_by)
{
	*ret_by = OUTPUT_BY_NAME;
	if (!a || !b)
		return (a ? a : b)->sure ? COMPARE_DIFFERENT : COMPARE_UNKNOWN;
	*ret_by = a->by > b->by ? a->by : b->by;
	if (*a->digest && *b->digest) {
		if (!strcmp(a->digest, b->digest))
			return COMPARE_IDENTICAL;
		return outputs_near(a, b, tolerance) ? COMPARE_WITHIN : COMPARE_DIFFERENT;
	}
	if (*ret_by == OUTPUT_BY_NAME)
		return COMPARE_UNKNOWN;
	*ret_by = OUTPUT_BY_SIZE;
	return a->size == b->size ? COMPARE_ALIKE : COMPARE_DIFFERENT;
}

/* What is known of an output, for people: digest, else size; malloc'ed. */
static char *output_text(const struct output *x)
{
	char *text = NULL;
	if (*x->digest)
		return strdup(x->digest);
	if (x->by != OUTPUT_BY_SIZE)
		return strdup("");
	return asprintf(&text, "%llu B", (unsigned long long)x->size) < 0 ? NULL : text;
}

/* An output that a command inherited (stdout to a file, say): the item is identical if only the first run has it
 * (only) and the second printed these very bytes (digest printed; "": unknown), else unknown. */
static void judge_handed(struct compare_item *i, const struct output *only, const char *printed)
{
	i->handed = !only || !*printed || strcmp(only->digest, printed) != 0;
	i->verdict = i->handed ? COMPARE_UNKNOWN : COMPARE_IDENTICAL;
	if (!i->handed) {
		i->by = OUTPUT_BY_PRINTED;
		i->after = strdup(printed);
	}
}

/* Compares an output of two runs. printed: digest of what the second run printed, "" not known. 0, -ENOMEM. */
static int one_output(struct compare *c, const struct output *a, const struct output *b, const char *tolerance,
                      const char *printed)
{
	enum output_by by;
	enum compare_verdict v = compare_outputs(a, b, tolerance, &by);
	if (v == COMPARE_UNKNOWN && (!a || !b))
		return 0; /* perhaps written by one of them, and no more than that */
	struct compare_item *i = append_compared(c, a ? a->name : b->name, true, v);
	if (!i)
		return -ENOMEM;
	i->by = by;
	i->before = a ? output_text(a) : NULL;
	i->after = b ? output_text(b) : NULL;
	i->dates = v == COMPARE_DIFFERENT && outputs_differ_in_dates(a, b);
	if (v != COMPARE_IDENTICAL && (!a || output_is_handed(a)) && (!b || output_is_handed(b)))
		judge_handed(i, b ? NULL : a, printed);
	return 0;
}

/* The values with commas between them. The caller frees it; NULL for NULL and without memory. */
static char *joined(const struct element *x)
{
	struct buf b = {0};
	for (size_t i = 0; x && i < x->n; i++)
		buf_printf(&b, "%s%s", i ? ", " : "", x->value[i]);
	char *text = x ? strdup(buf_cstr(&b)) : NULL;
	buf_release(&b);
	return text;
}

/* A result that differs, or that is not known on one side. 0, -ENOMEM. */
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

/* A result of the claim, unless one of the differences is of it. 0, -ENOMEM. */
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

/* 0, also if one side has no results; -errno with a sentence. */
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

size_t compare_counted(const struct compare *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n; i++)
		n += !c->v[i].handed;
	return n;
}

/* Of all that was compared: unknown if nothing was; else the worst there is. */
static enum compare_verdict overall_verdict(const struct compare *c)
{
	enum compare_verdict all = COMPARE_IDENTICAL;
	if (!compare_counted(c))
		return c->n || !c->seen ? COMPARE_UNKNOWN : COMPARE_ALIKE;
	for (size_t i = 0; i < c->n; i++) {
		enum compare_verdict v = c->v[i].verdict;
		if (!c->v[i].handed && v > all)
			all = v;
	}
	return all;
}

/* Is the output a workflow system's own, as its log? It is counted then: a name that both have once. */
static bool is_engines(struct compare *c, const struct output *x, const struct outputs *counted)
{
	bool own = engine_own_file(str_of(x->path));
	c->engine += own && !(counted && outputs_find(counted, x->name));
	return own;
}

/* By name, then by content of those that are new. 0, -errno. */
static int compare_all_outputs(struct compare *c, const struct outputs *before, const struct outputs *after,
                               const char *tolerance, const char *printed)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < before->n; i++)
		rc = is_engines(c, &before->v[i], NULL)
		         ? 0
		         : one_output(c, &before->v[i], outputs_find(after, before->v[i].name), tolerance, printed);
	for (size_t i = 0; rc == 0 && i < after->n; i++)
		if (!is_engines(c, &after->v[i], before) && !outputs_find(before, after->v[i].name) &&
		    (before->n || before->seen))
			rc = one_output(c, outputs_find_renamed(before, &after->v[i]), &after->v[i], tolerance, printed);
	return rc;
}

int compare_runs(struct store *s, store_id before, store_id after, const struct witness_options *o,
                 const char *tolerance, const char *printed, struct err *err, struct compare *ret)
{
	struct witness a = {0}, b = {0};
	struct outputs x = {0}, y = {0};
	*ret = (struct compare){0};
	int rc = witness_runs(s, &before, 1, o, err, &a);
	if (rc == 0)
		rc = witness_runs(s, &after, 1, o, err, &b);
	if (rc == 0)
		rc = outputs_of(s, before, o, &x);
	if (rc == 0)
		rc = outputs_of(s, after, o, &y);
	/* Without extractors the results are the outputs, which come below. */
	struct reported_list told = {0};
	if (rc == 0)
		rc = store_reported(s, before, EVENT_result, &told);
	bool extracted = told.n > 0;
	reported_list_release(&told);
	if (rc == 0 && extracted)
		rc = compare_results(ret, &a, &b, tolerance, err);
	if (rc == 0)
		rc = compare_all_outputs(ret, &x, &y, tolerance, printed ? printed : "");
	ret->seen = x.seen && y.seen;
	ret->verdict = overall_verdict(ret);
	outputs_release(&x);
	outputs_release(&y);
	witness_release(&a);
	witness_release(&b);
	return rc < 0 ? err_set(err, rc == -EINVAL ? 0 : -rc, "cannot compare the runs"), rc : 0;
}

/* c is empty then. */
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
