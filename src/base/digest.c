#define OPENSSL_SUPPRESS_DEPRECATED /* these few functions are 20 KiB and start at once; what replaced them is not */
#include "base/digest.h"

#include "base/hash.h"
#include "base/hex.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PIECE (256u << 10) /* stays in the second-level cache from the kernel's copy to the sum */
#define LARGE (1u << 20)   /* is mapped */
#define WINDOW (4u << 20)  /* 98 % of the library's speed on 256 MiB; 64 MiB would be 99 */
#define WAYS 4
#define BUCKETS 8192
#define SETTLED_NS 100000000LL /* local file systems keep time by the tick, 10 ms at most */
#define COARSE_NS 3000000000LL /* others by the second or two, or by another machine's clock */

_Static_assert(sizeof(SHA256_CTX) <= sizeof(struct digest_sum), "room");

/* Begins a sum; nothing has to be released. */
void digest_begin(struct digest_sum *s)
{
	SHA256_Init((SHA256_CTX *)(void *)s);
}

/* The same sum for however many pieces. */
void digest_add(struct digest_sum *s, const void *p, size_t n)
{
	SHA256_Update((SHA256_CTX *)(void *)s, p, n);
}

/* The sum may not be used afterwards. */
void digest_end(struct digest_sum *s, struct digest *ret)
{
	SHA256_Final(ret->b, (SHA256_CTX *)(void *)s);
}

void digest_hmac(const void *key, size_t n_key, const void *p, size_t n, struct digest *ret)
{
	enum { BLOCK = 64, INNER = 0x36, OUTER = 0x5c };
	unsigned char block[BLOCK] = {0};
	struct digest_sum sum;
	struct digest d;
	if (n_key > BLOCK) {
		digest_bytes(key, n_key, &d);
		memcpy(block, d.b, sizeof(d.b));
	} else if (n_key) {
		memcpy(block, key, n_key);
	}
	for (size_t i = 0; i < BLOCK; i++)
		block[i] ^= INNER;
	digest_begin(&sum);
	digest_add(&sum, block, BLOCK);
	digest_add(&sum, p, n);
	digest_end(&sum, &d);
	for (size_t i = 0; i < BLOCK; i++)
		block[i] ^= INNER ^ OUTER;
	digest_begin(&sum);
	digest_add(&sum, block, BLOCK);
	digest_add(&sum, d.b, sizeof(d.b));
	digest_end(&sum, ret);
	explicit_bzero(block, sizeof(block));
}

/* The SHA-256 of n bytes. */
void digest_bytes(const void *p, size_t n, struct digest *ret)
{
	struct digest_sum s;
	digest_begin(&s);
	digest_add(&s, p, n);
	digest_end(&s, ret);
}

/* ---- text ---- */

/* "sha256:" and hexadecimal digits, NUL-terminated. */
void digest_text(const struct digest *d, char ret[DIGEST_TEXT])
{
	memcpy(ret, "sha256:", 7);
	hex_text(d->b, DIGEST_BYTES, ret + 7);
}

bool digest_parse(struct str text, struct digest *ret)
{
	struct digest d;
	if (text.n != DIGEST_TEXT - 1 || memcmp(text.p, "sha256:", 7) != 0 ||
	    !hex_parse(str_n(text.p + 7, text.n - 7), d.b, DIGEST_BYTES))
		return false;
	*ret = d;
	return true;
}

/* ---- files ---- */

/* A large file is mapped, a window at a time: the kernel's copy of it would take an eighth of the time. If it shrinks
 * meanwhile the processor says so by SIGBUS, which is caught for as long as anybody maps, and for our windows only. */
struct window {
	char *from;
	size_t n;
	sigjmp_buf back;
};

static __thread struct window *mapped;
static pthread_mutex_t bus_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned bus_users;
static struct sigaction bus_before;

/* Leaves a read of the window that a file no longer fills. Any other SIGBUS gets the action of before. */
static void on_sigbus(int sig, siginfo_t *si, void *context)
{
	struct window *w = mapped;
	const char *at = si->si_addr;
	(void)context;
	if (w && at >= w->from && at < w->from + w->n)
		siglongjmp(w->back, 1);
	sigaction(sig, &bus_before, NULL); /* it comes again, to whom it belongs */
}

/* Sets the handler of SIGBUS for the process when the first reader begins. bus_end takes it back. */
static void bus_begin(void)
{
	pthread_mutex_lock(&bus_lock);
	if (bus_users++ == 0) {
		struct sigaction sa = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};
		sigaction(SIGBUS, &sa, &bus_before);
	}
	pthread_mutex_unlock(&bus_lock);
}

/* The last reader takes the handler back. */
static void bus_end(void)
{
	pthread_mutex_lock(&bus_lock);
	if (--bus_users == 0)
		sigaction(SIGBUS, &bus_before, NULL);
	pthread_mutex_unlock(&bus_lock);
}

/* Adds a stretch of a file to what is summed: of n bytes from `at` on, which is a multiple of the page. -EAGAIN: it
 * cannot be mapped; -ESTALE: the file became shorter meanwhile. */
static int sum_window(int fd, uint64_t at, size_t n, struct digest_sum *s)
{
	struct window w = {.n = n};
	int rc = 0;
	w.from = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, (off_t)at);
	if (w.from == MAP_FAILED)
		return -EAGAIN;
	mapped = &w;
	if (sigsetjmp(w.back, 1) == 0)
		digest_add(s, w.from, n);
	else
		rc = -ESTALE;
	mapped = NULL;
	munmap(w.from, w.n);
	return rc;
}

/* Sums a file of size bytes through a mapping. 0, -errno; a file that becomes shorter meanwhile is an error.
 * -EAGAIN: it cannot be mapped. */
static int sum_mapped(int fd, uint64_t size, struct digest_sum *s)
{
	int rc = 0;
	bus_begin();
	for (uint64_t at = 0; rc == 0 && at < size; at += WINDOW)
		rc = sum_window(fd, at, size - at < WINDOW ? (size_t)(size - at) : WINDOW, s);
	bus_end();
	return rc;
}

/* Adds a file to what is summed, by reading it from the beginning, piece by piece. 0, -errno, -ESTALE: it has become
 * shorter. */
static int sum_here(int fd, uint64_t size, struct digest_sum *s)
{
	size_t most = size < PIECE ? (size_t)size : PIECE;
	char small[16384], *room = most <= sizeof(small) ? small : malloc(most);
	int rc = room ? 0 : -ENOMEM;
	for (uint64_t at = 0; rc == 0 && at < size;) {
		uint64_t left = size - at;
		ssize_t n = io_pread(fd, room, left < most ? (size_t)left : most, at);
		if (n <= 0) {
			rc = n < 0 ? (int)n : -ESTALE;
			break;
		}
		digest_add(s, room, (size_t)n);
		at += (uint64_t)n;
	}
	if (room != small)
		free(room);
	return rc;
}

/* Has it more holes than are read? Where the file system tells of none, as of a compressed file, there are none. */
static bool has_large_holes(int fd, const struct stat *st)
{
	const uint64_t size = (uint64_t)st->st_size, stored = (uint64_t)st->st_blocks * 512;
	char again[64];
	if (size < stored || size - stored <= DIGEST_HOLES)
		return false;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd); /* with an offset of its own */
	int own = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	uint64_t holes = 0;
	off_t hole, data = 0;
	while (own >= 0 && holes <= DIGEST_HOLES && (hole = lseek(own, data, SEEK_HOLE)) >= 0 && (uint64_t)hole < size) {
		data = lseek(own, hole, SEEK_DATA);
		data = data < 0 ? (off_t)size : data;
		holes += (uint64_t)(data - hole);
	}
	if (own >= 0)
		close(own);
	return holes > DIGEST_HOLES;
}

/* Sums a file: of the first `size` bytes: large ones are mapped where that is possible. 0, -errno. */
static int sum_fd(int fd, uint64_t size, struct digest *ret)
{
	struct digest_sum s;
	digest_begin(&s);
	int rc = size >= LARGE ? sum_mapped(fd, size, &s) : -EAGAIN;
	if (rc == -EAGAIN) {
		digest_begin(&s);
		rc = sum_here(fd, size, &s);
	}
	if (rc == 0)
		digest_end(&s, ret);
	return rc;
}

/* ---- the cache ---- */

struct entry {
	uint64_t dev, ino, size;
	int64_t mtime, ctime;
	struct digest digest;
	uint64_t check; /* of all that stands before */
};

struct bucket {
	struct entry way[WAYS];
};
_Static_assert(sizeof(struct entry) == 80, "on disk");

struct digest_cache {
	int fd;
};

struct digest_cache *digest_cache_open(const char *dir)
{
	char path[4096];
	if (snprintf(path, sizeof(path), "%s/digests-1", dir) >= (int)sizeof(path))
		return NULL;
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	int fd = open(path, flags);
	if (fd < 0 && errno == ENOENT && io_mkdirs(dir, 0700) == 0)
		fd = open(path, flags | O_CREAT, 0600);
	fd = fd < 0 ? fd : io_above_std(fd);
	struct stat st;
	struct digest_cache *c = NULL;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022))
		c = malloc(sizeof(*c));
	if (c)
		c->fd = fd;
	else if (fd >= 0)
		close(fd);
	return c;
}

/* NULL is no error. */
void digest_cache_close(struct digest_cache *c)
{
	if (!c)
		return;
	close(c->fd);
	free(c);
}

/* To ns. */
static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* What identifies the file and its state; the digest is not set. */
static struct entry cache_entry_of(const struct stat *st)
{
	return (struct entry){.dev = st->st_dev,
	                      .ino = st->st_ino,
	                      .size = (uint64_t)st->st_size,
	                      .mtime = ns_of(&st->st_mtim),
	                      .ctime = ns_of(&st->st_ctim)};
}

/* A checksum of the entry, never 0. */
static uint64_t check_of(const struct entry *e)
{
	return hash_bytes(e, offsetof(struct entry, check)) | 1; /* an empty entry has 0 */
}

/* Compares all but the digest: the same file, not changed since. */
static bool is_same_state(const struct entry *a, const struct entry *b)
{
	return memcmp(a, b, offsetof(struct entry, digest)) == 0;
}

/* The place, in bytes, of the bucket in the cache's file. */
static uint64_t bucket_offset(const struct entry *e)
{
	uint64_t key[2] = {e->dev, e->ino};
	return hash_bytes(key, sizeof(key)) % BUCKETS * sizeof(struct bucket);
}

/* The state: device, inode, size and times. */
static bool find_cached_digest(struct digest_cache *c, const struct entry *want, struct digest *ret)
{
	struct bucket b;
	ssize_t n = io_pread(c->fd, &b, sizeof(b), bucket_offset(want));
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(b.way[0]); i++)
		if (is_same_state(&b.way[i], want) && b.way[i].check == check_of(&b.way[i])) {
			*ret = b.way[i].digest;
			return true;
		}
	return false;
}

/* Stores a digest in the cache: in the place of an older state of the file, else of what is none, else of any. */
static void store_cache_entry(struct digest_cache *c, struct entry *e)
{
	struct bucket b = {0};
	uint64_t at = bucket_offset(e);
	unsigned to = (unsigned)(e->ctime >> 8) % WAYS;
	if (io_pread(c->fd, &b, sizeof(b), at) < 0)
		return;
	for (unsigned i = WAYS; i-- > 0;)
		if (!b.way[i].check)
			to = i;
	for (unsigned i = 0; i < WAYS; i++)
		if (b.way[i].check && b.way[i].dev == e->dev && b.way[i].ino == e->ino)
			to = i;
	e->check = check_of(e);
	ssize_t done = pwrite(c->fd, e, sizeof(*e), (off_t)(at + to * sizeof(*e)));
	(void)done; /* half an entry fails its check */
}

/* Is the file's last change so old that a later one gets another time? Would a change from now on show? */
static bool settled(int fd, const struct stat *st)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t latest = ns_of(&st->st_ctim) > ns_of(&st->st_mtim) ? ns_of(&st->st_ctim) : ns_of(&st->st_mtim);
	int64_t age = ns_of(&now) - latest;
	if (age > COARSE_NS)
		return true;
	return age > SETTLED_NS && st->st_ctim.tv_nsec && io_is_local(fd);
}

/* Of an open regular file; its offset stays. 0, -errno: see digest.h. */
int digest_fd(struct digest_cache *c, int fd, struct digest *ret, struct stat *st)
{
	struct stat before, after;
	struct digest d;
	if (fstat(fd, &before) < 0)
		return -errno;
	if (!S_ISREG(before.st_mode))
		return -EINVAL;
	if (st)
		*st = before;
	struct entry e = cache_entry_of(&before);
	if (c && find_cached_digest(c, &e, ret))
		return 0;
	if (has_large_holes(fd, &before))
		return -EFBIG;
	bool keeps = c && settled(fd, &before);
	int rc = sum_fd(fd, (uint64_t)before.st_size, &d);
	if (rc < 0)
		return rc;
	if (keeps && fstat(fd, &after) == 0) {
		struct entry now = cache_entry_of(&after);
		e.digest = d;
		if (is_same_state(&now, &e))
			store_cache_entry(c, &e);
	}
	*ret = d;
	return 0;
}

int digest_file(struct digest_cache *c, int dirfd, const char *path, struct digest *ret, struct stat *st)
{
	struct stat before;
	/* What is kept needs no open; and to open a FIFO would let go whoever waits for its reader. */
	if (fstatat(dirfd, path, &before, 0) < 0)
		return -errno;
	if (!S_ISREG(before.st_mode))
		return -EINVAL;
	if (c) {
		struct entry e = cache_entry_of(&before);
		if (find_cached_digest(c, &e, ret)) {
			if (st)
				*st = before;
			return 0;
		}
	}
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	int rc = digest_fd(c, fd, ret, st);
	close(fd);
	return rc;
}
