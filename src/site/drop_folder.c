#include "site/drop_folder.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FRAMES ".frames"
#define ANSWER ".answer"
#define ANSWERS "answers"
enum { ANSWER_AGE_S = 7 * 24 * 3600 };

/* A descriptor above 2, which the caller closes; -errno with a sentence. */
static int open_folder(const char *folder, struct err *err)
{
	int fd = io_above_std(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	return fd < 0 ? err_set(err, errno, "cannot open the folder '%s'", folder) : fd;
}

/* A whole file that appears at once. 0 or -errno. */
static int write_whole(int dir, const char *name, mode_t mode, const void *p, size_t n)
{
	char temporary[DROP_NAME + 32];
	snprintf(temporary, sizeof(temporary), ".%s.%d", name, (int)getpid());
	unlinkat(dir, temporary, 0);
	int fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	int rc = io_write(fd, p, n, NULL);
	if (rc == 0 && mode != 0600 && fchmod(fd, mode) < 0)
		rc = -errno;
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && renameat(dir, temporary, dir, name) < 0)
		rc = -errno;
	if (rc < 0)
		unlinkat(dir, temporary, 0);
	return rc;
}

int drop_put(const char *folder, struct str batch, struct err *err, char ret_name[DROP_NAME])
{
	struct stat st;
	int dir = open_folder(folder, err);
	if (dir < 0)
		return dir;
	snprintf(ret_name, DROP_NAME, "%lu.%016llx" FRAMES, (unsigned long)getuid(), (unsigned long long)hash_str(batch));
	const bool group = fstat(dir, &st) == 0 && (st.st_mode & S_ISGID);
	int rc = write_whole(dir, ret_name, group ? 0640 : 0600, batch.p, batch.n);
	close(dir);
	return rc < 0 ? err_set(err, -rc, "cannot write into '%s'", folder) : 0;
}

/* The name of the answer to a file of frames. name must end as those do. */
static void answer_name(const char *name, char ret[DROP_NAME])
{
	snprintf(ret, DROP_NAME, "%.*s" ANSWER, (int)(strlen(name) - strlen(FRAMES)), name);
}

/* The folder of answers, if the one who owns it also owns what it lies in, or is root or this user. -errno. */
static int open_answers(int dir)
{
	struct stat outer, inner;
	int fd = openat(dir, ANSWERS, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(dir, &outer) == 0 && fstat(fd, &inner) == 0 &&
	    (inner.st_uid == outer.st_uid || inner.st_uid == 0 || inner.st_uid == geteuid()) && !(inner.st_mode & 022))
		return fd;
	close(fd);
	return -EPERM;
}

int drop_answer(const char *folder, const char *name, struct err *err, char *ret, size_t size)
{
	struct buf text = {0};
	char answer[DROP_NAME];
	int dir = open_folder(folder, err);
	if (dir < 0)
		return dir;
	answer_name(name, answer);
	int answers = open_answers(dir), rc = 0;
	int fd = answers < 0 ? -1 : openat(answers, answer, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (answers == -EPERM) {
		rc = (err_set(err, 0, "'%s/" ANSWERS "' does not belong to the owner of '%s': its answers are not believed",
		              folder, folder),
		      err_hint(err, "remove it; the collector makes it again"), -EPERM);
	} else if (fd >= 0) {
		rc = io_read_rest(fd, size - 1, &text);
		if (rc < 0)
			err_set(err, -rc, "cannot read '%s/" ANSWERS "/%s'", folder, answer);
		snprintf(ret, size, "%s", buf_cstr(&text));
		rc = rc < 0 ? rc : 1;
	} else {
		rc = faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : -ENOENT;
	}
	if (fd >= 0)
		close(fd);
	if (answers >= 0)
		close(answers);
	close(dir);
	buf_release(&text);
	return rc;
}

/* ---- the collector's side ---- */

int collected_json(const struct collector *c, const struct collected *r, char *ret, size_t size)
{
	json_t *o =
	    json_pack("{s:s, s:I, s:I, s:I, s:I}", "collector", collector_id(c), "taken", (json_int_t)r->taken, "known",
	              (json_int_t)r->known, "refused", (json_int_t)r->refused, "bytes", (json_int_t)r->bytes);
	if (o && r->why[0])
		json_object_set_new(o, "why", json_string(r->why));
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	const int n = text ? snprintf(ret, size, "%s\n", text) : -1;
	free(text);
	json_decref(o);
	return n < 0 || (size_t)n >= size ? -ENOMEM : 0;
}

struct dropping {
	struct collector *c;
	const char *folder;
	int dir, answers;
	uint64_t share;
	struct err *err;
	void (*tell)(void *arg, const char *sender, const struct collected *r);
	void *arg;
	int rc; /* of the first that failed */
};

/* One batch, whoever put it there. It stays where it could not be taken now. The batch and its name go once it is
 * answered. 0 also where it cannot be opened; -errno, reported. */
static int take_batch(struct dropping *d, const char *name)
{
	struct buf bytes = {0};
	struct collected done;
	struct stat st;
	char sender[COLLECTOR_NAME], text[1024], answer[DROP_NAME];
	int fd = openat(d->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == EACCES
		           ? 0
		           : err_set(d->err, errno, "cannot read '%s/%s'", d->folder, name);
	int rc = fstat(fd, &st) < 0 ? -errno : 0;
	/* The name is its answer's, too: a sender has only names with its own number. */
	char *dot;
	const unsigned long named = strtoul(name, &dot, 10);
	if (rc == 0 && (*dot != '.' || named != st.st_uid || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	                (uint64_t)st.st_size > COLLECTOR_BATCH)) {
		close(fd);
		return 0;
	}
	rc = rc < 0 ? rc : io_read_rest(fd, COLLECTOR_BATCH, &bytes);
	close(fd);
	if (rc < 0) {
		buf_release(&bytes);
		return err_set(d->err, -rc, "cannot read '%s/%s'", d->folder, name);
	}
	snprintf(sender, sizeof(sender), "uid-%lu", (unsigned long)st.st_uid);
	const struct collector_sender s = {
	    .name = sender, .any_user = st.st_uid == 0 || st.st_uid == geteuid(), .uid = st.st_uid, .share = d->share};
	rc = collector_take(d->c, &s, bytes.p, bytes.n, d->err, &done);
	buf_release(&bytes);
	if (rc < 0)
		return rc;
	answer_name(name, answer);
	rc = collected_json(d->c, &done, text, sizeof(text));
	rc = rc < 0 ? rc : write_whole(d->answers, answer, 0644, text, strlen(text));
	if (rc < 0)
		return err_set(d->err, -rc, "cannot write into '%s/" ANSWERS "'", d->folder);
	unlinkat(d->dir, name, 0);
	if (d->tell)
		d->tell(d->arg, sender, &done);
	return 0;
}

/* Neither hidden, nor of another kind, nor too long. */
static bool is_batch(const char *name)
{
	const size_t n = strlen(name), end = strlen(FRAMES);
	return name[0] != '.' && n > end && n < DROP_NAME && !strcmp(name + n - end, FRAMES);
}

/* Those older than ANSWER_AGE_S. */
static void remove_old_answers(int answers)
{
	struct stat st;
	const time_t old = time(NULL) - ANSWER_AGE_S;
	int copy = openat(answers, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	if (!d && copy >= 0)
		close(copy);
	for (struct dirent *e; d && (e = readdir(d));)
		if (fstatat(answers, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_mtime < old)
			unlinkat(answers, e->d_name, 0);
	if (d)
		closedir(d);
}

/* A descriptor of the folder, which only this user may write; -errno, reported. */
static int make_answers(int dir, const char *folder, struct err *err)
{
	if (mkdirat(dir, ANSWERS, 0755) == 0) {
		int fd = openat(dir, ANSWERS, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0 && fchmod(fd, 0755) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
	} else if (errno == EEXIST) {
		struct stat st;
		int fd = openat(dir, ANSWERS, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022))
			return fd;
		if (fd >= 0)
			close(fd);
		err_set(err, 0, "'%s/" ANSWERS "' belongs to another user, or others can write to it", folder);
		err_hint(err, "remove that folder; the collector makes it again");
		return -EPERM;
	}
	return err_set(err, errno, "cannot make the folder '%s/" ANSWERS "'", folder);
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int drop_collect(const char *folder, struct collector *c, uint64_t share, struct err *err,
                 void (*tell)(void *arg, const char *sender, const struct collected *r), void *arg)
{
	struct dropping d = {.c = c, .folder = folder, .share = share, .err = err, .tell = tell, .arg = arg};
	struct dirent **list;
	if ((d.dir = open_folder(folder, err)) < 0)
		return d.dir;
	if ((d.answers = make_answers(d.dir, folder, err)) < 0) {
		close(d.dir);
		return d.answers;
	}
	int n = scandirat(d.dir, ".", &list, NULL, compare_names);
	if (n < 0)
		d.rc = err_set(err, errno, "cannot read the folder '%s'", folder);
	for (int i = 0; i < n; i++) {
		if (is_batch(list[i]->d_name)) {
			int rc = take_batch(&d, list[i]->d_name);
			d.rc = d.rc ? d.rc : rc;
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	remove_old_answers(d.answers);
	close(d.answers);
	close(d.dir);
	return d.rc;
}
