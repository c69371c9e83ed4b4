/* facts_reported.c - facts that are kept as they were told: gaps, notes, summaries, builds, and what programs said of
 * themselves. */
#include "graph/facts_int.h"

void facts_apply_gap(struct facts *f, const struct event *ev)
{
	const struct facts_proc *p = ev->proc ? facts_proc_numbered(f, ev->proc) : NULL;
	struct ggap *g = vec_add(&f->g->gaps);
	if (!g) {
		f->g->failed = true;
		return;
	}
	*g = (struct ggap){.session = f->session,
	                   .exec = p ? p->exec : VEC_NONE,
	                   .key = facts_key(f, ev),
	                   .reason = ev->gap.reason,
	                   .count = ev->gap.count,
	                   .from = ev->gap.from,
	                   .text = facts_word(f, ev->gap.text)};
}

/* Without memory the graph has failed. */
void facts_apply_note(struct facts *f, const struct event *ev)
{
	uint32_t file = facts_file_or_none(f, ev->note.file);
	struct gnote *n = vec_add(&f->g->notes);
	if (!n) {
		f->g->failed = true;
		return;
	}
	*n = (struct gnote){.session = f->session,
	                    .key = facts_key(f, ev),
	                    .run = facts_word(f, ev->note.run),
	                    .file = file,
	                    .text = facts_word(f, ev->note.text),
	                    .version = facts_word(f, ev->note.version),
	                    .user = facts_word(f, ev->note.user)};
}

/* Without memory the graph has failed. */
void facts_apply_summary(struct facts *f, const struct event *ev)
{
	struct gsummary *s = vec_add(&f->g->summaries);
	if (!s) {
		f->g->failed = true;
		return;
	}
	*s = (struct gsummary){.session = f->session,
	                       .key = facts_key(f, ev),
	                       .run = facts_word(f, ev->summary.run),
	                       .text = facts_word(f, ev->summary.text),
	                       .source = facts_word(f, ev->summary.source),
	                       .set = facts_word(f, ev->summary.set)};
}

/* Keeps the event as its bytes, for the store: of this run (empty: the session's), found again by `by` and by the file.
 */
static void apply_reported_of(struct facts *f, const struct event *ev, struct str run, uint64_t by, uint32_t file)
{
	struct greported *t = vec_add(&f->g->reported);
	struct buf b = {0};
	if (t && event_encode(&b, ev, 0) == 0)
		*t = (struct greported){.session = f->session,
		                        .key = facts_key(f, ev),
		                        .kind = ev->kind,
		                        .by = by,
		                        .file = file,
		                        .run = facts_word(f, run),
		                        .bytes = facts_word(f, buf_view(&b))};
	else
		f->g->failed = true;
	buf_release(&b);
}

/* run: a ULID; by: by what else it is found, 0 nothing. */
void facts_apply_reported(struct facts *f, const struct event *ev, struct str run, uint64_t by)
{
	apply_reported_of(f, ev, run, by, VEC_NONE);
}

/* What is told of an object of an HDF5 file, with what its writer left out because events before it say it. It is
 * called as its file is: the name that it had when this was told, if it had one, may not be its last. What refers to
 * nothing counts in g->unknown_refs. */
void facts_apply_h5(struct facts *f, const struct event *ev)
{
	struct event full = *ev;
	bool shape = ev->kind == EVENT_h5_object;
	struct str *run = shape ? &full.h5_object.run : &full.h5_part.run;
	struct str *path = shape ? &full.h5_object.path : &full.h5_part.path;
	if (!run->n)
		*run = intern_get(&f->g->words, f->g->sessions.v[f->session].run);
	uint64_t number = shape ? full.h5_object.file : full.h5_part.file;
	uint32_t file = number ? facts_find_file(f, number) : VEC_NONE;
	if (file != VEC_NONE) {
		*path = str_of("");
	} else if (!path->n) {
		f->g->unknown_refs++;
		return;
	}
	apply_reported_of(f, &full, *run, 0, file);
}

/* Takes over that an HDF5 object was copied. The copy is known by its file, the original by its identity: a number
 * means nothing outside of the session. */
void facts_apply_h5_copy(struct facts *f, const struct event *ev)
{
	struct event full = *ev;
	struct graph *g = f->g;
	uint32_t file = facts_find_file(f, ev->h5_copy.file), original = facts_find_file(f, ev->h5_copy.original);
	if (file == VEC_NONE || original == VEC_NONE || g->files.v[original].domain == VEC_NONE) {
		g->unknown_refs++;
		return;
	}
	const struct gfile *from = &g->files.v[original];
	if (!full.h5_copy.run.n)
		full.h5_copy.run = intern_get(&g->words, g->sessions.v[f->session].run);
	full.h5_copy.domain = intern_get(&g->words, g->domains.v[from->domain].name);
	full.h5_copy.ino = from->ino;
	full.h5_copy.gen = from->gen;
	apply_reported_of(f, &full, full.h5_copy.run, 0, file);
}

/* Notes the image that speaks, and which run it is of. */
void facts_apply_app(struct facts *f, const struct event *ev)
{
	facts_set(f, &f->apps, ev->seq, facts_word(f, ev->app.run));
	facts_apply_reported(f, ev, ev->app.run, 0);
}

/* What a program told, of the run that its app event names. */
void facts_apply_of_app(struct facts *f, const struct event *ev, uint64_t app)
{
	uint32_t run = dense_get(&f->apps, app);
	if (run == VEC_NONE) {
		f->g->unknown_refs++;
		facts_lack(f);
	} else {
		facts_apply_reported(f, ev, intern_get(&f->g->words, run), 0);
	}
}

/* Keeps the event's bytes: of a build, or of one of its files. */
void facts_apply_build(struct facts *f, const struct event *ev)
{
	struct gbuild *b = vec_add(&f->g->builds);
	struct buf bytes = {0};
	if (ev->kind == EVENT_build_file && !f->in_build)
		facts_lack(f);
	f->in_build |= ev->kind == EVENT_build;
	if (!b || event_encode(&bytes, ev, 0) < 0 || bytes.failed)
		f->g->failed = true;
	else
		*b = (struct gbuild){.session = f->session,
		                     .key = facts_key(f, ev),
		                     .bytes = facts_word(f, buf_view(&bytes)),
		                     .file = ev->kind == EVENT_build_file};
	buf_release(&bytes);
}

/* Notes which session is forgotten. */
void facts_apply_tombstone(struct facts *f, const struct event *ev)
{
	struct gtombstone *t = vec_add(&f->g->tombs);
	if (t)
		*t = (struct gtombstone){f->session, ev->tombstone.dead};
	else
		f->g->failed = true;
}
