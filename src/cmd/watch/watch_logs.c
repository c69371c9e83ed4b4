#include "cmd/watch/watch_logs.h"

#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEEP 4 /* logs/host/day is 2 */
#define ASKED (IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR)

/* The path of the watch with that number. 0, -EINVAL, -ENOMEM. */
static int keep_folder(struct watch_logs *w, int number, const char *path)
{
	if (number < 0)
		return -EINVAL;
	if ((size_t)number >= w->cap) {
		size_t n = (size_t)number + 64;
		struct buf *more = realloc(w->folders, n * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + w->cap, 0, (n - w->cap) * sizeof(*more));
		w->folders = more;
		w->cap = n;
	}
	buf_reset(&w->folders[number]);
	buf_printf(&w->folders[number], "%s", path);
	return w->folders[number].failed ? -ENOMEM : 0;
}

/* The folder first, then what is in it: what is made meanwhile is met by one or the other. 0, -ENOMEM. w->blind: not
 * all can be watched. */
static int add_folder(struct watch_logs *w, const char *path, int depth)
{
	int number = inotify_add_watch(w->fd, path, ASKED);
	if (number < 0) {
		w->blind |= errno != ENOENT && errno != ENOTDIR; /* gone is gone */
		return 0;
	}
	int r = keep_folder(w, number, path);
	DIR *d = r == 0 && depth < DEEP ? opendir(path) : NULL;
	struct buf b = {0};
	for (struct dirent *e; d && r == 0 && (e = readdir(d));) {
		struct stat st;
		if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
			continue;
		buf_reset(&b);
		buf_printf(&b, "%s/%s", path, e->d_name);
		r = b.failed ? -ENOMEM : add_folder(w, buf_cstr(&b), depth + 1);
	}
	if (d)
		closedir(d);
	buf_release(&b);
	return r;
}

/* An instance of inotify, if there is one to be had: a user has 128 of them, and each run that is recorded takes some.
 * 0 or -ENOMEM. */
static int begin_notices(struct watch_logs *w)
{
	if (w->fd < 0)
		w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return w->fd < 0 ? 0 : add_folder(w, buf_cstr(&w->root), 0);
}

int watch_logs_open(const char *folder, struct watch_logs *ret)
{
	sigset_t set;
	*ret = (struct watch_logs){.fd = -1, .signals = -1};
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 || (ret->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
		return -errno;
	buf_printf(&ret->root, "%s", folder);
	int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret->blind = at < 0 || !io_is_local(at);
	if (at >= 0)
		close(at);
	return ret->root.failed ? -ENOMEM : begin_notices(ret);
}

/* w itself may not be used afterwards. */
void watch_logs_close(struct watch_logs *w)
{
	if (w->fd >= 0)
		close(w->fd);
	if (w->signals >= 0)
		close(w->signals);
	for (size_t i = 0; i < w->cap; i++)
		buf_release(&w->folders[i]);
	free(w->folders);
	buf_release(&w->root);
}

/* Of an event of inotify: a folder that was made is watched from now on, and after an overflow all are looked for anew.
 * That logs grew is nothing to it. 0 or -errno. */
static int watch_new_folder(struct watch_logs *w, const struct inotify_event *e)
{
	struct buf b = {0};
	if (e->mask & IN_Q_OVERFLOW) /* folders may have been made that nobody told of */
		return add_folder(w, buf_cstr(&w->root), 0);
	if (!(e->mask & IN_ISDIR) || !(e->mask & (IN_CREATE | IN_MOVED_TO)) || e->wd < 0 || (size_t)e->wd >= w->cap ||
	    !e->len)
		return 0;
	buf_printf(&b, "%s/%s", buf_cstr(&w->folders[e->wd]), e->name);
	int r = b.failed ? -ENOMEM : add_folder(w, buf_cstr(&b), 1);
	buf_release(&b);
	return r;
}

/* Reads all events that wait. All that inotify has to say; new folders are watched. 0, -ENOMEM. */
static int drain(struct watch_logs *w)
{
	char text[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;
	int r = 0;
	while (r == 0 && (n = read(w->fd, text, sizeof(text))) > 0)
		for (const char *p = text; r == 0 && p < text + n;) {
			const struct inotify_event *e = (const struct inotify_event *)(const void *)p;
			r = watch_new_folder(w, e);
			p += sizeof(*e) + e->len;
		}
	return r;
}

int watch_logs_wait(struct watch_logs *w)
{
	struct pollfd p[] = {{.fd = w->fd, .events = POLLIN}, {.fd = w->signals, .events = POLLIN}};
	int n = poll(p, 2, w->fd < 0 ? LOGS_UNNOTICED : w->blind ? LOGS_BLIND : -1);
	if (n < 0)
		return errno == EINTR ? 1 : -errno;
	if (p[1].revents)
		return 0;
	int r = w->fd < 0 ? begin_notices(w) : drain(w);
	return r < 0 ? r : 1;
}

int watch_logs_pause(struct watch_logs *w, int64_t ms)
{
	struct pollfd p = {.fd = w->signals, .events = POLLIN};
	return poll(&p, 1, ms > 3600000 ? 3600000 : (int)ms) <= 0;
}
