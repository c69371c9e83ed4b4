/* fake_tracer.c - the interface of capture/node_tracer/tracer.h, told from a FIFO: stemmad with this needs no
 * privilege, and tests say what has happened. The FIFO is $STEMMA_FAKE_TRACER; its lines are those of trace_text.h,
 * with times after the start, and `calls n=`. Requests are written to $STEMMA_FAKE_TRACER.set. */
#include "trace_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct tracer {
	int fd;
	char path[4096], line[65536];
	size_t n;
	struct tracer_stats stats;
	struct tracer_caps caps;
	uint32_t passed[TRACER_PASS];
	uint64_t passed_events[TRACER_PASS];
	size_t npassed;
};

int tracer_open(const struct tracer_options *o, struct tracer **ret, struct err *err)
{
	const char *path = getenv("STEMMA_FAKE_TRACER");
	struct tracer *t = calloc(1, sizeof(*t));
	struct timespec ts;
	(void)o;
	if (!path || !t) {
		free(t);
		err_set(err, 0, "no fake tracer");
		return -ENOENT;
	}
	snprintf(t->path, sizeof(t->path), "%s", path);
	t->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (t->fd < 0) {
		free(t);
		return err_set(err, errno, "cannot open '%s'", path);
	}
	clock_gettime(CLOCK_REALTIME, &ts);
	trace_epoch = ts.tv_sec * 1000000000LL + ts.tv_nsec;
	t->caps.n = 1;
	t->caps.cap[0] = (struct tracer_cap){.name = "files", .works = true};
	*ret = t;
	return 0;
}

void tracer_close(struct tracer *t)
{
	close(t->fd);
	free(t);
}

const struct tracer_caps *tracer_has(const struct tracer *t)
{
	return &t->caps;
}

int tracer_fd(const struct tracer *t)
{
	return t->fd;
}

struct counted {
	struct tracer *t;
	tracer_each *each;
	void *arg;
};

static void count(void *arg, const struct tracer_event *ev)
{
	struct counted *c = arg;
	c->t->stats.files++;
	for (size_t i = 0; i < c->t->npassed; i++)
		if (c->t->passed[i] == ev->uid && ev->kind == TRACER_FILE) {
			c->t->passed_events[i]++;
			c->t->stats.files_passed++;
			return;
		}
	c->each(c->arg, ev);
}

int tracer_drain(struct tracer *t, tracer_each *each, void *arg, struct err *err)
{
	struct counted c = {t, each, arg};
	ssize_t got;
	(void)err;
	while ((got = read(t->fd, t->line + t->n, sizeof(t->line) - 1 - t->n)) > 0) {
		t->n += (size_t)got;
		char *end;
		while ((end = memchr(t->line, '\n', t->n))) {
			char *words[64];
			*end = '\0';
			if (trace_words(t->line, words) && !trace_event(words, count, &c) && !strcmp(words[0], "calls"))
				t->stats.calls += trace_number(words, "n");
			t->n -= (size_t)(end + 1 - t->line);
			memmove(t->line, end + 1, t->n);
		}
	}
	return 0;
}

static int note(const struct tracer *t, const char *what, unsigned who, uint64_t id, bool on)
{
	char path[4200];
	snprintf(path, sizeof(path), "%s.set", t->path);
	FILE *f = fopen(path, "ae");
	if (!f)
		return -errno;
	fprintf(f, "%s %u %llu %d\n", what, who, (unsigned long long)id, on);
	return fclose(f) == 0 ? 0 : -EIO;
}

int tracer_set(struct tracer *t, enum tracer_who who, uint64_t id, bool on, struct err *err)
{
	(void)err;
	return note(t, "set", who, id, on);
}

int tracer_set_none(struct tracer *t, struct err *err)
{
	(void)err;
	return note(t, "none", 0, 0, false);
}

bool tracer_pass(struct tracer *t, uint32_t uid, bool on)
{
	size_t i = 0;
	while (i < t->npassed && t->passed[i] != uid)
		i++;
	if (on && i == t->npassed && i < TRACER_PASS) {
		t->passed_events[i] = 0;
		t->passed[t->npassed++] = uid;
	} else if (!on && i < t->npassed) {
		t->passed[i] = t->passed[--t->npassed];
	}
	return note(t, "pass", 0, uid, on) == 0;
}

uint64_t tracer_passed(const struct tracer *t, uint32_t uid)
{
	for (size_t i = 0; i < t->npassed; i++)
		if (t->passed[i] == uid)
			return t->passed_events[i];
	return 0;
}

int tracer_files(struct tracer *t, bool on, struct err *err)
{
	(void)err;
	return note(t, "files", 0, 0, on);
}

int tracer_totals(struct tracer *t, tracer_each *each, void *arg, struct err *err)
{
	return tracer_drain(t, each, arg, err);
}

void tracer_stats(struct tracer *t, struct tracer_stats *ret)
{
	*ret = t->stats;
}

size_t tracer_rates(struct tracer *t, struct tracer_rate *ret, size_t n)
{
	(void)t;
	(void)ret;
	(void)n;
	return 0;
}
