/* How a process begins to count, and how it ends to share memory with the recorder. */
#include "base/os/memfile.h"
#include "capture/count/counted_int.h"
#include "capture/inject/inject.h"
#include "capture/supervisor/libraries.h"
#include "capture/supervisor/shield/shield.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* What was begun before may have moved bytes before; but nothing was written since the execution began, if the kernel
 * says so. */
static void mark_partial(struct proc *p, const struct task *k, unsigned tries, uint64_t wchar)
{
	unsigned all = ACCESS_READ | ACCESS_WRITE;
	if (k->last.call == CALL_start && tries == 1)
		return; /* nothing of the program has run */
	if (!p->forks && !p->uncounted && p->wchar_exec != UINT64_MAX && wchar == p->wchar_exec)
		all = ACCESS_READ;
	for (struct access *a = p->live; a; a = a->proc_next)
		if (a->tid != k->tid || a->stop != k->stops || a->count > 1)
			a->partial |= all;
}

/* A table that outlives the process, where that is of use: what is counted needs the kernel's totals for a proof, which
 * are there until somebody has waited for the process. For the command that is us. Its descriptor in the process, -1
 * none. */
static int give_table(struct sup *s, const struct proc *p, bool begins, const struct notify_slot *slot, void **ret)
{
	int fd = p->pid == s->root && !p->confined && inject_is_plain(p->pid, begins)
	             ? inject_free_number(p->pid, p->inject_tries)
	             : -1;
	int memfd = fd < 0 ? -1 : memfile_sealed("stemma", TABLE_SIZE);
	if (memfd < 0)
		return -1;
	void *map = mmap(NULL, TABLE_SIZE, PROT_READ, MAP_SHARED, memfd, 0);
	if (map != MAP_FAILED && notify_give(s->listener, slot, memfd, fd) < 0) {
		munmap(map, TABLE_SIZE);
		map = MAP_FAILED;
	}
	close(memfd);
	*ret = map;
	return map == MAP_FAILED ? -1 : fd;
}

/* Takes the counts out of the shared memory, which the process loses, and lets go of that. */
void counted_confine(struct sup *s, struct proc *p)
{
	enum { ROWS = offsetof(struct counted_table, row) };
	const uint64_t none = 0;
	struct counted *c = p->counted;
	if (!c || !c->shared)
		return;
	counted_drain(s, p, true);
	/* What was counted until now, for it goes on where it was; then the end of the distance to it. */
	const struct iovec here[2] = {{(unsigned char *)c->shared + ROWS, sizeof(*c->shared) - ROWS},
	                              {(void *)&none, sizeof(none)}};
	const struct iovec there[2] = {
	    {(void *)(uintptr_t)(c->table + ROWS), here[0].iov_len},
	    {(void *)(uintptr_t)(c->table + offsetof(struct counted_table, delta)), sizeof(none)}};
	/* Other threads may be counting just now. */
	if (c->many || process_vm_writev(p->pid, here, 2, there, 2, 0) != (ssize_t)(here[0].iov_len + sizeof(none)))
		c->lost = true;
	munmap((void *)c->shared, TABLE_SIZE);
	c->shared = NULL;
}

void counted_inject(struct sup *s, const struct notify_slot *slot, void (*go)(void *arg), void *arg)
{
	struct proc *p = proc_by_pid(s, s->inject_pid);
	s->inject_pid = 0;
	struct task *k = task_known(s, s->inject_tid);
	if (!p || p->counted || !k) {
		go(arg);
		return;
	}
	static struct injection g; /* large, and one at a time */
	void *table = NULL;
	int fd = give_table(s, p, k->last.call == CALL_start, slot, &table);
	g = (struct injection){.sites = s->inject_sites, .base = s->inject_base, .pid = p->pid, .fd = fd};
	g.loader = libraries_loader_of(s, p, &g.loader_base);
	p->counting_tries++;
	int rc = shield_inject(s->shield, p->pid, &g, go, arg);
	unsigned tries = p->counting_tries;
	p->counted = rc < 0 ? NULL : counted_new(s, g.code, g.table, g.base, g.sites);
	struct counted *c = p->counted;
	if (c && g.shared)
		c->shared = table;
	else if (fd >= 0)
		munmap(table, TABLE_SIZE);
	if (rc < 0)
		return;
	p->counting_tries = 2;
	if (!c)
		return;
	c->looked = s->narrow ? sup_now(s) : TIME_NONE;
	c->base_read = g.rchar;
	c->base_written = g.wchar;
	c->all_read = g.rchar_all - g.rchar;
	c->all_written = g.wchar_all - g.wchar;
	mark_partial(p, k, tries, g.wchar);
	pending_settle(s, p, k->tid, false); /* its call has come back: what it created is there */
	/* Its descriptors are those of then; what it opens from here on is in the log. */
	for (size_t i = 0; i < g.nheld; i++) {
		const struct injection_held *h = &g.held[i];
		uint64_t file = counted_what_is(s, p, &h->st, &c->elsewhere);
		const struct file *f = file_known(s, &h->st);
		if (f)
			counted_given(c, f);
		raise_high(c, h->fd);
		if (in_range(h->fd))
			c->file[h->fd] = file;
	}
}
