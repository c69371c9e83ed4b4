#include "capture/app/images.h"

#include <stdlib.h>

#define CHAINS 4096
#define ABOVE 64 /* processes from a rank up to its launcher */

struct image {
	int64_t time;
	uint64_t n;
};
struct known {
	struct known *by_pid, *by_num; /* next in each chain */
	uint64_t pid, num, parent;     /* parent: its number, 0 none */
	bool launches;                 /* it is a launcher of MPI now */
	int64_t started;
	struct image *v;
	size_t n, cap;
};
struct images {
	struct known *by_pid[CHAINS], *by_num[CHAINS];
};

/* NULL without memory. */
struct images *images_new(void)
{
	return calloc(1, sizeof(struct images));
}

/* NULL: it is not known. */
static struct known *find_process(const struct images *m, uint64_t pid, int64_t started)
{
	struct known *k = m->by_pid[pid % CHAINS];
	while (k && (k->pid != pid || k->started != started))
		k = k->by_pid;
	return k;
}

/* Notes a process that began under its id and its number. Without memory it is left out. A further number of one that
 * is known is what it is told of by afterwards, and says nothing new. */
static void note_process(struct images *m, const struct event *ev)
{
	struct known *k = find_process(m, ev->process.pid, ev->process.started) ? NULL : calloc(1, sizeof(*k));
	if (!k)
		return; /* then its words are of an execution that is not known, which is said */
	struct known **pid = &m->by_pid[ev->process.pid % CHAINS], **num = &m->by_num[ev->proc % CHAINS];
	k->pid = ev->process.pid;
	k->started = ev->process.started;
	k->num = ev->proc;
	k->parent = ev->process.parent;
	k->by_pid = *pid;
	k->by_num = *num;
	*pid = *num = k;
}

/* NULL: it is not known. */
static struct known *numbered(const struct images *m, uint64_t num)
{
	struct known *k = m->by_num[num % CHAINS];
	while (k && k->num != num)
		k = k->by_num;
	return k;
}

/* Programs that start the ranks of one job, by what they were called by. */
static bool is_mpi_launcher(const struct strlist *argv)
{
	static const char *const names[] = {
	    "mpirun",         "mpiexec",         "orterun",      "orted",         "prterun",       "prted",          "prun",
	    "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra", "hydra_pmi_proxy"};
	struct str name = argv->items && argv->count ? argv->items[0] : str_of("");
	for (size_t i = name.n; i-- > 0;)
		if (name.p[i] == '/') {
			name = str_n(name.p + i + 1, name.n - i - 1);
			break;
		}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_eq(name, str_of(names[i])))
			return true;
	return false;
}

/* A process that is not known, or no memory: it is not noted, as an image that is not known. */
static void note_exec(struct images *m, const struct event *ev)
{
	struct known *k = numbered(m, ev->proc);
	if (!k)
		return;
	k->launches = is_mpi_launcher(&ev->exec.argv);
	if (k->n == k->cap) {
		size_t cap = k->cap ? 2 * k->cap : 1;
		struct image *more = realloc(k->v, cap * sizeof(*more));
		if (!more)
			return;
		k->v = more;
		k->cap = cap;
	}
	k->v[k->n++] = (struct image){ev->time, ev->exec.n};
}

void images_note(struct images *m, const struct event *ev)
{
	if (ev->kind == EVENT_process)
		note_process(m, ev);
	else if (ev->kind == EVENT_exec)
		note_exec(m, ev);
}

bool images_find(const struct images *m, uint64_t pid, int64_t started, int64_t t, uint64_t *ret_n)
{
	const struct known *k = m ? find_process(m, pid, started) : NULL;
	if (!k)
		return false;
	*ret_n = 0;
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i].time <= t)
			*ret_n = k->v[i].n;
	return true;
}

uint64_t images_launcher(const struct images *m, uint64_t pid, int64_t started)
{
	const struct known *k = m ? find_process(m, pid, started) : NULL;
	for (int i = 0; k && i < ABOVE; i++) {
		if (k->launches)
			return k->num;
		k = k->parent ? numbered(m, k->parent) : NULL;
	}
	return 0;
}
