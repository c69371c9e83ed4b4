/* What tables of descriptors, and counts of bytes, say of accesses; and who else may have had a channel. */
#include "node/node_int.h"

#include <stdlib.h>
#include <sys/stat.h>

/* Its live access with that end; seen: not one that was guessed. NULL: none. */
static struct naccess *find_peer_access(struct nproc *o, struct nfile *f, unsigned mode, bool seen)
{
	struct naccess *a = naccess_next(o, f, NULL);
	while (a && !(naccess_is_live(a) && (a->mode & mode) && !(seen && a->guess)))
		a = naccess_next(o, f, a);
	return a;
}

/* An access that nobody was seen to begin, but the process has it. */
static void start_guessed_access(struct node *n, struct nproc *o, struct nfile *f, unsigned mode, int64_t lo)
{
	struct naccess *a = find_peer_access(o, f, mode, false);
	if (a || (!o->alive && o->exit_time <= lo) ||
	    !(a = naccess_start(n, o, f, mode, TERM_via_descriptor, TERM_api_inherit, false, lo, n->now)))
		return;
	a->guess = true;
	if (o->alive)
		return;
	naccess_set_ended(n, a, o->exit_time);
	if (o->gone)
		naccess_finish(n, a);
}

/* Guesses who had the other end of a pipe. It cannot be looked at any more, so all that is
 * said is that it may have. Nobody was seen to have the other end: then the process that made it, most likely the
 * one that forked who has this end. One that has executed nothing, a subshell, may have it as well from who forked
 * it, and so on up; but who was seen with this end was given it, and lends it out. A second process that the same
 * one forked has the end to read: that one lends it out, as a shell does whose loop reads what a program writes. Who
 * has the other end may be over: a shell waits for no program that it reads from by `< <(cmd)`, and that one goes on
 * for a moment when it has written all. */
static void guess_peer(struct node *n, struct nproc *p, const struct naccess *a)
{
	struct nproc *o = p->maker_of_channels;
	struct nfile *f = a->file;
	unsigned mode = a->mode & (ACCESS_READ | ACCESS_WRITE);
	if (f->kind != TERM_kind_pipe || a->guess || !o)
		return;
	if (f->has_reader != f->has_writer) {
		unsigned other = f->has_writer ? ACCESS_READ : ACCESS_WRITE;
		int64_t forked = p->forked;
		for (struct nproc *up = o; up && !find_peer_access(up, f, mode, true); up = up->maker_of_channels) {
			start_guessed_access(n, up, f, other, forked);
			if (up->ran)
				break;
			forked = up->forked;
		}
	}
	if (mode != ACCESS_READ || !o->alive)
		return;
	if (f->lent.by == o->pid && f->lent.to != p->pid)
		start_guessed_access(n, o, f, mode, o->ran ? o->exec_time : o->forked);
	f->lent.by = o->pid;
	f->lent.to = p->pid;
}

void naccess_channels(struct node *n, struct nproc *p)
{
	/* To make room for a guess, all that is dormant may be let go of: what lives stays. */
	struct naccess *a = p->accesses, *next;
	while (a && !naccess_is_live(a))
		a = a->proc_next;
	for (; a; a = next) {
		next = a->proc_next;
		while (next && !naccess_is_live(next))
			next = next->proc_next;
		guess_peer(n, p, a);
	}
}

/* Of a shell that calls a hundred thousand programs for their output nearly all are over. What was written by then is
 * in its interval, be it read later; who is seen with the channel after that makes it begin again. */
void naccess_guesses(struct node *n, struct nproc *p)
{
	for (struct naccess *a = p->accesses; a; a = a->proc_next) {
		unsigned seen = 0;
		if (!a->guess || !naccess_is_live(a) || n->now < a->hi + DORMANT_NS)
			continue;
		const struct naccess *b = a->file->accesses;
		while (b && (b->guess || !naccess_is_live(b)) && ++seen <= GLANCES)
			b = b->file_next;
		if (b)
			continue;
		naccess_set_ended(n, a, n->now);
	}
}

/* What this one has was opened by who forked it, and so. */
static void opened_as(struct node *n, const struct nproc *p, struct nfile *f, unsigned mode)
{
	struct nproc *by = p->maker_of_channels;
	for (struct naccess *b = by ? naccess_next(by, f, NULL) : NULL; b; b = naccess_next(by, f, b)) {
		if (b->via != TERM_via_data || (b->mode & ACCESS_PROGRAM) || b->seen_mode || b->seq)
			continue;
		if (b->mode == 0) {
			b->seen_mode = true;
			naccess_set_mode(n, b, mode);
		} else if (mode == ACCESS_WRITE && (b->mode & ACCESS_WRITE)) {
			b->seen_mode = true;
			b->mode &= ~(unsigned)ACCESS_READ;
		}
	}
}

/* An access of that execution of p to f that can be in this mode; NULL. */
static struct naccess *find_open_access(struct nproc *p, struct nfile *f, uint64_t execn, unsigned mode)
{
	for (struct naccess *b = naccess_next(p, f, NULL); b; b = naccess_next(p, f, b))
		if (b->execn == execn && !(b->mode & ACCESS_PROGRAM) && (b->mode == 0 || (b->mode & mode) == mode))
			return b;
	return NULL;
}

/* Marks the ends of a channel that were seen: who has them is known. */
static void mark_channel_ends(struct nfile *f, unsigned mode)
{
	if (!nfile_is_stream(f))
		return;
	f->has_reader |= mode & ACCESS_READ;
	f->has_writer |= mode & ACCESS_WRITE;
}

/* The file of a descriptor, made if it is new; NULL: none that is known, or recorded. */
/* The file of a descriptor, made if it is new; NULL: none that is known, or recorded. */
static struct nfile *find_descriptor_file(struct node *n, const struct tracer_event *ev, const struct tracer_fd *d)
{
	struct nfile *f = nfile_find(n, &d->file);
	struct node_found found = {.kind = 0};
	if (!f || !f->gen) {
		if (n->world.find_fd)
			n->world.find_fd(n->world.arg, ev->fds.at_exit ? 0 : ev->pid, d->fd, &d->file, &found);
		if (found.kind)
			f = nfile_found(n, &d->file, &found);
		else if (!f && (d->file.mode & S_IFMT) != S_IFCHR)
			f = nfile_met(n, &d->file, NULL, 0, (struct str){0});
	}
	return f && f->kind != TERM_kind_pseudo && f->kind != TERM_kind_directory ? f : NULL;
}

/* A descriptor that no access of this program is known for. before: the program before had opened it; NULL. */
static void start_descriptor(struct node *n, struct nproc *p, const struct tracer_event *ev, const struct tracer_fd *d,
                             struct nfile *f, const struct naccess *before)
{
	unsigned mode = d->opened & 3;
	bool sync = d->fd == 2 && f->kind == TERM_kind_terminal;
	if (f->kind == TERM_kind_terminal && d->fd < 2)
		mode &= d->fd == 0 ? ACCESS_READ : ACCESS_WRITE;
	unsigned via = sync ? TERM_via_sync : f->kind == TERM_kind_socket ? TERM_via_socket : TERM_via_descriptor;
	int64_t since = !ev->fds.at_exit ? ev->lo : p->ran ? p->exec_time : p->forked;
	mark_channel_ends(f, mode);
	opened_as(n, p, f, mode);
	struct naccess *a = mode ? naccess_start(n, p, f, mode, via, TERM_api_inherit, false, since, ev->hi) : NULL;
	if (!a)
		return;
	a->seen_mode = true;
	if (before) {
		a->opened_before = true;
		a->empty = before->mode & ACCESS_CREATE;
	}
}

/* A descriptor that was found open: what was known of its access is completed, or one starts. */
static void take_descriptor(struct node *n, struct nproc *p, const struct tracer_event *ev, const struct tracer_fd *d)
{
	unsigned mode = d->opened & 3; /* the bits are those of ACCESS_READ, WRITE */
	if ((d->file.mode & S_IFMT) == S_IFDIR || !mode || !d->file.ino)
		return;
	struct nfile *f = find_descriptor_file(n, ev, d);
	if (!f)
		return;
	struct naccess *before = ev->fds.at_exit ? NULL : naccess_before_exec(p, f);
	if (before) {
		before->seen_mode = true;
		naccess_set_mode(n, before, mode);
	}
	struct naccess *a = find_open_access(p, f, p->execn, mode);
	if (a && a->mode == 0) { /* how it was opened is seen */
		a->seen_mode = true;
		naccess_set_mode(n, a, mode);
	} else if (a && !naccess_is_live(a)) {
		a->ended = TIME_NEVER; /* opened again */
	} else if (!a && (!ev->fds.at_exit || nfile_is_stream(f))) {
		start_descriptor(n, p, ev, d, f, before);
	}
}

void naccess_fds(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	for (size_t i = 0; i < ev->fds.n; i++)
		take_descriptor(n, p, ev, &ev->fds.fd[i]);
	if (ev->fds.cut && owner_of(p))
		node_emit_gap(n, owner_of(p), TERM_gap_limit, 0, ev->lo, ev->hi, "it had more descriptors than are examined");
}

/* ---- bytes ---- */

/* An access that only the bytes tell of, from the first of them on; NULL: no room. */
static struct naccess *start_counted_access(struct node *n, struct nproc *p, const struct tracer_event *ev,
                                            struct nfile *f, unsigned mode, uint64_t execn)
{
	const struct tracer_side *side[2] = {&ev->access.read, &ev->access.write};
	int64_t lo = TIME_NEVER;
	for (int w = 0; w < 2; w++)
		if (side[w]->count && side[w]->first < lo)
			lo = side[w]->first;
	unsigned via = f->kind == TERM_kind_socket ? TERM_via_socket : TERM_via_descriptor;
	struct naccess *a = naccess_start(n, p, f, mode, via, TERM_api_inherit, true, lo, ev->hi);
	if (a)
		a->execn = execn;
	return a;
}

/* Calls and bytes of both ways, as totals so far. */
static void take_counts(struct naccess *a, const struct tracer_event *ev)
{
	const struct tracer_side *side[2] = {&ev->access.read, &ev->access.write};
	for (int w = 0; w < 2; w++) {
		if (!side[w]->count)
			continue;
		a->moved[w] = true;
		a->by->calls[w] = side[w]->count;
		a->by->bytes[w] = side[w]->bytes;
		a->by->first[w] = side[w]->first;
		a->by->last[w] = side[w]->last;
	}
	a->counted = ev->access.final;
}

void naccess_totals(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f)
{
	unsigned mode = (ev->access.read.count ? ACCESS_READ : 0u) | (ev->access.write.count ? ACCESS_WRITE : 0u);
	uint64_t behind = p->nexec > ev->access.nexec ? p->nexec - ev->access.nexec : 0;
	uint64_t execn = behind < p->execn ? p->execn - behind : p->execn;
	struct naccess *a = find_open_access(p, f, execn, mode);
	if (!a && mode)
		a = start_counted_access(n, p, ev, f, mode, execn);
	else if (a && a->mode == 0)
		naccess_set_mode(n, a, mode);
	if (!a)
		return;
	if (mode && !a->by && !(a->by = calloc(1, sizeof(*a->by)))) {
		book_short(n, p->uid);
		return;
	}
	take_counts(a, ev);
	mark_channel_ends(f, mode);
	if (a->via != TERM_via_data && !a->seq)
		a->sure = true;
}
