#include "serve/serve_int.h"

#include "base/clock.h"
#include "serve/serve_listen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { POLL_SIGNALS, POLL_HTTP, POLL_INDEX, POLL_DESKS };

/* Raises the limit of open descriptors: as many connections as may be. */
static void raise_descriptors(void)
{
	struct rlimit r;
	const rlim_t want = SERVE_CONNECTIONS + 64;
	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < want) {
		r.rlim_cur = r.rlim_max < want ? r.rlim_max : want;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

/* Handles what poll found in p. now: ms. */
static void serve_once(struct serve *s, struct pollfd *p, int64_t now)
{
	if (p[POLL_INDEX].revents)
		serve_index_ended(s);
	for (unsigned i = 0; i < SERVE_DESKS; i++)
		if (p[POLL_DESKS + i].revents && s->desks[i].worker.pid)
			serve_listen_to(s, &s->desks[i], now);
	serve_http_run(s->http);
}

/* Until a signal comes. 0; -errno, reported. */
static int serve_loop(struct serve *s, int signals, struct err *err)
{
	struct pollfd p[POLL_DESKS + SERVE_DESKS];
	for (;;) {
		int64_t now = clock_now_ms(CLOCK_MONOTONIC);
		serve_dispatch(s, now);
		const int a = serve_dispatch_in(s, now), b = serve_http_timeout(s->http);
		p[POLL_SIGNALS] = (struct pollfd){.fd = signals, .events = POLLIN};
		p[POLL_HTTP] = (struct pollfd){.fd = serve_http_fd(s->http), .events = POLLIN};
		p[POLL_INDEX] = (struct pollfd){.fd = s->index.fd, .events = POLLIN};
		for (unsigned i = 0; i < SERVE_DESKS; i++) {
			const struct serve_desk *d = &s->desks[i];
			const bool sends = d->job && d->worker.sent < d->worker.out.n;
			p[POLL_DESKS + i] = (struct pollfd){.fd = d->worker.pid ? d->worker.fd : -1,
			                                    .events = (short)(POLLIN | (sends ? POLLOUT : 0))};
		}
		const int n = poll(p, POLL_DESKS + SERVE_DESKS, a < 0 ? b : b < 0 ? a : a < b ? a : b);
		if (n < 0 && errno != EINTR)
			return err_set(err, errno, "cannot wait for requests");
		if (n > 0 && p[POLL_SIGNALS].revents)
			return 0;
		if (n <= 0)
			memset(p, 0, sizeof(p));
		serve_once(s, p, clock_now_ms(CLOCK_MONOTONIC));
	}
}

/* The first time it is waited for, and must do. -ENOENT where stemma_open says that nothing is recorded; -errno,
 * reported. */
static int make_index(struct serve *s, struct err *err)
{
	struct err e = {0};
	pid_t pid;
	const int fd = serve_index_start(s->o->home, &pid, err);
	if (fd < 0)
		return fd;
	const int rc = serve_index_end(fd, pid, &e);
	s->index.asked = clock_now_ms(CLOCK_MONOTONIC);
	if (rc == 0)
		return 0;
	err_set(err, 0, "%s", e.text);
	return rc < 0 ? rc : -ENOENT;
}

/* Tells o->ready the address once it listens. 0; -errno, reported. */
static int start_serving(struct serve *s, struct err *err)
{
	static struct serve_http_events events;
	char address[256];
	const int fd = s->o->socket ? serve_listen_unix(s->o->socket, err) : serve_listen_tcp(&s->access.port, err);
	if (fd < 0)
		return fd;
	events = (struct serve_http_events){serve_begin, serve_take, serve_gone, s};
	int rc = serve_http_start(fd, &events, err, &s->http);
	if (rc < 0)
		return rc;
	if (s->o->socket)
		snprintf(address, sizeof(address), "%s", s->o->socket);
	else
		snprintf(address, sizeof(address), "http://127.0.0.1:%u/%s/", s->access.port, s->access.token);
	s->o->ready(s->o->arg, address);
	return 0;
}

/* Sets the server up: as many workers as processors, 2 at least. */
static void set_up(struct serve *s)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	for (int k = 0; k < SERVE_document; k++)
		s->queues[k].last = &s->queues[k].first;
	s->index.fd = -1;
	s->most = cores < 2 ? 2 : cores > SERVE_WORKERS ? SERVE_WORKERS : (unsigned)cores;
	for (unsigned i = 0; i < SERVE_DESKS; i++)
		s->desks[i].worker.fd = -1;
	s->access.owner = geteuid();
	s->access.tcp = !s->o->socket;
	s->access.port = s->o->port;
	raise_descriptors();
}

int serve_run(const struct serve_options *o, struct err *err)
{
	struct serve s = {.o = o};
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	const int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	set_up(&s);
	int rc = signals < 0 ? -errno : o->token ? 0 : serve_token_make(s.access.token);
	if (rc < 0)
		err_set(err, -rc, "cannot start the server");
	else if (o->token)
		snprintf(s.access.token, sizeof(s.access.token), "%s", o->token);
	rc = rc < 0 ? rc : make_index(&s, err);
	rc = rc < 0 ? rc : start_serving(&s, err);
	if (rc == 0) {
		rc = serve_loop(&s, signals, err);
		serve_jobs_end(&s);
		serve_http_run(s.http);
		if (o->socket)
			unlink(o->socket);
	}
	if (s.index.fd >= 0) {
		kill(s.index.pid, SIGKILL);
		serve_index_ended(&s);
	}
	serve_http_stop(s.http);
	explicit_bzero(s.access.token, sizeof(s.access.token));
	if (signals >= 0)
		close(signals);
	return rc;
}
