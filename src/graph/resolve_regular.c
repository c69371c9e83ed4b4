/* resolve_regular.c - versions of regular files: rules 2 to 7 of doc/graph.md. */
#include "graph/resolve_regular_int.h"

#include <errno.h>
#include <stdlib.h>

/* ---- rules 2 and 3 ---- */

/* The reads by host (one group where there is no skew), by start, each with the greatest end so far. 0, -ENOMEM. */
static int make_spans(struct resolver *r)
{
	r->spans.n = r->groups.n = 0;
	for (size_t h = 0; h < r->g->hosts.n; h++) {
		uint32_t host = r->slack ? (uint32_t)h : HOST_ANY;
		struct rspans group = {host, (uint32_t)r->spans.n, 0};
		int64_t end = INT64_MIN;
		for (size_t k = 0; k < r->reads.n; k++) {
			const struct gaccess *a = acc_of(r, r->reads.v[k]);
			struct gspan span = span_of(r, a);
			if (r->slack && access_host(r->g, a) != host)
				continue;
			struct rspan *s = vec_add(&r->spans);
			if (!s)
				return -ENOMEM;
			end = span.to > end ? span.to : end;
			*s = (struct rspan){span.from, end};
			group.n++;
		}
		if (group.n) {
			struct rspans *slot = vec_add(&r->groups);
			if (!slot)
				return -ENOMEM;
			*slot = group;
		}
		if (!r->slack)
			break;
	}
	return 0;
}

/* Whether some read overlaps [start, end]. */
static bool read_overlaps(const struct resolver *r, int64_t start, uint32_t host_start, int64_t end, uint32_t host_end)
{
	for (size_t k = 0; k < r->groups.n; k++) {
		const struct rspans *group = &r->groups.v[k];
		const struct rspan *v = r->spans.v + group->first;
		size_t lo = 0, hi = group->n; /* those that start before the end */
		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;
			if (resolved_before(r, end, host_end, v[mid].start, group->host))
				hi = mid;
			else
				lo = mid + 1;
		}
		if (lo && !resolved_before(r, v[lo - 1].end, group->host, start, host_start))
			return true;
	}
	return false;
}

/* Whether the file was emptied between two writes: nothing of the first is in the second. */
static bool emptied_between(const struct resolver *r, const struct gaccess *first, const struct gaccess *second)
{
	size_t lo = 0, hi = r->emptied.n; /* those that start before the end of the first */
	int64_t from = span_of(r, first).to, to = span_of(r, second).from;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (acc_of(r, r->emptied.v[mid])->start < from)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < r->emptied.n; lo++) {
		const struct gaccess *t = acc_of(r, r->emptied.v[lo]);
		if (t->start > to)
			return false;
		uint32_t host = access_host(r->g, t);
		if (resolved_before(r, from, access_host(r->g, first), t->start, host) &&
		    resolved_before(r, t->start, host, to, access_host(r->g, second)))
			return true;
	}
	return false;
}

/* Does the write `next` go on with w's version (rule B1: nobody read between, nothing was truncated, one executes both
 * or appends)? *rc: -ENOMEM. */
static bool same_version(struct resolver *r, const struct gaccess *w, const struct gaccess *next, int *rc)
{
	const struct gaccess *first, *later = starts_before(r, next, w) ? w : next;
	if ((later->flags & (GACCESS_CREATES | GACCESS_TRUNCS)) ||
	    !((later->mode & ACCESS_APPEND) || later->via == TERM_via_descriptor || next->exec == w->exec))
		return false;
	if (emptied_between(r, w, next))
		return false;
	if (!r->spans_made && (*rc = make_spans(r)) < 0)
		return false;
	r->spans_made = true;
	struct gspan a = span_of(r, w), b = span_of(r, next);
	first = a.from <= b.from ? w : next;
	return !read_overlaps(r, a.from <= b.from ? a.from : b.from, access_host(r->g, first), b.to,
	                      access_host(r->g, next));
}

/* r->versions from r->writes and what was found changed, both in the order of time. 0, -ENOMEM. */
static int make_versions(struct resolver *r)
{
	size_t u = 0;
	int rc = 0;
	struct rversion *v = NULL; /* the range that may go on */
	for (size_t i = 0; i < r->writes.n || u < r->unobserved.n;) {
		const struct gaccess *w = i < r->writes.n ? acc_of(r, r->writes.v[i]) : NULL;
		if (u < r->unobserved.n && (!w || unobserved_first(r, &r->unobserved.v[u], w, span_of))) {
			if (!(v = vec_add(&r->versions)))
				return -ENOMEM;
			*v = (struct rversion){
			    .start = r->unobserved.v[u].t, .end = r->unobserved.v[u].t, .unobserved = (uint32_t)u};
			v = NULL;
			u++;
			continue;
		}
		bool goes_on = v && same_version(r, acc_of(r, r->writes.v[i - 1]), w, &rc);
		if (rc < 0)
			return rc;
		if (!goes_on) {
			if (!(v = vec_add(&r->versions)))
				return -ENOMEM;
			*v = (struct rversion){.start = INT64_MAX, .first = (uint32_t)i, .unobserved = VEC_NONE};
		}
		struct gspan span = span_of(r, w);
		v->n++;
		v->start = span.from < v->start ? span.from : v->start;
		v->end = span.to;
		v->must |= w->evidence == TERM_evidence_must && w->sure;
		v->makes |= (w->flags & (GACCESS_CREATES | GACCESS_TRUNCS)) != 0;
		i++;
	}
	int64_t later = INT64_MAX;
	for (size_t i = r->versions.n; i-- > 0;) {
		r->versions.v[i].later = later;
		if (r->versions.v[i].start < later)
			later = r->versions.v[i].start;
	}
	return 0;
}

/* ---- rules 4 to 6 ---- */

/* The version that is being made comes from n (from 1) of the same file. False: no memory. */
static bool add_derivation(struct resolver *r, struct gversion *v, uint32_t n, bool must, unsigned via)
{
	struct gder *d = vec_add(&r->g->ders);
	if (!d)
		return false;
	*d = (struct gder){r->file, n, (uint8_t)via, must};
	v->nder++;
	return true;
}

/* Whether all writes of a version are before a moment; a U is without skew. */
static bool version_before(const struct resolver *r, const struct rversion *v, int64_t t, uint32_t host)
{
	if (!r->slack || !v->n)
		return v->end <= t;
	for (size_t k = v->first; k < v->first + v->n; k++) {
		const struct gaccess *w = acc_of(r, r->writes.v[k]);
		if (!resolved_before(r, span_of(r, w).to, access_host(r->g, w), t, host))
			return false;
	}
	return true;
}

/* Whether all writes of a are before all starts of b. */
static bool versions_apart(const struct resolver *r, const struct rversion *a, const struct rversion *b)
{
	if (!r->slack || !a->n || !b->n || add_time_slack(a->end, r->slack) <= b->start)
		return a->end <= b->start;
	for (size_t k = b->first; k < b->first + b->n; k++) {
		const struct gaccess *w = acc_of(r, r->writes.v[k]);
		if (!version_before(r, a, span_of(r, w).from, access_host(r->g, w)))
			return false;
	}
	return true;
}

/* Can either have been first? */
static bool versions_overlap(const struct resolver *r, size_t i, size_t j)
{
	const struct rversion *a = &r->versions.v[i], *b = &r->versions.v[j];
	return !versions_apart(r, a, b) && !versions_apart(r, b, a);
}

/* How many of the first n versions end at or before t: ends ascend. */
static size_t versions_ended(const struct resolver *r, size_t n, int64_t t)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (r->versions.v[mid].end <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Does a read overlap the time in which the version was written, as a whole? */
static bool read_meanwhile(struct resolver *r, const struct rversion *v, bool *ret)
{
	const struct gaccess *first = acc_of(r, r->writes.v[v->first]), *last = acc_of(r, r->writes.v[v->first + v->n - 1]);
	for (size_t k = v->first; k < v->first + v->n; k++) {
		const struct gaccess *w = acc_of(r, r->writes.v[k]);
		first = span_of(r, w).from < span_of(r, first).from ? w : first;
	}
	if (!r->spans_made && make_spans(r) < 0)
		return false;
	r->spans_made = true;
	*ret = read_overlaps(r, span_of(r, first).from, access_host(r->g, first), span_of(r, last).to,
	                     access_host(r->g, last));
	return true;
}

/* Is it known that there is less in the version than in the n-th one before? Then something was cut off. */
static bool is_cut(const struct resolver *r, const struct gversion *gv, size_t n)
{
	const struct gversion *before = &r->g->versions.v[r->g->files.v[r->file].first_version + n];
	return gv->has_size && before->has_size && gv->size < before->size;
}

/* The last version before the i-th that was written at the same time as it; SIZE_MAX none. Only those that end within
 * the slack of its start, or later, can overlap. */
static size_t overlapped_version(const struct resolver *r, size_t i)
{
	const int64_t start = r->versions.v[i].start;
	for (size_t j = i; j-- > 0 && add_time_slack(r->versions.v[j].end, r->slack) > start;)
		if (versions_overlap(r, j, i))
			return j;
	return SIZE_MAX;
}

/* The access that began the version. */
static const struct gaccess *first_write_of(const struct resolver *r, const struct rversion *v)
{
	const struct gaccess *first = acc_of(r, r->writes.v[v->first]);
	for (size_t k = v->first + 1; k < v->first + v->n; k++) {
		const struct gaccess *w = acc_of(r, r->writes.v[k]);
		first = starts_before(r, w, first) ? w : first;
	}
	return first;
}

/* The version that was there when the i-th one was begun; SIZE_MAX none. */
static size_t version_there(struct resolver *r, size_t i)
{
	const struct rversion *v = &r->versions.v[i];
	size_t cur = versions_ended(r, i, v->start);
	while (cur-- > 0 && !versions_apart(r, &r->versions.v[cur], v))
		;
	return cur;
}

/* Is no later version written at the same time as the i-th one? */
static bool overlaps_no_later(const struct resolver *r, size_t i)
{
	const struct rversion *v = &r->versions.v[i];
	if (v->later >= add_time_slack(v->end, r->slack))
		return true;
	for (size_t j = i + 1; j < r->versions.n; j++)
		if (versions_overlap(r, i, j))
			return false;
	return true;
}

/* What a version that somebody was seen writing, the i-th one, came from. 0 or -ENOMEM. */
static int derive_written(struct resolver *r, struct gversion *gv, size_t i)
{
	const struct rversion *v = &r->versions.v[i];
	size_t pred = overlapped_version(r, i);
	if (pred != SIZE_MAX && !add_derivation(r, gv, (uint32_t)pred + 1, false, TERM_via_overlap))
		return -ENOMEM;
	if (first_write_of(r, v)->flags & (GACCESS_CREATES | GACCESS_TRUNCS))
		return 0;
	size_t cur = version_there(r, i);
	if (cur == SIZE_MAX)
		return 0;
	bool must = v->must && !v->makes && pred == SIZE_MAX && !is_cut(r, gv, cur) && overlaps_no_later(r, i);
	return add_derivation(r, gv, (uint32_t)cur + 1, must, TERM_via_data) ? 0 : -ENOMEM;
}

/* Adds the derivations of a version. From which versions before it the i-th comes. 0, -ENOMEM. */
static int derive_version(struct resolver *r, struct gversion *gv, size_t i)
{
	const struct rversion *v = &r->versions.v[i];
	bool read = true;
	if (!v->n) {
		bool derived = !r->unobserved.v[v->unobserved].external && i;
		return derived && !add_derivation(r, gv, (uint32_t)i, false, TERM_via_data) ? -ENOMEM : 0;
	}
	if (gv->has_size && !gv->size && !read_meanwhile(r, v, &read))
		return -ENOMEM;
	/* Else there is nothing in it, and was nothing that anybody got. */
	return read ? derive_written(r, gv, i) : 0;
}

/* Did it make or empty the file, and is not known whether it wrote any byte of it? */
static bool may_only_open(const struct gaccess *a)
{
	return a->via == TERM_via_data && (a->mode & (ACCESS_CREATE | ACCESS_TRUNC)) && !(a->mode & ACCESS_MAPPED) &&
	       !(a->flags & GACCESS_WRITTEN_BYTES);
}

/* Did a only open the file for those of other executions that wrote the version, as a shell does, or is it at least
 * unknown whether it wrote beside them? */
static bool opened_for_others(const struct resolver *r, const struct rversion *v, const struct gaccess *a)
{
	const bool opened = a->flags & GACCESS_OPENED, may = may_only_open(a);
	for (size_t k = v->first; (opened || may) && k < v->first + v->n; k++) {
		const struct gaccess *other = &r->g->accesses.v[r->writes.v[k]];
		const bool wrote = other->via == TERM_via_descriptor && other->evidence == TERM_evidence_must && other->sure;
		if (other->exec != a->exec && (opened ? !(other->flags & GACCESS_OPENED) : wrote))
			return true;
	}
	return false;
}

/* What fp, left at m, went on to before a later version began. */
static const struct gfp *times_set_last(const struct resolver *r, const struct gfp *fp, int64_t m, uint32_t host,
                                        int64_t later)
{
	size_t lo = 0, hi = r->times.n; /* those that start before m */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (acc_of(r, r->times.v[mid])->start < m)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < r->times.n; lo++) {
		const struct gaccess *t = acc_of(r, r->times.v[lo]);
		if (t->start >= later)
			break;
		if (sets_later(r, t, m, host) && fp_same(&r->g->fps.v[t->fps], fp))
			fp = &r->g->fps.v[t->fpe];
	}
	return fp;
}

/* Writes r->versions into the graph, with their fingerprints, origins, writers and what they come from. 0, -ENOMEM. */
static int emit_versions(struct resolver *r)
{
	for (size_t i = 0; i < r->versions.n; i++) {
		const struct rversion *v = &r->versions.v[i];
		struct gversion *gv = resolve_version(r);
		if (!gv)
			return -ENOMEM;
		gv->start = v->start;
		gv->end = v->end;
		gv->range = v->n > 1;
		const struct gfp *fp = NULL;
		const struct gaccess *left = NULL; /* that left it */
		if (!v->n) {
			const struct runobserved *u = &r->unobserved.v[v->unobserved];
			fp = u->fp;
			gv->unobserved = true;
			gv->origin = u->external ? GORIGIN_EXTERNAL : GORIGIN_UNOBSERVED;
			gv->k = u->k;
		} else {
			const struct gaccess *first = NULL;
			for (size_t k = v->first; k < v->first + v->n; k++) {
				struct gaccess *a = &r->g->accesses.v[r->writes.v[k]];
				a->gen = gv->n;
				a->gen_via = a->via;
				if (a->evidence == TERM_evidence_must && a->sure && !opened_for_others(r, v, a))
					a->flags |= GACCESS_GEN_MUST;
				/* Taken at the end as it was recorded: later versions may be in it. */
				if (closing_fp(r->g, a) && (v->later >= a->end || span_of(r, a).to == a->end))
					fp = closing_fp(r->g, left = a);
				if (!first || starts_before(r, a, first))
					first = a;
			}
			gv->session = session_of(r, first);
			gv->seq = seq_of(r, first);
			gv->told = first->flags & GACCESS_TOLD;
			int rc = resolve_made(r, gv, v, fp && !fp->size);
			if (rc < 0)
				return rc;
		}
		if (fp) {
			gv->found = fp->mtime;
			fp =
			    times_set_last(r, fp, left ? left->end : v->start, left ? access_host(r->g, left) : HOST_ANY, v->later);
			gv->has_size = true;
			gv->size = fp->size;
			gv->mtime = fp->mtime;
		}
		int rc = derive_version(r, gv, i);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- rule 7 ---- */

/* Whether read a uses version i because a write of it, not a's own execution's, overlaps a. */
static bool overlaps_read(const struct resolver *r, const struct gaccess *a, const struct rversion *v)
{
	uint32_t host = access_host(r->g, a);
	struct gspan at = span_of(r, a);
	if (add_time_slack(v->end, r->slack) <= at.from || add_time_slack(at.to, r->slack) <= v->start)
		return false;
	if (!v->n)
		return at.from < v->end && v->start < at.to;
	for (size_t k = v->first; k < v->first + v->n; k++) {
		const struct gaccess *w = acc_of(r, r->writes.v[k]);
		uint32_t hw = access_host(r->g, w);
		struct gspan wt = span_of(r, w);
		if (w->exec != a->exec && !resolved_before(r, wt.to, hw, at.from, host) &&
		    !resolved_before(r, at.to, host, wt.from, hw))
			return true;
	}
	return false;
}

/* Order of qsort. */
static int index_cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Order of qsort_r: by when they began. */
static int compare_versions_by_start(const void *pa, const void *pb, void *arg)
{
	const struct resolver *r = arg;
	int64_t a = r->versions.v[*(const uint32_t *)pa].start, b = r->versions.v[*(const uint32_t *)pb].start;
	return (a > b) - (a < b);
}

/* The versions that overlap the read, in version order, into r->found. `started` counts the versions (by start) that
 * began at or before the read; those still open are in r->active. 0, -ENOMEM. Reads must come by their start. */
static int find_overlapping(struct resolver *r, const struct gaccess *a, size_t *started)
{
	struct gspan at = span_of(r, a);
	r->found.n = 0;
	for (; *started < r->starts.n && r->versions.v[r->starts.v[*started]].start <= at.from; (*started)++) {
		uint32_t *p = vec_add(&r->active);
		if (!p)
			return -ENOMEM;
		*p = r->starts.v[*started];
	}
	size_t kept = 0;
	if (!vec_room(&r->found, r->active.n))
		return -ENOMEM;
	for (size_t k = 0; k < r->active.n; k++) {
		const struct rversion *v = &r->versions.v[r->active.v[k]];
		if (add_time_slack(v->end, r->slack) <= at.from)
			continue; /* reads come by start: it never matters again */
		if (overlaps_read(r, a, v))
			r->found.v[r->found.n++] = r->active.v[k];
		r->active.v[kept++] = r->active.v[k];
	}
	r->active.n = kept;
	for (size_t k = *started; k < r->starts.n; k++) {
		const struct rversion *v = &r->versions.v[r->starts.v[k]];
		if (v->start >= add_time_slack(at.to, r->slack))
			break;
		if (overlaps_read(r, a, v)) {
			uint32_t *p = vec_add(&r->found);
			if (!p)
				return -ENOMEM;
			*p = r->starts.v[k];
		}
	}
	if (r->found.n > 1)
		qsort(r->found.v, r->found.n, sizeof *r->found.v, index_cmp);
	return 0;
}

/* Files the uses of a: the found versions and cur (SIZE_MAX none). 0, -ENOMEM. */
static int emit_uses(struct resolver *r, struct gaccess *a, size_t cur)
{
	struct graph *g = r->g;
	bool both = a->flags & GACCESS_WRITES;
	if (g->lps && r->found.n) { /* LPS IV.C.2: the newest that overlaps, alone */
		r->found.v[0] = r->found.v[r->found.n - 1];
		r->found.n = 1;
		cur = SIZE_MAX;
	}
	size_t n = r->found.n;
	bool cur_found = false;
	for (size_t k = 0; k < n; k++)
		cur_found |= r->found.v[k] == cur;
	size_t total = n + (cur != SIZE_MAX && !cur_found);
	a->nuse = (uint32_t)total;
	if (!total)
		return 0;
	if (total == 1) {
		a->use = (uint32_t)(cur != SIZE_MAX ? cur : r->found.v[0]) + 1;
		a->use_via = cur != SIZE_MAX ? a->via : TERM_via_overlap;
		if (a->sure && !both)
			a->flags |= GACCESS_USE_MUST;
		return 0;
	}
	a->use = (uint32_t)g->uses.n;
	if (!vec_room(&g->uses, total))
		return -ENOMEM;
	bool done = cur == SIZE_MAX;
	for (size_t k = 0; k < n || !done;) {
		struct guse *u = &g->uses.v[g->uses.n++];
		if (!done && (k == n || cur <= r->found.v[k])) {
			*u = (struct guse){(uint32_t)cur + 1, a->via};
			k += k < n && cur == r->found.v[k];
			done = true;
		} else {
			*u = (struct guse){r->found.v[k++] + 1, TERM_via_overlap};
		}
	}
	return 0;
}

/* Has the execution of read a emptied the file after version v, and before it read? */
static bool destroyed_itself(const struct resolver *r, const struct gaccess *a, const struct rversion *v)
{
	size_t lo = 0, hi = r->emptied.n; /* those that start before a */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (acc_of(r, r->emptied.v[mid])->start <= a->start)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo-- > 0) {
		const struct gaccess *t = acc_of(r, r->emptied.v[lo]);
		if (t->start < v->end)
			return false;
		if (t->exec == a->exec && t != a && starts_before(r, t, a) &&
		    version_before(r, v, t->start, access_host(r->g, t)))
			return true;
	}
	return false;
}

/* Which versions each read may have seen (rules B2, B3), in g->uses where there are several. 0, -ENOMEM. */
static int find_uses(struct resolver *r)
{
	size_t nv = r->versions.n, started = 0;
	r->starts.n = r->active.n = 0;
	if (!vec_room(&r->starts, nv))
		return -ENOMEM;
	for (size_t i = 0; i < nv; i++)
		r->starts.v[i] = (uint32_t)i;
	r->starts.n = nv;
	for (size_t i = 1; i < nv; i++)
		if (r->versions.v[i - 1].start > r->versions.v[i].start) {
			qsort_r(r->starts.v, nv, sizeof *r->starts.v, compare_versions_by_start, r);
			break;
		}
	for (size_t k = 0; k < r->reads.n; k++) {
		struct gaccess *a = &r->g->accesses.v[r->reads.v[k]];
		size_t cur = SIZE_MAX;
		if (!(a->flags & GACCESS_WRITES) || !(a->flags & (GACCESS_CREATES | GACCESS_TRUNCS))) {
			uint32_t host = access_host(r->g, a);
			int64_t from = span_of(r, a).from;
			cur = versions_ended(r, nv, from);
			while (cur-- > 0 && (cur + 1 == a->gen || !version_before(r, &r->versions.v[cur], from, host)))
				;
			if (cur != SIZE_MAX && destroyed_itself(r, a, &r->versions.v[cur]))
				cur = SIZE_MAX;
		}
		int rc = find_overlapping(r, a, &started);
		if (rc == 0)
			rc = emit_uses(r, a, cur);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Files the accesses by what they did. *ret_exact: of some of them it is known when its bytes moved. 0, -ENOMEM. */
static int sort_out_accesses(struct resolver *r, bool *ret_exact)
{
	*ret_exact = false;
	for (size_t k = 0; k < r->nacc; k++) {
		const struct gaccess *a = acc_of(r, r->acc[k]);
		*ret_exact |= (a->flags & GACCESS_EXACT) != 0;
		uint32_t *w = NULL;
		if (a->flags & GACCESS_TIMES) {
			if (!(w = vec_add(&r->times)))
				return -ENOMEM;
			*w = r->acc[k];
		}
		if (resolve_is_holder(a)) {
			if (!(w = vec_add(&r->holders)))
				return -ENOMEM;
			*w = r->acc[k];
		}
		if (a->flags & GACCESS_READS) {
			if (!(w = vec_add(&r->reads)))
				return -ENOMEM;
			*w = r->acc[k];
		}
		if (a->flags & GACCESS_WRITES) {
			if (!(w = vec_add(&r->writes)))
				return -ENOMEM;
			*w = r->acc[k];
			if (a->flags & (GACCESS_CREATES | GACCESS_TRUNCS) && !(w = vec_add(&r->emptied)))
				return -ENOMEM;
			*w = r->acc[k];
		}
	}
	return 0;
}

int resolve_regular(struct resolver *r)
{
	r->writes.n = r->reads.n = r->emptied.n = r->unobserved.n = r->versions.n = r->times.n = 0;
	r->holders.n = r->holding.n = r->holders_seen = 0;
	r->spans_made = false;
	table_clear(&r->unobserved_table);
	bool exact;
	int rc = sort_out_accesses(r, &exact);
	if (rc < 0)
		return rc;
	sort_accesses(r, r->writes.v, r->writes.n, recorded_cmp);
	rc = resolve_unseen(r);
	if (exact) { /* from here on they took place when their bytes moved */
		sort_accesses(r, r->writes.v, r->writes.n, write_cmp);
		sort_accesses(r, r->reads.v, r->reads.n, read_cmp);
	}
	if (rc == 0)
		rc = make_versions(r);
	if (rc == 0)
		rc = emit_versions(r);
	if (rc == 0)
		rc = find_uses(r);
	return rc;
}
