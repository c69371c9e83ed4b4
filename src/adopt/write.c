/* write.c - jobs as events: a session of this host, in a segment of its own that bears the hash of what it says, so
 * that the same is not added twice. */
#include "adopt/adopt.h"
#include "base/fileid.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/ulid.h"
#include "event/log_frame.h"
#include "import/logs.h"
#include "query/target.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SECOND 1000000000LL
/* By how much the times of a file and those that a tool tells may differ, ns: the grain of the clock of file times, or
 * of a time that is told in whole seconds. */
static int64_t time_grain(int64_t t)
{
	return t % SECOND ? SECOND / 50 : SECOND;
}

/* What a path stands for, at the moment of a job. */
struct adopted_file {
	struct fileid id;
	bool same; /* it is there, and is what the job left or read */
};

struct adopt_writer {
	const struct adopt_jobs *jobs;
	struct adopt_report *report;
	struct buf out;
	struct log_frames frames; /* in out */
	int64_t began, ended;
	uint32_t files, procs, domains;
	struct map file_number, domain_number;
	int error;
};

/* ---- events ---- */

/* The seq of the event; 0: the writer failed, now or earlier (w->error), and nothing more is written. */
static uint64_t emit(struct adopt_writer *w, const struct event *ev)
{
	uint64_t seq = w->error ? 0 : log_frames_add(&w->frames, ev);
	w->error = w->error ? w->error : w->frames.error;
	return seq;
}

/* ---- files ---- */

/* A pipe of a traced log, and no path. */
static bool is_pipe(const char *path)
{
	return path[0] != '/';
}

/* Is the file at path what the job left, or found? from, to: between which it was modified then. */
static struct adopted_file look_at(const char *path, int64_t from, int64_t to, struct adopt_report *r)
{
	struct adopted_file f = {.same = false};
	if (is_pipe(path))
		return f;
	/* A link is followed: git-annex and DVC keep files behind links. Nothing is opened. */
	if (fileid_get(AT_FDCWD, path, true, &f.id) < 0) {
		r->gone++;
		return f;
	}
	int64_t mtime = fileid_time(&f.id.st.stx_mtime);
	f.same = S_ISREG(f.id.st.stx_mode) && !f.id.domain->pseudo && mtime >= from && mtime <= to;
	r->changed += !f.same;
	return f;
}

/* Writes the domain's event where the name is new. What is wrong then is in w->error. */
static uint64_t domain_number(struct adopt_writer *w, struct str name, struct str type, bool network)
{
	uint32_t n = map_get(&w->domain_number, hash_str(name));
	if (n != VEC_NONE)
		return n;
	n = ++w->domains;
	if (!map_set(&w->domain_number, hash_str(name), n))
		w->error = -ENOMEM;
	emit(w, &(struct event){.kind = EVENT_domain,
	                        .time = w->began,
	                        .domain = {.num = n, .name = name, .type = type, .network = network}});
	return n;
}

/* The number of the file; one that is not known for what it was is known by its path. */
static uint64_t file_number(struct adopt_writer *w, const struct adopted_file *f, const char *path, int64_t time)
{
	struct event_file ev = {.kind = is_pipe(path) ? TERM_kind_pipe : TERM_kind_regular, .path = str_of(path)};
	struct str domain = str_of("adopted"), type = str_of("");
	bool network = false;
	ev.ino = hash_str(ev.path);
	if (f->same) {
		domain = str_of(f->id.domain->name);
		type = str_of(f->id.domain->type);
		network = f->id.domain->network;
		ev.ino = f->id.ino;
		ev.gen = f->id.gen;
	}
	const uint64_t key[] = {hash_str(domain), ev.ino, ev.gen, hash_str(ev.path)};
	uint32_t n = map_get(&w->file_number, hash_bytes(key, sizeof(key)));
	if (n != VEC_NONE)
		return n;
	ev.domain = domain_number(w, domain, type, network);
	ev.num = n = ++w->files;
	if (!map_set(&w->file_number, hash_bytes(key, sizeof(key)), n))
		w->error = -ENOMEM;
	emit(w, &(struct event){.kind = EVENT_file, .time = time, .file = ev});
	return n;
}

/* Emits what is known of file num at a time (ns): its size and time of change. Of its content nothing is said. */
static void emit_state(struct adopt_writer *w, const struct adopted_file *f, uint64_t num, int64_t time)
{
	emit(w,
	     &(struct event){.kind = EVENT_state,
	                     .time = time,
	                     .state = {.file = num, .size = f->id.st.stx_size, .mtime = fileid_time(&f->id.st.stx_mtime)}});
}

/* ---- jobs ---- */

/* When it ran, as far as it and its outputs tell. */
static void times_of(const struct adopt_job *j, int64_t *start, int64_t *end)
{
	*start = j->start;
	*end = j->end;
	struct statx st;
	for (size_t i = 0; i < j->out.n && j->end == TIME_NONE; i++)
		if (statx(AT_FDCWD, j->out.v[i], AT_SYMLINK_NOFOLLOW, STATX_MTIME, &st) == 0 &&
		    (*end == TIME_NONE || fileid_time(&st.stx_mtime) > *end))
			*end = fileid_time(&st.stx_mtime);
	if (*end == TIME_NONE)
		*end = *start == TIME_NONE ? 1 : *start + 1;
	if (*start == TIME_NONE || *start >= *end)
		*start = *end - 1;
}

/* Who a user is called, or their number. */
static void owner_name(uid_t uid, char ret[64])
{
	char room[4096];
	struct passwd p, *found = NULL;
	if (getpwuid_r(uid, &p, room, sizeof(room), &found) == 0 && found && found->pw_name[0])
		snprintf(ret, 64, "%s", found->pw_name);
	else
		snprintf(ret, 64, "%u", (unsigned)uid);
}

/* What it is, wherever it is told: a job that is told twice is one. */
static uint64_t identity_of_job(const struct adopt_job *j, int64_t start)
{
	uint64_t h = hash_str(str_of(adopt_tool_name(j->tool)));
	h = hash_more(h, j->name, strlen(j->name) + 1);
	h = hash_more(h, &start, sizeof(start));
	for (size_t i = 0; i < j->out.n; i++)
		h = hash_more(h, j->out.v[i], strlen(j->out.v[i]) + 1);
	return h;
}

/* The command as far as it is known, else the tool and the job's name. No memory: w->error. */
static void emit_exec(struct adopt_writer *w, const struct adopt_job *j, uint64_t proc, int64_t start)
{
	const uint64_t uid = w->jobs->owner;
	struct str one[2] = {str_of(adopt_tool_name(j->tool)), str_of(j->name)}, *words = NULL;
	struct event ev = {
	    .kind = EVENT_exec, .time = start, .proc = proc, .exec = {.n = 1, .cwd = str_of(j->cwd), .uid = uid}};
	ev.exec.argv = (struct strlist){.items = one, .count = 1 + (j->name[0] != '\0')};
	if (j->argv.n && !(words = calloc(j->argv.n, sizeof(*words)))) {
		w->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < j->argv.n; i++)
		words[i] = str_of(j->argv.v[i]);
	if (words)
		ev.exec.argv = (struct strlist){.items = words, .count = j->argv.n};
	emit(w, &ev);
	free(words);
}

/* An access that the job is told to have made: possible, and counted once however often it is told. */
static void emit_access(struct adopt_writer *w, const struct adopted_file *f, const char *path, uint64_t proc,
                        uint64_t job, unsigned mode, int64_t start, int64_t end)
{
	const bool writes = mode & ACCESS_WRITE;
	uint64_t num = file_number(w, f, path, start);
	uint64_t key = hash_more(job, path, strlen(path) + 1);
	if (f->same && !writes) {
		emit_state(w, f, num, start);
		mode |= ACCESS_STATE;
	}
	uint64_t seq = emit(w, &(struct event){.kind = EVENT_access,
	                                       .time = start,
	                                       .proc = proc,
	                                       .access = {.file = num,
	                                                  .mode = mode,
	                                                  .via = TERM_via_data,
	                                                  .as_session = UINT64_MAX,
	                                                  .as_seq = hash_more(key, &mode, sizeof(mode))}});
	if (f->same && writes)
		emit_state(w, f, num, end);
	emit(w, &(struct event){.kind = EVENT_access_end,
	                        .time = end,
	                        .proc = proc,
	                        .access_end = {.access = seq,
	                                       .until = end,
	                                       .evidence = writes ? TERM_evidence_may : TERM_evidence_none,
	                                       .state = f->same && writes}});
}

/* When an edge begins: as it was told, within the job; else with it. */
static int64_t edge_time(int64_t told, int64_t start, int64_t end)
{
	return told == TIME_NONE || told < start ? start : told > end ? end : told;
}

/* The job's process, its files as they are now, a gap that says that it is only reported, its end. */
static void emit_job(struct adopt_writer *w, const struct adopt_job *j)
{
	int64_t start, end;
	times_of(j, &start, &end);
	const uint64_t job = identity_of_job(j, start), proc = ++w->procs;
	emit(w, &(struct event){.kind = EVENT_process,
	                        .time = start,
	                        .proc = proc,
	                        .process = {.pid = job & 0x7fffffff, .started = (int64_t)(job >> 1), .forked = TIME_NONE}});
	emit_exec(w, j, proc, start);
	for (size_t i = 0; i < j->in.n; i++) {
		int64_t at = edge_time(j->in_at.n ? j->in_at.v[i] : TIME_NONE, start, end);
		struct adopted_file f = look_at(j->in.v[i], INT64_MIN, at, w->report);
		emit_access(w, &f, j->in.v[i], proc, job, ACCESS_READ, at, end);
	}
	for (size_t i = 0; i < j->out.n; i++) {
		int64_t at = edge_time(j->out_at.n ? j->out_at.v[i] : TIME_NONE, start, end);
		struct adopted_file f = look_at(j->out.v[i], at - time_grain(at), end + time_grain(end), w->report);
		emit_access(w, &f, j->out.v[i], proc, job, ACCESS_WRITE | ACCESS_CREATE | ACCESS_TRUNC, at, end);
	}
	emit(w, &(struct event){.kind = EVENT_gap,
	                        .time = end,
	                        .proc = proc,
	                        .gap = {.reason = TERM_gap_reported,
	                                .count = 1,
	                                .from = start,
	                                .text = str_of(adopt_tool_title(j->tool))}});
	struct event_exit over = {.ending = j->ended ? TERM_ending_exited : TERM_ending_unknown, .code = (uint64_t)j->code};
	emit(w, &(struct event){.kind = EVENT_exit, .time = end, .proc = proc, .exit = over});
}

/* ---- what the record knows better ---- */

/* Was the file, as it is now, recorded while it was made? 1, 0, -errno. */
static int is_recorded(struct store *s, const char *path)
{
	struct err err = {0};
	struct file_target t;
	struct edges makers = {0};
	int r = target_file(s, path, &err, &t);
	if (r <= 0 || t.disk != DISK_SAME || !t.version)
		return r == -ENOENT || r == -EISDIR ? 0 : r < 0 ? r : 0;
	r = store_gens(s, t.version, &makers);
	bool seen = false;
	for (size_t i = 0; r == 0 && i < makers.n; i++)
		seen |= makers.v[i].sure;
	edges_release(&makers);
	return r < 0 ? r : seen;
}

/* Were all outputs of the job? 1, 0, -errno. */
static int is_known_better(struct store *s, const struct adopt_job *j)
{
	int r = s != NULL && j->out.n;
	for (size_t i = 0; i < j->out.n && r > 0; i++)
		r = is_recorded(s, j->out.v[i]);
	return r;
}

/* Sets w->began and w->ended over the jobs that are taken, and the session's number from them: the same jobs give the
 * same session. */
static void session_name(const struct adopt_jobs *jobs, struct adopt_writer *w, const bool *taken)
{
	uint64_t h = hash_str(str_of("stemma adopt"));
	w->began = TIME_NEVER;
	w->ended = INT64_MIN;
	for (size_t i = 0; i < jobs->v.n; i++) {
		int64_t start, end;
		if (!taken[i])
			continue;
		times_of(&jobs->v.v[i], &start, &end);
		const uint64_t one[] = {identity_of_job(&jobs->v.v[i], start), (uint64_t)end, jobs->v.v[i].in.n};
		h = hash_more(h, one, sizeof(one));
		w->began = start < w->began ? start : w->began;
		w->ended = end > w->ended ? end : w->ended;
	}
	w->frames.session = h | 0xffff000000000000;
}

/* The whole session with its run and jobs, flushed. host: gets this machine's name. Errors are in w->error. */
static void emit_session(struct adopt_writer *w, const bool *taken, char host[256])
{
	char run[ULID_LEN + 1], user[64] = "";
	const struct str argv[] = {str_of("stemma"), str_of("adopt"), str_of(w->jobs->folder)};
	gethostname(host, 255);
	host[255] = '\0';
	ulid_of_hash(w->began, w->frames.session, run);
	owner_name(w->jobs->owner, user);
	emit(w, &(struct event){.kind = EVENT_session,
	                        .time = w->began,
	                        .session = {.run = str_of(run),
	                                    .host = str_of(host),
	                                    .boot = str_of("adopted"),
	                                    .tool = str_of("stemma adopt " STEMMA_VERSION),
	                                    .mode = str_of("adopted")}});
	emit(w, &(struct event){.kind = EVENT_run,
	                        .time = w->began,
	                        .run = {.id = str_of(run),
	                                .argv = {.items = argv, .count = 3},
	                                .cwd = argv[2],
	                                .user = str_of(user),
	                                .uid = w->jobs->owner}});
	for (size_t i = 0; i < w->jobs->v.n && !w->error; i++)
		if (taken[i])
			emit_job(w, &w->jobs->v.v[i]);
	emit(w, &(struct event){.kind = EVENT_run_end, .time = w->ended, .run_end = {.id = str_of(run)}});
	emit(w, &(struct event){.kind = EVENT_session_end, .time = w->frames.before});
	log_frames_flush(&w->frames);
	w->error = w->error ? w->error : w->frames.error;
}

/* Which of the jobs are to be written. Their number, or -errno. */
static long choose_jobs(const struct adopt_jobs *jobs, struct store *s, struct adopt_report *r, bool *taken)
{
	long n = 0;
	for (size_t i = 0; i < jobs->v.n; i++) {
		const struct adopt_job *j = &jobs->v.v[i];
		int known = is_known_better(s, j);
		if (known < 0)
			return known;
		taken[i] = !known && j->out.n;
		n += taken[i];
		(known ? r->recorded : !j->out.n ? r->empty : r->jobs)[j->tool]++;
	}
	return n;
}

int adopt_write(const struct adopt_jobs *jobs, struct store *s, const char *home, bool dry, struct err *err,
                struct adopt_report *ret)
{
	char host[256];
	struct adopt_writer w = {.jobs = jobs, .report = ret};
	w.frames.out = &w.out;
	*ret = (struct adopt_report){.added = false};
	bool *taken = calloc(jobs->v.n + 1, sizeof(*taken));
	long n = taken ? choose_jobs(jobs, s, ret, taken) : -ENOMEM;
	int rc = n < 0 ? (int)n : 0;
	if (n > 0) {
		session_name(jobs, &w, taken);
		emit_session(&w, taken, host);
		rc = w.error ? w.error : w.out.failed ? -ENOMEM : 0;
	}
	if (rc < 0)
		err_set(err, -rc, "cannot add the jobs to the record");
	else if (n > 0 && !dry)
		rc = import_segment(home, str_of(host), w.frames.session, w.out.p, w.out.n, err);
	ret->added = rc > 0;
	free(taken);
	buf_release(&w.out);
	log_frames_release(&w.frames);
	map_release(&w.file_number);
	map_release(&w.domain_number);
	return rc < 0 ? rc : 0;
}
