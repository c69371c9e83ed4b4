#include "trust/session.h"

#include "base/map.h"
#include "base/os/system.h"
#include "base/vec.h"
#include "event/log_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILES_MAX 200000 /* of one run; a run with more has its first ones */

struct reading {
	struct session_files *out;
	const char *system_extra;
	struct map by_num;  /* file number -> index in out, or VEC_NONE */
	struct map domains; /* number -> index in names */
	VEC(char *) names;
	struct map by_access; /* seq of a writing access -> index in out */
	uint64_t seq;         /* the last event that was taken */
	uint64_t first;       /* process of the first program */
	int rc;
};

/* By its name; the loader's cache is none. */
static bool is_library_file(struct str path)
{
	const char *so = memmem(path.p, path.n, ".so", 3);
	if (str_ends(path, str_of(".cache"))) /* ld.so.cache */
		return false;
	return so && (so + 3 == path.p + path.n || so[3] == '.');
}

/* FILES_MAX at most; only regular files. r->rc: no memory. */
static void on_file_event(struct reading *r, const struct event *ev)
{
	struct session_files *f = r->out;
	if (ev->file.kind != TERM_kind_regular || f->n >= FILES_MAX || map_get(&r->by_num, ev->file.num) != VEC_NONE)
		return;
	uint32_t d = map_get(&r->domains, ev->file.domain);
	if (!vec_has_room(f->v, f->n, f->cap)) {
		r->rc = -ENOMEM;
		return;
	}
	struct session_file *x = &f->v[f->n];
	*x = (struct session_file){.num = ev->file.num,
	                           .path = strndup(ev->file.path.p ? ev->file.path.p : "", ev->file.path.n),
	                           .domain = strdup(d == VEC_NONE ? "" : r->names.v[d]),
	                           .ino = ev->file.ino,
	                           .gen = ev->file.gen,
	                           .mtime = TIME_NONE,
	                           .library = is_library_file(ev->file.path),
	                           .system = system_path(ev->file.path, r->system_extra) != SYSTEM_NO};
	if (!x->path || !x->domain || !map_set(&r->by_num, ev->file.num, (uint32_t)f->n)) {
		free(x->path);
		free(x->domain);
		r->rc = -ENOMEM;
		return;
	}
	f->n++;
}

/* What is known of a file of the session. num: the session's; NULL: not known, or 0. */
static struct session_file *session_file_of(struct reading *r, uint64_t num)
{
	uint32_t i = num ? map_get(&r->by_num, num) : VEC_NONE;
	return i == VEC_NONE ? NULL : &r->out->v[i];
}

/* The first one says what the command was. */
static void on_exec_event(struct reading *r, const struct event *ev)
{
	struct session_file *exe = session_file_of(r, ev->exec.exe), *script = session_file_of(r, ev->exec.script);
	if (exe)
		exe->program = true;
	if (script)
		script->program = true;
	if (r->first || !ev->proc)
		return;
	struct session_files *f = r->out;
	struct str s;
	r->first = ev->proc;
	f->began = ev->time; /* the command's own program begins: what starting it took is not its */
	f->exe = exe ? strdup(script ? script->path : exe->path) : NULL;
	f->argv = calloc(ev->exec.argv.count + 1, sizeof(*f->argv));
	if (!f->argv || (exe && !f->exe))
		r->rc = -ENOMEM;
	for (size_t pos = 0; f->argv && f->argc < ev->exec.argv.count && strlist_next(&ev->exec.argv, &pos, &s);)
		if (!(f->argv[f->argc++] = strndup(s.p ? s.p : "", s.n)))
			r->rc = -ENOMEM;
}

/* Notes a domain's name. Without memory r->rc is -ENOMEM. */
static void on_domain_event(struct reading *r, const struct event *ev)
{
	char **slot = vec_add(&r->names);
	if (!slot || !(*slot = strndup(ev->domain.name.p ? ev->domain.name.p : "", ev->domain.name.n)) ||
	    !map_set(&r->domains, ev->domain.num, (uint32_t)(r->names.n - 1)))
		r->rc = -ENOMEM;
}

/* The first is its state before, the last after. */
static void on_state_event(struct reading *r, const struct event *ev)
{
	struct session_file *f = session_file_of(r, ev->state.file);
	if (!f)
		return;
	if (!f->has_state) {
		f->size_before = ev->state.size;
		f->mtime_before = ev->state.mtime;
	}
	f->has_state = true;
	f->size = ev->state.size;
	f->mtime = ev->state.mtime;
}

/* Removed under its name, or renamed. */
static void on_name_event(struct reading *r, const struct event *ev)
{
	struct session_file *f = session_file_of(r, ev->name.file);
	if (!f)
		return;
	if (ev->name.op == TERM_nameop_unlink || ev->name.op == TERM_nameop_replace) {
		f->gone |= str_is(ev->name.path, f->path);
		return;
	}
	char *path = strndup(ev->name.path.p ? ev->name.path.p : "", ev->name.path.n);
	if (path) {
		free(f->path);
		f->path = path;
		f->gone = false;
	}
}

/* Who opened it to write may have written: the end of the access says so. */
static void on_access_event(struct reading *r, const struct event *ev)
{
	struct session_file *f = session_file_of(r, ev->access.file);
	if (!f || ev->access.via == TERM_via_sync)
		return;
	f->read |= (ev->access.mode & ACCESS_READ) != 0;
	f->program |= (ev->access.mode & ACCESS_PROGRAM) != 0;
	/* Opened for writing is not written: its end says so. */
	if (ev->access.mode & (ACCESS_CREATE | ACCESS_TRUNC))
		f->made = true;
	else if (ev->access.mode & ACCESS_WRITE && !map_set(&r->by_access, ev->seq, (uint32_t)(f - r->out->v)))
		r->rc = -ENOMEM;
}

/* An access ended that may have written: the file counts as made, unless it surely is the same. */
static void on_access_end_event(struct reading *r, const struct event *ev)
{
	uint32_t i = r->by_access.n ? map_get(&r->by_access, ev->access_end.access) : VEC_NONE;
	if (i == VEC_NONE || ev->access_end.evidence == TERM_evidence_none)
		return;
	/* Of one that was only handed to it, and that nobody can tell of, its looks tell. */
	struct session_file *f = &r->out->v[i];
	if (ev->access_end.evidence == TERM_evidence_must || !f->has_state || f->size != f->size_before ||
	    f->mtime != f->mtime_before)
		f->made = true;
}

/* One event of a session, in order; other kinds are passed over. */
static void on_session_event(struct reading *r, const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_domain:
		on_domain_event(r, ev);
		break;
	case EVENT_run:
		if (r->out->began == TIME_NONE)
			r->out->began = ev->time;
		break;
	case EVENT_run_end:
		r->out->ended = ev->time;
		break;
	case EVENT_exit:
		if (ev->exit.known & 1u << 1)
			r->out->cpu += ev->exit.cpu;
		break;
	case EVENT_file:
		on_file_event(r, ev);
		break;
	case EVENT_state:
		on_state_event(r, ev);
		break;
	case EVENT_exec:
		on_exec_event(r, ev);
		break;
	case EVENT_name:
		on_name_event(r, ev);
		break;
	case EVENT_access:
		on_access_event(r, ev);
		break;
	case EVENT_access_end:
		on_access_end_event(r, ev);
		break;
	default:
		break;
	}
}

/* Events that were read before are passed over. 0, -errno with a sentence. */
static int read_segment(struct reading *r, const char *path, uint64_t from, uint64_t session, struct err *err)
{
	struct log_reader *l;
	struct log_frame_info f;
	struct event ev;
	int rc = log_reader_open(path, err, &l);
	if (rc < 0)
		return rc;
	log_reader_seek(l, from);
	while ((rc = log_reader_frame(l, &f)) == 1) {
		while (f.session == session && r->rc == 0 && log_reader_event(l, &ev) == 1)
			if (ev.seq > r->seq) {
				r->seq = ev.seq;
				on_session_event(r, &ev);
			}
	}
	log_reader_close(l);
	return rc < 0 ? err_set(err, -rc, "cannot read the log %s", path) : r->rc;
}

/* SLOT.stl -> SLOT.1.stl -> SLOT.2.stl. */
char *session_next_roll(const char *path)
{
	const char *slash = strrchr(path, '/');
	unsigned slot, roll = 0;
	char *next;
	if (!slash || sscanf(slash + 1, "%u.%u", &slot, &roll) < 1)
		return NULL;
	if (asprintf(&next, "%.*s/%u.%u.stl", (int)(slash - path), path, slot, roll + 1) < 0)
		return NULL;
	if (access(next, R_OK) == 0)
		return next;
	free(next);
	return NULL;
}

int session_files(const struct run_place *p, const char *system_extra, struct err *err, struct session_files *ret)
{
	struct reading r = {.out = ret, .system_extra = system_extra};
	*ret = (struct session_files){.began = TIME_NONE, .ended = TIME_NONE};
	char *path = p->segment ? strdup(p->segment) : NULL;
	int rc = path ? read_segment(&r, path, p->from, p->session, err) : -ENOENT;
	while (rc == 0 && path) {
		char *next = session_next_roll(path);
		free(path);
		path = next;
		if (path)
			rc = read_segment(&r, path, 0, p->session, err);
	}
	free(path);
	for (size_t i = 0; i < r.names.n; i++)
		free(r.names.v[i]);
	vec_release(&r.names);
	map_release(&r.by_num);
	map_release(&r.domains);
	map_release(&r.by_access);
	return rc == -ENOMEM ? err_set(err, ENOMEM, "cannot read what the run used") : rc;
}

void session_files_release(struct session_files *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->v[i].path);
		free(f->v[i].domain);
	}
	for (size_t i = 0; i < f->argc; i++)
		free(f->argv[i]);
	free(f->v);
	free(f->argv);
	free(f->exe);
	*f = (struct session_files){0};
}
