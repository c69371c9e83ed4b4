#include "base/fileid.h"
#include "capture/count/counted_int.h"
#include "capture/count/totals.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

struct counted *counted_new(const struct sup *s, uint64_t code, uint64_t table, uint64_t base,
                            const struct sites *sites)
{
	struct counted *c = calloc(1, sizeof(*c));
	if (c) {
		c->code = code;
		c->table = table;
		c->passes = __atomic_load_n(&s->passes, __ATOMIC_ACQUIRE);
		c->base = base;
		c->sites = sites;
		c->high = FIRST_FDS - 1;
	}
	return c;
}

/* The child becomes another program, or ends; once more if it did not. False: too many. */
static bool add_resume(struct counted *c, uint64_t child, uint32_t pos)
{
	if (c->nresumes && c->resume[c->nresumes - 1].child == child)
		c->nresumes--;
	if (c->nresumes == RESUMES)
		return false;
	c->resume[c->nresumes].child = child;
	c->resume[c->nresumes++].pos = pos;
	return true;
}

void counted_given(struct counted *c, const struct file *f)
{
	if (f->kind == TERM_kind_pipe && c->ngiven < GIVEN)
		c->given[c->ngiven++] = f->num;
}

/* What its descriptors are to begin with; not those that the first n entries of its log are about. */
static void read_first_descriptors(struct sup *s, struct proc *p, uint32_t n)
{
	struct counted *c = p->counted;
	struct held *held;
	bool touched[COUNTED_FDS] = {0};
	for (uint32_t i = 0; i < n; i++) {
		const struct counted_entry *e = &counted_entries[i];
		int32_t fd[3] = {e->fd, (int32_t)e->value, -1};
		if (e->kind == SITE_PIPE || e->kind == SITE_PAIR)
			memcpy(&fd[1], &e->value, 2 * sizeof(fd[0]));
		for (unsigned k = 0; k < 3; k++)
			if (in_range(fd[k]) && !(k == 0 && e->kind != SITE_CLOSE) && !(k == 1 && e->kind == SITE_CLOSE))
				touched[fd[k]] = true;
	}
	size_t nheld = proc_walk(s, p, false, &held);
	for (size_t i = 0; i < nheld; i++)
		if (in_range(held[i].fd) && !touched[held[i].fd]) {
			counted_given(c, held[i].file);
			raise_high(c, held[i].fd);
			c->file[held[i].fd] =
			    counted_live(p, held[i].file->num, ACCESS_READ | ACCESS_WRITE) ? held[i].file->num : 0;
		}
	held_free(held, nheld);
}

/* The table in p's memory, which has the code of c's process. False: it has not. */
static bool has_code(const struct proc *p, const struct counted *c, struct head *ret)
{
	uint64_t constants[2];
	return remote(p->pid, c->table, ret, sizeof(*ret)) && remote(p->pid, c->code, constants, sizeof(constants)) &&
	       constants[0] == c->table + offsetof(struct counted_table, row);
}

/* Writes into the process's table whose it is, by PID. */
static bool set_owner(const struct proc *p, const struct counted *c, const struct proc *owner)
{
	uint32_t number = (uint32_t)owner->pid;
	struct iovec here = {&number, sizeof(number)}, there = {(void *)(uintptr_t)c->table, sizeof(number)};
	return process_vm_writev(p->pid, &here, 1, &there, 1, 0) == (ssize_t)sizeof(number);
}

/* Begins to follow a child: p, which stands still, goes on with the code that it has from the process of c. Its log
 * is read from its beginning; to the first child of p's own if it is that one which is looked at. */
static void inherit_counting(struct sup *s, struct proc *p, const struct counted *c, uint32_t pos, bool sharing)
{
	uint32_t n = 0;
	if (pos > COUNTED_LOG || (pos && !remote(p->pid, c->table + offsetof(struct counted_table, entry), counted_entries,
	                                         pos * sizeof(counted_entries[0]))))
		return;
	while (n < pos && counted_entries[n].kind != SITE_MARK)
		n++;
	if ((n < pos) != sharing || !set_owner(p, c, p))
		return;
	p->counted = counted_new(s, c->code, c->table, c->base, c->sites);
	if (p->counted)
		read_first_descriptors(s, p, n);
}

/* Has p read or written anything since it was forked? The kernel counts from 0 then. */
static bool has_moved(const struct proc *p)
{
	uint64_t r, w;
	return !totals_of(p->pid, true, &r, &w) || r || w;
}

struct own_file {
	uint64_t own, file;
};

/* Looks at pipes: those of its open descriptors that are pipes which it has made and nobody has looked at, and what
 * they are. How many. */
static unsigned look_at_own_pipes(struct sup *s, struct proc *p, bool standing, struct own_file found[OWN_PIPES])
{
	struct counted *c = p->counted;
	unsigned n = 0;
	for (unsigned fd = 0; fd <= c->high && fd < COUNTED_FDS && n < OWN_PIPES; fd++) {
		const struct own_pipe *own = own_pipe(c, c->file[fd]);
		if (!own || own->file || (!n && !standing && !totals_waits(p->pid)))
			continue;
		found[n].own = c->file[fd];
		found[n++].file = counted_look_up(s, p, fd);
	}
	return n;
}

/* The pipes that p has made and that nobody has looked at: they are closed soon, and then nobody could. Where p is not
 * at a stop of its own it waits in a call that changes no descriptor: all that has changed one is in the log. */
void counted_see_pipes(struct sup *s, struct proc *p, bool standing)
{
	struct counted *c = p->counted;
	struct head head;
	struct own_file found[OWN_PIPES];
	counted_drain(s, p, standing);
	const bool elsewhere = c->elsewhere; /* nothing is counted by what is looked at here */
	if (c->lost || c->frozen || c->many)
		return;
	const unsigned n = look_at_own_pipes(s, p, standing, found);
	c->elsewhere = elsewhere;
	if (!n || (!standing && !totals_waits(p->pid)) || !remote(p->pid, c->table, &head, sizeof(head)) ||
	    head.pos != c->read)
		return;
	for (unsigned i = 0; i < n; i++)
		counted_found(s, p, found[i].own, found[i].file);
}

bool counted_misses_pipes(struct counted *c)
{
	for (unsigned fd = 0; c && c->nown && !c->lost && !c->frozen && fd <= c->high && fd < COUNTED_FDS; fd++) {
		const struct own_pipe *own = own_pipe(c, c->file[fd]);
		if (own && !own->file)
			return true;
	}
	return false;
}

void counted_pipes(struct sup *s, struct proc *p)
{
	for (unsigned up = 0; p && up < 64; p = proc_parent(s, p), up++)
		if (p->counted && !p->counted->lost)
			counted_see_pipes(s, p, false);
}

/* Its program's number and device. False: it is over. */
static bool read_program_identity(const struct proc *p, uint64_t *ret_ino, uint64_t *ret_dev)
{
	char link[48];
	struct statx st;
	*ret_ino = p->exe_ino;
	*ret_dev = p->exe_dev;
	if (p->exe_ino)
		return true;
	/* It and the one that it would have been copied from began within a tick of the clock. */
	snprintf(link, sizeof(link), "/proc/%d/exe", p->pid);
	if (fileid_statx_cached(AT_FDCWD, link, 0, STATX_INO, &st) < 0)
		return false;
	*ret_ino = st.stx_ino;
	*ret_dev = fileid_dev(&st);
	return true;
}

/* Whether both run the same file. False where one cannot be read. */
static bool is_same_program(const struct proc *p, const struct proc *q)
{
	uint64_t ino[2], dev[2];
	return read_program_identity(p, &ino[0], &dev[0]) && read_program_identity(q, &ino[1], &dev[1]) &&
	       ino[0] == ino[1] && dev[0] == dev[1];
}

/* The nearest one above that counts, up to the last program. NULL: none. */
static const struct proc *counting_ancestor(struct sup *s, const struct proc *parent)
{
	for (unsigned up = 0; up < 64 && parent && !parent->counted && !parent->execn; up++)
		parent = proc_parent(s, parent);
	return parent && parent->counted ? parent : NULL;
}

/* Looks after the parent of a process that leaves: p leaves, with code of c's process and entries in its log, and
 * nobody has looked at its parent yet. Has that the same memory? Then it stands still, until this one leaves. False:
 * it has, and does not count. */
static bool claim_for_parent(struct sup *s, const struct proc *p, struct proc *parent, const struct counted *c,
                             struct head *head)
{
	struct head own;
	if (!set_owner(p, c, p) || !has_code(parent, c, &own) || own.owner != (uint32_t)p->pid)
		return true;
	inherit_counting(s, parent, c, head->pos, true);
	head->owner = (uint32_t)parent->pid;
	return parent->counted;
}

/* p shares its parent's memory, and so its log. */
static void note_sharing(struct sup *s, const struct proc *p, struct proc *parent, bool leaves, uint32_t pos)
{
	struct counted *c = parent->counted;
	if (!leaves)
		return;
	if (!add_resume(c, p->num, pos))
		c->lost = true;
	/* ... before another thread's child does the same, or there are too many. */
	if (c->many || c->nresumes > RESUMES / 2 || pos - c->read > COUNTED_LOG / 4)
		counted_drain(s, parent, false);
}

/* Is it of use to read what p counts? Not where it leaves and has moved nothing. */
static bool has_use_for(const struct proc *p, bool leaves)
{
	return !p->counted && (!leaves || has_moved(p));
}

/* A child without an exec has its parent's code, or its parent's parent's. If the memory is its own its table was empty
 * when it began. */
void counted_inherit(struct sup *s, struct proc *p, struct proc *parent, bool leaves)
{
	struct head head;
	const struct proc *from = counting_ancestor(s, parent);
	const struct counted *c = from ? from->counted : NULL;
	if (!c || !has_code(p, c, &head) || !is_same_program(p, from))
		return;
	const bool unclaimed = !parent->counted && !head.owner && head.pos;
	if (unclaimed && leaves && !claim_for_parent(s, p, parent, c, &head))
		return;
	if (parent->counted && head.owner == (uint32_t)parent->pid) {
		note_sharing(s, p, parent, leaves, head.pos);
		return;
	}
	const bool anothers = head.owner && head.owner != (uint32_t)p->pid;
	if (!anothers && has_use_for(p, leaves))
		inherit_counting(s, p, c, head.pos, false);
}
