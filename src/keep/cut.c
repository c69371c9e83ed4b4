/* cut.c - runs and files taken out of the logs: sessions are read, segments written anew. */
#include "keep/cut_int.h"

#include "keep/write.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEED 0x7374656d6d61u /* of the tombstones' hashes: "stemma" */

/* File 0 is none. 0, -ENOMEM. */
static int note_file_used(struct cut *c, uint64_t file)
{
	return !file || map_set(&c->used, file, 1) ? 0 : cut_no_memory(c);
}

/* Which files what stays refers to. 0, -ENOMEM, reported. */
static int note_uses(struct cut *c, const struct event *ev)
{
	int rc = 0;
	if (ev->proc && ev->kind != EVENT_process && !map_set(&c->needed, ev->proc, 1))
		return cut_no_memory(c);
	switch (ev->kind) {
	case EVENT_file:
		rc = note_file_used(c, ev->file.group);
		return rc < 0 ? rc : note_file_used(c, ev->file.within);
	case EVENT_h5_object:
		return note_file_used(c, ev->h5_object.file);
	case EVENT_h5_part:
		return note_file_used(c, ev->h5_part.file);
	case EVENT_h5_copy:
		rc = note_file_used(c, ev->h5_copy.original);
		return rc < 0 ? rc : note_file_used(c, ev->h5_copy.file);
	case EVENT_exec:
		rc = note_file_used(c, ev->exec.exe);
		return rc == 0 ? note_file_used(c, ev->exec.script) : rc;
	case EVENT_access:
		return note_file_used(c, ev->access.file);
	case EVENT_name:
		return ev->proc ? note_file_used(c, ev->name.file) : 0;
	case EVENT_note:
		return note_file_used(c, ev->note.file);
	default:
		return 0;
	}
}

/* ---- what happens to it ---- */

/* Takes the event out of its session, and into its tombstone's count and hash. -ENOMEM. */
static int drop_event(struct cut *c, const struct event *ev, uint32_t tombstone)
{
	struct cut_tombstone *g = &c->tombstones.v[tombstone];
	buf_reset(&c->scratch);
	event_encode(&c->scratch, ev, ev->time);
	XXH3_128bits_update(g->hash, &ev->time, sizeof(ev->time));
	XXH3_128bits_update(g->hash, c->scratch.p, c->scratch.n);
	g->count++;
	c->stats.events++;
	c->last = tombstone;
	return edits_add(&c->edits, c->session, ev->seq, NULL) < 0 ? cut_no_memory(c) : 0;
}

/* The first pass: what goes and what stays is counted, and what stays refers to. tombstone VEC_NONE: it stays. neutral:
 * it alone keeps no session from going as a whole. -ENOMEM. */
static int count_event(struct cut *c, const struct event *ev, uint32_t tombstone, bool neutral)
{
	if (ev->kind == EVENT_tombstone) {
		uint32_t of = cut_tombstone_of(c, ev->tombstone.run);
		if (of != VEC_NONE)
			c->tombstones.v[of].already = true;
	}
	c->mixed |= tombstone < c->o->n_runs;
	if (tombstone == VEC_NONE) {
		c->stay += !neutral;
		return note_uses(c, ev);
	}
	c->go++;
	c->last = tombstone;
	return 0;
}

/* The file that a neutral event is about, 0 none. */
static uint64_t file_of_neutral(const struct event *ev)
{
	return ev->kind == EVENT_file    ? ev->file.num
	       : ev->kind == EVENT_state ? ev->state.file
	       : ev->kind == EVENT_name  ? ev->name.file
	                                 : 0;
}

/* A keep_logs_events callback, in both passes: the first counts, the second makes the edits. 0, -errno with a sentence.
 * */
static int cut_event(void *arg, const struct event *ev)
{
	struct cut *c = arg;
	uint32_t tombstone;
	bool neutral;
	int rc = cut_event_tombstone(c, ev, &tombstone, &neutral);
	if (rc < 0)
		return rc;
	if (c->pass == 0)
		return count_event(c, ev, tombstone, neutral);
	if (tombstone != VEC_NONE)
		return drop_event(c, ev, tombstone);
	/* Of a run that goes, what it alone used goes too. */
	uint64_t of = neutral && c->mixed ? file_of_neutral(ev) : 0;
	if (of && !cut_map_has(&c->used, of))
		return drop_event(c, ev, (uint32_t)c->last);
	return cut_clean_event(c, ev);
}

/* Forgets what was known of a session. Before the next session: its numbers mean other things. */
static void clear_session(struct cut *c)
{
	c->own = VEC_NONE;
	map_clear(&c->procs);
	map_clear(&c->gone);
	map_clear(&c->apps);
	map_clear(&c->files);
	map_clear(&c->domains);
	map_clear(&c->hidden);
	c->words.n = 0;
}

/* Which run's session is it whole? The one that its first event names, else what went last. */
static size_t tombstone_of_session(const struct cut *c)
{
	return c->own != VEC_NONE ? c->own : c->last;
}

/* Two passes over it; a session of which nothing stays goes as a whole. -errno, reported. */
static int cut_session(struct cut *c, const struct keep_session *s)
{
	c->session = s->number;
	c->stay = c->go = 0;
	c->last = 0;
	c->mixed = false;
	map_clear(&c->used);
	map_clear(&c->needed);
	arena_release(&c->arena);
	clear_session(c);
	c->pass = 0;
	int rc = keep_logs_events(c->l, s, c->err, cut_event, c);
	if (rc < 0 || (!c->go && !c->o->n_words))
		return rc;
	c->mixed &= c->stay > 0;
	size_t first = c->edits.n;
	uint64_t changed = c->stats.changed;
	clear_session(c);
	c->pass = 1;
	rc = keep_logs_events(c->l, s, c->err, cut_event, c);
	if (rc < 0 || c->stay || !c->go)
		return rc;
	/* Nothing is left but its beginning and end. */
	struct cut_whole *w = vec_add(&c->wholes);
	if (!w)
		return cut_no_memory(c);
	*w = (struct cut_whole){s->number, tombstone_of_session(c)};
	c->stats.sessions++;
	c->stats.changed = changed;
	edits_whole(&c->edits, first, s->number);
	return 0;
}

/* ---- tombstones ---- */

/* A rewrite_touched callback: writes a session of tombstones to fd, durably. -errno, reported. */
static int put_tombstones(void *arg, int fd, struct err *err)
{
	struct cut *c = arg;
	struct log_writer *w;
	int rc = keep_begin_at(fd, err, &w);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < c->tombstones.n; i++) {
		const struct cut_tombstone *g = &c->tombstones.v[i];
		if (!g->count)
			continue;
		XXH128_hash_t h = XXH3_128bits_digest(g->hash);
		struct event ev = {.kind = EVENT_tombstone,
		                   .time = keep_now(),
		                   .tombstone = {.what = g->run.n            ? 1
		                                         : i == c->o->n_runs ? 2
		                                                             : 3,
		                                 .run = g->run,
		                                 .count = g->count,
		                                 .hi = h.high64,
		                                 .lo = h.low64,
		                                 .user = str_of(keep_user())}};
		bool any = false;
		for (size_t k = 0; k < c->wholes.n; k++) {
			if (c->wholes.v[k].tombstone != i)
				continue;
			ev.tombstone.dead = c->wholes.v[k].session;
			log_writer_add(w, &ev);
			any = true;
		}
		if (!any)
			log_writer_add(w, &ev);
	}
	return keep_end(w, err);
}

/* ---- all ---- */

/* One tombstone for each run that goes, and two more: for files, and for builds without a run. -ENOMEM, reported. */
static int prepare_cut(struct cut *c)
{
	for (size_t i = 0; i < c->o->n_builds; i++) {
		const struct keep_whole *b = &c->o->builds[i];
		if (!map_set(&c->builds, b->session, (uint32_t)(b->run < c->o->n_runs ? b->run : c->o->n_runs + 1)))
			return cut_no_memory(c);
	}
	for (size_t i = 0; i <= c->o->n_runs + 1; i++) {
		struct cut_tombstone *g = vec_add(&c->tombstones);
		if (!g)
			return cut_no_memory(c);
		*g = (struct cut_tombstone){.run = i < c->o->n_runs ? c->o->runs[i] : str_of("")};
		g->hash = XXH3_createState();
		if (!g->hash || XXH3_128bits_reset_withSeed(g->hash, SEED) != XXH_OK)
			return cut_no_memory(c);
	}
	return 0;
}

static void cut_release(struct cut *c)
{
	for (size_t i = 0; i < c->tombstones.n; i++)
		XXH3_freeState(c->tombstones.v[i].hash);
	vec_release(&c->tombstones);
	vec_release(&c->wholes);
	edits_release(&c->edits);
	map_release(&c->builds);
	map_release(&c->procs);
	map_release(&c->gone);
	map_release(&c->apps);
	map_release(&c->files);
	map_release(&c->used);
	map_release(&c->domains);
	map_release(&c->hidden);
	map_release(&c->needed);
	vec_release(&c->words);
	vec_release(&c->list);
	arena_release(&c->arena);
	buf_release(&c->scratch);
}

/* Fills c->stats. -errno, reported. */
static int rewrite_cut_segments(struct cut *c)
{
	struct rewritten r = {0};
	/* The tombstones go with the first segment: they are there before the rest is gone. */
	int rc = rewrite_touched(c->l, &c->edits, c->o->dry_run, put_tombstones, c, c->err, &r);
	c->stats.segments = r.segments;
	c->stats.before = r.before;
	c->stats.after = r.size;
	c->stats.damaged = r.damaged;
	c->stats.newer = r.newer;
	return rc;
}

/* What lies beside the logs of a run: its function traces, in trace/RUN. Their folder goes, too. 0 where there is none;
 * -errno, reported. */
static int cut_traces(struct cut *c, struct str run)
{
	struct buf path = {0};
	int rc = 0;
	if (run.n != 26 || memchr(run.p, '/', run.n))
		return 0;
	buf_printf(&path, "%s/trace/%.*s", c->l->home, (int)run.n, run.p);
	DIR *d = opendir(buf_cstr(&path));
	for (struct dirent *e; d && rc == 0 && (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlinkat(dirfd(d), e->d_name, 0) < 0)
			rc = -errno;
	if (d)
		closedir(d);
	if (d && rc == 0 && rmdir(buf_cstr(&path)) < 0)
		rc = -errno;
	if (rc < 0)
		err_set(c->err, -rc, "cannot remove '%s'", buf_cstr(&path));
	buf_release(&path);
	return rc;
}

int keep_cut(struct keep_logs *l, const struct keep_cut_options *o, struct err *err, struct keep_cut_stats *ret)
{
	struct cut c = {.l = l, .o = o, .err = err};
	int rc = prepare_cut(&c);
	for (size_t i = 0; rc == 0 && i < l->sessions.n; i++)
		rc = cut_session(&c, &l->sessions.v[i]);
	if (rc == 0)
		rc = edits_ready(&c.edits) < 0 ? cut_no_memory(&c) : rewrite_cut_segments(&c);
	for (size_t i = 0; rc == 0 && !o->dry_run && i < o->n_runs; i++)
		rc = cut_traces(&c, o->runs[i]);
	for (size_t i = 0; i < o->n_runs && i < c.tombstones.n; i++)
		c.stats.already += c.tombstones.v[i].already && !c.tombstones.v[i].count;
	*ret = c.stats;
	cut_release(&c);
	return rc;
}
