/* provio.c - the record in the vocabulary of PROV-IO (Han et al., HPDC 2022, Table 2), as Turtle: data objects, the I/O
 * that was done with them, and on whose behalf. doc/provio.ttl is the ontology.
 *
 * A data object is a file or an object of an HDF5 file; what was done with it by one kind of call of one execution is
 * one activity, with how often and how long where that was counted. What PROV-IO does not have stands beside it in
 * PROV's own terms: versions (specializationOf the object), what generated and used them, derivations.
 *
 * Memory: 8 bytes an execution and a file. Cost: the store's own calls, about 2 us a relation. */
#include "export/export.h"
#include "graph/graph.h"
#include "graph/vec.h"
#include "query/idmap.h"
#include "query/system.h"

#include <errno.h>
#include <stdio.h>

#define PROVIO "urn:stemma:provio#"

enum act { ACT_CREATE, ACT_OPEN, ACT_READ, ACT_WRITE, ACT_FSYNC, ACT_RENAME };
static const struct {
	const char *class, *relation;
} acts[] = {
    [ACT_CREATE] = {"Create", "wasCreatedBy"}, [ACT_OPEN] = {"Open", "wasOpenedBy"},
    [ACT_READ] = {"Read", "wasReadBy"},        [ACT_WRITE] = {"Write", "wasWrittenBy"},
    [ACT_FSYNC] = {"Fsync", "wasFlushedBy"},   [ACT_RENAME] = {"Rename", "wasModifiedBy"},
};

static const char *const classes[] = {
    [TERM_kind_regular] = "File",      [TERM_kind_directory] = "Directory", [TERM_kind_symlink] = "Link",
    [TERM_kind_group] = "Group",       [TERM_kind_dataset] = "Dataset",     [TERM_kind_attribute] = "Attribute",
    [TERM_kind_datatype] = "Datatype", [TERM_kind_softlink] = "Link",
};

struct writer {
	struct prov_source *p;
	struct store *s;
	struct out *out;
	VEC(store_id) execs;
	struct idmap files; /* that were told */
	struct ios ios;
	struct edges edges;
};

/* ---- triples ---- */

static void subject(struct writer *w, const char *id, const char *class)
{
	out_text(w->out, "\n:");
	out_text(w->out, id);
	out_text(w->out, " a ");
	out_text(w->out, class);
}

static void name(struct writer *w, const char *predicate, const char *prefix, const char *object)
{
	out_text(w->out, " ;\n  ");
	out_text(w->out, predicate);
	out_char(w->out, ' ');
	out_text(w->out, prefix);
	out_text(w->out, object);
}

static void text(struct writer *w, const char *predicate, struct str s)
{
	out_text(w->out, " ;\n  ");
	out_text(w->out, predicate);
	out_text(w->out, " \"");
	out_escaped(w->out, s, NULL);
	out_char(w->out, '"');
}

static void number(struct writer *w, const char *predicate, uint64_t n)
{
	out_text(w->out, " ;\n  ");
	out_text(w->out, predicate);
	out_char(w->out, ' ');
	out_count(w->out, n);
}

/* Seconds, as xsd:decimal. */
static void seconds(struct writer *w, const char *predicate, uint64_t ns)
{
	char v[40];
	snprintf(v, sizeof(v), "%llu.%09llu", (unsigned long long)(ns / 1000000000), (unsigned long long)(ns % 1000000000));
	out_text(w->out, " ;\n  ");
	out_text(w->out, predicate);
	out_char(w->out, ' ');
	out_text(w->out, v);
}

static void moment(struct writer *w, const char *predicate, int64_t t)
{
	if (t == TIME_NONE || t == TIME_NEVER)
		return;
	out_text(w->out, " ;\n  ");
	out_text(w->out, predicate);
	out_text(w->out, " \"");
	out_time(w->out, t);
	out_text(w->out, "\"^^xsd:dateTime");
}

static void end(struct writer *w)
{
	out_text(w->out, " .\n");
}

static void one(struct writer *w, const char *s, const char *predicate, const char *object)
{
	out_text(w->out, ":");
	out_text(w->out, s);
	out_char(w->out, ' ');
	out_text(w->out, predicate);
	out_text(w->out, " :");
	out_text(w->out, object);
	out_text(w->out, " .\n");
}

/* ---- things ---- */

/* 1: it is exported, and has been told; 0: not. */
static int object(struct writer *w, store_id file, struct pubid *ret)
{
	struct file_info f;
	int r = store_file(w->s, file, &f);
	if (r <= 0)
		return r;
	const char *class = f.kind < sizeof(classes) / sizeof(classes[0]) ? classes[f.kind] : NULL;
	bool all = prov_selection(w->p)->lineage.all;
	if (!class || (!all && f.kind == TERM_kind_regular &&
	               system_path(f.path, prov_selection(w->p)->lineage.system_extra) != SYSTEM_NO))
		return 0;
	*ret = f.pub;
	bool is_new;
	if (!idmap_add(&w->files, file, 1, &is_new))
		return -ENOMEM;
	if (!is_new)
		return 1;
	char with[32];
	snprintf(with, sizeof(with), "provio:%s", class);
	subject(w, f.pub.text, with);
	name(w, "a", "", "prov:Entity");
	text(w, "rdfs:label", f.path);
	end(w);
	if (f.within) {
		struct file_info outer;
		r = store_file(w->s, f.within, &outer);
		if (r > 0) {
			struct pubid pub = *ret, within = outer.pub;
			struct pubid told;
			r = object(w, f.within, &told);
			if (r >= 0)
				one(w, within.text, "prov:hadMember", pub.text);
		}
	}
	return r < 0 ? r : 1;
}

static int version(struct writer *w, store_id id, const struct pubid *of, struct pubid *ret)
{
	struct version_info v;
	int r = store_version(w->s, id, &v);
	if (r <= 0)
		return r;
	*ret = v.pub;
	subject(w, v.pub.text, "prov:Entity");
	name(w, "prov:specializationOf", ":", of->text);
	number(w, "provio:version", v.n);
	end(w);
	return 1;
}

static const char *call_name(const struct file_info *f, unsigned api, bool write)
{
	unsigned kind = (unsigned)f->kind;
	bool is_file = kind == TERM_kind_group && str_ends(f->path, str_of("//")); /* the root group is the file's */
	static const char *const made[] = {"H5Gcreate", "H5Dcreate", "H5Acreate", "H5Tcommit"};
	static const char *const opened[] = {"H5Gopen", "H5Dopen", "H5Aopen", "H5Topen"};
	static const char *const flushed[] = {"H5Gflush", "H5Dflush", "H5Aflush", "H5Tflush"};
	unsigned k = kind >= TERM_kind_group && kind <= TERM_kind_datatype ? kind - TERM_kind_group : 0;
	switch (api) {
	case TERM_ioapi_data:
		return write ? "H5Dwrite" : "H5Dread";
	case TERM_ioapi_attr:
		return write ? "H5Awrite" : "H5Aread";
	case TERM_ioapi_create:
		return is_file ? "H5Fcreate" : made[k];
	case TERM_ioapi_h5open:
		return is_file ? "H5Fopen" : opened[k];
	case TERM_ioapi_flush:
		return is_file ? "H5Fflush" : flushed[k];
	case TERM_ioapi_rename:
		return "H5Lmove";
	default:
		return write ? "write" : "read";
	}
}

static enum act act_of(unsigned api, bool write)
{
	return api == TERM_ioapi_create   ? ACT_CREATE
	       : api == TERM_ioapi_h5open ? ACT_OPEN
	       : api == TERM_ioapi_flush  ? ACT_FSYNC
	       : api == TERM_ioapi_rename ? ACT_RENAME
	       : write                    ? ACT_WRITE
	                                  : ACT_READ;
}

/* An activity: one kind of call on one object. its version: what it made or used, "" none. */
static void activity(struct writer *w, const char *id, enum act act, const char *label, const char *program,
                     const char *its)
{
	char class[32];
	snprintf(class, sizeof(class), "provio:%s", acts[act].class);
	subject(w, id, class);
	name(w, "a", "", "prov:Activity");
	name(w, "prov:wasMemberOf", "", "prov:Activity");
	text(w, "rdfs:label", str_of(label));
	name(w, "prov:wasAssociatedWith", ":", program);
	if (*its && act == ACT_READ)
		name(w, "prov:used", ":", its);
}

static void relate(struct writer *w, const char *id, enum act act, const char *program, const char *of, const char *its)
{
	char relation[40];
	snprintf(relation, sizeof(relation), "provio:%s", acts[act].relation);
	one(w, of, relation, id);
	one(w, of, "prov:wasAttributedTo", program);
	if (*its && (act == ACT_WRITE || act == ACT_CREATE))
		one(w, its, "prov:wasGeneratedBy", id);
}

/* ---- an execution ---- */

static int counted(struct writer *w, const char *program, struct idmap *versions)
{
	int r = 0;
	bool is_new;
	for (size_t i = 0; r >= 0 && i < w->ios.n; i++) {
		const struct io_info *io = &w->ios.v[i];
		struct pubid of, its = {""};
		struct file_info f;
		char id[80];
		store_id v = io->write ? io->generated : io->used;
		r = object(w, io->target, &of);
		if (r > 0)
			r = store_file(w->s, io->target, &f);
		if (r > 0 && v && (r = version(w, v, &of, &its)) >= 0)
			r = idmap_add(versions, v << 1 | io->write, 1, &is_new) ? 1 : -ENOMEM;
		if (r <= 0)
			continue;
		enum act act = act_of(io->api, io->write);
		snprintf(id, sizeof(id), "io%016llx.%llu.%u%s", (unsigned long long)io->session, (unsigned long long)io->seq,
		         io->api, io->write ? "w" : "r");
		activity(w, id, act, call_name(&f, io->api, io->write), program, its.text);
		number(w, "provio:count", io->calls);
		if (io->failed)
			number(w, "provio:failed", io->failed);
		if (io->bytes)
			number(w, "provio:bytes", io->bytes);
		seconds(w, "provio:elapsed", io->spent);
		moment(w, "prov:startedAtTime", io->first);
		moment(w, "prov:endedAtTime", io->last);
		end(w);
		relate(w, id, act, program, of.text, its.text);
	}
	return r < 0 ? r : 0;
}

/* What was used or made without that its calls were counted. */
static int uncounted(struct writer *w, store_id exec, const char *program, bool made, const struct idmap *versions)
{
	int r = made ? store_outputs(w->s, exec, &w->edges) : store_uses(w->s, exec, &w->edges);
	for (size_t i = 0; r >= 0 && i < w->edges.n; i++) {
		const struct edge *e = &w->edges.v[i];
		struct version_info v;
		struct pubid of, its;
		char id[80];
		if (e->via == TERM_via_sync || (!e->sure && prov_selection(w->p)->lineage.certain) ||
		    idmap_find(versions, e->to << 1 | made))
			continue;
		r = store_version(w->s, e->to, &v);
		if (r > 0)
			r = object(w, v.file, &of);
		if (r > 0)
			r = version(w, e->to, &of, &its);
		if (r <= 0)
			continue;
		snprintf(id, sizeof(id), "%s%s.%s", made ? "w" : "r", program, its.text);
		activity(w, id, made ? ACT_WRITE : ACT_READ, made ? "write" : "read", program, its.text);
		number(w, "provio:count", e->count ? e->count : 1);
		if (e->has_bytes)
			number(w, "provio:bytes", e->bytes);
		end(w);
		relate(w, id, made ? ACT_WRITE : ACT_READ, program, of.text, its.text);
	}
	return r < 0 ? r : 0;
}

static void agents(struct writer *w, const struct exec_info *x, const char *program)
{
	char thread[64], user[80];
	struct buf label = {0};
	struct str arg = {0};
	size_t pos = 0;
	strlist_next(&x->argv, &pos, &arg);
	snprintf(thread, sizeof(thread), "t%s", program);
	snprintf(user, sizeof(user), "u%llu", (unsigned long long)x->uid);
	subject(w, program, "provio:Program");
	name(w, "a", "", "prov:SoftwareAgent");
	text(w, "rdfs:label", arg);
	name(w, "prov:actedOnBehalfOf", ":", thread);
	end(w);
	if (x->rank.n)
		buf_printf(&label, "MPI_rank_%.*s", (int)x->rank.n, x->rank.p);
	else
		buf_printf(&label, "process %llu", (unsigned long long)x->pid);
	subject(w, thread, "provio:Thread");
	name(w, "a", "", "prov:Agent");
	text(w, "rdfs:label", buf_view(&label));
	name(w, "prov:actedOnBehalfOf", ":", user);
	end(w);
	subject(w, user, "provio:User");
	name(w, "a", "", "prov:Person");
	if (x->user.n)
		text(w, "rdfs:label", x->user);
	end(w);
	buf_release(&label);
}

static int execution(struct writer *w, store_id exec)
{
	struct exec_info x;
	struct idmap versions = {0};
	int r = store_exec(w->s, exec, &x);
	if (r <= 0)
		return r;
	struct pubid program = x.pub;
	agents(w, &x, program.text);
	r = store_io(w->s, exec, &w->ios);
	if (r == 0)
		r = counted(w, program.text, &versions);
	if (r == 0)
		r = uncounted(w, exec, program.text, false, &versions);
	if (r == 0)
		r = uncounted(w, exec, program.text, true, &versions);
	idmap_release(&versions);
	return r;
}

static int note_exec(void *arg, const struct prov_statement *st)
{
	struct writer *w = arg;
	if (!st->type || strcmp(st->type, "Execution") != 0)
		return 0;
	store_id *p = vec_add(&w->execs);
	if (!p)
		return -ENOMEM;
	*p = st->what;
	return 0;
}

int export_provio(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	struct writer w = {.p = p, .s = prov_store(p), .out = out};
	(void)o;
	int r = prov_walk(p, PROV_BIT(PROV_activity), note_exec, &w);
	out_text(out, "@prefix : <" STEMMA_ID "> .\n@prefix prov: <http://www.w3.org/ns/prov#> .\n@prefix provio: <" PROVIO
	              "> .\n@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
	              "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n");
	for (size_t i = 0; r == 0 && i < w.execs.n; i++)
		r = execution(&w, w.execs.v[i]);
	if (r < 0)
		err_set(err, -r, "cannot export");
	vec_release(&w.execs);
	idmap_release(&w.files);
	ios_release(&w.ios);
	edges_release(&w.edges);
	return r;
}
