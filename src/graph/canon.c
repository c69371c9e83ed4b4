#include "graph/canon.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

/* Begins a line. Without memory c->failed is set. */
void canon_begin(struct canon *c)
{
	size_t *at = vec_add(&c->lines);
	if (at)
		*at = c->bytes.n;
	else
		c->failed = true;
}

/* Lines end with a NUL. */
void canon_end(struct canon *c)
{
	buf_char(&c->bytes, '\0');
}

/* Between two words of a line; nothing at its beginning. */
static void append_blank(struct canon *c)
{
	if (c->bytes.n && c->bytes.p[c->bytes.n - 1] != '\0')
		buf_char(&c->bytes, ' ');
}

/* With a blank before, as it is: it must need no escapes. */
void canon_token(struct canon *c, const char *s)
{
	append_blank(c);
	buf_str(&c->bytes, str_of(s));
}

/* Without a blank before; bytes that are not printable as \xNN. */
void canon_str(struct canon *c, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char b = (unsigned char)s.p[i];
		if (b < 0x21 || b > 0x7e || b == '\\')
			buf_printf(&c->bytes, "\\x%02x", b);
		else
			buf_char(&c->bytes, (char)b);
	}
}

/* With a blank before; "-" for TIME_NONE and TIME_NEVER. */
void canon_time(struct canon *c, int64_t t)
{
	append_blank(c);
	if (t == TIME_NONE || t == TIME_NEVER)
		buf_char(&c->bytes, '-');
	else
		buf_printf(&c->bytes, "%" PRId64, t);
}

/* With a blank before: the domain, inode and generation. */
void canon_file(struct canon *c, struct str domain, uint64_t ino, uint64_t gen)
{
	append_blank(c);
	canon_str(c, domain);
	buf_printf(&c->bytes, ":%" PRIu64 ":%" PRIu64, ino, gen);
}

void canon_absent(struct canon *c, struct str path)
{
	canon_token(c, "absent:");
	canon_str(c, path);
}

void canon_version(struct canon *c, uint64_t session, uint64_t seq)
{
	buf_printf(&c->bytes, "@%016" PRIx64 ".%" PRIu64, session, seq);
}

/* Of content of which only the size is known, if that; k: which of several. */
void canon_unobserved(struct canon *c, bool has_size, uint64_t size, int64_t mtime, uint64_t k)
{
	if (!has_size) {
		buf_printf(&c->bytes, "@#none.%" PRIu64, k);
	} else {
		buf_printf(&c->bytes, "@#%" PRIu64 ".", size);
		if (mtime == TIME_NONE || mtime == TIME_NEVER)
			buf_char(&c->bytes, '-');
		else
			buf_printf(&c->bytes, "%" PRId64, mtime);
		buf_printf(&c->bytes, ".%" PRIu64, k);
	}
}

/* n: which execution of the process. */
void canon_exec(struct canon *c, struct str boot, uint64_t pidns, uint64_t pid, int64_t started, uint64_t n)
{
	append_blank(c);
	canon_str(c, boot);
	buf_printf(&c->bytes, "/%" PRIu64 "/%" PRIu64 "/", pidns, pid);
	if (started == TIME_NONE || started == TIME_NEVER)
		buf_char(&c->bytes, '-');
	else
		buf_printf(&c->bytes, "%" PRId64, started);
	buf_printf(&c->bytes, "/%" PRIu64, n);
}

/* figures: GIO_FIGURES numbers. */
void canon_io(struct canon *c, uint64_t session, uint64_t seq, unsigned api, bool write, int64_t first, int64_t last,
              const uint64_t *figures)
{
	canon_begin(c);
	canon_token(c, "M");
	buf_printf(&c->bytes, " %016" PRIx64 ".%" PRIu64 " %u %s", session, seq, api, write ? "write" : "read");
	canon_time(c, first);
	canon_time(c, last);
	for (unsigned i = 0; i < GIO_FIGURES; i++)
		buf_printf(&c->bytes, " %" PRIu64, figures[i]);
	canon_end(c);
}

/* The lines' bytes, ascending; a and b are where they begin in arg. */
static int compare_canon_lines(const void *pa, const void *pb, void *arg)
{
	const char *p = arg;
	return strcmp(p + *(const size_t *)pa, p + *(const size_t *)pb);
}

int canon_finish(struct canon *c, struct buf *out)
{
	if (c->failed || c->bytes.failed)
		return -ENOMEM;
	if (c->lines.n)
		qsort_r(c->lines.v, c->lines.n, sizeof *c->lines.v, compare_canon_lines, c->bytes.p);
	for (size_t i = 0; i < c->lines.n; i++) {
		const char *line = c->bytes.p + c->lines.v[i];
		if (i && !strcmp(line, c->bytes.p + c->lines.v[i - 1]))
			continue;
		buf_str(out, str_of(line));
		buf_char(out, '\n');
	}
	return out->failed ? -ENOMEM : 0;
}

/* c is empty then. */
void canon_release(struct canon *c)
{
	buf_release(&c->bytes);
	vec_release(&c->lines);
	*c = (struct canon){0};
}

/* ---- the graph in memory ---- */

/* The path's text, in scratch: valid until that is written again. */
static struct str load_graph_path(const struct graph *g, uint32_t path, struct buf *scratch)
{
	buf_reset(scratch);
	paths_get(&g->paths, &g->words, path, scratch);
	return buf_view(scratch);
}

/* A file by what is the same in all indexes: domain, inode and generation; an absent one by its path. */
static void append_canon_file(struct canon *c, const struct graph *g, uint32_t file)
{
	const struct gfile *f = &g->files.v[file];
	struct buf path = {0};
	if (f->domain == VEC_NONE)
		canon_absent(c, load_graph_path(g, f->path, &path));
	else
		canon_file(c, intern_get(&g->words, g->domains.v[f->domain].name), f->ino, f->gen);
	buf_release(&path);
}

/* Appends a version of a file to a canonical text. n: from 1. One that was observed by the session and seq of its
 * first write, another by its fingerprint. */
static void append_canon_version(struct canon *c, const struct graph *g, uint32_t file, uint32_t n)
{
	const struct gversion *v = &g->versions.v[g->files.v[file].first_version + n - 1];
	append_canon_file(c, g, file);
	if (v->unobserved)
		canon_unobserved(c, v->has_size, v->size, v->found, v->k);
	else
		canon_version(c, v->session, v->seq);
}

/* An execution by its process (boot, pid namespace, pid, start) and its number in it. */
static void append_canon_exec(struct canon *c, const struct graph *g, uint32_t exec)
{
	const struct gproc *p = &g->procs.v[g->execs.v[exec].proc];
	canon_exec(c, intern_get(&g->words, p->boot), p->pidns, p->pid, p->started, g->execs.v[exec].n);
}

void canon_part(struct canon *c, uint64_t part)
{
	if (part)
		buf_printf(&c->bytes, " part:%" PRIu64, part);
}

/* Appends an edge of the graph to a canonical text. over: as in struct ggen, else hi. */
static void append_canon_edge(struct canon *c, bool must, unsigned via, int64_t lo, int64_t hi, int64_t over,
                              uint32_t part)
{
	canon_token(c, must ? "must" : "may");
	canon_token(c, term_name(SET_via, via));
	canon_time(c, lo);
	canon_time(c, hi);
	if (over != hi)
		canon_time(c, over);
	canon_part(c, part);
	canon_end(c);
}

/* Appends a number to a canonical text. */
static void append_canon_number(struct canon *c, uint64_t n)
{
	char s[24];
	snprintf(s, sizeof s, "%" PRIu64, n);
	canon_token(c, s);
}

/* A line for each execution. Without memory c->failed, as in all the rest of this file. */
static void put_execs(struct canon *c, const struct graph *g)
{
	for (size_t i = 0; i < g->execs.n; i++) {
		const struct gexec *x = &g->execs.v[i];
		const struct gproc *p = &g->procs.v[x->proc];
		canon_begin(c);
		canon_token(c, "X");
		append_canon_exec(c, g, (uint32_t)i);
		append_canon_number(c, x->n);
		canon_time(c, x->start);
		canon_time(c, x->end);
		const struct gexit *e = x->next == VEC_NONE && p->exit != VEC_NONE ? &g->exits.v[p->exit] : NULL;
		if (!e) {
			canon_token(c, "-");
		} else if (e->ending == TERM_ending_exited || e->ending == TERM_ending_signaled) {
			canon_token(c, e->ending == TERM_ending_exited ? "e" : "s");
			buf_printf(&c->bytes, "%" PRIu64, e->code);
		} else {
			canon_token(c, "u");
		}
		canon_end(c);
	}
}

static const char *const origins[] = {"observed", "unobserved", "external"};

/* A line for each version, and one for each of its writers and of the versions it comes from. */
static void append_canon_versions(struct canon *c, const struct graph *g)
{
	for (size_t i = 0; i < g->versions.n; i++) {
		const struct gversion *v = &g->versions.v[i];
		canon_begin(c);
		canon_token(c, "V");
		append_canon_version(c, g, v->file, v->n);
		canon_token(c, origins[v->origin]);
		if (v->has_size)
			append_canon_number(c, v->size);
		else
			canon_token(c, "-");
		canon_time(c, v->has_size ? v->mtime : TIME_NONE);
		canon_time(c, v->start);
		canon_time(c, v->end);
		append_canon_number(c, v->n);
		canon_end(c);
		for (uint32_t k = 0; k < v->ngen; k++) {
			const struct ggen *e = &g->gens.v[v->first_gen + k];
			canon_begin(c);
			canon_token(c, "G");
			append_canon_version(c, g, v->file, v->n);
			append_canon_exec(c, g, e->exec);
			append_canon_edge(c, e->must, e->via, e->lo, e->hi, e->over, e->part);
		}
		for (uint32_t k = 0; k < v->nder; k++) {
			const struct gder *d = &g->ders.v[v->first_der + k];
			canon_begin(c);
			canon_token(c, "D");
			append_canon_version(c, g, v->file, v->n);
			append_canon_version(c, g, d->file, d->n);
			canon_token(c, d->must ? "must" : "may");
			canon_token(c, term_name(SET_via, d->via));
			canon_end(c);
		}
	}
}

struct used {
	uint32_t file, n, part;
	bool must;
	uint8_t via;
	int64_t lo, hi;
};

/* Compares two uses by file, version, and which process of the execution it was. */
static int used_cmp(const void *pa, const void *pb)
{
	const struct used *a = pa, *b = pb;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	return (a->part > b->part) - (a->part < b->part);
}

/* A line for each version that an execution used, however many of its accesses did. */
static void put_uses(struct canon *c, const struct graph *g)
{
	VEC(struct used) u = {0};
	for (size_t x = 0; x < g->execs.n; x++) {
		u.n = 0;
		for (uint32_t k = 0; k < g->execs.v[x].naccess; k++) {
			const struct gaccess *a = &g->accesses.v[g->by_exec[g->execs.v[x].first_access + k]];
			for (uint32_t i = 0; i < a->nuse; i++) {
				const struct guse *many = a->nuse > 1 ? &g->uses.v[a->use + i] : NULL;
				struct gspan span = gaccess_span(g, a);
				struct used *slot = vec_add(&u);
				if (!slot) {
					c->failed = true;
					goto out;
				}
				*slot = (struct used){a->file,
				                      many ? many->version : a->use,
				                      a->part,
				                      a->nuse == 1 && (a->flags & GACCESS_USE_MUST),
				                      many ? many->via : a->use_via,
				                      span.from,
				                      span.to};
			}
		}
		if (u.n > 1)
			qsort(u.v, u.n, sizeof *u.v, used_cmp);
		for (size_t i = 0, k; i < u.n; i = k) {
			struct used e = u.v[i];
			for (k = i + 1; k < u.n && !used_cmp(&u.v[i], &u.v[k]); k++) {
				e.must |= u.v[k].must;
				e.via = u.v[k].via < e.via ? u.v[k].via : e.via;
				e.lo = u.v[k].lo < e.lo ? u.v[k].lo : e.lo;
				e.hi = u.v[k].hi > e.hi ? u.v[k].hi : e.hi;
			}
			canon_begin(c);
			canon_token(c, "U");
			append_canon_exec(c, g, (uint32_t)x);
			append_canon_version(c, g, e.file, e.n);
			append_canon_edge(c, e.must, e.via, e.lo, e.hi, e.hi, e.part);
		}
	}
out:
	vec_release(&u);
}

struct informed {
	uint32_t to, from;
	bool must;
	uint8_t via;
	int64_t lo, hi;
};

/* Compares two communications by the informed execution, the informing one, and by what. */
static int informed_cmp(const void *pa, const void *pb)
{
	const struct informed *a = pa, *b = pb;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->via > b->via) - (a->via < b->via);
}

/* A line for each pair of executions of which one informed the other by fork, memory or a link. */
static void put_informed(struct canon *c, const struct graph *g)
{
	VEC(struct informed) v = {0};
	if (!vec_room(&v, g->pfacts.n + g->execs.n + 2 * g->links.n + 1)) {
		c->failed = true;
		return;
	}
	for (size_t i = 0; i < g->pfacts.n; i++) {
		const struct gpfact *p = &g->pfacts.v[i];
		if (p->parent != VEC_NONE)
			v.v[v.n++] = (struct informed){g->procs.v[p->proc].first_exec,
			                               graph_exec_at(g, p->parent, p->key.time),
			                               true,
			                               TERM_via_fork,
			                               p->forked != TIME_NONE ? p->forked : p->key.time,
			                               p->key.time};
	}
	for (size_t i = 0; i < g->execs.n; i++) {
		uint32_t next = g->execs.v[i].next;
		if (next != VEC_NONE)
			v.v[v.n++] = (struct informed){
			    next, (uint32_t)i, false, TERM_via_fork, g->execs.v[next].start, g->execs.v[next].start};
	}
	for (size_t i = 0; i < g->links.n; i++) {
		const struct glink *l = &g->links.v[i];
		int64_t a = g->execs.v[l->from].end, b = g->execs.v[l->to].end, hi = a < b ? a : b;
		if (hi < l->key.time)
			hi = l->key.time;
		v.v[v.n++] = (struct informed){l->from, l->to, l->sure, l->via, l->key.time, hi};
		v.v[v.n++] = (struct informed){l->to, l->from, l->sure, l->via, l->key.time, hi};
	}
	if (v.n)
		qsort(v.v, v.n, sizeof *v.v, informed_cmp);
	for (size_t i = 0, k; i < v.n; i = k) {
		struct informed e = v.v[i];
		for (k = i + 1; k < v.n && !informed_cmp(&v.v[i], &v.v[k]); k++) {
			e.must |= v.v[k].must;
			e.lo = v.v[k].lo < e.lo ? v.v[k].lo : e.lo;
			e.hi = v.v[k].hi > e.hi ? v.v[k].hi : e.hi;
		}
		if (e.to == e.from)
			continue;
		canon_begin(c);
		canon_token(c, "I");
		append_canon_exec(c, g, e.to);
		append_canon_exec(c, g, e.from);
		append_canon_edge(c, e.must, e.via, e.lo, e.hi, e.hi, 0);
	}
	vec_release(&v);
}

/* Compares two rows of bytes moved by access, kind of call and direction; equal ones as they came, so that the last
 * can be taken. */
static int compare_io_by_access(const void *pa, const void *pb)
{
	const struct gio *a = *(const struct gio *const *)pa, *b = *(const struct gio *const *)pb;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->api != b->api)
		return a->api < b->api ? -1 : 1;
	if (a->write != b->write)
		return a->write - b->write;
	return (a > b) - (a < b); /* as they came */
}

/* The last io event of each access, kind of call and direction; twins of an access are left out. */
static void put_ios(struct canon *c, const struct graph *g)
{
	VEC(const struct gio *) v = {0};
	if (!vec_room(&v, g->ios.n)) {
		c->failed = true;
		return;
	}
	for (size_t i = 0; i < g->ios.n; i++)
		if (!(g->accesses.v[g->ios.v[i].at].flags & GACCESS_TWIN))
			v.v[v.n++] = &g->ios.v[i];
	if (v.n)
		qsort(v.v, v.n, sizeof *v.v, compare_io_by_access);
	for (size_t i = 0; i < v.n; i++) {
		const struct gio *io = v.v[i], *next = i + 1 < v.n ? v.v[i + 1] : NULL;
		if (!next || next->at != io->at || next->api != io->api || next->write != io->write)
			canon_io(c, g->sessions.v[io->session].number, io->access, io->api, io->write, io->first, io->last,
			         io->figure);
	}
	vec_release(&v);
}

void canon_graph(struct canon *c, const struct graph *g)
{
	struct buf path = {0};
	bool *named = calloc(g->files.n + 1, sizeof *named);
	if (!named) {
		c->failed = true;
		return;
	}
	for (size_t i = 0; i < g->names.n; i++) {
		const struct gname *n = &g->names.v[i];
		named[n->file] = true;
		canon_begin(c);
		canon_token(c, "N");
		canon_token(c, "");
		canon_str(c, intern_get(&g->words, n->host));
		canon_token(c, "");
		canon_str(c, load_graph_path(g, n->path, &path));
		append_canon_file(c, g, n->file);
		canon_time(c, n->from);
		canon_time(c, n->to);
		canon_end(c);
	}
	for (size_t i = 0; i < g->files.n; i++) {
		if (!named[i] && !g->files.v[i].kept)
			continue;
		canon_begin(c);
		canon_token(c, "F");
		append_canon_file(c, g, (uint32_t)i);
		canon_token(c, term_name(SET_kind, g->files.v[i].kind));
		canon_end(c);
	}
	free(named);
	buf_release(&path);
	put_execs(c, g);
	append_canon_versions(c, g);
	put_uses(c, g);
	put_informed(c, g);
	put_ios(c, g);
}
