#include "serve/serve_worker.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/memory.h"
#include "serve/serve_answer.h"
#include "serve/serve_dataset.h"
#include "serve/serve_http.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 4 << 20 }; /* behind a larger answer the memory is given back */

/* ---- in the worker ---- */

/* Descriptors, signals and the parent's death, of a process that was just forked. */
static void become_own(int keep, pid_t parent)
{
	sigset_t none;
	sigemptyset(&none);
	if (keep > 3)
		close_range(3, (unsigned)keep - 1, 0);
	close_range((unsigned)keep + 1, ~0u, 0);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);  /* it died before */
	setpgid(0, 0); /* so that what it starts ends with it, and a terminal's ^C is the server's */
}

/* What it keeps from one request to the next. */
struct work {
	const struct serve_worker_options *o;
	struct serve_answerer a;
	struct serve_dataset d;
	struct buf text; /* of the request: the target, and behind a NUL what is accepted */
};

/* A problem where the request is none, or its answer too large. */
static void answer_question(struct work *w, struct str target, const char *accept, struct serve_answered *ret)
{
	struct serve_request q;
	struct err err = {0};
	int rc = serve_request_read(target, &err, &q);
	if (rc < 0) {
		serve_answer_problem(ret, rc == -ENOMEM ? 507 : 400, err.text, "");
		return;
	}
	if (w->o->dataset)
		serve_dataset_answer(&w->a, &w->d, &q, accept, w->o->ns, w->o->memory, ret);
	else
		serve_answer(&w->a, &q, ret);
	serve_request_release(&q);
	if (ret->body.failed)
		serve_answer_problem(ret, 507, "a request may not have so much memory", "");
	else if (ret->body.n > SERVE_ANSWER)
		serve_answer_problem(ret, 507, "the answer is larger than 64 MiB",
		                     "ask for less: with limit, depth, or without all");
}

/* Sends an answer to the server. last: this worker ends. 0, -errno. */
static int send_answer(int fd, const struct serve_answered *r, bool last)
{
	struct serve_reply head = {
	    .status = r->status, .retry_after = r->retry_after, .damaged = r->damaged, .last = last, .n = r->body.n};
	snprintf(head.type, sizeof(head.type), "%s", r->type);
	const uint64_t h = hash_more(1, r->body.p, r->body.n);
	snprintf(head.etag, sizeof(head.etag), "\"%016llx%016llx\"", (unsigned long long)hash_bytes(r->body.p, r->body.n),
	         (unsigned long long)h);
	int rc = io_write(fd, &head, sizeof(head), NULL);
	return rc < 0 ? rc : io_write(fd, r->body.p, r->body.n, NULL);
}

/* The lengths of a request's texts, then these. */
struct question {
	uint32_t target, accept;
};

/* Reads a question from the server. text: the target, and what is accepted, each with a NUL. false: the server is
 * gone, or asks too much. */
static bool read_question(int fd, struct buf *text, struct question *ret)
{
	buf_reset(text);
	if (io_read(fd, ret, sizeof(*ret)) != sizeof(*ret) || ret->target > SERVE_QUESTION || ret->accept > SERVE_MEMORY)
		return false;
	const size_t n = (size_t)ret->target + ret->accept + 1;
	if (!buf_room(text, n + 1) || io_read(fd, text->p, n) != (ssize_t)n)
		return false;
	text->p[n] = '\0';
	return true;
}

/* The worker's process: answers until the server closes fd, or memory lacked once. */
static __attribute__((noreturn)) void work(int fd, const struct serve_worker_options *o)
{
	struct work w = {.o = o, .a = {.home = o->home}};
	const uint64_t bytes = o->dataset ? 3 * o->memory : o->memory;
	const struct rlimit most = {bytes, bytes}, none = {0, 0};
	struct question q;
	bool last = false;
	setrlimit(RLIMIT_DATA, &most);
	setrlimit(RLIMIT_CORE, &none);
	while (!last && read_question(fd, &w.text, &q)) {
		struct serve_answered r = {0};
		const char *accept = q.accept ? w.text.p + q.target + 1 : NULL;
		answer_question(&w, str_n(w.text.p, q.target), accept, &r);
		last = memory_lacked();
		if (send_answer(fd, &r, last) < 0)
			break;
		const bool large = r.body.n > LARGE;
		serve_answered_release(&r);
		if (large)
			malloc_trim(0);
	}
	_exit(0);
}

/* ---- beside it ---- */

int serve_worker_start(struct serve_worker *w, const struct serve_worker_options *o, struct err *err)
{
	int pair[2];
	const pid_t own = getpid();
	*w = (struct serve_worker){.fd = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, errno, "cannot start a worker");
	const pid_t pid = fork();
	if (pid == 0) {
		become_own(pair[1], own);
		work(pair[1], o);
	}
	const int rc = pid < 0 ? errno : fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0 ? errno : 0;
	close(pair[1]);
	w->fd = pair[0];
	w->pid = pid > 0 ? pid : 0;
	if (!rc)
		return 0;
	serve_worker_stop(w);
	return err_set(err, rc, "cannot start a worker");
}

void serve_worker_stop(struct serve_worker *w)
{
	if (w->fd >= 0)
		close(w->fd);
	if (w->pid) {
		kill(-w->pid, SIGKILL);
		kill(w->pid, SIGKILL); /* it may not have its own group yet */
		while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	buf_release(&w->out);
	buf_release(&w->in);
	*w = (struct serve_worker){.fd = -1};
}

int serve_worker_ask(struct serve_worker *w, struct str target, const char *accept)
{
	const struct str said = str_of(accept);
	const struct question q = {(uint32_t)target.n, (uint32_t)said.n};
	buf_reset(&w->out);
	buf_release(&w->in);
	w->sent = 0;
	w->reply = (struct serve_reply){0};
	buf_add(&w->out, &q, sizeof(q));
	buf_str(&w->out, target);
	buf_char(&w->out, '\0');
	buf_str(&w->out, said);
	return w->out.failed ? -ENOMEM : 0;
}

/* Receives what a worker has sent. 1: so many bytes are in w->in. 0: not yet; -EPIPE: the worker ended; -errno. */
static int receive(struct serve_worker *w, size_t want)
{
	while (w->in.n < want) {
		if (!buf_room(&w->in, want - w->in.n))
			return -ENOMEM;
		ssize_t k = recv(w->fd, w->in.p + w->in.n, want - w->in.n, 0);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k == 0 ? -EPIPE : errno == EAGAIN ? 0 : -errno;
		w->in.n += (size_t)k;
	}
	return 1;
}

int serve_worker_go_on(struct serve_worker *w)
{
	while (w->sent < w->out.n) {
		ssize_t k = send(w->fd, w->out.p + w->sent, w->out.n - w->sent, MSG_NOSIGNAL);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return errno == EAGAIN ? 0 : -errno;
		w->sent += (size_t)k;
	}
	if (!w->reply.status) {
		int rc = receive(w, sizeof(w->reply));
		if (rc <= 0)
			return rc;
		memcpy(&w->reply, w->in.p, sizeof(w->reply));
		w->reply.type[sizeof(w->reply.type) - 1] = w->reply.etag[sizeof(w->reply.etag) - 1] = '\0';
		if (!w->reply.status || w->reply.n > SERVE_ANSWER)
			return -EBADMSG;
		buf_reset(&w->in);
	}
	return receive(w, w->reply.n);
}

/* ---- the index ---- */

struct index_end {
	int rc;
	char text[512];
};

int serve_index_start(const char *home, pid_t *ret, struct err *err)
{
	int ends[2];
	const pid_t own = getpid();
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "cannot update the index");
	*ret = fork();
	if (*ret == 0) {
		struct stemma_record *r;
		struct stemma_error e = {0};
		struct index_end end = {0};
		become_own(ends[1], own);
		end.rc = stemma_open(home, 0, &r, &e);
		snprintf(end.text, sizeof(end.text), "%s", e.text);
		io_write(ends[1], &end, sizeof(end), NULL);
		_exit(0);
	}
	close(ends[1]);
	if (*ret > 0)
		return ends[0];
	const int why = errno;
	close(ends[0]);
	return err_set(err, why, "cannot update the index");
}

int serve_index_end(int fd, pid_t pid, struct err *err)
{
	struct index_end end = {0};
	const bool said = io_read(fd, &end, sizeof(end)) == sizeof(end);
	close(fd);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!said)
		return err_set(err, 0, "the index could not be brought up to date"), -EIO;
	end.text[sizeof(end.text) - 1] = '\0';
	if (end.rc)
		err_set(err, 0, "%s", end.text);
	return end.rc;
}
