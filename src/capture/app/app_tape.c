#include "capture/app/app_tape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef APP_PREFIX
#define APP_PREFIX "a" /* one letter: who reads the files (capture/app/channel.c) */
#endif
#define DEPTH 24 /* activities of a thread that are told apart; deeper ones are said in the last of these */

int app_tape_state;
char app_tape_run[32];
char app_tape_tool[64] = "c";

/* State of this address space. The kernel empties it in a child (MADV_WIPEONFORK): a child is another image. */
struct app_self {
	struct app_head *window; /* where chunks are claimed from */
	uint64_t image;
	uint64_t activities;
	uint64_t total;  /* bytes of all windows */
	uint32_t serial; /* of the latest window */
	uint32_t pid;    /* only where the kernel cannot do that */
	uint64_t dropped;
	int64_t born;
};
static struct app_self *self;
static bool no_wipe;
static char folder[208];
static dev_t folder_dev; /* it, and not what somebody put in its place when the run was over */
static ino_t folder_ino;

/* Initial-exec: no call to find it, and 300 bytes of the room that the C library keeps for such. A library that is
 * loaded when the program runs already takes none of that room, for the next one might lack it and would not be loaded.
 */
#ifdef STEMMA_LOADED_LATE
#define TLS_MODEL "global-dynamic"
#else
#define TLS_MODEL "initial-exec"
#endif
static __thread struct thread {
	struct app_head *window; /* that the chunk is in */
	char *at, *end;
	uint64_t image;
	uint32_t tid, depth;
	uint64_t stack[DEPTH];
} me __attribute__((tls_model(TLS_MODEL)));

/* CLOCK_BOOTTIME, ns. */
int64_t app_tape_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Finds from the environment where the recorder wants to be told. 2: nobody records, or the channel is not here; 1:
 * it is set up. */
static int read_tape_environment(void)
{
	const char *env = secure_getenv(APP_ENV), *colon = env ? strrchr(env, ':') : NULL;
	size_t n = colon ? (size_t)(colon - env) : 0;
	struct stat st;
	if (!n || n >= sizeof(folder) || strlen(colon + 1) >= sizeof(app_tape_run) || env[0] != '/')
		return 2;
	memcpy(folder, env, n);
	strcpy(app_tape_run, colon + 1);
	/* Not where somebody carried the variable along to another machine. */
	if (lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
		return 2;
	folder_dev = st.st_dev;
	folder_ino = st.st_ino;
	struct app_self *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *none = NULL;
	if (p == MAP_FAILED)
		return 2;
	if (madvise(p, 4096, MADV_WIPEONFORK) < 0)
		no_wipe = true;
	if (!__atomic_compare_exchange_n(&self, &none, p, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		munmap(p, 4096); /* another thread was first */
	return 1;
}

/* Looks whether somebody records: 1, 2 nobody. Keeps errno. */
int app_tape_look(void)
{
	int e = errno, is = read_tape_environment();
	__atomic_store_n(&app_tape_state, is, __ATOMIC_RELEASE);
	errno = e;
	return is;
}

/* ---- windows ---- */

/* Writes v in hexadecimal without leading zeros, and no NUL. Gives the end. */
static char *append_hex(char *p, uint64_t v)
{
	int top = 60;
	while (top && !(v >> top & 15))
		top -= 4;
	for (; top >= 0; top -= 4)
		*p++ = "0123456789abcdef"[v >> top & 15];
	return p;
}

/* Field 22 of /proc/self/stat, as ns. 0: not known. */
static int64_t start_of_self(void)
{
	char text[1024];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	const char *p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = (p = strchr(p, ' ')) ? p + 1 : NULL;
	long hz = sysconf(_SC_CLK_TCK);
	return p && hz > 0 ? (int64_t)strtoull(p, NULL, 10) * (1000000000 / hz) : 0;
}

/* So that a write into it never fails for want of space. False: it does not fit. */
static bool allocate_window(int fd, uint64_t size)
{
	static const char zero[4096];
	if (fallocate(fd, 0, 0, (off_t)size) == 0)
		return true;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return false;
	for (uint64_t at = 0; at < size; at += sizeof(zero))
		if (pwrite(fd, zero, sizeof(zero), (off_t)at) != (ssize_t)sizeof(zero))
			return false;
	return true;
}

/* "PREFIX-PID-IMAGE-SERIAL", the numbers in hexadecimal; ret must have room for all. */
static void window_name(char *ret, uint32_t pid, uint32_t serial)
{
	memcpy(ret, APP_PREFIX "-", 2);
	char *p = append_hex(ret + 2, pid);
	*p++ = '-';
	p = append_hex(p, self->image);
	*p++ = '-';
	*append_hex(p, serial) = '\0';
}

/* The run's folder; -1: it is not there any more. */
static int folder_open(void)
{
	struct stat st;
	int fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_dev != folder_dev || st.st_ino != folder_ino)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Unlinks a window's file. Errors are passed over. */
static void window_remove(const char *name)
{
	int dir = folder_open();
	if (dir >= 0) {
		unlinkat(dir, name, 0);
		close(dir);
	}
}

/* Nobody but root opens it for writing again: who cut it would end this process. */
static struct app_head *window_make(const char *name, uint32_t pid, uint32_t serial, uint64_t size)
{
	int dir = folder_open();
	int fd = dir < 0 ? -1 : openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (dir >= 0)
		close(dir);
	if (fd < 0)
		return NULL;
	void *map = MAP_FAILED;
	if (allocate_window(fd, size))
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		window_remove(name);
	close(fd);
	if (map == MAP_FAILED)
		return NULL;
	struct app_head *h = map;
	struct stat ns;
	h->size = size;
	h->used = APP_HEAD;
	h->image = self->image;
	h->pidns = stat("/proc/self/ns/pid", &ns) == 0 ? ns.st_ino : 0;
	h->started = start_of_self();
	h->born = self->born;
	h->pid = pid;
	h->serial = serial;
	memcpy(h->run, app_tape_run, sizeof(h->run));
	memcpy(h->tool, app_tape_tool, sizeof(h->tool));
	__atomic_store_n(&h->magic, APP_MAGIC, __ATOMIC_RELEASE);
	return h;
}

/* Another process has another image. */
static void image_make(void)
{
	uint64_t image = 0, none = 0;
	int64_t now = app_tape_now(), unborn = 0;
	if (getrandom(&image, sizeof(image), GRND_NONBLOCK) != (ssize_t)sizeof(image) || !image)
		image = (uint64_t)now << 16 ^ (uint64_t)getpid() ^ (uintptr_t)&image;
	__atomic_compare_exchange_n(&self->born, &unborn, now, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	self->pid = (uint32_t)getpid();
	__atomic_compare_exchange_n(&self->image, &none, image, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* A new window in place of the one that is full (NULL: the first), for at least so many chunks. Of several threads one
 * wins. */
static struct app_head *window_next(struct app_head *full, uint64_t chunks)
{
	char name[64];
	uint32_t pid = (uint32_t)getpid();
	/* Each as large as all before it: few files, and not much room for those who say little. */
	uint64_t total = __atomic_load_n(&self->total, __ATOMIC_RELAXED);
	uint64_t size = APP_WINDOW_FIRST, least = APP_HEAD + chunks * APP_CHUNK;
	while (size < APP_WINDOW_MAX && (size < total || size < least))
		size = APP_HEAD + (size - APP_HEAD) * 2;
	if (__atomic_add_fetch(&self->total, size, __ATOMIC_RELAXED) > APP_ROOM) {
		__atomic_sub_fetch(&self->total, size, __ATOMIC_RELAXED);
		return NULL;
	}
	uint32_t serial = __atomic_add_fetch(&self->serial, 1, __ATOMIC_RELAXED);
	window_name(name, pid, serial);
	struct app_head *made = window_make(name, pid, serial, size), *was = full;
	if (made && __atomic_compare_exchange_n(&self->window, &was, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		made->dropped = __atomic_exchange_n(&self->dropped, 0, __ATOMIC_RELAXED);
		return made;
	}
	__atomic_sub_fetch(&self->total, size, __ATOMIC_RELAXED);
	if (!made)
		return NULL;
	window_remove(name);
	munmap(made, size);
	return was; /* another thread's */
}

/* Chunks for this thread. NULL: there are none. */
static char *claim_chunks(uint64_t chunks, uint64_t *ret_room, struct app_head **ret_window)
{
	struct app_head *h = __atomic_load_n(&self->window, __ATOMIC_ACQUIRE);
	for (int tries = 0; tries < 8; tries++) {
		if (h) {
			uint64_t at = __atomic_fetch_add(&h->used, chunks * APP_CHUNK, __ATOMIC_RELAXED);
			if (at < h->size && h->size - at >= chunks * APP_CHUNK) {
				struct app_chunk *c = (struct app_chunk *)((char *)h + at);
				*c = (struct app_chunk){0, (uint32_t)chunks, at, me.tid, 0};
				__atomic_store_n(&c->magic, APP_CHUNK_MAGIC, __ATOMIC_RELEASE);
				*ret_room = chunks * APP_CHUNK;
				*ret_window = h;
				return (char *)c;
			}
		}
		struct app_head *now = __atomic_load_n(&self->window, __ATOMIC_ACQUIRE);
		h = now != h ? now : window_next(h, chunks);
		if (!h)
			return NULL;
	}
	return NULL;
}

/* Counts an entry that had no room: in the window if there is one. Any thread, and without a lock. */
static void count_dropped(void)
{
	struct app_head *h = __atomic_load_n(&self->window, __ATOMIC_ACQUIRE);
	__atomic_add_fetch(h ? &h->dropped : &self->dropped, 1, __ATOMIC_RELAXED);
}

/* Begins the state of the calling thread (me) anew, without a chunk, and gives the process an image number if it has
 * none. It is called when the state is that of another image: of a parent before a fork, or of none yet. */
static void begin_thread(void)
{
	me.window = NULL;
	me.at = me.end = NULL;
	me.depth = 0;
	me.tid = (uint32_t)syscall(SYS_gettid);
	if (!__atomic_load_n(&self->image, __ATOMIC_ACQUIRE))
		image_make();
	me.image = self->image;
}

/* Room for an entry of `size` bytes behind this thread's chunk, of a new one. NULL: there is none, and it counts as
 * dropped. errno stays as it was. */
static char *more_room(uint32_t size)
{
	int e = errno;
	uint64_t room, chunks = (sizeof(struct app_chunk) + size + APP_CHUNK - 1) / APP_CHUNK;
	char *p = NULL;
	struct app_head *window;
	char *c = claim_chunks(chunks, &room, &window);
	if (!c) {
		count_dropped();
	} else {
		p = c + sizeof(struct app_chunk);
		if (chunks == 1) { /* the rest is for the next ones */
			me.window = window;
			me.at = p + size;
			me.end = c + room;
		}
	}
	errno = e;
	return p;
}

/* Has a fork made this another process? */
static bool is_new(void)
{
	if (__builtin_expect(no_wipe, 0) && self->pid && self->pid != (uint32_t)getpid())
		memset(self, 0, sizeof(*self));
	return !me.image || me.image != __atomic_load_n(&self->image, __ATOMIC_RELAXED);
}

/* The smaller of two sizes. */
static size_t smaller_of(size_t n, size_t most)
{
	return n < most ? n : most;
}

/* Room for an entry of size bytes in this thread's window. NULL where there is none. */
static char *claim_entry(uint32_t size)
{
	if (__builtin_expect(is_new(), 0))
		begin_thread();
	char *p = me.at;
	if (__builtin_expect(p == NULL || (size_t)(me.end - p) < size, 0))
		return more_room(size);
	me.at = p + size;
	return p;
}

void *app_tape_reserve(unsigned kind, uint32_t size)
{
	uint32_t all = (uint32_t)(sizeof(struct app_entry) + size + 7) & ~7u;
	char *p = size <= APP_VALUE_MAX ? claim_entry(all) : NULL;
	struct app_entry *e = (struct app_entry *)p;
	if (!p)
		return NULL;
	e->kind = (uint16_t)kind;
	e->time = app_tape_now();
	e->value = size;
	e->whole = size;
	__atomic_store_n(&e->size, all, __ATOMIC_RELEASE);
	return p + sizeof(*e);
}

void app_tape_put(const struct app_entry *given, const struct app_words *w)
{
	uint32_t name = (uint32_t)smaller_of(w->nname, APP_NAME_MAX),
	         version = (uint32_t)smaller_of(w->nversion, APP_NAME_MAX),
	         value = (uint32_t)smaller_of(w->nvalue, APP_VALUE_MAX);
	uint32_t size = (uint32_t)(sizeof(struct app_entry) + name + version + value + 7) & ~7u;
	char *p = claim_entry(size);
	if (!p)
		return;
	struct app_entry *e = (struct app_entry *)p;
	e->kind = given->kind;
	e->flags = given->flags;
	e->time = given->time ? given->time : app_tape_now();
	e->id = given->id;
	e->activity = given->activity ? given->activity : me.depth ? me.stack[me.depth - 1] : 0;
	e->step = given->step;
	e->number = given->number;
	e->name = name;
	e->version = version;
	e->value = value;
	e->whole = w->nvalue;
	p += sizeof(*e);
	if (name)
		memcpy(p, w->name, name);
	if (version)
		memcpy(p + name, w->version, version);
	if (value)
		memcpy(p + name + version, w->value, value);
	__atomic_store_n(&e->size, size, __ATOMIC_RELEASE);
}

uint64_t app_tape_begin(void)
{
	if (is_new())
		begin_thread();
	return me.image << 32 | (uint32_t)__atomic_add_fetch(&self->activities, 1, __ATOMIC_RELAXED);
}

/* The activity is the thread's innermost one. Beyond DEPTH it is not noted. */
void app_tape_enter(uint64_t id)
{
	if (me.depth < DEPTH)
		me.stack[me.depth++] = id;
}

/* Takes the activity from the thread's stack, and those within it. Nothing if it is not there. */
void app_tape_end(uint64_t id)
{
	uint32_t d = me.depth;
	while (d && me.stack[d - 1] != id)
		d--;
	if (d)
		me.depth = d - 1;
}
