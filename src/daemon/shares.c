#include "daemon/shares.h"

#include "base/io.h"
#include "base/vec.h"
#include "daemon/accounts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000LL

/* A day's folder: YYYY-MM-DD, or one of its parts, YYYY-MM-DD.NNN. */
struct folder {
	char *path;
	const char *name; /* in path */
	uint32_t uid, account;
	uint64_t bytes;
	int64_t first, last; /* ns: made; written to for the last time */
	bool gone;
};

struct folders {
	struct folder *v;
	size_t n, cap;
};

void shares_day(int64_t t, char ret[16])
{
	time_t s = (time_t)(t / NS);
	struct tm tm;
	gmtime_r(&s, &tm);
	strftime(ret, 16, "%Y-%m-%d", &tm);
}

/* The beginning of the day that a folder is called by; 0: it is called otherwise. */
static int64_t day_begin(const char *name)
{
	struct tm tm = {0};
	const char *end = strptime(name, "%Y-%m-%d", &tm);
	if (!end || end - name != 10 || (*end && *end != '.'))
		return 0;
	return timegm(&tm) * NS;
}

/* ---- what there is ---- */

/* Sets its bytes, and when it was first and last written; what cannot be read does not count. */
static void measure_folder(struct folder *f)
{
	DIR *d = opendir(f->path);
	struct dirent *e;
	struct statx made;
	if (d && statx(dirfd(d), "", AT_EMPTY_PATH, STATX_BTIME, &made) == 0 && (made.stx_mask & STATX_BTIME) &&
	    made.stx_btime.tv_sec * NS > f->first)
		f->first = made.stx_btime.tv_sec * NS;
	while (d && (e = readdir(d))) {
		struct stat st;
		if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		f->bytes += (uint64_t)st.st_size;
		int64_t written = st.st_mtim.tv_sec * NS + st.st_mtim.tv_nsec;
		f->last = written > f->last ? written : f->last;
	}
	if (d)
		closedir(d);
	f->last = f->last > f->first ? f->last : f->first;
}

/* What is no day's folder, or finds no memory, is left out. */
static void folders_append(struct folders *all, const char *path, uint32_t uid)
{
	const char *slash = strrchr(path, '/');
	int64_t day = day_begin(slash + 1);
	if (!day)
		return;
	if (!vec_has_room(all->v, all->n, all->cap))
		return;
	char *copy = strdup(path);
	if (!copy)
		return;
	struct folder *f = &all->v[all->n++];
	*f = (struct folder){
	    .path = copy, .name = copy + (slash + 1 - path), .uid = uid, .account = accounts_of(uid), .first = day};
	measure_folder(f);
}

/* Walks users/UID/logs/HOST/DAY; depth counts the folders below users: uid, logs, host, day. */
static void collect_user_folders(struct folders *all, const char *path, uint32_t uid, unsigned depth)
{
	if (depth == 4) {
		folders_append(all, path, uid);
		return;
	}
	DIR *dir = opendir(path);
	struct dirent *e;
	while (dir && (e = readdir(dir))) {
		char below[4096 + 512], *end;
		if (e->d_name[0] == '.' || (depth == 1 && strcmp(e->d_name, "logs") != 0) ||
		    snprintf(below, sizeof(below), "%s/%s", path, e->d_name) >= (int)sizeof(below))
			continue;
		if (depth == 0) {
			unsigned long n = strtoul(e->d_name, &end, 10);
			if (*end || n >= UINT32_MAX)
				continue;
			uid = (uint32_t)n;
		}
		collect_user_folders(all, below, uid, depth + 1);
	}
	if (dir)
		closedir(dir);
}

/* Finds the folders of all users, with their sizes. base: the daemon's folder; below "users" are the users' own. */
static void collect_all(struct folders *all, const char *base)
{
	char path[4096 + 64];
	snprintf(path, sizeof(path), "%s/users", base);
	collect_user_folders(all, path, 0, 0);
}

static void folders_release(struct folders *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->v[i].path);
	free(all->v);
}

/* What the files of a folder have. */
static uint64_t folder_bytes(const char *path)
{
	uint64_t sum = 0;
	struct stat st;
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	if (d)
		closedir(d);
	return sum;
}

/* The files of one index, and of the edges beside it; its size. */
static uint64_t index_files(const char *home, bool remove)
{
	static const char *const tails[] = {"index.db", "index.db-wal", "index.db-shm"};
	uint64_t sum = 0;
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		char name[4096 + 128];
		struct stat st;
		snprintf(name, sizeof(name), "%s/%s", home, tails[i]);
		if (lstat(name, &st) < 0)
			continue;
		sum += (uint64_t)st.st_size;
		if (remove)
			unlink(name);
	}
	char edges[4096 + 128];
	snprintf(edges, sizeof(edges), "%s/index.db.edges", home);
	sum += folder_bytes(edges);
	if (remove)
		io_remove_all(edges);
	return sum;
}

/* Bytes of the user's index; remove: it is removed, and made again from the logs when it is asked for. */
static uint64_t index_of_user(const char *base, uint32_t uid, bool remove)
{
	char home[4096 + 64];
	snprintf(home, sizeof(home), "%s/users/%u/index", base, uid);
	return index_files(home, remove);
}

/* The bytes of the index's files of all users' record, which are removed if so told. */
static uint64_t index_of_all(const char *base, bool remove)
{
	char home[4096 + 64];
	snprintf(home, sizeof(home), "%s/all", base);
	return index_files(home, remove);
}

/* ---- accounts ---- */

/* Finds or adds the share of an account. NULL: no memory. Valid until the next is added. */
static struct shares_account *find_or_add_shares(struct shares *s, uint32_t id)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].account == id)
			return &s->v[i];
	if (!vec_has_room(s->v, s->n, s->cap))
		return NULL;
	s->v[s->n] = (struct shares_account){.account = id};
	return &s->v[s->n++];
}

uint64_t shares_of(const struct shares *s, uint32_t id)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].account == id)
			return s->v[i].bytes;
	return 0;
}

/* Bytes for one user; 0: no limit. */
uint64_t shares_share(const struct shares *s, const struct shares_limits *l)
{
	uint64_t share = l->user ? l->user : l->total / 4;
	if (l->total && s->n && (!share || share > l->total / s->n))
		share = l->total / s->n;
	return share;
}

/* Sums by account; indexes count, too. */
static void add_up(struct shares *s, const struct folders *all, const char *base)
{
	uint32_t before = UINT32_MAX;
	s->n = 0;
	s->bytes = index_of_all(base, false);
	for (size_t i = 0; i < all->n; i++) {
		const struct folder *f = &all->v[i];
		struct shares_account *a = find_or_add_shares(s, f->account);
		if (!a)
			continue;
		uint64_t more = f->bytes;
		if (f->uid != before) { /* the walk has a user's folders one behind the other */
			more += index_of_user(base, f->uid, false);
			a->users++;
		}
		before = f->uid;
		a->bytes += more;
		s->bytes += more;
	}
}

/* ---- taking away ---- */

/* Order of qsort: by day, then by the last change. */
static int compare_by_age(const void *pa, const void *pb)
{
	const struct folder *a = pa, *b = pb;
	int c = strncmp(a->name, b->name, 10);
	return c ? c : a->last < b->last ? -1 : a->last > b->last ? 1 : strcmp(a->path, b->path);
}

/* Removes the logs of a user's day and the indexes of them, which are made again when they are asked for; the hook is
 * told. */
static void remove_folder(struct shares *s, struct folder *f, const char *base, const struct shares_hooks *h,
                          enum shares_why why)
{
	DIR *d = opendir(f->path);
	struct dirent *e;
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(f->path);
	f->gone = true;
	/* Indexes of logs that are there no more are made again when they are asked for. */
	uint64_t index = index_of_user(base, f->uid, true), all = index_of_all(base, true);
	struct shares_account *a = find_or_add_shares(s, f->account);
	uint64_t less = f->bytes + index;
	if (a)
		a->bytes -= less < a->bytes ? less : a->bytes;
	s->bytes -= less + all < s->bytes ? less + all : s->bytes;
	s->removed += f->bytes;
	h->removed(
	    h->arg,
	    &(struct shares_removed){
	        .uid = f->uid, .folder = f->name, .bytes = f->bytes, .from = f->first, .until = f->last, .why = why});
}

/* The oldest of an account that may go; NULL: none. */
static struct folder *find_oldest_unused(struct folders *all, uint32_t id, const struct shares_hooks *h)
{
	for (size_t i = 0; i < all->n; i++) {
		struct folder *f = &all->v[i];
		if (!f->gone && f->account == id && !h->in_use(h->arg, f->uid, f->name))
			return f;
	}
	return NULL;
}

/* Removes what is older than max_age; 0: nothing. */
static void hold_age(struct shares *s, struct folders *all, const char *base, int64_t max_age, int64_t now,
                     const struct shares_hooks *h)
{
	char limit[16];
	if (!max_age)
		return;
	shares_day(now - max_age, limit);
	for (size_t i = 0; i < all->n && strncmp(all->v[i].name, limit, 10) < 0; i++)
		if (!h->in_use(h->arg, all->v[i].uid, all->v[i].name))
			remove_folder(s, &all->v[i], base, h, SHARES_AGE);
}

/* Removes the oldest until a share of the disk is kept. Down to seven eighths, or every look would take something
 * away, and the index with it. */
static void hold_share(struct shares *s, struct folders *all, const char *base, uint64_t share,
                       const struct shares_hooks *h)
{
	for (size_t i = 0; share && i < s->n; i++) {
		struct shares_account *a = &s->v[i];
		struct folder *f;
		bool over = a->bytes > share;
		while (over && a->bytes > share / 8 * 7 && (f = find_oldest_unused(all, a->account, h)))
			remove_folder(s, f, base, h, SHARES_USER);
	}
}

/* The index of all users goes first, then the oldest folders of who has most, until all fit; 0: no bound. */
static void hold_total(struct shares *s, struct folders *all, const char *base, uint64_t total,
                       const struct shares_hooks *h)
{
	if (total && s->bytes > total) { /* it is made again from the logs, which are not */
		uint64_t index = index_of_all(base, true);
		s->bytes -= index < s->bytes ? index : s->bytes;
	}
	while (total && s->bytes > total) {
		struct folder *f = NULL;
		uint64_t most = 0;
		for (size_t i = 0; i < s->n; i++) {
			struct folder *its = s->v[i].bytes > most ? find_oldest_unused(all, s->v[i].account, h) : NULL;
			if (its) {
				f = its;
				most = s->v[i].bytes;
			}
		}
		if (!f)
			return;
		remove_folder(s, f, base, h, SHARES_TOTAL);
	}
}

void shares_hold(struct shares *s, const char *base, const struct shares_limits *l, int64_t now,
                 const struct shares_hooks *h)
{
	struct folders all = {0};
	collect_all(&all, base);
	add_up(s, &all, base);
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), compare_by_age);
	hold_age(s, &all, base, l->max_age, now, h);
	hold_share(s, &all, base, shares_share(s, l), h);
	hold_total(s, &all, base, l->total, h);
	folders_release(&all);
}

/* s is empty then. */
void shares_release(struct shares *s)
{
	free(s->v);
	*s = (struct shares){0};
}

void shares_users(const char *base, int64_t since, void (*each)(void *arg, uint32_t uid), void *arg)
{
	struct folders all = {0};
	char first[16];
	shares_day(since, first);
	collect_all(&all, base);
	for (size_t i = 0; i < all.n; i++)
		if (strncmp(all.v[i].name, first, 10) >= 0)
			each(arg, all.v[i].uid);
	folders_release(&all);
}
