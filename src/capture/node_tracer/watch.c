#include "capture/node_tracer/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longest event: head, two names, three handles. A buffer with less room left was not the end of the queue. */
#define EVENT_MAX (24 + 3 * (12 + 8 + HANDLE_MAX) + 2 * 256)

struct watch {
	struct watch_options o;
	int fd, mounts;
	uint64_t mask;
	bool targets;
	/* Of the namespace that is looked at: by whom, and which it is; 0: this one. */
	pid_t by;
	uint32_t ns;
	/* Whom the places of others are reached by: the last who was looked at, and whether it is still there. */
	pid_t asked;
	bool there;
};

static const struct {
	uint32_t op;
	uint64_t mask;
} ops[] = {
    {TRACER_OPENED, FAN_OPEN},
    {TRACER_EXECUTED, FAN_OPEN_EXEC},
    {TRACER_CLOSED_WRITE, FAN_CLOSE_WRITE},
    {TRACER_CLOSED_READ, FAN_CLOSE_NOWRITE},
    {TRACER_CREATED, FAN_CREATE},
    {TRACER_DELETED, FAN_DELETE},
    {TRACER_MOVED_FROM, FAN_MOVED_FROM},
    {TRACER_MOVED_TO, FAN_MOVED_TO},
};
#define NOPS (sizeof(ops) / sizeof(ops[0]))

uint32_t watch_ops(uint64_t mask)
{
	uint32_t r = 0;
	for (size_t i = 0; i < NOPS; i++)
		if (mask & ops[i].mask)
			r |= ops[i].op;
	return r;
}

/* For an errno above 0. */
static const char *explain_mark_error(int e)
{
	switch (e) {
	case EPERM:
		return "CAP_SYS_ADMIN is missing";
	case EOPNOTSUPP:
	case ENODEV:
		return "its files have no identity that the kernel can tell";
	case EXDEV:
		return "it is a part of a file system with an identity of its own";
	case ENOSPC:
		return "fs.fanotify.max_user_marks is reached";
	case ENOENT:
	case EACCES:
		return "it cannot be reached";
	default:
		return "the kernel refuses it";
	}
}

/* Is this mount to be watched? True for all where no mounts were named. */
static bool is_mount_wanted(const struct watch *w, const char *mount)
{
	if (!w->o.mounts)
		return true;
	for (const char *const *m = w->o.mounts; *m; m++)
		if (!strcmp(*m, mount))
			return true;
	return false;
}

/* Replaces escapes in place: \040 and the like in mountinfo. */
static void unescape_mount_point(char *s)
{
	char *to = s;
	for (; *s; s++) {
		unsigned c;
		if (*s == '\\' && sscanf(s + 1, "%3o", &c) == 1 && strspn(s + 1, "01234567") >= 3) {
			*to++ = (char)c;
			s += 3;
		} else
			*to++ = *s;
	}
	*to = '\0';
}

/* Whether its place in another namespace can still be reached. */
static bool is_place_reached(struct watch *w, const struct place *place)
{
	char text[PATH_MAX];
	unsigned ns = 0;
	if (place->by == w->by)
		return true;
	if (place->by != w->asked) {
		ssize_t n = helper_link(w->o.helper, place->by, HELPER_MNT, 0, text, NULL, NULL);
		w->asked = place->by;
		w->there = n > 0 && strchr(text, '[') && sscanf(strchr(text, '['), "[%u]", &ns) == 1 && ns == place->ns;
	}
	return w->there;
}

/* Reaches a mount again: by `at`, where another way to it ended with the process that it led through. */
static void reach_again(struct watch *w, struct place *place, const char *at, bool waits)
{
	struct helper_place seen;
	if (helper_look(w->o.helper, at, place->dev, waits, &seen) < 0)
		return;
	bool same = seen.fsid == place->fsid;
	helper_forget(w->o.helper, same ? place->slot : seen.slot);
	if (!same)
		return;
	place->slot = seen.slot;
	place->by = w->by;
	place->ns = w->ns;
}

/* A file system that nobody asks, or that does not answer. */
static void add_silent_place(struct watch *w, const char *at, const char *mount, const char *type, uint64_t dev,
                             bool alias, bool through_fuse)
{
	bool fuse = fileid_type_fuse(type);
	const char *why = fuse           ? explain_mark_error(ENODEV)
	                  : through_fuse ? "the way to it leads through FUSE"
	                                 : "it does not answer";
	struct place *place = places_add_unasked(w->o.places, dev, mount, alias, why);
	if (place) {
		place->seen = true;
		place->silent = !fuse;
		if (fuse && !alias) /* another namespace's type cannot be told without asking */
			place->domain = fileid_domain(AT_FDCWD, at, dev);
	}
	w->o.told(w->o.arg, fuse && !alias ? place : NULL, mount, type, false, why);
}

/* Asks the kernel for what happens there; place->why says why not. */
static void watch_place(struct watch *w, struct place *place)
{
	int r;
	if (place->domain->network && !w->o.network) {
		place->why = "it is over the network";
	} else if ((r = helper_mark(w->o.helper, place->slot, w->mask)) < 0) {
		place->why = explain_mark_error(-r);
	} else {
		place->watched = true;
		place->why = place->handles ? NULL : "its paths cannot be told";
	}
}

/* Marks the file system mounted at `mount`, seen through `at`. */
static void mark_mount(struct watch *w, const char *at, const char *mount, const char *type, uint64_t dev, bool alias,
                       bool through_fuse)
{
	struct place *place = places_of_dev(w->o.places, dev);
	struct helper_place seen;
	if (place)
		place->seen = true;
	if (place && !place->silent) {
		if (place->asked && place->by && alias && !fileid_type_fuse(type) && !through_fuse &&
		    !is_place_reached(w, place))
			reach_again(w, place, at, fileid_type_waits(type));
		return;
	}
	if (!place && through_fuse && fileid_type_pseudo(type))
		return;
	/* FUSE gives no identity that could be watched. To ask its daemon could keep even our end waiting: it would be
	 * asked for the way, too. */
	bool fuse = fileid_type_fuse(type);
	int r = fuse || through_fuse ? -ETIMEDOUT : helper_look(w->o.helper, at, dev, fileid_type_waits(type), &seen);
	if (r == -ETIMEDOUT) {
		if (!place)
			add_silent_place(w, at, mount, type, dev, alias, through_fuse);
		return;
	}
	if (place)
		places_remove(w->o.places, place);
	if (r == -ENODEV)
		return; /* a file, or covered by another mount; another mount point may lead to it */
	place = r < 0 ? NULL : places_add(w->o.places, &seen, mount, alias);
	if (!place) {
		w->o.told(w->o.arg, NULL, mount, type, false, explain_mark_error(r < 0 ? -r : errno));
		return;
	}
	place->seen = true;
	if (alias) {
		place->by = w->by;
		place->ns = w->ns;
	}
	if (place->domain->pseudo)
		return;
	watch_place(w, place);
	w->o.told(w->o.arg, place, mount, type, place->watched, place->why ? place->why : "");
}

/* What of a line of mountinfo is used. */
struct line {
	int id, parent;
	unsigned maj, min;
	char point[2048], type[64];
};

/* *text is the caller's to free. False: there is no other line that can be understood. */
static bool read_mount_line(FILE *f, char **text, size_t *cap, struct line *ret)
{
	while (getline(text, cap, f) > 0) {
		const char *dash = strstr(*text, " - ");
		if (dash && sscanf(dash + 3, "%63s", ret->type) == 1 &&
		    sscanf(*text, "%d %d %u:%u %*s %2047s", &ret->id, &ret->parent, &ret->maj, &ret->min, ret->point) == 5)
			return true;
	}
	return false;
}

/* A mount, by its number. */
struct mounted {
	int id, parent;
	enum { NOT_KNOWN, NO, YES } fuse; /* it, or what it is mounted on */
};

/* Order of qsort: by id. */
static int compare_mounts_by_id(const void *a, const void *b)
{
	const struct mounted *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

/* Finds a mount by its id. all: sorted by id. NULL: none. */
static struct mounted *mounted_find(struct mounted *all, size_t n, int id)
{
	struct mounted key = {.id = id};
	return n ? bsearch(&key, all, n, sizeof(*all), compare_mounts_by_id) : NULL;
}

/* Whoever has a mount namespace may have 100,000 mounts in it: each is passed twice at most. */
static void find_fuse(struct mounted *all, size_t n)
{
	qsort(all, n, sizeof(*all), compare_mounts_by_id);
	for (size_t i = 0; i < n; i++) {
		struct mounted *m = &all[i], *up;
		size_t steps = 0;
		while (m->fuse == NOT_KNOWN && steps++ < n && (up = mounted_find(all, n, m->parent)) && up != m)
			m = up;
		int fuse = m->fuse == YES ? YES : NO;
		for (m = &all[i]; m && m->fuse == NOT_KNOWN; m = mounted_find(all, n, m->parent))
			m->fuse = fuse;
	}
}

/* Goes through a mountinfo. root: what leads to that namespace, "" for this one. */
static void walk_mountinfo(struct watch *w, FILE *f, const char *root)
{
	char *text = NULL;
	size_t cap = 0, n = 0, room = 0;
	struct line l;
	struct mounted *all = NULL;
	while (read_mount_line(f, &text, &cap, &l)) {
		if (n == room) {
			struct mounted *more = realloc(all, (room = room ? 2 * room : 64) * sizeof(*more));
			if (!more)
				goto out;
			all = more;
		}
		all[n++] = (struct mounted){l.id, l.parent, fileid_type_fuse(l.type) ? YES : NOT_KNOWN};
	}
	find_fuse(all, n);
	/* What lies below FUSE comes last: it may be mounted elsewhere, too. */
	for (int below = 0; below < 2; below++) {
		rewind(f);
		while (read_mount_line(f, &text, &cap, &l)) {
			char *at = NULL;
			const struct mounted *on = mounted_find(all, n, l.parent);
			unescape_mount_point(l.point);
			if ((on && on->fuse == YES) != below || !is_mount_wanted(w, l.point) || !strcmp(l.type, "autofs") ||
			    asprintf(&at, "%s%s", root, l.point) < 0)
				continue;
			mark_mount(w, at, l.point, l.type, (uint64_t)l.maj << 32 | l.min, *root != '\0', below);
			free(at);
		}
	}
out:
	free(text);
	free(all);
}

void watch_mounts(struct watch *w)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	if (!f)
		return;
	for (size_t i = 0; places_at(w->o.places, i); i++)
		places_at(w->o.places, i)->seen = places_at(w->o.places, i)->alias;
	walk_mountinfo(w, f, "");
	fclose(f);
	for (size_t i = 0; places_at(w->o.places, i);) {
		struct place *p = places_at(w->o.places, i);
		if (p->seen) {
			i++;
			continue;
		}
		if (!p->domain->pseudo)
			w->o.told(w->o.arg, p->silent ? NULL : p, p->shown, p->domain->type, false, "it was unmounted");
		places_remove(w->o.places, p);
	}
}

bool watch_mounts_of(struct watch *w, pid_t pid, uint32_t ns)
{
	char root[64];
	int fd;
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	FILE *f = helper_open(w->o.helper, pid, HELPER_MOUNTINFO, &fd) < 0 ? NULL : fdopen(fd, "r");
	if (!f)
		return false;
	w->by = pid;
	w->ns = ns;
	w->asked = 0;
	walk_mountinfo(w, f, root);
	w->by = 0;
	fclose(f);
	return true;
}

int watch_open(const struct watch_options *options, struct watch **ret, struct err *err)
{
	struct watch *w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(err, ENOMEM, "cannot watch files");
	w->o = *options;
	w->mounts = w->fd = -1;
	w->targets = true;
	int made = helper_watch(w->o.helper, true, &w->fd);
	if (made == -EINVAL) {
		w->targets = false;
		made = helper_watch(w->o.helper, false, &w->fd);
	}
	if (made < 0) {
		int r = made == -EINVAL ? err_set(err, ENOTSUP, "cannot watch files: Linux 5.9 is needed")
		                        : err_set(err, -made, "cannot watch the files of this node (fanotify)");
		watch_close(w);
		return r;
	}
	for (size_t i = 0; i < NOPS; i++)
		if (!options->ops || (options->ops & ops[i].op))
			w->mask |= ops[i].mask;
	/* Directories too: their names are parts of paths. What opens them is passed over when it is read. */
	w->mask |= FAN_ONDIR;
	if (w->targets && (w->mask & (FAN_MOVED_FROM | FAN_MOVED_TO)))
		w->mask = (w->mask & ~(uint64_t)(FAN_MOVED_FROM | FAN_MOVED_TO)) | FAN_RENAME;
	w->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	watch_mounts(w);
	*ret = w;
	return 0;
}

/* NULL is no error. */
void watch_close(struct watch *w)
{
	if (!w)
		return;
	if (w->fd >= 0) {
		close(w->fd);
		helper_unwatch(w->o.helper);
	}
	if (w->mounts >= 0)
		close(w->mounts);
	free(w);
}

/* To be polled; it stays w's. */
int watch_fd(const struct watch *w)
{
	return w->fd;
}

int watch_mounts_fd(const struct watch *w)
{
	return w->mounts;
}

/* Whether the kernel tells what an event is about, too (5.17). */
bool watch_renames(const struct watch *w)
{
	return w->targets;
}

ssize_t watch_read(struct watch *w, void *to, size_t room, bool *ret_empty)
{
	ssize_t n = read(w->fd, to, room);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return -errno;
	*ret_empty = n <= 0 || (size_t)n + EVENT_MAX < room;
	return n < 0 ? 0 : n;
}
