/* Whose bytes they are: what was counted of a descriptor goes to the access of the file behind it. */
#include "capture/count/counted_int.h"

#include <string.h>
#include <sys/stat.h>

struct access *counted_live(struct proc *p, uint64_t file, unsigned mode)
{
	struct access *found = NULL;
	for (struct access *a = p->live; a; a = a->proc_next)
		if (a->file->num == file && (a->mode & mode) && !(a->mode & ACCESS_PROGRAM) &&
		    (!found || found->via == TERM_via_sync))
			found = a;
	return found;
}

/* Is it the program, its script, or a library it began with? Of these no figure is claimed. */
static bool has_program_access(const struct proc *p, uint64_t file)
{
	const struct access *a = p->live;
	while (a && (a->file->num != file || !(a->mode & ACCESS_PROGRAM)))
		a = a->proc_next;
	return a;
}

unsigned counted_pipe_directions(const struct counted *c, const struct file *f)
{
	unsigned ways = c->pipes;
	if (f->kind != TERM_kind_pipe)
		return 0;
	for (unsigned i = 0; i < c->ngiven; i++)
		if (c->given[i] == f->num)
			return 0; /* it has not made that one */
	for (unsigned i = 0; i < OWN_PIPES; i++) {
		const struct own_pipe *o = &c->own[i];
		if (o->file == f->num)
			return c->pipes; /* that one's were told apart */
		if (!o->file)
			ways |= (o->bytes[0][0] | o->bytes[0][1] ? ACCESS_READ : 0u) |
			        (o->bytes[1][0] | o->bytes[1][1] ? ACCESS_WRITE : 0u);
	}
	return ways;
}

unsigned counted_unsaid(const struct access *a)
{
	return a->proc->counted ? counted_pipe_directions(a->proc->counted, a->file) : 0;
}

/* ACCESS_WRITE or ACCESS_READ. */
static unsigned way_of(bool write)
{
	return write ? ACCESS_WRITE : ACCESS_READ;
}

/* Notes that accesses share a file: of several accesses of p to a file one gets them all. */
static void note_beside(const struct proc *p, const struct access *a, unsigned way)
{
	for (struct access *b = p->live; b; b = b->proc_next)
		if (b != a && b->file == a->file)
			b->beside |= way;
}

/* The time from when on they may have been moved, of bytes that a's process has counted by now. ns. */
static int64_t moved_since(const struct counted *c, const struct access *a, bool write, bool late)
{
	/* What changes a file's length leaves no count: a write may have begun before its first byte. A thread that has not
	 * got its turn may have read before the last look, and not counted it yet. */
	return write || late || c->many ? a->start : c->looked;
}

/* Adds them to the file's access. late: they were moved long ago. */
static void add_to_access(struct sup *s, struct counted *c, struct proc *p, uint64_t file, bool write, unsigned api,
                          uint64_t calls, uint64_t bytes, bool late)
{
	struct access *a = file ? counted_live(p, file, way_of(write)) : NULL;
	if (!a && file && has_program_access(p, file)) {
		c->elsewhere |= write;
		return;
	}
	bool added = false;
	if (a) {
		note_beside(p, a, way_of(write));
		added = io_count(s, a, api, write, calls, bytes, s->narrow ? moved_since(c, a, write, late) : TIME_NONE,
		                 s->narrow ? c->now : TIME_NONE);
	}
	if (!added)
		c->lost |= !file || bytes;
}

/* What the process has moved, as the kernel's totals have it. */
static void add_to_sums(struct counted *c, bool write, unsigned api, uint64_t bytes)
{
	if (api == TERM_ioapi_splice)
		return; /* they do not have that */
	*(write ? &c->sum_written : &c->sum_read) += bytes;
}

void counted_split(struct sup *s, struct counted *c, struct proc *p, uint64_t file, bool write, unsigned api,
                   uint64_t calls, uint64_t bytes)
{
	if (!calls && !bytes)
		return;
	add_to_sums(c, write, api, bytes);
	if (file == NOT_A_FILE)
		return;
	struct own_pipe *own = own_pipe(c, file);
	if (own && !own->file && api != TERM_ioapi_splice) {
		own->calls[write][api == TERM_ioapi_other] += calls;
		own->bytes[write][api == TERM_ioapi_other] += bytes;
	} else if (file == A_PIPE || (own && !counted_live(p, own->file, way_of(write)))) {
		c->pipes |= bytes ? way_of(write) : 0; /* else it was the end */
	} else {
		add_to_access(s, c, p, own ? own->file : file, write, api, calls, bytes, false);
	}
}

void counted_found(struct sup *s, struct proc *p, uint64_t own, uint64_t file)
{
	static const unsigned apis[] = {TERM_ioapi_read, TERM_ioapi_other};
	struct counted *c = p->counted;
	struct own_pipe *o = own_pipe(c, own);
	if (!o || o->file || !file || file == NOT_A_FILE || o->file == file)
		return;
	o->file = file;
	for (unsigned i = 0; i < 4; i++)
		if (o->calls[i / 2][i % 2]) {
			if (counted_live(p, file, i / 2 ? ACCESS_WRITE : ACCESS_READ))
				add_to_access(s, c, p, file, i / 2, apis[i % 2], o->calls[i / 2][i % 2], o->bytes[i / 2][i % 2], true);
			else if (o->bytes[i / 2][i % 2]) /* nobody has seen it there */
				c->pipes |= i / 2 ? ACCESS_WRITE : ACCESS_READ;
		}
}

uint64_t counted_next_own(struct counted *c)
{
	const uint64_t number = OWN_PIPE(c->nown++ % OWN_PIPES);
	struct own_pipe *o = own_pipe(c, number);
	for (unsigned fd = 0; fd <= c->high && fd < COUNTED_FDS; fd++)
		if (c->file[fd] == number)
			c->file[fd] = o->file ? o->file : A_PIPE;
	if (!o->file)
		c->pipes |= (o->bytes[0][0] | o->bytes[0][1] ? ACCESS_READ : 0u) |
		            (o->bytes[1][0] | o->bytes[1][1] ? ACCESS_WRITE : 0u);
	*o = (struct own_pipe){0};
	return number;
}

void counted_attribute(struct sup *s, struct counted *c, struct proc *p, unsigned fd, const struct counted_row *now)
{
	struct counted_row *was = &c->last[fd];
	if (!memcmp(was, now, sizeof(*now)))
		return;
	uint64_t file = fd < COUNTED_FDS ? c->file[fd] : 0;
	counted_split(s, c, p, file, false, TERM_ioapi_read, now->read_calls - was->read_calls,
	              now->read_bytes - was->read_bytes);
	counted_split(s, c, p, file, true, TERM_ioapi_read, now->write_calls - was->write_calls,
	              now->write_bytes - was->write_bytes);
	counted_split(s, c, p, file, false, TERM_ioapi_other, now->other_read_calls - was->other_read_calls,
	              now->other_read_bytes - was->other_read_bytes);
	counted_split(s, c, p, file, true, TERM_ioapi_other, now->other_write_calls - was->other_write_calls,
	              now->other_write_bytes - was->other_write_bytes);
	*was = *now;
}

uint64_t counted_what_is(struct sup *s, struct proc *p, const struct statx *st, bool *ret_elsewhere)
{
	unsigned type = st->stx_mode & S_IFMT;
	if (type != S_IFREG && type != S_IFIFO && !file_is_terminal(st))
		return NOT_A_FILE;
	struct file *f = file_known(s, st);
	if (f && (counted_live(p, f->num, ACCESS_READ | ACCESS_WRITE) || has_program_access(p, f->num)))
		return f->num;
	*ret_elsewhere = true;
	return NOT_A_FILE;
}

uint64_t counted_look_up(struct sup *s, struct proc *p, unsigned fd)
{
	struct where w;
	struct statx st;
	where_fd(p->pid, (int)fd, &w);
	return where_statx(&w, true, &st) < 0 ? 0 : counted_what_is(s, p, &st, &p->counted->elsewhere);
}
