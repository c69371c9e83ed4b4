#include "capture/app/channel.h"

#include "base/io.h"
#include "capture/app/images.h"
#include "capture/preload/preload_library.h"
#include "capture/supervisor/super.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_AT_ONCE 65536
#define WINDOW_READ_MAX (1u << 20) /* more than a window can be */
#define SWEEP_NS 200000000         /* between two looks */
#define AT_ONCE                                                                                                        \
	(1u << 20) /* bytes taken while the job waits: about 5 ms. A process that said more waits for the end              \
	            */

/* Who takes the files with this letter. */
static const struct taker {
	char prefix;
	void (*tell)(struct sup *s, const struct channel_image *image);
} takers[] = {
    {'a', channel_emit_app},
    {'h', channel_emit_h5},
};

/* Of root's run programs may be another user's: they may write there and not look around. Whoever is not told its name
 * does not find it, for nobody else can list the folder that it is in. 0, -errno. */
static int make_open(void *arg, const char *top)
{
	struct channel *c = arg;
	uint64_t word;
	if (getrandom(&word, sizeof(word), 0) != (ssize_t)sizeof(word))
		return -EIO;
	if (snprintf(c->path, sizeof(c->path), "%s/%016llx", top, (unsigned long long)word) >= (int)sizeof(c->path))
		return -ENAMETOOLONG;
	if (mkdir(c->path, 0700) < 0)
		return -errno;
	c->dir = open(c->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c->dir >= 0 && fchmod(c->dir, 01733) == 0)
		return 0;
	int rc = -errno;
	if (c->dir >= 0)
		close(c->dir);
	rmdir(c->path); /* for that no descriptor is needed */
	return rc;
}

int channel_make(struct channel *c)
{
	bool root = geteuid() == 0;
	int rc = private_make("stemma-app", root ? 0711 : 0700, root ? make_open : NULL, c, c->top, &c->lock);
	if (rc < 0) {
		c->path[0] = '\0';
		c->dir = -1;
	} else if (!root) {
		memcpy(c->path, c->top, sizeof(c->path));
		c->dir = c->lock;
	}
	return rc;
}

/* Closes the channel without removing it. It may be closed twice. */
static void close_channel(struct channel *c)
{
	if (c->dir >= 0 && c->dir != c->lock)
		close(c->dir);
	if (c->lock >= 0)
		close(c->lock);
	c->path[0] = '\0';
	c->lock = c->dir = -1;
}

/* What is not found is said only if a program wants it (emit_unfound). */
static void enter_library(const char *variable, const char *built, const char *name)
{
	char path[4096];
	if (preload_library_find(built, name, path, sizeof(path)))
		setenv(variable, path, 0);
}

void channel_enter(const struct channel *c, const char *run)
{
	char value[PRIVATE_PATH + 32];
	if (!c->path[0]) {
		unsetenv(APP_ENV); /* an outer run's is none of this one's */
		return;
	}
	snprintf(value, sizeof(value), "%s:%s", c->path, run);
	setenv(APP_ENV, value, 1);
	enter_library(APP_LIBRARY_ENV, "../capture/app", "libstemma-app.so.1");
	enter_library(APP_JAVA_LIBRARY_ENV, "../../bindings", "libstemma-app-jni.so");
}

bool channel_enter_autolog(void)
{
	const char *others = getenv("PYTHONPATH");
	char path[4096], *value = NULL;
	if (!preload_library_path("../../bindings", "autolog/sitecustomize.py", path, sizeof(path)) &&
	    !preload_library_path("../../bindings", "sitecustomize.py", path, sizeof(path)))
		return false;
	*strrchr(path, '/') = '\0';
	/* A PYTHONPATH that is set and empty is none. */
	if (asprintf(&value, "%s%s%s", path, others && *others ? ":" : "", others ? others : "") < 0)
		return false;
	bool set = setenv("PYTHONPATH", value, 1) == 0;
	free(value);
	return set;
}

void channel_enter_nested(const char *run)
{
	const char *env = getenv(APP_ENV), *colon = env ? strrchr(env, ':') : NULL;
	char value[PRIVATE_PATH + 32];
	if (colon && snprintf(value, sizeof(value), "%.*s:%s", (int)(colon - env), env, run) < (int)sizeof(value))
		setenv(APP_ENV, value, 1);
}

/* A run inside this one has begun. */
static void channel_nested(struct sup *s, const char *run)
{
	struct channel *c = s->channel;
	if (!c)
		return;
	char(*more)[27] = realloc(c->nested, (c->n_nested + 1) * sizeof(*more));
	if (!more)
		return;
	c->nested = more;
	snprintf(more[c->n_nested++], sizeof(*more), "%s", run);
}

/* Its files are none of the record's. */
static bool channel_has(const struct sup *s, const char *path)
{
	const struct channel *c = s->channel;
	size_t n = c ? strlen(c->path) : 0;
	return n && !strncmp(path, c->path, n) && path[n] == '/';
}

/* Removes the folder of the channel and closes it. Nothing if it has none. */
static void channel_remove(struct channel *c)
{
	if (!c->path[0])
		return;
	rmdir(c->path); /* for that no descriptor is needed */
	private_remove(c->top);
	close_channel(c);
}

/* ---- files ---- */

struct entry {
	char prefix;
	uint32_t pid, serial;
	uint64_t image;
	char name[64];
};
struct listing {
	struct entry *v;
	size_t n, cap;
};

/* PREFIX-PID-IMAGE-SERIAL, in hex. False: it is no such name. */
static bool parse_window_name(const char *name, struct entry *ret)
{
	unsigned long long pid, image, serial;
	int end = 0;
	if (strlen(name) >= sizeof(ret->name) || name[0] < 'a' || name[0] > 'z' ||
	    strspn(name + 1, "-0123456789abcdef") != strlen(name + 1) ||
	    sscanf(name + 1, "-%llx-%llx-%llx%n", &pid, &image, &serial, &end) != 3 || name[1 + end] || pid > INT32_MAX ||
	    serial > UINT32_MAX)
		return false;
	*ret = (struct entry){.prefix = name[0], .pid = (uint32_t)pid, .serial = (uint32_t)serial, .image = image};
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	return true;
}

/* By process and image, and in that by number: the order in which they are to be read. */
static int compare_windows(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return (a->serial > b->serial) - (a->serial < b->serial);
}

/* The same process between two calls of exec. */
static bool is_of_same_image(const struct entry *a, const struct entry *b)
{
	return a->prefix == b->prefix && a->pid == b->pid && a->image == b->image;
}

/* Sorted. False: the folder cannot be read to its end, or there are more than FILES_AT_ONCE. */
static bool list_windows(int dir, struct listing *l)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct entry e;
	bool whole = d != NULL;
	if (!d && fd >= 0)
		close(fd);
	for (struct dirent *de; d && (de = readdir(d));) {
		if (!parse_window_name(de->d_name, &e))
			continue;
		if (l->n == l->cap) {
			size_t cap = l->cap ? 2 * l->cap : 64;
			struct entry *more = cap <= FILES_AT_ONCE ? realloc(l->v, cap * sizeof(*more)) : NULL;
			if (!more) {
				whole = false;
				break;
			}
			l->v = more;
			l->cap = cap;
		}
		l->v[l->n++] = e;
	}
	if (d)
		closedir(d);
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), compare_windows);
	return whole;
}

/* A copy of a window as it is now; malloc'ed. NULL: it is none, or nobody's of whom there may be any here. */
static void *read_window(int dir, const struct entry *e, size_t *ret_n)
{
	struct stat st;
	/* Not a pipe that nobody writes to, nor a link to elsewhere. */
	int fd = openat(dir, e->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char *p = NULL;
	size_t n = 0;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= APP_HEAD &&
	    (st.st_uid == geteuid() || geteuid() == 0))
		p = malloc(n = st.st_size < WINDOW_READ_MAX ? (size_t)st.st_size : WINDOW_READ_MAX);
	ssize_t have = p ? io_pread(fd, p, n, 0) : -1;
	if (fd >= 0)
		close(fd);
	if (have < APP_HEAD) {
		free(p);
		return NULL;
	}
	*ret_n = (size_t)have;
	return p;
}

/* The number of the process's PID namespace, read once; 0: not known. */
static uint64_t own_pidns(void)
{
	static uint64_t ns;
	struct stat st;
	if (!ns && stat("/proc/self/ns/pid", &st) == 0)
		ns = st.st_ino;
	return ns;
}

/* Can it still say something? A number that is another process's now is taken for a live one: then it waits. */
static bool is_writer_alive(int dir, const struct entry *e)
{
	struct app_told head = {0};
	char p[APP_HEAD];
	if (kill((pid_t)e->pid, 0) == 0 || errno == EPERM)
		return true;
	/* In another pid namespace the number says nothing here. */
	int fd = openat(dir, e->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	bool there = fd >= 0 && pread(fd, p, sizeof(p), 0) == (ssize_t)sizeof(p) && app_read_head(p, sizeof(p), &head);
	if (fd >= 0)
		close(fd);
	return there && head.pidns != own_pidns();
}

/* The bytes of the windows' files, each counted up to WINDOW_READ_MAX. */
static uint64_t sum_window_bytes(int dir, const struct entry *e, size_t n)
{
	uint64_t sum = 0;
	struct stat st;
	for (size_t i = 0; i < n; i++)
		if (fstatat(dir, e[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
			sum += (uint64_t)st.st_size < WINDOW_READ_MAX ? (uint64_t)st.st_size : WINDOW_READ_MAX;
	return sum;
}

/* This run's id, or one that was started in it. */
static bool is_run(const struct sup *s, const char *run)
{
	if (!strcmp(run, s->run))
		return true;
	for (size_t i = 0; i < s->channel->n_nested; i++)
		if (!strcmp(run, s->channel->nested[i]))
			return true;
	return false;
}

/* Tells the taker what one image of a process left in these n files, writes the log, and removes the files. Files
 * that cannot be read, or are not of this image, are removed too; without memory there is a gap instead. */
static void emit_image(struct sup *s, int dir, const struct taker *taker, const struct entry *e, size_t n)
{
	struct channel_image image = {.windows = calloc(n, sizeof(*image.windows))};
	if (!image.windows)
		sup_gap(s, NULL, TERM_gap_lost, 0, "annotations of a process were lost: out of memory");
	for (size_t i = 0; i < n && image.windows; i++) {
		struct app_told head;
		struct channel_window w = {0};
		w.p = read_window(dir, &e[i], &w.n);
		if (!w.p)
			continue;
		if (!app_read_head(w.p, w.n, &head) || head.image != e->image || head.serial != e[i].serial) {
			free((void *)w.p);
			continue;
		}
		if (image.n)
			image.head.dropped += head.dropped;
		else
			image.head = head;
		image.windows[image.n++] = w;
	}
	if (image.n) {
		struct app_told *h = &image.head;
		if (!is_run(s, h->run))
			snprintf(h->run, sizeof(h->run), "%s", s->run);
		if (h->pidns != own_pidns() || h->pid != e->pid)
			h->pid = 0;
		taker->tell(s, &image);
	}
	for (size_t i = 0; i < image.n; i++)
		free((void *)image.windows[i].p);
	free(image.windows);
	/* In the log before it is nowhere else. */
	sup_flush(s);
	for (size_t i = 0; i < n; i++)
		unlinkat(dir, e[i].name, 0);
}

/* CLOCK_MONOTONIC, ns: what the windows' times are in. */
static int64_t channel_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Is there anything to look at? */
static bool has_new_windows(struct channel *c)
{
	struct stat st;
	int64_t now = channel_clock_ns();
	if (now - c->looked < SWEEP_NS || fstat(c->dir, &st) < 0)
		return false;
	bool same = st.st_mtim.tv_sec == c->seen.tv_sec && st.st_mtim.tv_nsec == c->seen.tv_nsec;
	if (same && !c->waiting)
		return false;
	c->seen = st.st_mtim;
	c->looked = now;
	return true;
}

/* Nobody told anything, as in most runs: what is empty can be removed, and what could be was. */
static bool gone_empty(struct channel *c)
{
	struct stat st;
	if (rmdir(c->path) < 0 || fstat(c->dir, &st) < 0 || st.st_nlink)
		return false; /* or it was another folder, put where ours was */
	if (c->dir != c->lock)
		rmdir(c->top);
	close_channel(c);
	return true;
}

/* Who takes files of that first letter; NULL: nobody. */
static const struct taker *find_taker(char prefix)
{
	for (size_t k = 0; k < sizeof(takers) / sizeof(takers[0]); k++)
		if (takers[k].prefix == prefix)
			return &takers[k];
	return NULL;
}

/* Programs that had something to say and no library for it have left a mark. Anybody of the run can make one: it is a
 * sentence more, no less. */
static void emit_unfound(struct sup *s)
{
	static const struct {
		const char *mark, *text;
		unsigned bit;
	} kinds[] = {
	    {APP_UNFOUND_PYTHON, "Python: libstemma-app was not found", CHANNEL_UNTOLD_PYTHON},
	    {APP_UNFOUND_JAVA, "Java: libstemma-app-jni was not found", CHANNEL_UNTOLD_JAVA},
	};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (unlinkat(s->channel->dir, kinds[i].mark, 0) < 0)
			continue;
		s->untold |= kinds[i].bit;
		sup_gap(s, NULL, TERM_gap_untold, 0, kinds[i].text);
	}
}

/* Takes what processes said that are over. all: everybody's, and the folder goes. */
static void channel_sweep(struct sup *s, bool all)
{
	struct channel *c = s->channel;
	struct listing l = {0};
	uint64_t taken = 0;
	if (!c || !c->path[0] || c->dir < 0 || (!all && !has_new_windows(c)) || (all && gone_empty(c)))
		return;
	c->waiting = false;
	bool whole = list_windows(c->dir, &l);
	for (size_t i = 0, n; i < l.n; i += n) {
		for (n = 1; i + n < l.n && is_of_same_image(&l.v[i], &l.v[i + n]); n++)
			;
		const struct taker *taker = find_taker(l.v[i].prefix);
		if (!taker)
			continue;
		uint64_t bytes = all ? 0 : sum_window_bytes(c->dir, &l.v[i], n);
		if (!all && (taken + bytes > AT_ONCE || is_writer_alive(c->dir, &l.v[i]))) {
			c->waiting = true;
			continue;
		}
		taken += bytes;
		emit_image(s, c->dir, taker, &l.v[i], n);
	}
	free(l.v);
	if (!whole && all && l.n)
		sup_gap(s, NULL, TERM_gap_limit, 0, "annotations of some processes were lost: too many processes");
	c->waiting |= !whole;
	if (!all)
		return;
	emit_unfound(s);
	channel_remove(c);
}

/* Notes what an event says of processes, where that is kept. */
static void channel_event(struct sup *s, const struct event *ev)
{
	if (s->images)
		images_note(s->images, ev);
}

const struct feature app_feature = {
    .name = "app", .owns = channel_has, .nested = channel_nested, .sweep = channel_sweep, .event = channel_event};
