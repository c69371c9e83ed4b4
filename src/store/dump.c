#include "store/dump.h"

#include "store/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct dump {
	struct store *s;
	struct canon *c;
	struct process_view p, q;
	struct pfile f;
	struct pver v;
	struct edges e;
	struct ios ios;
	struct ids named; /* files with names, by row */
	struct buf path;
	uint64_t file; /* whose versions are printed */
	uint64_t path_row;
};

/* Writes what identifies a file: domain:inode:generation, or absent:path for a file that was not there. */
static void dump_file_identity(struct dump *d, const struct pfile *f)
{
	if (f->domain) {
		const struct sdomain *dom = store_domain(d->s, f->domain);
		canon_file(d->c, dom ? str_n(dom->name, dom->name_n) : str_of(""), f->ino, f->gen);
	} else {
		struct buf path = {0};
		store_path(d->s, f->path, &path);
		canon_absent(d->c, buf_view(&path));
		buf_release(&path);
	}
}

/* Writes what identifies a version, as canon.c writes it: by the write that made it, or by its fingerprint. */
static void dump_version_identity(struct dump *d, const struct pfile *f, const struct pver *v)
{
	dump_file_identity(d, f);
	if (v->flags >> PVER_UNOBSERVED & 1) {
		const struct pfp *fp = v->fp && v->fp <= f->fps.n ? &f->fps.v[v->fp - 1] : NULL;
		canon_unobserved(d->c, fp != NULL, fp ? fp->size : 0, fp ? fp->mtime : TIME_NONE, v->k);
	} else {
		canon_version(d->c, pver_session(d->s, v), v->seq);
	}
}

/* One that is missing stands as a word of its own: it must not be passed over. 0 or -errno. */
static int put_version_id(struct dump *d, uint64_t id)
{
	struct pfile f = {0};
	struct pver v = {0};
	int rc = read_version(d->s, id, &v, &f);
	if (rc == 1)
		dump_version_identity(d, &f, &v);
	else
		canon_token(d->c, "missing-version");
	pfile_release(&f);
	pver_release(&v);
	return rc < 0 ? rc : 0;
}

/* Writes what identifies an execution. n: which execution of the process. */
static void put_view(struct dump *d, const struct process_view *p, uint32_t n)
{
	uint64_t pidns = read_pidns(d->s, &p->p);
	canon_exec(d->c, store_interned(d->s, p->p.boot), pidns, p->p.pid, p->p.started, n);
}

/* Writes what identifies an execution, as put_version_id. A missing one is told as such. 0, -errno. */
static int dump_execution_id(struct dump *d, uint64_t id)
{
	int rc = d->q.id == exec_process(id) ? 1 : read_process(d->s, exec_process(id), &d->q);
	if (rc == 1)
		put_view(d, &d->q, exec_n(id));
	else
		canon_token(d->c, "missing-execution");
	return rc < 0 ? rc : 0;
}

/* With a blank before. */
static void dump_number(struct dump *d, uint64_t n)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, n);
	canon_token(d->c, text);
}

/* Ends the line. times: of the edge; generation: until when it was written, too, where that differs. */
static void dump_edge_attributes(struct dump *d, const struct edge *e, bool times, bool generation)
{
	canon_token(d->c, e->sure ? "must" : "may");
	canon_token(d->c, term_name(SET_via, e->via));
	if (times) {
		canon_time(d->c, e->lo);
		canon_time(d->c, e->hi);
	}
	if (generation && e->over != e->hi)
		canon_time(d->c, e->over);
	canon_part(d->c, e->part);
	canon_end(d->c);
}

/* A read_versions callback. 0, -errno. */
static int put_one_version(void *arg, uint32_t n, const struct pver *v)
{
	static const char *const origins[] = {"observed", "unobserved", "external", "?"};
	struct dump *d = arg;
	const uint32_t print = pver_print(v);
	const struct pfp *fp = print && print <= d->f.fps.n ? &d->f.fps.v[print - 1] : NULL;
	int rc = 0;
	canon_begin(d->c);
	canon_token(d->c, "V");
	dump_version_identity(d, &d->f, v);
	canon_token(d->c, origins[pver_origin(v)]);
	if (fp)
		dump_number(d, fp->size);
	else
		canon_token(d->c, "-");
	canon_time(d->c, fp ? fp->mtime : TIME_NONE);
	canon_time(d->c, v->start);
	canon_time(d->c, v->end);
	dump_number(d, n);
	canon_end(d->c);
	uint64_t id = version_id(d->file, n);
	rc = store_gens(d->s, id, &d->e);
	for (size_t i = 0; rc == 0 && i < d->e.n; i++) {
		canon_begin(d->c);
		canon_token(d->c, "G");
		dump_version_identity(d, &d->f, v);
		rc = dump_execution_id(d, d->e.v[i].to);
		dump_edge_attributes(d, &d->e.v[i], true, true);
	}
	if (rc == 0)
		rc = store_derived(d->s, id, &d->e);
	for (size_t i = 0; rc == 0 && i < d->e.n; i++) {
		canon_begin(d->c);
		canon_token(d->c, "D");
		dump_version_identity(d, &d->f, v);
		rc = put_version_id(d, d->e.v[i].to);
		dump_edge_attributes(d, &d->e.v[i], false, false);
	}
	return rc;
}

/* Writes a name that the path had. arg: the dump. Files that are named so are collected, for put_names. */
static int dump_name(void *arg, const struct pname *n)
{
	struct dump *d = arg;
	struct pfile f = {0};
	canon_begin(d->c);
	canon_token(d->c, "N");
	canon_token(d->c, "");
	canon_str(d->c, store_interned(d->s, n->host));
	canon_token(d->c, "");
	buf_reset(&d->path);
	store_path(d->s, d->path_row, &d->path);
	canon_str(d->c, buf_view(&d->path));
	int rc = read_stored_file(d->s, n->file, &f);
	if (rc == 1)
		dump_file_identity(d, &f);
	else
		canon_token(d->c, "missing-file");
	canon_time(d->c, n->from);
	canon_time(d->c, n->to);
	canon_end(d->c);
	if (rc >= 0)
		rc = ids_add(&d->named, n->file);
	pfile_release(&f);
	return rc;
}

/* A line for each name; afterwards d->named has the files that have one. 0 or -errno. */
static int put_names(struct dump *d)
{
	uint64_t last = 0;
	int rc = store_max(d->s, SQL_max_path, &last, NULL);
	for (d->path_row = 1; rc >= 0 && d->path_row <= last; d->path_row++)
		rc = read_names(d->s, d->path_row, dump_name, d, NULL);
	ids_sort(&d->named);
	return rc < 0 ? rc : 0;
}

/* Files that have a version, an edge or a name. Asks for put_names before. 0 or -errno. */
static int dump_all_files(struct dump *d)
{
	uint64_t last = 0;
	int rc = store_max(d->s, SQL_file_last, &last, NULL);
	size_t at = 0;
	for (uint64_t id = 1; rc >= 0 && id <= last; id++) {
		rc = read_stored_file(d->s, id, &d->f);
		if (rc <= 0)
			continue;
		while (at < d->named.n && d->named.v[at] < id)
			at++;
		if ((d->f.flags & PFILE_KEPT) || (at < d->named.n && d->named.v[at] == id)) {
			canon_begin(d->c);
			canon_token(d->c, "F");
			dump_file_identity(d, &d->f);
			canon_token(d->c, term_name(SET_kind, d->f.kind));
			canon_end(d->c);
		}
		d->file = id;
		rc = read_versions(d->s, id, &d->v, put_one_version, d);
	}
	return rc < 0 ? rc : 0;
}

/* A line for the execution, and those for what it used, for its io and for who informed it. last: the exit of the
 * process is its own. 0 or -errno. */
static int put_execution(struct dump *d, const struct view_exec *e, bool last)
{
	uint64_t id = exec_id(d->p.id, e->n);
	canon_begin(d->c);
	canon_token(d->c, "X");
	put_view(d, &d->p, e->n);
	dump_number(d, e->n);
	canon_time(d->c, e->start);
	canon_time(d->c, e->end);
	const struct pproc_exit *x = last && d->p.exited ? &d->p.exit : NULL;
	if (!x) {
		canon_token(d->c, "-");
	} else if (x->ending == TERM_ending_exited || x->ending == TERM_ending_signaled) {
		canon_token(d->c, x->ending == TERM_ending_exited ? "e" : "s");
		buf_printf(&d->c->bytes, "%" PRIu64, x->code);
	} else {
		canon_token(d->c, "u");
	}
	canon_end(d->c);
	uint32_t n = e->n;
	int rc = store_uses(d->s, id, &d->e);
	for (size_t i = 0; rc == 0 && i < d->e.n; i++) {
		canon_begin(d->c);
		canon_token(d->c, "U");
		put_view(d, &d->p, n);
		rc = put_version_id(d, d->e.v[i].to);
		dump_edge_attributes(d, &d->e.v[i], true, false);
	}
	if (rc == 0)
		rc = store_io(d->s, id, &d->ios);
	for (size_t i = 0; rc == 0 && i < d->ios.n; i++) {
		const struct io_info *io = &d->ios.v[i];
		uint64_t figures[GIO_FIGURES] = {io->calls, io->failed, io->bytes, io->largest, io->spent};
		memcpy(figures + 5, io->size, sizeof(io->size));
		canon_io(d->c, io->session, io->seq, io->api, io->write, io->first, io->last, figures);
	}
	if (rc == 0)
		rc = store_informed(d->s, id, &d->e);
	for (size_t i = 0; rc == 0 && i < d->e.n; i++) {
		canon_begin(d->c);
		canon_token(d->c, "I");
		put_view(d, &d->p, n);
		rc = dump_execution_id(d, d->e.v[i].to);
		dump_edge_attributes(d, &d->e.v[i], true, false);
	}
	return rc;
}

/* 0, -errno. Dumps all processes of the store. */
static int put_processes(struct dump *d)
{
	uint64_t last = 0;
	int rc = store_max(d->s, SQL_process_last, &last, NULL);
	for (uint64_t id = 1; rc >= 0 && id <= last; id++) {
		rc = read_process(d->s, id, &d->p);
		for (size_t i = 0; rc == 1 && i < d->p.execs.n; i++) {
			rc = put_execution(d, &d->p.execs.v[i], i + 1 == d->p.execs.n);
			rc = rc < 0 ? rc : 1;
		}
	}
	return rc < 0 ? rc : 0;
}

int store_canon(struct store *s, struct canon *c)
{
	struct dump d = {.s = s, .c = c, .e = {.parts = true}};
	int rc = put_names(&d);
	if (rc == 0)
		rc = dump_all_files(&d);
	if (rc == 0)
		rc = put_processes(&d);
	process_view_release(&d.p);
	process_view_release(&d.q);
	pfile_release(&d.f);
	pver_release(&d.v);
	edges_release(&d.e);
	ios_release(&d.ios);
	free(d.named.v);
	buf_release(&d.path);
	return rc;
}
