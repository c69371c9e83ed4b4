/* store.c - where a store is, and opening it. */
#include "base/hash.h"
#include "base/io.h"
#include "base/os/own_dir.h"
#include "store/adjacency/adjacency.h"
#include "store/pages.h"
#include "store/store_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The value of a variable that names a folder. NULL if it is no absolute path. */
static const char *variable(const char *name)
{
	const char *v = getenv(name);
	return v && v[0] == '/' ? v : NULL;
}

/* The caller frees it; NULL without memory. */
static char *join_path(const char *a, const char *b)
{
	char *p = NULL;
	return asprintf(&p, "%s/%s", a, b) < 0 ? NULL : p;
}

/* home, else $STEMMA_HOME, the user's data folder or home. *ret: absolute, the caller's. -errno with a sentence. */
static int find_home(const char *home, struct err *err, char **ret)
{
	const char *env = getenv("STEMMA_HOME"), *data = variable("XDG_DATA_HOME"), *user = variable("HOME");
	char *p = NULL;
	if (!home && env && env[0])
		home = env;
	if (home && (!strncmp(home, "postgresql://", 13) || !strncmp(home, "postgres://", 11))) {
		err_set(err, 0, "this command cannot use a record in a database");
		err_hint(err, "give it the folder of a record, with --store or STEMMA_HOME");
		return -EINVAL;
	}
	if (home && home[0] == '/') {
		p = strdup(home);
	} else if (home) { /* relative to where we are now: it stays what it is when we go elsewhere */
		char *cwd = getcwd(NULL, 0);
		if (!cwd)
			return err_set(err, errno, "cannot find out the current directory");
		p = join_path(cwd, home);
		free(cwd);
	} else if (data) {
		p = join_path(data, "stemma");
	} else if (user) {
		p = join_path(user, ".local/share/stemma");
	} else {
		err_set(err, 0, "no place for the record: neither STEMMA_HOME, XDG_DATA_HOME nor HOME is set");
		return -ENOENT;
	}
	if (!p)
		return err_set(err, ENOMEM, "cannot find the store");
	size_t n = strlen(p);
	while (n > 1 && p[n - 1] == '/')
		p[--n] = '\0';
	*ret = p;
	return 0;
}

/* Does this failure say nothing of the directory? Another index taken because of it would answer for the record as it
 * was when that one was made. */
static bool is_passing(int number)
{
	return number == EINTR || number == EIO || number == ENOMEM || number == EMFILE || number == ENFILE;
}

/* Can this directory, of a place where the index is to lie, hold files that only we write? itself: not one above it.
 * 1, 0, or -errno: that cannot be told now. */
static int is_fit(int fd, bool itself)
{
	struct stat st;
	errno = 0;
	bool local = io_is_local(fd);
	if (local && (faccessat(fd, ".", W_OK, AT_EACCESS) < 0 || fstat(fd, &st) < 0))
		local = false;
	if (!local)
		return is_passing(errno) ? -errno : 0;
	return !itself || st.st_uid == geteuid();
}

/* Can this directory, or the nearest one above it that exists, hold files that only we write? 1, 0, -errno. */
static int fit(const char *dir)
{
	char path[4096];
	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		return 0;
	for (bool itself = true;; itself = false) {
		int fd;
		do
			fd = open(path[0] ? path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		while (fd < 0 && errno == EINTR);
		if (fd >= 0) {
			int r = is_fit(fd, itself);
			close(fd);
			return r;
		}
		if (is_passing(errno))
			return -errno;
		char *slash = strrchr(path, '/');
		if (errno != ENOENT || !slash)
			return 0;
		*slash = '\0';
	}
}

/* A folder of our own for indexes; malloc'ed. 0 or -errno. */
static int find_cache(char **ret)
{
	const char *cache = variable("XDG_CACHE_HOME"), *user = variable("HOME");
	char own[OWN_DIR_PATH], *dir = NULL;
	if (cache || user) {
		dir = cache ? join_path(cache, "stemma") : join_path(user, ".cache/stemma");
		int r = dir ? fit(dir) : -ENOMEM;
		if (r > 0) {
			*ret = dir;
			return 0;
		}
		free(dir);
		if (r < 0)
			return r;
	}
	int fd = own_dir_in("/var/tmp", own);
	if (fd < 0)
		return fd;
	close(fd);
	return asprintf(ret, "%s/index", own) < 0 ? -ENOMEM : 0;
}

/* Where the index of a record lies that is not on a fitting disk: in a cache of each home, whose name is a hash of the
 * home's path. 0 or -errno. */
static int cached_index(const char *home, char **ret)
{
	char *real = realpath(home, NULL), *dir = NULL;
	if (!real && is_passing(errno))
		return -errno;
	uint64_t h = hash_str(str_of(real ? real : home));
	free(real);
	int r = find_cache(&dir);
	if (r == 0 && asprintf(ret, "%s/%016llx/index.db", dir, (unsigned long long)h) < 0)
		r = -ENOMEM;
	free(dir);
	return r;
}

/* In the store, or where its file system is not fit for that, in the cache. *ret is the caller's. -errno with a
 * sentence. */
static int index_place(const char *home, struct err *err, char **ret)
{
	char *index = NULL;
	int r = fit(home);
	if (r > 0)
		r = (index = join_path(home, "index.db")) ? 0 : -ENOMEM;
	else if (r == 0)
		r = cached_index(home, &index);
	if (r < 0)
		return err_set(err, -r, "cannot find the index");
	*ret = index;
	return 0;
}

int store_places(const char *home, struct err *err, char **ret_home, char **ret_index)
{
	char *place = NULL;
	int rc = find_home(home, err, &place);
	if (rc == 0 && ret_index)
		rc = index_place(place, err, ret_index);
	if (rc == 0 && ret_home)
		*ret_home = place;
	else
		free(place);
	return rc;
}

/* The index's directory exists, is private and is ours. 0; -errno, -EACCES with a sentence. */
static int check_dir(const char *index, bool make, struct err *err)
{
	char dir[4096];
	struct stat st;
	if (snprintf(dir, sizeof(dir), "%s", index) >= (int)sizeof(dir))
		return err_set(err, ENAMETOOLONG, "cannot use the index '%s'", index);
	char *slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	if (make) {
		int rc = io_mkdirs(dir, 0700);
		if (rc < 0)
			return err_set(err, -rc, "cannot make the directory '%s'", dir);
	}
	if (stat(dir, &st) < 0)
		return err_set(err, errno, "cannot open '%s'", dir);
	if (st.st_uid != geteuid()) {
		err_set(err, 0, "'%s' belongs to another user", dir);
		err_hint(err, "set STEMMA_HOME or XDG_CACHE_HOME to a directory of your own");
		return -EACCES;
	}
	return 0;
}

int store_lock(struct store *s, struct err *err)
{
	char path[4096];
	if (snprintf(path, sizeof(path), "%s.lock", s->index) >= (int)sizeof(path))
		return err_set(err, ENAMETOOLONG, "cannot lock '%s'", s->index);
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, errno, "cannot open '%s'", path);
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR) {
			int rc = err_set(err, errno, "cannot lock '%s'", path);
			close(fd);
			return rc;
		}
	return fd;
}

int store_turn(struct store *s, bool replace)
{
	char path[4096];
	struct flock lock = {.l_type = replace ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
	if (!store_has_file(s) || snprintf(path, sizeof(path), "%s.lock", s->index) >= (int)sizeof(path))
		return -1;
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	while (fd >= 0 && fcntl(fd, F_OFD_SETLKW, &lock) < 0)
		if (errno != EINTR)
			break; /* it is then as without */
	return fd;
}

/* A name that was given or taken stays so after a power loss: else an index that tells of forgotten runs could come
 * back. */
static void sync_dir_of(const char *path)
{
	char dir[4096];
	if (snprintf(dir, sizeof(dir), "%s", path) >= (int)sizeof(dir))
		return;
	char *slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	int fd = open(slash ? (dir[0] ? dir : "/") : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

int store_replace(struct store *s, const char *by, struct err *err)
{
	static const char *const tails[] = {"-wal", "-shm"};
	int turn = store_turn(s, true), rc = 0;
	/* What the old one had not folded in yet must not be taken for the new one's. */
	for (int i = 0; i < 2; i++) {
		char beside[4200];
		snprintf(beside, sizeof(beside), "%s%s", s->index, tails[i]);
		unlink(beside);
	}
	if (by && rename(by, s->index) < 0)
		rc = err_set(err, errno, "cannot put the index '%s' in its place", s->index);
	else if (!by && unlink(s->index) < 0 && errno != ENOENT)
		rc = err_set(err, errno, "cannot remove '%s'", s->index);
	else
		sync_dir_of(s->index);
	adj_purge(s);
	if (turn >= 0)
		close(turn);
	return rc;
}

/* What is there is of no use, or (old) of an older version of stemma: an empty index takes its place, to be filled from
 * the logs. 0, -errno with a sentence. */
static int remake(struct store *s, bool old, struct err *err)
{
	err_clear(err);
	int lock = store_lock(s, err), rc = lock < 0 ? lock : 0;
	if (rc == 0 && old) { /* another process may have done so by now */
		rc = store_db_open(s, s->index, true, false, err);
		if (rc != -ESTALE)
			goto out;
		err_clear(err);
		rc = 0;
	}
	if (rc == 0)
		rc = store_replace(s, NULL, err);
	if (rc == 0)
		rc = store_db_open(s, s->index, true, false, err);
out:
	if (lock >= 0)
		close(lock);
	return rc;
}

/* An index that nobody else sees, and that goes with the store. 0, -errno with a sentence. */
static int open_memory(struct store *s, struct err *err)
{
	free(s->index);
	s->index = strdup("(memory)");
	s->flags |= STORE_WRITE;
	return s->index ? store_db_open(s, s->index, true, false, err) : -ENOMEM;
}

/* Where there is no index, what is missing is told. 0; -ENOENT with a sentence and a hint; -errno. */
static int open_to_read(struct store *s, struct err *err)
{
	struct stat st;
	if (lstat(s->index, &st) < 0 && errno == ENOENT) {
		char *dir = join_path(s->home, "logs");
		bool logs = dir && stat(dir, &st) == 0;
		free(dir);
		err_set(err, 0, logs ? "nothing is indexed in '%s' yet" : "nothing was recorded in '%s' yet", s->home);
		err_hint(err, logs ? "stemma index does it" : "stemma run -- COMMAND records");
		return -ENOENT;
	}
	int rc = check_dir(s->index, false, err);
	return rc < 0 ? rc : store_db_open(s, s->index, false, false, err);
}

/* Opens the index for writing. One of an older layout is made anew; a damaged one only with STORE_MEND or
 * STORE_REBUILD. 0, or -errno with a sentence. */
static int open_to_write(struct store *s, struct err *err)
{
	int rc = check_dir(s->index, true, err);
	if (rc == 0)
		rc = store_db_open(s, s->index, true, false, err);
	bool mend = s->flags & STORE_MEND && rc == -ENOTRECOVERABLE && s->damaged;
	if (rc == -ESTALE || mend || (s->flags & STORE_REBUILD && (rc == -ENOTRECOVERABLE || rc == -EPROTO))) {
		s->was_older = rc == -ESTALE;
		rc = remake(s, rc == -ESTALE, err);
	}
	return rc;
}

int store_open(const char *home, unsigned flags, struct err *err, struct store **ret)
{
	struct store *s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, ENOMEM, "cannot open the store");
	s->flags = flags;
	s->memory = flags & STORE_MEMORY;
	int rc = store_places(home, err, &s->home, &s->index);
	if (rc == 0 && s->memory)
		rc = open_memory(s, err);
	else if (rc == 0)
		rc = flags & STORE_WRITE ? open_to_write(s, err) : open_to_read(s, err);
	if (rc < 0) {
		store_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

int store_drop(const char *home, struct err *err)
{
	struct store s = {0};
	int rc = store_places(home, err, &s.home, &s.index), lock = rc < 0 ? rc : store_lock(&s, err);
	rc = lock < 0 ? lock : store_replace(&s, NULL, err);
	if (lock >= 0)
		close(lock);
	free(s.home);
	free(s.index);
	return rc;
}

bool store_is_damaged(const struct store *s)
{
	int pages = 0;
	if (s->damaged)
		return true;
	return s->db && sqlite3_file_control(s->db, "main", PAGES_ARE_DAMAGED, &pages) == SQLITE_OK && pages;
}

int store_check_pages(struct store *s, struct err *err)
{
	if (!store_has_file(s)) /* of a source each page is checked when it is read */
		return 0;
	int rc = pages_check(s->db);
	if (rc < 0)
		return err_set(err, -rc, "cannot read the index '%s'", s->index);
	if (rc == 1)
		return 0;
	s->damaged = true;
	pages_damaged();
	err_set(err, 0, "the index '%s' is damaged", s->index);
	err_hint(err, "stemma index --rebuild rebuilds it from the logs");
	return -ENOTRECOVERABLE;
}

/* NULL is no error. */
void store_close(struct store *s)
{
	if (!s)
		return;
	view_end_all(s);
	store_db_close(s);
	store_source_release(s);
	free(s->counted.runs.v);
	buf_release(&s->counted.bytes);
	if (s->handed)
		munmap(s->handed, s->handed_size);
	store_reader_free(s);
	adj_release(s);
	buf_release(&s->scratch);
	buf_release(&s->scratch2);
	free(s->home);
	free(s->index);
	free(s);
}

/* It lives as long as s. */
const char *store_home(const struct store *s)
{
	return s->home;
}

/* It lives as long as s. */
const char *store_index_path(const struct store *s)
{
	return s->index;
}

bool store_was_older(const struct store *s)
{
	return s->was_older;
}

/* Only for reading; it stays s's. */
struct sqlite3 *store_sqlite(struct store *s)
{
	return s->db;
}
