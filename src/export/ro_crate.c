/* ro_crate.c - Process Run Crate 0.5 on RO-Crate 1.1: a directory, or a zip archive, with ro-crate-metadata.json and,
 * where asked, copies of the files that are still as recorded.
 *
 * An execution is a CreateAction: instrument its script, where it used one, else the program, agent the user, object
 * what it used, result what it wrote. A version of a file is a data entity: a path within the crate where it was
 * copied, else urn:stemma:id:v...; pipes and the like are contextual entities. Images before any exec that neither used
 * nor wrote anything are left out.
 *
 * Seven walks; nothing is kept but 8 bytes for each script, and each copy. */
#include "base/utf8.h"
#include "export/crate.h"
#include "export/export.h"
#include "export/jsonw.h"
#include "export/package.h"
#include "export/script.h"
#include "query/idset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PROFILE "https://w3id.org/ro/wfrun/process/0.5"
#define NO_PROGRAM "#no-program"
#define PATH_ROOM 4097 /* bytes of a path, with its NUL */

struct maker {
	struct jsonw j;
	struct prov_source *p;
	struct crate *crate;
	struct idset copied;  /* versions */
	struct idset scripts; /* versions that an execution ran as its script */
	bool with_files, zip;
	const struct export_options *o;
	store_id own;  /* the run that was found to be the user's own last */
	bool received; /* a run is not */
	uint64_t left_out;
	struct err *err;
	/* the execution that is being told */
	struct buf head; /* what comes before its first use, until it is known to be told */
	struct buf description;
	struct buf script;     /* the path of its script, or the id of that file; empty: it has none */
	struct buf instrument; /* its program, until it is known whether a script was it */
	store_id ran;          /* the version of the script that it used; 0 none */
	bool waiting, open, program;
	enum { NOTHING, OBJECTS, RESULTS } list;
};

/* ---- files ---- */

/* A path below which nothing can lead out of the crate. False, too, of a relative one. */
static bool is_plain_path(struct str path)
{
	if (!path.n || path.p[0] != '/')
		return false;
	for (size_t i = 0, from = 1; i <= path.n; i++)
		if (i == path.n || (i && path.p[i] == '/')) {
			size_t n = i - from;
			if (n == 0 || (n == 1 && path.p[from] == '.') || (n == 2 && path.p[from] == '.' && path.p[from + 1] == '.'))
				return false;
			from = i + 1;
		}
	return true;
}

/* m->received: somebody else's run is among what was selected. Always 0. */
static int is_received(void *arg, const struct prov_statement *st)
{
	struct maker *m = arg;
	if (strcmp(st->type, "Execution") != 0 || m->received || (m->own && st->other == m->own))
		return 0;
	m->received = !m->o->is_own || !m->o->is_own(m->o->is_own_arg, st->other);
	m->own = st->other;
	return 0;
}

/* Is what is open at fd the file that the version was, by its size and time? */
static bool is_as_recorded(int fd, const struct version_info *v, struct stat *ret)
{
	return fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) && (uint64_t)ret->st_size == v->size &&
	       (int64_t)ret->st_mtim.tv_sec * 1000000000 + ret->st_mtim.tv_nsec == v->mtime;
}

/* Why a version cannot be copied, whatever is there now; NULL: it may be. */
static const char *why_not_copied(const struct maker *m, const struct version_info *v, const struct file_info *f)
{
	if (v->n != f->versions)
		return "it was replaced by a later version";
	if (!f->named || !is_plain_path(f->path) || f->path.n >= PATH_ROOM)
		return "it no longer has a name";
	if (m->zip && !utf8_is_valid(f->path))
		return "its name is not allowed in an archive";
	return v->has_size && v->mtime != TIME_NONE ? NULL : "its size and time were not recorded";
}

/* Why a version cannot be copied, or NULL and *ret_fd, *ret_size. */
static const char *open_version(const struct maker *m, const struct version_info *v, const struct file_info *f,
                                int *ret_fd, uint64_t *ret_size)
{
	char path[PATH_ROOM];
	struct stat st;
	const char *why = why_not_copied(m, v, f);
	if (why)
		return why;
	memcpy(path, f->path.p, f->path.n);
	path[f->path.n] = '\0';
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT ? "it no longer exists" : "it cannot be read";
	if (!is_as_recorded(fd, v, &st))
		why = "it has changed since it was recorded";
	else if (m->received && !(st.st_mode & S_IROTH))
		why = "it is not public, and not all of the record is your own";
	if (why) {
		close(fd);
		return why;
	}
	*ret_fd = fd;
	*ret_size = v->size;
	return NULL;
}

/* Copies the file of a version into the crate. 0 with *ret_why: it is not as it was recorded, and stays out; -EBUSY:
 * it changed meanwhile; -errno; with a sentence. */
static int copy_version(struct maker *m, const struct version_info *v, const struct file_info *f, const char **ret_why,
                        struct err *err)
{
	int fd = -1;
	uint64_t size = 0;
	char name[PATH_ROOM + 8];
	struct stat st;
	*ret_why = open_version(m, v, f, &fd, &size);
	if (*ret_why)
		return 0;
	snprintf(name, sizeof(name), "files%.*s", (int)f->path.n, f->path.p);
	int r = crate_put(m->crate, name, fd, size, err);
	if (r == 0 && (fstat(fd, &st) < 0 || (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec != v->mtime))
		r = err_set(err, EBUSY, "'%s' changed while it was copied", name);
	close(fd);
	return r < 0 ? r : idset_add(&m->copied, v->id);
}

/* ---- references ---- */

static bool is_data(const struct file_info *f)
{
	return f->kind == TERM_kind_regular;
}

static void reference_to(struct jsonw *j, const char *prefix, struct str id)
{
	jsonw_open(j, '{');
	jsonw_pair(j, "@id", prefix, id);
	jsonw_close(j, '}');
}

static void write_version_id(struct maker *m, const struct version_info *v, const struct file_info *f)
{
	struct jsonw *j = &m->j;
	jsonw_key(j, "", "@id");
	if (!is_data(f))
		jsonw_text(j, "#", str_of(v->pub.text), NULL);
	else if (!idset_has(&m->copied, v->id))
		jsonw_text(j, STEMMA_ID, str_of(v->pub.text), NULL);
	else {
		out_text(j->out, "\"files");
		out_uri(j->out, f->path);
		out_char(j->out, '"');
		j->comma = true;
	}
}

static int load_crate_version(struct maker *m, store_id id, struct version_info *v, struct file_info *f)
{
	int r = store_version(prov_store(m->p), id, v);
	return r > 0 ? store_file(prov_store(m->p), v->file, f) : r;
}

/* The notes of a statement, a line each, behind what is there. */
static void add_notes(const struct prov_statement *st, struct buf *b)
{
	const struct prov_value *notes = prov_find(st, ATTR_note);
	struct str s;
	for (size_t i = 0, at = 0; notes && out_list_next(&notes->list, &i, &at, &s);) {
		if (b->n)
			buf_char(b, '\n');
		buf_str(b, s);
	}
}

/* ---- walks ---- */

/* Versions, each once: not the earlier writes of a chain. */
static bool is_version(const struct prov_statement *st)
{
	for (size_t i = 0; i < st->n; i++)
		if (st->v[i].attr == ATTR_part)
			return false;
	return strcmp(st->type, "File") != 0;
}

/* Copies the file of a version into the crate. 0, -errno. What cannot be copied counts in m->left_out. */
static int copy_one(void *arg, const struct prov_statement *st)
{
	struct maker *m = arg;
	struct version_info v;
	struct file_info f;
	const char *why;
	if (!is_version(st))
		return 0;
	int r = load_crate_version(m, st->what, &v, &f);
	if (r <= 0 || !is_data(&f))
		return r < 0 ? r : 0;
	r = copy_version(m, &v, &f, &why, m->err);
	m->left_out += r == 0 && why;
	return r;
}

/* 0, -errno. Only for data of the crate. arg: a struct maker. */
static int write_part_reference(void *arg, const struct prov_statement *st)
{
	struct maker *m = arg;
	struct version_info v;
	struct file_info f;
	int r = is_version(st) ? load_crate_version(m, st->what, &v, &f) : 0;
	if (r <= 0 || !is_data(&f))
		return r < 0 ? r : 0;
	jsonw_open(&m->j, '{');
	write_version_id(m, &v, &f);
	jsonw_close(&m->j, '}');
	return jsonw_error(&m->j);
}

/* The executions that are told: those of a program, and others with data. 0, -errno. */
static int write_mention_reference(void *arg, const struct prov_statement *st)
{
	struct maker *m = arg;
	if (st->kind == PROV_activity) {
		m->waiting = strcmp(st->type, "Execution") == 0;
		buf_reset(&m->head);
		buf_str(&m->head, st->id);
	}
	if (m->waiting && (st->kind != PROV_activity || st->label.n)) {
		m->waiting = false;
		reference_to(&m->j, "#", buf_view(&m->head));
	}
	return m->head.failed ? -ENOMEM : jsonw_error(&m->j);
}

static void entity_open(struct jsonw *j, const char *prefix, struct str id, const char *type)
{
	jsonw_line(j, 2);
	jsonw_open(j, '{');
	jsonw_pair(j, "@id", prefix, id);
	jsonw_pair_cstr(j, "@type", type);
}

/* Of a program that still is as recorded the version of its package: then that was it when it ran, too. */
static void write_software_version(struct maker *m, store_id file, struct str path)
{
	struct version_info v;
	struct stat st;
	store_id latest = 0;
	char name[PATH_ROOM], version[128];
	if (!file || !path.n || path.n >= sizeof(name) || store_version_of(prov_store(m->p), file, 0, &latest) <= 0 ||
	    store_version(prov_store(m->p), latest, &v) <= 0 || !v.has_size)
		return;
	memcpy(name, path.p, path.n);
	name[path.n] = '\0';
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	bool same = fd >= 0 && is_as_recorded(fd, &v, &st);
	if (fd >= 0)
		close(fd);
	if (same && package_version(path, version, sizeof(version)))
		jsonw_pair_cstr(&m->j, "softwareVersion", version);
}

/* Writes a person or a program as an entity. 0, -errno. arg: a struct maker. */
static int write_crate_agent(void *arg, const struct prov_statement *st)
{
	struct maker *m = arg;
	struct jsonw *j = &m->j;
	bool user = strcmp(st->type, "User") == 0;
	entity_open(j, "#", st->id, user ? "Person" : "SoftwareApplication");
	struct str name = st->label;
	for (size_t i = 0; !user && i < st->label.n; i++)
		if (st->label.p[i] == '/' && i + 1 < st->label.n)
			name = str_n(st->label.p + i + 1, st->label.n - i - 1);
	jsonw_pair(j, "name", "", name);
	if (!user) {
		jsonw_pair(j, "description", "", st->label);
		write_software_version(m, st->what, st->label);
	}
	jsonw_close(j, '}');
	return jsonw_error(j);
}

/* A version, and why it is not in the crate, if it is not. 0, -errno. */
static int write_crate_data(void *arg, const struct prov_statement *st)
{
	struct maker *m = arg;
	struct jsonw *j = &m->j;
	struct version_info v;
	struct file_info f;
	int r = is_version(st) ? load_crate_version(m, st->what, &v, &f) : 0;
	if (r <= 0)
		return r;
	buf_reset(&m->description);
	jsonw_line(j, 2);
	jsonw_open(j, '{');
	write_version_id(m, &v, &f);
	if (idset_has(&m->scripts, v.id)) {
		jsonw_key(j, "", "@type");
		jsonw_open(j, '[');
		jsonw_cstr(j, "File");
		jsonw_cstr(j, "SoftwareSourceCode");
		jsonw_close(j, ']');
	} else
		jsonw_pair_cstr(j, "@type", is_data(&f) ? "File" : "Thing");
	jsonw_pair(j, "name", "", st->label);
	if (is_data(&f)) {
		jsonw_pair(j, "identifier", STEMMA_ID, str_of(v.pub.text));
		if (v.has_size) {
			jsonw_key(j, "", "contentSize");
			jsonw_count_text(j, v.size);
		}
		if (v.mtime != TIME_NONE) {
			jsonw_key(j, "", "dateModified");
			jsonw_time(j, v.mtime);
		}
		int fd = -1;
		uint64_t size;
		if (m->with_files && !idset_has(&m->copied, v.id)) {
			const char *why = open_version(m, &v, &f, &fd, &size);
			if (fd >= 0)
				close(fd);
			buf_printf(&m->description, "not in the crate: %s", why ? why : "it was not as recorded");
		}
	}
	add_notes(st, &m->description);
	if (m->description.n)
		jsonw_pair(j, "description", "", buf_view(&m->description));
	jsonw_close(j, '}');
	return m->description.failed ? -ENOMEM : jsonw_error(j);
}

/* ---- scripts ---- */

/* Which file the execution ran as its script: as the record says it, else by its arguments. */
static void note_script(struct maker *m, const struct prov_statement *st)
{
	const struct prov_value *known = prov_find(st, ATTR_script), *argv = prov_find(st, ATTR_argv),
	                        *cwd = prov_find(st, ATTR_cwd);
	buf_reset(&m->script);
	m->ran = 0;
	if (strcmp(st->type, "Execution") != 0)
		return;
	if (known && known->text.n) {
		buf_str(&m->script, known->text);
		return;
	}
	struct script s = {.kind = SCRIPT_NONE};
	if (argv)
		s = script_of(&argv->list);
	if (s.kind == SCRIPT_FILE && (cwd || s.name.p[0] == '/'))
		script_path(cwd ? cwd->text : str_of(""), s.name, &m->script);
}

static bool is_script(const struct maker *m, const struct file_info *f)
{
	struct str script = buf_view(&m->script);
	return script.n && is_data(f) && (str_eq(script, f->path) || str_is(script, f->pub.text));
}

/* Notes which versions were run as scripts. 0, -errno. */
static int collect_script(void *arg, const struct prov_statement *st)
{
	struct maker *m = arg;
	struct version_info v;
	struct file_info f;
	if (st->kind == PROV_activity) {
		note_script(m, st);
		return m->script.failed ? -ENOMEM : 0;
	}
	int r = m->script.n ? load_crate_version(m, st->other, &v, &f) : 0;
	return r > 0 && is_script(m, &f) ? idset_add(&m->scripts, v.id) : r < 0 ? r : 0;
}

/* ---- actions ---- */

/* The beginning of the action into m->head, which is written when it is known that it is shown. */
static void action_head(struct maker *m, const struct prov_statement *st)
{
	struct out head = out_into(&m->head);
	struct jsonw j = {.out = &head};
	const struct prov_value *status = NULL, *signal = NULL, *argv = NULL;
	for (size_t i = 0; i < st->n; i++) {
		const struct prov_value *v = &st->v[i];
		status = v->attr == ATTR_exitStatus ? v : status;
		signal = v->attr == ATTR_exitSignal ? v : signal;
		argv = v->attr == ATTR_argv ? v : argv;
	}
	buf_reset(&m->head);
	jsonw_open(&j, '{');
	jsonw_pair(&j, "@id", "#", st->id);
	jsonw_pair_cstr(&j, "@type", "CreateAction");
	jsonw_pair(&j, "name", "", st->label.n ? st->label : str_of("a process, without a program of its own"));
	if (argv) {
		jsonw_key(&j, "", "description");
		jsonw_list_text(&j, &argv->list, false, NULL);
	}
	if (st->start != TIME_NONE) {
		jsonw_key(&j, "", "startTime");
		jsonw_time(&j, st->start);
	}
	if (st->end != TIME_NONE) {
		jsonw_key(&j, "", "endTime");
		jsonw_time(&j, st->end);
		bool failed = signal || (status && status->count);
		jsonw_key(&j, "", "actionStatus");
		reference_to(&j, "http://schema.org/", str_of(failed ? "FailedActionStatus" : "CompletedActionStatus"));
		if (failed) {
			char text[64];
			snprintf(text, sizeof(text), "%s %llu", signal ? "signal" : "exit status",
			         (unsigned long long)(signal ? signal : status)->count);
			jsonw_pair_cstr(&j, "error", text);
		}
	}
	jsonw_release(&j);
}

static void close_action_list(struct maker *m)
{
	if (m->list != NOTHING)
		jsonw_close(&m->j, ']');
	m->list = NOTHING;
}

static void action_begin(struct maker *m)
{
	struct jsonw *j = &m->j;
	m->waiting = false;
	m->open = true;
	jsonw_line(j, 2);
	out_str(j->out, buf_view(&m->head));
	j->comma = true;
}

/* The script that it ran, else its program. 0, -errno. */
static int write_instrument(struct maker *m)
{
	struct version_info v;
	struct file_info f;
	int r = m->ran ? load_crate_version(m, m->ran, &v, &f) : 0;
	jsonw_key(&m->j, "", "instrument");
	if (r > 0) {
		jsonw_open(&m->j, '{');
		write_version_id(m, &v, &f);
		jsonw_close(&m->j, '}');
	} else
		reference_to(&m->j, m->program ? "#" : NO_PROGRAM, m->program ? buf_view(&m->instrument) : str_of(""));
	return r < 0 ? r : 0;
}

/* Ends the action that is being written, with its instrument. 0, also where none is open; -errno. */
static int action_end(struct maker *m)
{
	if (!m->open)
		return 0;
	close_action_list(m);
	int r = write_instrument(m);
	jsonw_close(&m->j, '}');
	m->open = false;
	return r;
}

/* The action of an execution begins; that of a process without a program when it is known that it has files. 0, -errno.
 * */
static int begin_action(struct maker *m, const struct prov_statement *st)
{
	int r = action_end(m);
	note_script(m, st);
	m->program = false;
	m->waiting = strcmp(st->type, "Execution") == 0;
	if (m->waiting)
		action_head(m, st);
	if (m->waiting && st->label.n)
		action_begin(m);
	return r < 0 ? r : m->head.failed || m->script.failed ? -ENOMEM : jsonw_error(&m->j);
}

/* Of a process without a program it comes before it is known whether it is told; its user is the parent's. */
static int write_action_agent(struct maker *m, const struct prov_statement *st)
{
	bool program = st->object.n && st->object.p[0] == 'p';
	if (m->open && program) {
		buf_reset(&m->instrument);
		buf_str(&m->instrument, st->object);
		m->program = true;
	} else if (m->open) {
		jsonw_key(&m->j, "", "agent");
		reference_to(&m->j, "#", st->object);
	}
	return m->instrument.failed ? -ENOMEM : jsonw_error(&m->j);
}

/* Writes an execution as an action, with what it read and wrote. 0, also for what is not shown; -errno. */
static int write_crate_action(void *arg, const struct prov_statement *st)
{
	struct maker *m = arg;
	struct jsonw *j = &m->j;
	if (st->kind == PROV_activity)
		return begin_action(m, st);
	if (st->kind == PROV_wasAssociatedWith)
		return write_action_agent(m, st);
	if (m->waiting)
		action_begin(m);
	if (!m->open)
		return 0;
	bool result = st->kind == PROV_wasGeneratedBy;
	struct version_info v;
	struct file_info f;
	int r = load_crate_version(m, result ? st->what : st->other, &v, &f);
	if (r <= 0)
		return r;
	if (!result && is_script(m, &f))
		m->ran = v.id;
	if (m->list != (result ? RESULTS : OBJECTS)) {
		close_action_list(m);
		jsonw_key(j, "", result ? "result" : "object");
		jsonw_open(j, '[');
		m->list = result ? RESULTS : OBJECTS;
	}
	jsonw_open(j, '{');
	write_version_id(m, &v, &f);
	jsonw_close(j, '}');
	return jsonw_error(j);
}

/* ---- the document ---- */

static void fixed_entities(struct jsonw *j)
{
	entity_open(j, "", str_of("ro-crate-metadata.json"), "CreativeWork");
	jsonw_key(j, "", "about");
	reference_to(j, "./", str_of(""));
	jsonw_key(j, "", "conformsTo");
	reference_to(j, "https://w3id.org/ro/crate/1.1", str_of(""));
	jsonw_close(j, '}');
	entity_open(j, PROFILE, str_of(""), "CreativeWork");
	jsonw_pair_cstr(j, "name", "Process Run Crate");
	jsonw_pair_cstr(j, "version", "0.5");
	jsonw_close(j, '}');
	entity_open(j, "#license", str_of(""), "CreativeWork");
	jsonw_pair_cstr(j, "name", "No license");
	jsonw_pair_cstr(j, "description", "What may be done with these files was not recorded.");
	jsonw_close(j, '}');
	entity_open(j, NO_PROGRAM, str_of(""), "SoftwareApplication");
	jsonw_pair_cstr(j, "name", "not recorded");
	jsonw_pair_cstr(j, "description",
	                "The program that the process shares with the one it was forked from, or one that was not seen.");
	jsonw_close(j, '}');
}

/* A run is no entity of a Process Run Crate: what was written about runs is said of the whole. */
static int append_run_notes(void *arg, const struct prov_statement *st)
{
	struct maker *m = arg;
	if (strcmp(st->type, "Run") == 0)
		add_notes(st, &m->description);
	return m->description.failed ? -ENOMEM : 0;
}

/* Writes the entity of the crate itself. now: the date of publication (ns). 0, -errno. */
static int write_root_dataset(struct maker *m, int64_t now)
{
	struct jsonw *j = &m->j;
	buf_reset(&m->description);
	buf_printf(&m->description,
	           "Executions of programs and the versions of files that they used and wrote, as stemma recorded them.");
	int r = prov_walk(m->p, PROV_BIT(PROV_activity), append_run_notes, m);
	entity_open(j, "./", str_of(""), "Dataset");
	jsonw_pair_cstr(j, "name", "Provenance of files");
	jsonw_pair(j, "description", "", buf_view(&m->description));
	jsonw_key(j, "", "datePublished");
	jsonw_time(j, now);
	jsonw_key(j, "", "license");
	reference_to(j, "#license", str_of(""));
	jsonw_key(j, "", "conformsTo");
	reference_to(j, PROFILE, str_of(""));
	jsonw_key(j, "", "hasPart");
	jsonw_open(j, '[');
	if (r == 0)
		r = prov_walk(m->p, PROV_BIT(PROV_entity), write_part_reference, m);
	jsonw_close(j, ']');
	jsonw_key(j, "", "mentions");
	jsonw_open(j, '[');
	if (r == 0)
		r = prov_walk(m->p, PROV_BIT(PROV_activity) | PROV_BIT(PROV_used) | PROV_OUTPUTS, write_mention_reference, m);
	jsonw_close(j, ']');
	jsonw_close(j, '}');
	return r;
}

/* Writes ro-crate-metadata.json. 0, -errno. */
static int write_crate_metadata(struct maker *m, int64_t now)
{
	struct jsonw *j = &m->j;
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "@context", "https://w3id.org/ro/crate/1.1/context");
	jsonw_line(j, 1);
	jsonw_key(j, "", "@graph");
	jsonw_open(j, '[');
	fixed_entities(j);
	int r = write_root_dataset(m, now);
	m->waiting = false;
	if (r == 0)
		r = prov_walk(m->p, PROV_BIT(PROV_activity) | PROV_BIT(PROV_used), collect_script, m);
	idset_close(&m->scripts);
	if (r == 0)
		r = prov_walk(m->p, PROV_BIT(PROV_agent), write_crate_agent, m);
	if (r == 0)
		r = prov_walk(m->p, PROV_BIT(PROV_entity), write_crate_data, m);
	if (r == 0)
		r = prov_walk(m->p,
		              PROV_BIT(PROV_activity) | PROV_BIT(PROV_wasAssociatedWith) | PROV_BIT(PROV_used) | PROV_OUTPUTS,
		              write_crate_action, m);
	int ended = action_end(m);
	jsonw_close(j, ']');
	jsonw_close(j, '}');
	out_char(j->out, '\n');
	return r ? r : ended;
}

/* A file without a name, near where the crate will be: it may be large. A descriptor; -1: none can be made. */
static int scratch_file(const char *target)
{
	char *copy = strdup(target), *slash = copy ? strrchr(copy, '/') : NULL;
	if (slash)
		slash[slash == copy] = '\0';
	int fd = copy ? open(slash ? copy : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
	free(copy);
	if (fd < 0) {
		FILE *f = tmpfile();
		fd = f ? fcntl(fileno(f), F_DUPFD_CLOEXEC, 0) : -1;
		if (f)
			fclose(f);
	}
	return fd;
}

/* Into o->target: a folder, or with .zip at its end an archive. *o->left_out: files that are not in it. */
int export_ro_crate(struct prov_source *p, struct out *unused, const struct export_options *o, struct err *err)
{
	struct out out;
	struct stat st;
	struct timespec now;
	struct maker m = {
	    .p = p, .with_files = o->with_files, .zip = str_ends(str_of(o->target), str_of(".zip")), .o = o, .err = err};
	(void)unused;
	clock_gettime(CLOCK_REALTIME, &now);
	int r = crate_open(o->target, err, &m.crate);
	if (r < 0)
		return r;
	int fd = scratch_file(o->target);
	if (fd < 0 || out_open(&out, fd) < 0) {
		r = err_set(err, errno, "cannot create '%s'", o->target);
	} else {
		m.j.out = &out;
		if (o->with_files)
			r = prov_walk(p, PROV_BIT(PROV_activity), is_received, &m);
		if (r == 0 && o->with_files)
			r = prov_walk(p, PROV_BIT(PROV_entity), copy_one, &m);
		idset_close(&m.copied);
		if (r == 0)
			r = write_crate_metadata(&m, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
		int w = out_close(&out);
		if (r < 0 || w < 0)
			r = err_set(err, w < 0 ? -w : -r, "cannot make '%s'", o->target);
		if (r == 0 && fstat(fd, &st) < 0)
			r = err_set(err, errno, "cannot make '%s'", o->target);
		if (r == 0)
			r = crate_put(m.crate, "ro-crate-metadata.json", fd, (uint64_t)st.st_size, err);
	}
	if (fd >= 0)
		close(fd);
	jsonw_release(&m.j);
	buf_release(&m.head);
	buf_release(&m.description);
	buf_release(&m.script);
	buf_release(&m.instrument);
	idset_release(&m.scripts);
	idset_release(&m.copied);
	if (r == 0 && o->left_out)
		*o->left_out = m.left_out;
	return crate_close(m.crate, r, err);
}
