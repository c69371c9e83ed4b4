#include "capture/node_tracer/programs.h"
#include "capture/node_tracer/programs_int.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned char access_object[] = {
#include "access.inc"
};

enum { ON_SYS_EXIT, ON_FORK, ON_EXEC, ON_EACH, LINKS };

struct access_programs {
	struct bpf_object *object;
	struct bpf_link *links[LINKS];
	struct rec_access_control *control;
	int asked[3]; /* users, groups, trees */
	int totals[2];
	void *pids; /* the marks, shared */
	size_t pids_size;
};

/* Pids are below this. */
static uint32_t pids_max(void)
{
	unsigned n = 4194304;
	FILE *f = fopen("/proc/sys/kernel/pid_max", "re");
	if (f && fscanf(f, "%u", &n) != 1)
		n = 4194304;
	if (f)
		fclose(f);
	return n;
}

/* Loads them; nothing is attached yet. 0; -errno with a sentence. */
int access_programs_open(struct access_programs **ret, struct err *err)
{
	struct access_programs *a = calloc(1, sizeof(*a));
	int r;
	if (!a)
		return err_set(err, ENOMEM, "cannot load programs");
	a->object = programs_object(access_object, sizeof(access_object));
	if (!a->object) {
		r = programs_refused(err, errno, "cannot open the programs for reads and writes");
		goto fail;
	}
	bpf_map__set_max_entries(bpf_object__find_map_by_name(a->object, "pids"), pids_max() / REC_PIDS + 1);
	r = bpf_object__load(a->object);
	if (r < 0) {
		r = programs_refused(err, r, "cannot load the programs for reads and writes");
		goto fail;
	}
	r = programs_shared(a->object, sizeof(*a->control), (void **)&a->control, err);
	if (r < 0)
		goto fail;
	a->control->own = (uint32_t)getpid();
	static const char *const names[] = {"users", "groups", "trees"};
	for (size_t i = 0; i < 3; i++)
		a->asked[i] = bpf_object__find_map_fd_by_name(a->object, names[i]);
	a->totals[0] = bpf_object__find_map_fd_by_name(a->object, "totals0");
	a->totals[1] = bpf_object__find_map_fd_by_name(a->object, "totals1");
	a->pids_size = (size_t)(pids_max() / REC_PIDS + 1) * REC_PIDS;
	a->pids = mmap(NULL, a->pids_size, PROT_READ | PROT_WRITE, MAP_SHARED,
	               bpf_object__find_map_fd_by_name(a->object, "pids"), 0);
	if (a->pids == MAP_FAILED) {
		a->pids = NULL;
		r = err_set(err, errno, "cannot map the marks of processes");
		goto fail;
	}
	*ret = a;
	return 0;
fail:
	access_programs_close(a);
	return r;
}

/* NULL is no error. */
void access_programs_close(struct access_programs *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < LINKS; i++)
		bpf_link__destroy(a->links[i]);
	if (a->pids)
		munmap(a->pids, a->pids_size);
	programs_unshare(a->control, sizeof(*a->control));
	bpf_object__close(a->object);
	free(a);
}

/* Shared with the programs in the kernel; it lives as long as a. */
struct rec_access_control *access_programs_control(struct access_programs *a)
{
	return a->control;
}

int access_programs_attach(struct access_programs *a, bool on, struct err *err)
{
	static const char *const names[] = {"on_sys_exit", "on_fork", "on_exec", "on_each"};
	/* Who is made is marked before anything is counted. */
	static const int order[] = {ON_EACH, ON_EXEC, ON_FORK, ON_SYS_EXIT};
	for (size_t i = 0; i < LINKS; i++) {
		int k = on ? order[i] : order[LINKS - 1 - i];
		if (!on) {
			bpf_link__destroy(a->links[k]);
			a->links[k] = NULL;
		} else if (!a->links[k]) {
			a->links[k] = bpf_program__attach(bpf_object__find_program_by_name(a->object, names[k]));
			if (!a->links[k]) {
				int r = programs_refused(err, errno, "cannot attach to the end of system calls");
				access_programs_attach(a, false, NULL);
				return r;
			}
		}
	}
	return 0;
}

/* Runs the iterator: every thread of the node is marked, or not, as is asked for now. 0; -errno with a sentence. */
static int mark_all(struct access_programs *a, struct err *err)
{
	char none[64];
	ssize_t n;
	int fd = bpf_iter_create(bpf_link__fd(a->links[ON_EACH]));
	if (fd < 0)
		return err_set(err, errno, "cannot look at all processes");
	while ((n = read(fd, none, sizeof(none))) > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		;
	int e = n < 0 ? errno : 0;
	close(fd);
	return e ? err_set(err, e, "cannot look at all processes") : 0;
}

int access_programs_ask(struct access_programs *a, unsigned set, uint64_t id, bool on, struct err *err)
{
	uint32_t one = 1, *counter = set == 0 ? &a->control->users : set == 1 ? &a->control->groups : NULL;
	bool had = bpf_map_lookup_elem(a->asked[set], &id, &one) == 0;
	one = 1;
	if (had == on)
		return 0; /* nothing changed */
	if ((on ? bpf_map_update_elem(a->asked[set], &id, &one, 0) : bpf_map_delete_elem(a->asked[set], &id)) < 0)
		return err_set(err, errno, "cannot say whose calls to count");
	if (counter)
		*counter += on ? 1u : (uint32_t)-1;
	int r = 0;
	if (set == 2 && !on) {
		a->control->untree = 1;
		r = mark_all(a, err);
		a->control->untree = 0;
	}
	/* As many passes as a tree is deep, mostly one; what starts meanwhile gets its parent's mark. */
	a->control->changed = 1;
	for (int i = 0; r == 0 && i < 64 && a->control->changed; i++) {
		a->control->changed = 0;
		r = mark_all(a, err);
	}
	return r < 0 ? r : 1;
}

void access_programs_ask_none(struct access_programs *a)
{
	for (size_t i = 0; i < 3; i++) {
		uint64_t id;
		while (bpf_map_get_next_key(a->asked[i], NULL, &id) == 0 && bpf_map_delete_elem(a->asked[i], &id) == 0)
			;
	}
	a->control->users = a->control->groups = 0;
	memset(a->pids, 0, a->pids_size);
}

int access_programs_take(struct access_programs *a, unsigned map,
                         void (*each)(void *arg, const struct rec_total_key *key, const struct rec_total *total),
                         void *arg)
{
	enum { BATCH = 256 };
	struct rec_total_key *keys = malloc(BATCH * sizeof(*keys));
	struct rec_total *totals = malloc(BATCH * sizeof(*totals));
	int taken = 0, r = keys && totals ? 0 : -ENOMEM;
	uint32_t batch = 0;
	bool first = true;
	while (r == 0) {
		uint32_t n = BATCH;
		r = bpf_map_lookup_and_delete_batch(a->totals[map], first ? NULL : &batch, &batch, keys, totals, &n, NULL);
		first = false;
		if (r < 0 && errno != ENOENT) {
			r = -errno;
			/* A bucket held more than there was room for: that is 256 keys in one of 16,384. */
			break;
		}
		for (uint32_t i = 0; i < n; i++)
			each(arg, &keys[i], &totals[i]);
		taken += (int)n;
	}
	a->control->filled[map] = 0;
	free(keys);
	free(totals);
	return r == 0 || r == -1 || r == -ENOENT ? taken : r;
}

/* Bytes of the kernel's maps. */
uint64_t access_programs_memory(const struct access_programs *a)
{
	return programs_maps(a->object);
}
