#include "daemon/control.h"

#include "daemon/request.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

struct connection {
	int sock; /* -1: free */
	uint32_t uid, gid;
	unsigned age;
};

struct answering {
	pid_t pid; /* 0: free */
	uint32_t uid;
};

struct asker {
	uint32_t uid;
	unsigned asked; /* this second */
};

struct control {
	int listener, epoll;
	uint64_t first;
	char *path, *base;
	struct control_hooks hooks;
	struct connection v[CONTROL_OPEN];
	struct answering answers[ANSWERS];
	struct asker askers[CONTROL_OPEN];
	unsigned n_askers;
	unsigned accepted; /* this second */
	bool resting;      /* until the next */
};

static void watch(struct control *c, int fd, uint64_t n)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = c->first + n};
	epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e);
}

int control_open(const char *path, const char *base, int epoll, uint64_t first, const struct control_hooks *h,
                 struct err *err, struct control **ret)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct control *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->listener = -1;
	c->epoll = epoll;
	c->first = first;
	c->hooks = *h;
	c->path = strdup(path);
	c->base = strdup(base);
	for (size_t i = 0; i < CONTROL_OPEN; i++)
		c->v[i].sock = -1;
	int r = c->path && c->base && strlen(path) < sizeof(sun.sun_path) ? 0 : -ENAMETOOLONG;
	if (r == 0) {
		memcpy(sun.sun_path, path, strlen(path) + 1);
		unlink(path);
		c->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (c->listener < 0 || bind(c->listener, (struct sockaddr *)&sun, sizeof(sun)) < 0 || chmod(path, 0666) < 0 ||
		    listen(c->listener, CONTROL_OPEN) < 0)
			r = -errno;
	}
	if (r < 0) {
		err_set(err, -r, "cannot listen at '%s'", path);
		control_close(c);
		return r;
	}
	watch(c, c->listener, 0);
	*ret = c;
	return 0;
}

static void drop(struct connection *k)
{
	if (k->sock >= 0)
		close(k->sock);
	k->sock = -1;
}

void control_close(struct control *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < CONTROL_OPEN; i++)
		drop(&c->v[i]);
	if (c->listener >= 0) {
		close(c->listener);
		unlink(c->path);
	}
	free(c->path);
	free(c->base);
	free(c);
}

static void busy(int sock)
{
	request_reply(sock, "busy", 4, -1);
	close(sock);
}

static void answer(int sock, bool ok, const char *text, size_t n)
{
	struct buf b = {0};
	buf_printf(&b, ok ? "ok " : "no ");
	buf_add(&b, text, n);
	request_reply(sock, buf_cstr(&b), b.n, -1);
	buf_release(&b);
}

static void accept_one(struct control *c)
{
	int sock = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred who;
	socklen_t size = sizeof(who);
	if (sock < 0)
		return;
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0) {
		close(sock);
		return;
	}
	size_t free = CONTROL_OPEN, own = 0;
	for (size_t i = 0; i < CONTROL_OPEN; i++) {
		if (c->v[i].sock < 0)
			free = i;
		else
			own += c->v[i].uid == who.uid;
	}
	if (free == CONTROL_OPEN || (own >= CONTROL_USER && who.uid)) {
		busy(sock);
		return;
	}
	c->v[free] = (struct connection){.sock = sock, .uid = who.uid, .gid = who.gid};
	watch(c, sock, free + 1);
}

static bool too_often(struct control *c, uint32_t uid)
{
	unsigned i = 0;
	while (i < c->n_askers && c->askers[i].uid != uid)
		i++;
	if (i == c->n_askers) {
		if (i == CONTROL_OPEN)
			return true;
		c->askers[c->n_askers++] = (struct asker){.uid = uid};
	}
	return ++c->askers[i].asked > CONTROL_RATE;
}

/* Starts the process that answers; it has the connection as its standard input. */
static void start_answer(struct control *c, struct connection *k, bool all)
{
	size_t free = ANSWERS, own = 0;
	for (size_t i = 0; i < ANSWERS; i++) {
		if (!c->answers[i].pid)
			free = i;
		else
			own += c->answers[i].uid == k->uid;
	}
	if (free == ANSWERS || own >= ANSWERS_USER) {
		request_reply(k->sock, "busy", 4, -1);
		return;
	}
	c->hooks.bring_up(c->hooks.arg);
	char home[4096 + 32];
	if (all)
		snprintf(home, sizeof(home), "%s/all", c->base);
	else
		snprintf(home, sizeof(home), "%s/users/%u", c->base, k->uid);
	char *argv[] = {(char *)"stemmad", (char *)"--answer", home, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, k->sock, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	pid_t pid;
	if (posix_spawn(&pid, "/proc/self/exe", &actions, &attr, argv, environ) == 0)
		c->answers[free] = (struct answering){pid, k->uid};
	else
		answer(k->sock, false, "cannot start the answer", 23);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
}

enum word {
#define WORD(name, operands, meaning) WORD_##name,
#include "daemon/words.def"
	WORD_COUNT
};

static void handle(struct control *c, struct connection *k, char *text)
{
	static const char *const names[] = {
#define WORD(name, operands, meaning) #name,
#include "daemon/words.def"
	};
	char *operands = text + strcspn(text, " ");
	if (*operands)
		*operands++ = '\0';
	size_t w = 0;
	while (w < WORD_COUNT && strcmp(names[w], text) != 0)
		w++;
	bool admin = k->uid == 0 || c->hooks.is_admin(c->hooks.arg, k->uid, k->gid);
	struct buf out = {0};
	struct err err = {0};
	switch ((enum word)w) {
	case WORD_store:
		start_answer(c, k, admin && strcmp(operands, "own") != 0);
		return;
	case WORD_stats:
		c->hooks.stats(c->hooks.arg, operands, &out);
		answer(k->sock, true, buf_cstr(&out), out.n);
		break;
	case WORD_granularity:
		if (c->hooks.granularity(c->hooks.arg, operands, k->uid, admin, &out, &err) < 0)
			answer(k->sock, false, err.text, strlen(err.text));
		else
			answer(k->sock, true, buf_cstr(&out), out.n);
		break;
	default:
		answer(k->sock, false, "the daemon has no such word", 27);
		break;
	}
	buf_release(&out);
}

void control_ready(struct control *c, uint64_t n)
{
	char text[REQUEST_MAX + 1];
	if (n == 0) {
		accept_one(c);
		if (++c->accepted >= CONTROL_ACCEPTS && !c->resting)
			c->resting = epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->listener, NULL) == 0;
		return;
	}
	struct connection *k = n <= CONTROL_OPEN ? &c->v[n - 1] : NULL;
	if (!k || k->sock < 0)
		return;
	ssize_t got = recv(k->sock, text, REQUEST_MAX, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0) {
		text[got] = '\0';
		if (too_often(c, k->uid))
			request_reply(k->sock, "busy", 4, -1);
		else
			handle(c, k, text);
	}
	drop(k);
}

bool control_reaped(struct control *c, pid_t pid)
{
	for (size_t i = 0; i < ANSWERS; i++)
		if (c->answers[i].pid == pid) {
			c->answers[i].pid = 0;
			return true;
		}
	return false;
}

void control_tick(struct control *c)
{
	c->n_askers = 0;
	c->accepted = 0;
	if (c->resting)
		watch(c, c->listener, 0);
	c->resting = false;
	for (size_t i = 0; i < CONTROL_OPEN; i++)
		if (c->v[i].sock >= 0 && ++c->v[i].age > CONTROL_WAIT)
			drop(&c->v[i]);
}
