/* h5_memory.c - what is kept in a program: memory that the kernel empties in a forked child, which begins anew; its
 * lock; and what was asked for when it started. A spin lock guards the tables, never over a call of HDF5. */
#include "capture/hdf5/h5_state.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define PAUSE __builtin_ia32_pause()
#else
#define PAUSE __asm__ volatile("yield")
#endif
#define ARENA (256u << 10)

static struct h5_state *state;
static bool no_wipe;
uint32_t h5_classes = H5_ALL;
bool h5_untimed;

extern char **environ;

/* Reads which classes of calls to observe before any of them comes. */
__attribute__((constructor)) static void find_classes(void)
{
	static const char name[] = "STEMMA_HDF5=";
	for (char **e = environ; e && *e; e++)
		if (!strncmp(*e, name, sizeof(name) - 1)) {
			h5_classes = h5_classes_of(*e + sizeof(name) - 1);
			h5_untimed = h5_has_word(*e + sizeof(name) - 1, H5_UNTIMED_WORD);
			return;
		}
}

/* ns; H5_SOME_TIME where durations are not recorded. */
int64_t h5_now(void)
{
	return h5_untimed ? H5_SOME_TIME : app_tape_now();
}

uint64_t h5_epoch(void)
{
	struct h5_state *s = h5_state_lock();
	if (!s)
		return 0;
	if (!s->epoch)
		s->epoch = (uint64_t)app_tape_now();
	uint64_t epoch = s->epoch;
	h5_state_unlock(s);
	return epoch;
}

/* ---- memory and its lock ---- */

void *h5_state_map(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

struct h5_state *h5_state_get(void)
{
	struct h5_state *s = __atomic_load_n(&state, __ATOMIC_ACQUIRE), *none = NULL;
	if (!s) {
		if (!(s = h5_state_map(4096)))
			return NULL;
		no_wipe = madvise(s, 4096, MADV_WIPEONFORK) < 0;
		if (!__atomic_compare_exchange_n(&state, &none, s, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			munmap(s, 4096);
			s = none;
		}
	}
	if (__builtin_expect(no_wipe, 0) && s->pid != (uint32_t)getpid()) {
		memset(s, 0, sizeof(*s));
		s->pid = (uint32_t)getpid();
	}
	return s;
}

struct h5_state *h5_state_lock(void)
{
	struct h5_state *s = h5_state_get();
	while (s && __atomic_exchange_n(&s->lock, 1, __ATOMIC_ACQUIRE))
		PAUSE;
	return s;
}

/* s: what h5_state_lock gave. */
void h5_state_unlock(struct h5_state *s)
{
	__atomic_store_n(&s->lock, 0, __ATOMIC_RELEASE);
}

void *h5_state_room(struct h5_state *s, size_t n)
{
	n = (n + 15) & ~(size_t)15;
	if (n > ARENA)
		return NULL;
	if (n > s->left) {
		if (!(s->arena = h5_state_map(ARENA))) {
			s->left = 0;
			return NULL;
		}
		s->left = ARENA;
	}
	void *p = s->arena;
	s->arena += n;
	s->left -= n;
	return p;
}

/* ---- what is not recorded ---- */

/* what: in words. */
void h5_gap(const char *what)
{
	app_tape_put(&(struct app_entry){.kind = H5_GAP}, &(struct app_words){.value = what, .nvalue = strlen(what)});
}

/* In memory that a child does not inherit: what it does itself is said of it. Notes, once each, which kinds of objects
 * were used that are left out. Always false. */
bool h5_left_out(uint32_t classes)
{
	static const char *const what[H5_CLASSES] = {
	    "groups were used, which --hdf5 excludes",
	    "data of datasets was used, which --hdf5 excludes",
	    "data of attributes was used, which --hdf5 excludes",
	    "committed datatypes were used, which --hdf5 excludes",
	    "links were made, moved or deleted, which --hdf5 excludes",
	};
	struct h5_state *s = h5_state_get();
	if (!s || (__atomic_load_n(&s->left_out, __ATOMIC_RELAXED) & classes) == classes)
		return false;
	uint32_t is_new = classes & ~__atomic_fetch_or(&s->left_out, classes, __ATOMIC_RELAXED);
	for (int i = 0; i < H5_CLASSES; i++)
		if (is_new & 1u << i)
			h5_gap(what[i]);
	return false;
}
