/* stemmad_state.c - what is kept between two daemons: the lock of the base, which execution each process is in. */
#include "daemon/stemmad.h"

#include "base/io.h"
#include "daemon/world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int stemmad_lock(struct stemmad *d, struct err *err)
{
	char path[4096];
	const char *base = settings_text(&d->settings, SETTING_base), *run = settings_text(&d->settings, SETTING_run);
	snprintf(path, sizeof(path), "%s/node", base);
	int r = io_mkdirs(path, 0700);
	if (r < 0)
		return err_set(err, -r, "cannot make '%s'", path);
	if (chmod(base, 0700) < 0)
		return err_set(err, errno, "cannot set the mode of '%s' to 0700", base);
	r = io_mkdirs(run, 0755);
	if (r < 0)
		return err_set(err, -r, "cannot make '%s'", run);
	snprintf(path, sizeof(path), "%s/node/lock", base);
	if (d->lock >= 0)
		close(d->lock); /* of a folder that is not there any more */
	d->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (d->lock < 0)
		return err_set(err, errno, "cannot open '%s'", path);
	if (flock(d->lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, 0, "another stemmad is recording to '%s'", base), -EBUSY;
	return 0;
}

/* Cut to size. */
static void state_path(const struct stemmad *d, const char *tail, char *ret, size_t size)
{
	snprintf(ret, size, "%s/node/state%s", settings_text(&d->settings, SETTING_base), tail);
}

void stemmad_save_state(struct stemmad *d, int64_t when, bool clean)
{
	char path[4096], new[4096];
	struct buf b = {0};
	state_path(d, "", path, sizeof(path));
	state_path(d, ".new", new, sizeof(new));
	buf_printf(&b, "stemmad 1 %lld %s\n", (long long)when, clean ? "clean" : "running");
	node_save(d->node, &b);
	int fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 && errno == ENOENT) { /* somebody took the folder away */
		struct err err = {0};
		if (stemmad_lock(d, &err) < 0)
			stemmad_say("%s", err.text);
		fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	}
	bool ok = fd >= 0 && !b.failed && io_write(fd, b.p, b.n, NULL) == 0;
	if (fd >= 0)
		close(fd);
	if (!ok || rename(new, path) < 0)
		unlink(new); /* the next time; a gap then begins earlier than it was */
	buf_release(&b);
}

void stemmad_keep_state(struct stemmad *d)
{
	enum { WAITING = 65536 };
	struct tracer_stats s;
	int64_t now = world_now();
	stemmad_drain(d);
	stemmad_drain(d); /* what the first had to wait for */
	node_emit_all(d->node, now);
	tracer_stats(d->tracer, &s);
	if (logs_flush(d->logs, now) && s.ring_bytes + s.queue_bytes < WAITING)
		stemmad_save_state(d, node_emitted_until(d->node, now), false);
}

int64_t stemmad_read_state(struct stemmad *d, bool *ret_clean)
{
	char path[4096], word[16] = "";
	struct buf b = {0};
	struct stat st;
	long long time = 0;
	state_path(d, "", path, sizeof(path));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && buf_room(&b, (size_t)st.st_size + 1)) {
		ssize_t n = io_pread(fd, b.p, (size_t)st.st_size, 0);
		b.n = n > 0 ? (size_t)n : 0;
		const char *text = buf_cstr(&b), *line = strchr(text, '\n');
		if (sscanf(text, "stemmad 1 %lld %15s", &time, word) == 2 && line)
			node_load(d->node, str_n(line + 1, b.n - (size_t)(line + 1 - text)));
		else
			time = 0;
	}
	if (fd >= 0)
		close(fd);
	buf_release(&b);
	*ret_clean = !strcmp(word, "clean");
	return time;
}
