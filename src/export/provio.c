/* provio.c - the record in the vocabulary of PROV-IO (Han et al., HPDC 2022, Table 2), as Turtle: data objects, the I/O
 * that was done with them, and on whose behalf. doc/provio.ttl is the ontology.
 *
 * A data object is a file or an object of an HDF5 file; what was done with it by one kind of call of one execution is
 * one activity, with how often and how long where that was counted; what programs told of themselves are types,
 * configurations and metrics. What PROV-IO does not have stands before it in PROV's own terms, as in any Turtle of
 * stemma's: executions, versions, what generated and used them, derivations. Import makes the same record of both.
 *
 * Memory: 8 bytes an execution, run, file and version; what one run's programs told. Cost: about 2 us a relation. */
#include "base/hash.h"
#include "base/os/system.h"
#include "base/vec.h"
#include "export/export.h"
#include "export/provio_call.h"
#include "export/provio_setting.h"
#include "graph/graph.h"
#include "query/idmap.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

/* PROV-IO's namespace, and stemma's for the same words and for those that PROV-IO does not have. */
#define PROVIO "http://www.w3.org/ns/provio#"
#define STEMMA_IO "urn:stemma:provio#"

static const char *const classes[] = {
    [TERM_kind_regular] = "File",      [TERM_kind_directory] = "Directory", [TERM_kind_symlink] = "Link",
    [TERM_kind_group] = "Group",       [TERM_kind_dataset] = "Dataset",     [TERM_kind_attribute] = "Attribute",
    [TERM_kind_datatype] = "Datatype", [TERM_kind_softlink] = "Link",       [TERM_kind_xattr] = "Attribute",
};

struct writer {
	struct prov_source *p;
	struct store *s;
	struct out *out;
	VEC(store_id) execs, runs;
	struct idmap files;    /* that were told */
	struct idmap known;    /* that have versions in the document */
	struct idmap versions; /* that were told */
	struct idmap folders;  /* hashes of the paths of those that files which were told lie in */
	struct ios ios;
	struct edges edges;
};

/* ---- triples: write_X_property adds one with the value X to the subject that begin_subject began ---- */

/* class: a word of PROV-IO's, which is said in its namespace and in stemma's; own: one of stemma's alone. */
static void begin_subject(struct writer *w, const char *id, const char *class, bool own)
{
	out_text(w->out, "\n:");
	out_text(w->out, id);
	out_text(w->out, " a ");
	if (!own) {
		out_text(w->out, "provio:");
		out_text(w->out, class);
		out_text(w->out, " , ");
	}
	out_text(w->out, "stemmaio:");
	out_text(w->out, class);
}

static void write_name_property(struct writer *w, const char *predicate, const char *prefix, const char *object)
{
	out_text(w->out, " ;\n  ");
	out_text(w->out, predicate);
	out_char(w->out, ' ');
	out_text(w->out, prefix);
	out_text(w->out, object);
}

static void write_text_property(struct writer *w, const char *predicate, struct str s)
{
	out_text(w->out, " ;\n  ");
	out_text(w->out, predicate);
	out_text(w->out, " \"");
	out_escaped(w->out, s, NULL);
	out_char(w->out, '"');
}

static void write_count_property(struct writer *w, const char *predicate, uint64_t n)
{
	out_text(w->out, " ;\n  ");
	out_text(w->out, predicate);
	out_char(w->out, ' ');
	out_count(w->out, n);
}

/* A time span of ns, written in seconds as xsd:decimal. */
static void write_seconds_property(struct writer *w, const char *predicate, uint64_t ns)
{
	char v[40];
	snprintf(v, sizeof(v), "%llu.%09llu", (unsigned long long)(ns / 1000000000), (unsigned long long)(ns % 1000000000));
	out_text(w->out, " ;\n  ");
	out_text(w->out, predicate);
	out_char(w->out, ' ');
	out_text(w->out, v);
}

static void write_time_property(struct writer *w, const char *predicate, int64_t t)
{
	if (t == TIME_NONE || t == TIME_NEVER)
		return;
	out_text(w->out, " ;\n  ");
	out_text(w->out, predicate);
	out_text(w->out, " \"");
	out_time(w->out, t);
	out_text(w->out, "\"^^xsd:dateTime");
}

static void end_subject(struct writer *w)
{
	out_text(w->out, " .\n");
}

static void write_provio_triple(struct writer *w, const char *s, const char *predicate, const char *object)
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

/* What identifies a file of which no version is in the document. */
static void write_file_identity(struct writer *w, const struct file_info *f, uint64_t outer)
{
	write_name_property(w, "a", "stemma:", "File");
	write_text_property(w, "stemma:path", f->path);
	write_text_property(w, "stemma:fileKind", str_of(term_name(SET_kind, (unsigned)f->kind)));
	write_text_property(w, "stemma:domain", f->domain);
	write_count_property(w, "stemma:inode", f->ino);
	write_count_property(w, "stemma:generation", f->gen);
	if (f->within)
		write_count_property(w, "stemma:withinGeneration", outer);
	if (f->flags & 1)
		write_count_property(w, "stemma:network", 1);
}

/* The class of PROV-IO that the file is of; NULL: it is not exported. */
static const char *class_of_file(const struct writer *w, const struct file_info *f)
{
	const struct lineage_options *o = &prov_selection(w->p)->lineage;
	if (f->kind >= sizeof(classes) / sizeof(classes[0]))
		return NULL;
	const bool in_folder =
	    f->kind == TERM_kind_regular || f->kind == TERM_kind_directory || f->kind == TERM_kind_symlink;
	if (!o->all && in_folder && system_path(f->path, o->system_extra) != SYSTEM_NO)
		return NULL;
	return classes[f->kind];
}

/* The generation of the file that f lies in, 0 none. f is read again, for the other one took its strings. */
static int load_outer_generation(struct writer *w, struct file_info *f, uint64_t *ret)
{
	struct file_info outer;
	*ret = 0;
	if (!f->within)
		return 1;
	int r = store_file(w->s, f->within, &outer);
	if (r <= 0)
		return r;
	*ret = outer.gen;
	return store_file(w->s, f->id, f);
}

static struct str path_folder(struct str path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	return str_n(path.p, slash ? (size_t)(slash - path.p) : 0);
}

/* Writes what is said of a file or of an object in it, once. 1: it is exported, and has been told; 0: not. */
static int write_provio_object(struct writer *w, store_id file, struct pubid *ret)
{
	struct file_info f;
	uint64_t outer;
	bool is_new;
	int r = store_file(w->s, file, &f);
	if (r <= 0)
		return r;
	const char *class = class_of_file(w, &f);
	if (!class)
		return 0;
	*ret = f.pub;
	if (!idmap_add(&w->files, file, 1, &is_new))
		return -ENOMEM;
	if (!is_new)
		return 1;
	if (f.kind == TERM_kind_regular && !idmap_add(&w->folders, hash_str(path_folder(f.path)) | 1, 1, &is_new))
		return -ENOMEM;
	r = load_outer_generation(w, &f, &outer);
	if (r <= 0)
		return r;
	begin_subject(w, f.pub.text, class, false);
	if (!idmap_find(&w->known, file)) {
		write_name_property(w, "a", "", "prov:Entity");
		write_text_property(w, "rdfs:label", f.path);
		write_file_identity(w, &f, outer);
	}
	end_subject(w);
	if (f.within) {
		struct pubid pub = *ret, within;
		r = write_provio_object(w, f.within, &within);
		if (r > 0)
			write_provio_triple(w, within.text, "prov:hadMember", pub.text);
	}
	return r < 0 ? r : 1;
}

/* A version of it, where the document has it. 1 and its id in *ret; 0: it does not, and *ret is ""; -errno. */
static int write_provio_version(struct writer *w, store_id id, struct pubid *ret)
{
	struct version_info v;
	bool is_new;
	ret->text[0] = '\0';
	int r = id && prov_has_version(w->p, id) ? store_version(w->s, id, &v) : 0;
	if (r <= 0)
		return r;
	*ret = v.pub;
	if (!idmap_add(&w->versions, id, 1, &is_new))
		return -ENOMEM;
	if (is_new) {
		out_text(w->out, ":");
		out_text(w->out, v.pub.text);
		out_text(w->out, " stemmaio:version ");
		out_count(w->out, v.n);
		end_subject(w);
	}
	return 1;
}

/* An activity: one kind of call on one object, made by the program of an execution. its: the version that it made or
 * used, "" none. */
static void write_call_activity(struct writer *w, const char *id, enum provio_act act, const char *label,
                                const char *exec, const char *its)
{
	char program[32];
	snprintf(program, sizeof(program), ":g%s", exec);
	begin_subject(w, id, provio_acts[act].class, false);
	write_name_property(w, "a", "", "prov:Activity");
	write_name_property(w, "prov:wasMemberOf", "", "prov:Activity");
	write_text_property(w, "rdfs:label", str_of(label));
	write_name_property(w, "prov:wasAssociatedWith", "", program);
	if (*its && act == PROVIO_READ)
		write_name_property(w, "prov:used", ":", its);
	else if (*its)
		write_name_property(w, "stemmaio:made", ":", its);
}

static void write_call_relation(struct writer *w, const char *id, enum provio_act act, const char *exec, const char *of)
{
	char relation[40], program[32];
	snprintf(program, sizeof(program), "g%s", exec);
	for (unsigned i = 0; i < 2; i++) {
		snprintf(relation, sizeof(relation), "%s:%s", i ? "stemmaio" : "provio", provio_acts[act].relation);
		write_provio_triple(w, of, relation, id);
	}
	write_provio_triple(w, of, "prov:wasAttributedTo", program);
}

/* ---- an execution ---- */

/* How many calls moved how much: counts of each size, without the zeros at the end. */
static void write_size_histogram(struct writer *w, const struct io_info *io)
{
	struct buf b = {0};
	unsigned n = IO_SIZES;
	while (n && !io->size[n - 1])
		n--;
	for (unsigned i = 0; i < n; i++)
		buf_printf(&b, "%s%llu", i ? " " : "", (unsigned long long)io->size[i]);
	if (n)
		write_text_property(w, "stemmaio:sizes", buf_view(&b));
	if (io->largest)
		write_count_property(w, "stemmaio:largest", io->largest);
	buf_release(&b);
}

/* What is known of one kind of call beside who made it on what. */
static void write_call_figures(struct writer *w, const struct io_info *io, enum provio_act act)
{
	bool writes = act == PROVIO_WRITE || act == PROVIO_CREATE || act == PROVIO_RENAME;
	write_name_property(w, "stemmaio:api", "\"", term_name(SET_ioapi, io->api));
	out_char(w->out, '"');
	if (io->write != writes)
		write_text_property(w, "stemmaio:direction", str_of(io->write ? "write" : "read"));
	write_count_property(w, "stemmaio:count", io->calls);
	if (io->failed)
		write_count_property(w, "stemmaio:failed", io->failed);
	if (io->bytes)
		write_count_property(w, "stemmaio:bytes", io->bytes);
	write_size_histogram(w, io);
	if (io->first != TIME_NONE || io->spent) {
		write_seconds_property(w, "provio:elapsed", io->spent); /* by which PROV-IO's queries ask */
		write_seconds_property(w, "stemmaio:elapsed", io->spent);
	}
	write_time_property(w, "prov:startedAtTime", io->first);
	write_time_property(w, "prov:endedAtTime", io->last);
}

/* The version that the calls made or used, which is told then, and remembered in versions. */
static int write_version_of_calls(struct writer *w, const struct io_info *io, struct idmap *versions, struct pubid *ret)
{
	bool is_new;
	store_id v = io->write ? io->generated : io->used;
	ret->text[0] = '\0';
	int r = v ? write_provio_version(w, v, ret) : 0;
	if (v && r >= 0 && !idmap_add(versions, v << 1 | io->write, 1, &is_new))
		return -ENOMEM;
	return r < 0 ? r : 0;
}

static int write_counted_call(struct writer *w, const struct io_info *io, const char *exec, struct idmap *versions)
{
	struct pubid of, its;
	struct file_info f;
	char id[80];
	int r = write_provio_object(w, io->target, &of);
	if (r > 0)
		r = store_file(w->s, io->target, &f);
	if (r <= 0)
		return r;
	enum provio_act act = provio_act_of(io->api, io->write);
	snprintf(id, sizeof(id), "io%016llx.%llu.%u%s", (unsigned long long)io->session, (unsigned long long)io->seq,
	         io->api, io->write ? "w" : "r");
	const char *label = provio_call_name(&f, io->api, io->write);
	r = write_version_of_calls(w, io, versions, &its);
	if (r < 0)
		return r;
	write_call_activity(w, id, act, label, exec, its.text);
	write_call_figures(w, io, act);
	end_subject(w);
	write_call_relation(w, id, act, exec, of.text);
	return 0;
}

static int write_counted_calls(struct writer *w, const char *exec, struct idmap *versions)
{
	int r = 0;
	for (size_t i = 0; r >= 0 && i < w->ios.n; i++)
		r = write_counted_call(w, &w->ios.v[i], exec, versions);
	return r < 0 ? r : 0;
}

/* Is the edge to be told: in the document, and not told by counted calls? */
static bool is_uncounted(const struct writer *w, const struct edge *e, bool made, const struct idmap *versions)
{
	if (e->via == TERM_via_sync || (!e->sure && prov_selection(w->p)->lineage.certain))
		return false;
	return !idmap_find(versions, e->to << 1 | made) && prov_has_version(w->p, e->to);
}

/* An access of which no calls are known. pub: the execution's id. 0, also where the record does not have it; -errno. */
static int write_uncounted_access(struct writer *w, const struct edge *e, const char *pub, bool made)
{
	struct version_info v;
	struct pubid of, its;
	char id[80];
	enum provio_act act = made ? PROVIO_WRITE : PROVIO_READ;
	int r = store_version(w->s, e->to, &v);
	if (r > 0)
		r = write_provio_object(w, v.file, &of);
	if (r > 0)
		r = write_provio_version(w, e->to, &its);
	if (r <= 0)
		return r;
	snprintf(id, sizeof(id), "%s%s.%s", made ? "w" : "r", pub, its.text);
	write_call_activity(w, id, act, made ? "write" : "read", pub, its.text);
	write_count_property(w, "stemmaio:count", e->count ? e->count : 1);
	if (e->has_bytes)
		write_count_property(w, "stemmaio:bytes", e->bytes);
	end_subject(w);
	write_call_relation(w, id, act, pub, of.text);
	return 0;
}

/* What was used or made without that its calls were counted. */
static int write_uncounted_accesses(struct writer *w, store_id exec, const char *pub, bool made,
                                    const struct idmap *versions)
{
	int r = made ? store_outputs(w->s, exec, &w->edges) : store_uses(w->s, exec, &w->edges);
	for (size_t i = 0; r >= 0 && i < w->edges.n; i++)
		if (is_uncounted(w, &w->edges.v[i], made, versions))
			r = write_uncounted_access(w, &w->edges.v[i], pub, made);
	return r < 0 ? r : 0;
}

static void write_exec_agents(struct writer *w, const struct exec_info *x, const char *exec)
{
	char program[64], thread[64], user[80];
	struct buf label = {0};
	struct str arg = {0};
	size_t pos = 0;
	strlist_next(&x->argv, &pos, &arg);
	snprintf(program, sizeof(program), "g%s", exec);
	snprintf(thread, sizeof(thread), "t%s", exec);
	snprintf(user, sizeof(user), "u%llu", (unsigned long long)x->uid);
	begin_subject(w, program, "Program", false);
	write_name_property(w, "a", "", "prov:SoftwareAgent");
	write_text_property(w, "rdfs:label", arg);
	write_name_property(w, "stemmaio:execution", ":", exec);
	write_name_property(w, "prov:actedOnBehalfOf", ":", thread);
	end_subject(w);
	if (x->rank.n)
		buf_printf(&label, "MPI_rank_%.*s", (int)x->rank.n, x->rank.p);
	else
		buf_printf(&label, "process %llu", (unsigned long long)x->pid);
	begin_subject(w, thread, "Thread", false);
	write_name_property(w, "a", "", "prov:Agent");
	write_text_property(w, "rdfs:label", buf_view(&label));
	write_name_property(w, "prov:actedOnBehalfOf", ":", user);
	end_subject(w);
	begin_subject(w, user, "User", false);
	write_name_property(w, "a", "", "prov:Person");
	if (x->user.n)
		write_text_property(w, "rdfs:label", x->user);
	end_subject(w);
	buf_release(&label);
}

static int write_provio_execution(struct writer *w, store_id exec)
{
	struct exec_info x;
	struct idmap versions = {0};
	int r = store_exec(w->s, exec, &x);
	if (r <= 0)
		return r;
	struct pubid pub = x.pub;
	write_exec_agents(w, &x, pub.text);
	r = store_io(w->s, exec, &w->ios);
	if (r == 0)
		r = write_counted_calls(w, pub.text, &versions);
	if (r == 0)
		r = write_uncounted_accesses(w, exec, pub.text, false, &versions);
	if (r == 0)
		r = write_uncounted_accesses(w, exec, pub.text, true, &versions);
	idmap_release(&versions);
	return r;
}

/* ---- what was told of a run: by its programs, and of the shape of datasets and the parts that were moved ---- */

/* Writes an event that a program reported. Each is named by the event that it is. */
static void write_reported_event(struct writer *w, const char *class, const struct reported_event *t, const char *ulid,
                                 bool own)
{
	char id[64], run[40];
	snprintf(id, sizeof(id), "e%016llx.%llu", (unsigned long long)t->session, (unsigned long long)t->ev.seq);
	snprintf(run, sizeof(run), "r%s", ulid);
	begin_subject(w, id, class, own);
	write_name_property(w, "a", "", "prov:Entity");
	write_name_property(w, "stemmaio:ofRun", ":", run);
	write_time_property(w, "stemmaio:at", t->ev.time);
}

static void write_by_property(struct writer *w, store_id exec)
{
	struct exec_info x;
	if (exec && store_exec(w->s, exec, &x) > 0)
		write_name_property(w, "stemmaio:by", ":", x.pub.text);
}

static void write_list_property(struct writer *w, const char *predicate, const struct strlist *l)
{
	struct buf b = {0};
	struct out to = out_into(&b);
	if (l->count) {
		out_list(&to, l, false, NULL);
		write_text_property(w, predicate, buf_view(&b));
	}
	buf_release(&b);
}

/* An object that never got a name has no path. */
static int write_path_property(struct writer *w, const struct reported_event *t)
{
	struct str path;
	int r = store_reported_path(w->s, t, &path);
	if (r == 0 && path.n)
		write_text_property(w, "stemmaio:path", path);
	return r;
}

/* Writes the shapes of a run's HDF5 objects, and the parts of them that were moved. ulid: of the run. 0, -errno. */
static int write_object_parts(struct writer *w, store_id run, const char *ulid)
{
	struct reported_list shapes, moved = {0};
	int r = store_reported(w->s, run, EVENT_h5_object, &shapes);
	if (r == 0)
		r = store_reported(w->s, run, EVENT_h5_part, &moved);
	for (size_t i = 0; r == 0 && i < shapes.n; i++) {
		const struct event_h5_object *o = &shapes.v[i].ev.h5_object;
		write_reported_event(w, "Shape", &shapes.v[i], ulid, true);
		r = write_path_property(w, &shapes.v[i]);
		write_text_property(w, "stemma:fileKind", str_of(term_name(SET_kind, (unsigned)o->kind)));
		write_text_property(w, "stemmaio:elementType", o->type);
		write_list_property(w, "stemmaio:shape", &o->shape);
		write_list_property(w, "stemmaio:most", &o->most);
		end_subject(w);
	}
	for (size_t i = 0; r == 0 && i < moved.n; i++) {
		const struct reported_event *t = &moved.v[i];
		const struct event_h5_part *o = &t->ev.h5_part;
		store_id exec = 0;
		if (store_exec_at(w->s, t->session, o->pid, (int64_t)o->started, t->ev.time, &exec) < 0)
			r = -EIO;
		write_reported_event(w, "Part", t, ulid, true);
		write_by_property(w, exec);
		if (r == 0)
			r = write_path_property(w, t);
		write_text_property(w, "stemmaio:direction", str_of(o->write ? "write" : "read"));
		write_list_property(w, "stemmaio:from", &o->from);
		write_list_property(w, "stemmaio:to", &o->to);
		write_list_property(w, "stemmaio:fields", &o->field);
		write_count_property(w, "stemmaio:count", o->calls);
		write_count_property(w, "stemmaio:elements", o->elements);
		end_subject(w);
	}
	reported_list_release(&shapes);
	reported_list_release(&moved);
	return r;
}

static void write_double_value(struct writer *w, double v)
{
	char text_[40];
	for (int digits = 15; digits <= 17; digits++) { /* as short as it can be and still be the same */
		snprintf(text_, sizeof(text_), "%.*g", digits, v);
		if (strtod(text_, NULL) == v)
			break;
	}
	write_text_property(w, "prov:value", str_of(v != v ? "NaN" : text_));
	out_text(w->out, "^^xsd:double");
}

/* A setting or type that a program told, with the figures that its run came to. 0, also where it is neither; -errno. */
static int write_configuration(struct writer *w, struct app_log *d, const struct provio_settings *settings, size_t word,
                               const char *ulid)
{
	const struct reported_event *t = &d->words.v[word];
	const struct event_app_word *o = &t->ev.app_word;
	const struct app_log_image *who = app_log_image_of(d, t, o->app);
	bool config = o->said == TERM_said_config;
	store_id exec = 0;
	if (!who || (!config && o->said != TERM_said_type))
		return 0;
	int r = app_log_exec(d, who, t->ev.time, &exec) < 0 ? -EIO : 0;
	write_reported_event(w, config ? "Configuration" : "Type", t, ulid, false);
	write_by_property(w, exec);
	write_text_property(w, "rdfs:label", o->name);
	if (config)
		write_text_property(w, "prov:value", o->value);
	if (o->version.n)
		write_text_property(w, "stemmaio:version", o->version);
	if (config)
		provio_settings_write(settings, w->out, word, ulid);
	for (size_t k = 0; config && k < d->metrics.n; k++) {
		const struct reported_event *m = &d->metrics.v[k];
		char id[64];
		if (!settings->last_metric[k])
			continue;
		snprintf(id, sizeof(id), "e%016llx.%llu", (unsigned long long)m->session, (unsigned long long)m->ev.seq);
		write_name_property(w, "stemmaio:hasMetrics", ":", id);
	}
	end_subject(w);
	return r;
}

static int write_metric(struct writer *w, struct app_log *d, const struct reported_event *t, const char *ulid)
{
	const struct event_app_metric *o = &t->ev.app_metric;
	const struct app_log_image *who = app_log_image_of(d, t, o->app);
	store_id exec = 0;
	char step[32];
	if (!who)
		return 0;
	int r = app_log_exec(d, who, t->ev.time, &exec) < 0 ? -EIO : 0;
	write_reported_event(w, "Metrics", t, ulid, false);
	write_by_property(w, exec);
	write_text_property(w, "rdfs:label", o->name);
	write_double_value(w, app_log_number(o));
	snprintf(step, sizeof(step), "%lld", (long long)o->step);
	if (o->stepped)
		write_name_property(w, "stemmaio:step", "", step);
	end_subject(w);
	return r;
}

/* Configurations, each with the figures that its run came to. 0, -errno. */
static int write_configurations(struct writer *w, store_id run, const char *ulid)
{
	struct app_log d;
	struct provio_settings settings = {.last = NULL};
	int r = app_log_load(w->s, run, &d);
	if (r == 0)
		r = provio_settings_find(&d, &settings);
	for (size_t i = 0; r == 0 && i < d.words.n; i++)
		r = write_configuration(w, &d, &settings, i, ulid);
	for (size_t i = 0; r == 0 && i < d.metrics.n; i++)
		r = write_metric(w, &d, &d.metrics.v[i], ulid);
	provio_settings_release(&settings);
	app_log_release(&d);
	return r;
}

/* Writes what programs told of a run, and parts of its HDF5 objects. 0, also of a run not in the store; -errno. */
static int write_provio_run(struct writer *w, store_id run)
{
	struct run_info x;
	char ulid[32];
	int r = store_run(w->s, run, &x);
	if (r <= 0)
		return r;
	snprintf(ulid, sizeof(ulid), "%.*s", (int)x.ulid.n, x.ulid.p);
	r = write_object_parts(w, run, ulid);
	return r == 0 ? write_configurations(w, run, ulid) : r;
}

/* ---- what has a name and was not used: links, directories, objects that nobody opened ---- */

/* Does it belong into a document of a part of the record? What lies in a file that was told, and its folder, do. */
static bool belongs_to_told(const struct writer *w, const struct file_info *f)
{
	if (f->within)
		return idmap_find(&w->files, f->within) != NULL;
	return f->kind == TERM_kind_directory && idmap_find(&w->folders, hash_str(f->path) | 1);
}

/* About 1 us for each file of the record, also where only a part of it is exported. 0, -errno. */
static int write_named_things(struct writer *w)
{
	const struct prov_select *o = prov_selection(w->p);
	const bool all = !o->n_versions && !o->n_runs && !o->n_execs;
	sqlite3_stmt *st = NULL;
	int r = 0, step = SQLITE_DONE;
	if (sqlite3_prepare_v2(store_sqlite(w->s), "SELECT id FROM file", -1, &st, NULL) != SQLITE_OK)
		return -EIO;
	while (r >= 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		struct file_info f;
		struct pubid pub;
		const store_id id = (store_id)sqlite3_column_int64(st, 0);
		r = store_file(w->s, id, &f);
		if (r > 0 && f.kind != TERM_kind_regular && f.kind != TERM_kind_xattr && f.path.n &&
		    (all || belongs_to_told(w, &f)))
			r = write_provio_object(w, id, &pub);
	}
	sqlite3_finalize(st);
	return r < 0 ? r : step == SQLITE_DONE ? 0 : -EIO;
}

/* ---- all of it ---- */

static int note_provio_statement(void *arg, const struct prov_statement *st)
{
	struct writer *w = arg;
	bool run = st->type && strcmp(st->type, "Run") == 0, is_new;
	if (st->kind == PROV_entity)
		return !st->type || strcmp(st->type, "File") != 0 || idmap_add(&w->known, st->what, 1, &is_new) ? 0 : -ENOMEM;
	if (!st->type || (!run && strcmp(st->type, "Execution") != 0))
		return 0;
	store_id *p = run ? vec_add(&w->runs) : vec_add(&w->execs);
	if (!p)
		return -ENOMEM;
	*p = st->what;
	return 0;
}

int export_provio(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	struct writer w = {.p = p, .s = prov_store(p), .out = out};
	int r = export_turtle(p, out, o, err);
	if (r < 0)
		return r;
	r = prov_walk(p, PROV_BIT(PROV_activity) | PROV_BIT(PROV_entity), note_provio_statement, &w);
	out_text(out, "@prefix : <" STEMMA_ID "> .\n@prefix provio: <" PROVIO "> .\n@prefix stemmaio: <" STEMMA_IO
	              "> .\n" PROVIO_SETTING_PREFIX);
	for (size_t i = 0; r == 0 && i < w.execs.n; i++)
		r = write_provio_execution(&w, w.execs.v[i]);
	for (size_t i = 0; r == 0 && i < w.runs.n; i++)
		r = write_provio_run(&w, w.runs.v[i]);
	if (r == 0)
		r = write_named_things(&w);
	if (r < 0)
		err_set(err, -r, "cannot export the record as PROV-IO");
	vec_release(&w.execs);
	vec_release(&w.runs);
	idmap_release(&w.files);
	idmap_release(&w.known);
	idmap_release(&w.versions);
	idmap_release(&w.folders);
	ios_release(&w.ios);
	edges_release(&w.edges);
	return r;
}
