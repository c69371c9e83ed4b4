#include "daemon/control.h"

#include "daemon/accounts.h"
#include "daemon/request.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

extern char **environ;

struct connection {
	int sock; /* -1: free */
	uint32_t uid, gid, account;
	unsigned age;
};

/* One process that answers. The daemon keeps the connection beside it, to see that the asker is still there and to say
 * what became of a process that ended without a word. */
struct answering {
	pid_t pid; /* 0: free */
	int sock;  /* -1: the asker is gone, or was told */
	uint32_t account;
	uint64_t age; /* s */
	bool late;
};

struct asker {
	uint32_t account;
	unsigned asked; /* this second */
};

struct control {
	int listener, epoll;
	uint64_t first;
	char *path, *base;
	struct control_hooks hooks;
	const struct answer_limits *limits;
	struct control_stats stats;
	struct connection v[CONTROL_OPEN];
	struct answering answers[ANSWERS];
	struct asker askers[CONTROL_OPEN];
	unsigned n_askers;
	unsigned accepted; /* this second */
	bool resting;      /* until the next */
};

/* Numbers of descriptors: 0 the listener, then the connections, then those of the processes that answer. */
enum { FIRST_CONNECTION = 1, FIRST_ANSWER = FIRST_CONNECTION + CONTROL_OPEN };

/* Waits for events of a connection. n: the connection's number, by which its events are known. Errors are passed
 * over. */
static void watch_connection(struct control *c, int fd, uint32_t events, uint64_t n)
{
	struct epoll_event e = {.events = events, .data.u64 = c->first + n};
	epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e);
}

int control_open(const char *path, const char *base, int epoll, uint64_t first, const struct control_hooks *h,
                 const struct answer_limits *limits, struct err *err, struct control **ret)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct control *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->listener = -1;
	c->epoll = epoll;
	c->first = first;
	c->hooks = *h;
	c->limits = limits;
	c->path = strdup(path);
	c->base = strdup(base);
	for (size_t i = 0; i < CONTROL_OPEN; i++)
		c->v[i].sock = -1;
	for (size_t i = 0; i < ANSWERS; i++)
		c->answers[i].sock = -1;
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
	watch_connection(c, c->listener, EPOLLIN, 0);
	*ret = c;
	return 0;
}

/* A process that answers has a copy of the connection, so to close it does not end its being watched. */
static void close_connection(struct control *c, int *sock)
{
	if (*sock < 0)
		return;
	epoll_ctl(c->epoll, EPOLL_CTL_DEL, *sock, NULL);
	close(*sock);
	*sock = -1;
}

/* NULL is no error. Whoever waits for an answer gets none. */
void control_close(struct control *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < CONTROL_OPEN; i++)
		close_connection(c, &c->v[i].sock);
	for (size_t i = 0; i < ANSWERS; i++)
		close_connection(c, &c->answers[i].sock);
	if (c->listener >= 0) {
		close(c->listener);
		unlink(c->path);
	}
	free(c->path);
	free(c->base);
	free(c);
}

/* Counts it. The one who asked tries again. */
static void refuse_busy(struct control *c, int sock)
{
	c->stats.busy++;
	request_reply(sock, "busy", 4, -1);
}

/* "ok TEXT" or "no TEXT". */
static void reply_text(int sock, bool ok, struct str text)
{
	struct buf b = {0};
	buf_printf(&b, ok ? "ok " : "no ");
	buf_str(&b, text);
	request_reply(sock, buf_cstr(&b), b.n, -1);
	buf_release(&b);
}

/* One more connection, if there is room, for its user too; else it is told that the daemon is busy. */
static void accept_one(struct control *c)
{
	int sock = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred who;
	socklen_t size = sizeof(who);
	const int no = 0;
	if (sock < 0)
		return;
	/* A socket that is sent may take as long to be closed as its sender likes (SO_LINGER). */
	setsockopt(sock, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no));
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0) {
		close(sock);
		return;
	}
	size_t free = CONTROL_OPEN, own = 0;
	uint32_t account = accounts_of(who.uid);
	for (size_t i = 0; i < CONTROL_OPEN; i++) {
		if (c->v[i].sock < 0)
			free = i;
		else
			own += c->v[i].account == account;
	}
	if (free == CONTROL_OPEN || (own >= CONTROL_USER && who.uid)) {
		refuse_busy(c, sock);
		close(sock);
		return;
	}
	c->v[free] = (struct connection){.sock = sock, .uid = who.uid, .gid = who.gid, .account = account};
	watch_connection(c, sock, EPOLLIN, FIRST_CONNECTION + free);
}

/* Has the account asked more often than it may since the last tick? It counts as one more. */
static bool too_often(struct control *c, uint32_t account)
{
	unsigned i = 0;
	while (i < c->n_askers && c->askers[i].account != account)
		i++;
	if (i == c->n_askers) {
		if (i == CONTROL_OPEN)
			return true;
		c->askers[c->n_askers++] = (struct asker){.account = account};
	}
	return ++c->askers[i].asked > CONTROL_RATE;
}

/* ---- processes that answer ---- */

/* Where one is free for this account; ANSWERS: nowhere. */
static size_t answer_place(const struct control *c, uint32_t account)
{
	size_t free = ANSWERS, own = 0, used = 0;
	for (size_t i = 0; i < ANSWERS; i++) {
		if (!c->answers[i].pid)
			free = i;
		else
			used++, own += c->answers[i].account == account;
	}
	return own >= ANSWERS_USER || (own && used >= ANSWERS / 2) ? ANSWERS : free;
}

/* The connection is the process's standard input. It goes over to *ret, or is answered. 0, -errno. */
static int spawn_answer(struct control *c, int sock, const char *who, pid_t *ret)
{
	char memory[32], seconds[32], left[32];
	snprintf(memory, sizeof(memory), "%" PRIu64, c->limits->memory);
	snprintf(seconds, sizeof(seconds), "%" PRIu64, c->limits->seconds);
	snprintf(left, sizeof(left), "%" PRIu64, c->limits->floor);
	char *argv[] = {(char *)"stemmad", (char *)"--answer", c->base, (char *)who, memory, seconds, left, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, sock, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	int r = posix_spawn(ret, "/proc/self/exe", &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* Answers in a process of its own, of the user's rights; at most so many at a time. */
static void start_answer(struct control *c, struct connection *k, bool all)
{
	size_t free = answer_place(c, k->account);
	if (free == ANSWERS) {
		refuse_busy(c, k->sock);
		return;
	}
	c->hooks.bring_up(c->hooks.arg);
	struct answering *a = &c->answers[free];
	char who[16] = "all";
	pid_t pid;
	if (!all)
		snprintf(who, sizeof(who), "%" PRIu32, k->uid);
	if (spawn_answer(c, k->sock, who, &pid) < 0) {
		reply_text(k->sock, false, str_of("cannot start the answer"));
		return;
	}
	c->stats.answers++;
	*a = (struct answering){.pid = pid, .sock = k->sock, .account = k->account};
	epoll_ctl(c->epoll, EPOLL_CTL_DEL, k->sock, NULL);
	k->sock = -1;
	/* That the other side has closed is always told. */
	watch_connection(c, a->sock, 0, FIRST_ANSWER + free);
}

/* The asker is gone, so nobody needs what it does. It is not reaped yet, so the number is its own. */
static void abandon_answer(struct control *c, struct answering *a)
{
	if (!a->pid)
		return;
	close_connection(c, &a->sock);
	kill(a->pid, SIGKILL);
	c->stats.abandoned++;
}

bool control_reaped(struct control *c, pid_t pid, int status, uint64_t cpu)
{
	size_t i = 0;
	while (i < ANSWERS && c->answers[i].pid != pid)
		i++;
	if (i == ANSWERS)
		return false;
	struct answering *a = &c->answers[i];
	char text[128];
	c->stats.cpu += cpu;
	if (a->sock >= 0 && !(WIFEXITED(status) && WEXITSTATUS(status) <= 1)) {
		if (a->late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
			snprintf(text, sizeof(text), "the answer takes longer than the setting answer_time allows (%" PRIu64 " s)",
			         c->limits->seconds);
		else if (WIFSIGNALED(status))
			snprintf(text, sizeof(text), "the answer was ended by signal %d", WTERMSIG(status));
		else
			snprintf(text, sizeof(text), "the answer failed with status %d", WEXITSTATUS(status));
		reply_text(a->sock, false, str_of(text));
	}
	close_connection(c, &a->sock);
	a->pid = 0;
	return true;
}

/* ---- questions ---- */

enum word {
#define WORD(name, operands, meaning) WORD_##name,
#include "daemon/words.def"
	WORD_COUNT
};

/* Answers a question. text: the question, changed. The answer is sent, or a process started that sends it. */
static void handle_request(struct control *c, struct connection *k, char *text)
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
		reply_text(k->sock, true, buf_view(&out));
		break;
	case WORD_granularity:
		if (c->hooks.granularity(c->hooks.arg, operands, k->uid, admin, &out, &err) < 0)
			reply_text(k->sock, false, str_of(err.text));
		else
			reply_text(k->sock, true, buf_view(&out));
		break;
	default:
		reply_text(k->sock, false, str_of("unknown request"));
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
	if (n >= FIRST_ANSWER) {
		if (n < FIRST_ANSWER + ANSWERS)
			abandon_answer(c, &c->answers[n - FIRST_ANSWER]);
		return;
	}
	struct connection *k = &c->v[n - FIRST_CONNECTION];
	if (k->sock < 0)
		return;
	ssize_t got = recv(k->sock, text, REQUEST_MAX, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0) {
		text[got] = '\0';
		if (too_often(c, k->account)) {
			refuse_busy(c, k->sock);
		} else {
			c->stats.questions++;
			handle_request(c, k, text);
		}
	}
	close_connection(c, &k->sock);
}

void control_tick(struct control *c)
{
	c->n_askers = 0;
	c->accepted = 0;
	if (c->resting)
		watch_connection(c, c->listener, EPOLLIN, 0);
	c->resting = false;
	for (size_t i = 0; i < CONTROL_OPEN; i++)
		if (c->v[i].sock >= 0 && ++c->v[i].age > CONTROL_WAIT)
			close_connection(c, &c->v[i].sock);
	for (size_t i = 0; i < ANSWERS; i++) {
		struct answering *a = &c->answers[i];
		if (a->pid && ++a->age > c->limits->seconds && !a->late) {
			a->late = true;
			kill(a->pid, SIGKILL);
		}
	}
}

/* Since control_open. */
void control_stats(const struct control *c, struct control_stats *ret)
{
	*ret = c->stats;
}
