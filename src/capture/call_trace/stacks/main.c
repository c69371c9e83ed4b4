/* stemma-stacks - unwinds the stacks of stopped threads for the recorder, and names their addresses afterwards.
 *
 *     stemma-stacks --serve FD     answer on this socket (wire.h), in the background, until the other side closes it
 *     stemma-stacks --name PATH... print the names of the frames in these traces of calls, or folders of them
 *     stemma-stacks --works        unwind a stack of its own
 *
 * libdw reads whatever files programs run, and those may be damaged or made to harm. So the process that uses it is one
 * that may die: the one that holds the socket makes another, and answers that this stack was lost. A stack that takes
 * longer than SECONDS is lost, too. */
#include "capture/call_trace/stacks/names.h"
#include "capture/call_trace/stacks/unwind.h"

#include <elfutils/version.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 2, DEATHS = 20 };
#define MEMORY_MOST ((rlim_t)8 << 30) /* of addresses: tables of all programs of a run */

struct server {
	int socket;
	struct unwinder *unwinder;
	uint64_t *taken; /* the question that was taken last; shared with who guards */
	char in[STACK_MESSAGE] __attribute__((aligned(16)));
	char reply[STACK_MESSAGE] __attribute__((aligned(16)));
	char out[STACK_MESSAGE] __attribute__((aligned(16)));
};

/* One whole message. Its length, 0 at the end of the connection, -1 with errno. */
static ssize_t receive_question(int fd, void *p)
{
	ssize_t n;
	while ((n = recv(fd, p, STACK_MESSAGE, 0)) < 0 && errno == EINTR)
		;
	return n;
}

/* Sends all of it, or false. */
static bool send_reply(int fd, const void *p, size_t n)
{
	ssize_t r;
	while ((r = send(fd, p, n, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	return r == (ssize_t)n;
}

/* Has the whole question been received? n: the bytes received; exactly the head and the q->n bytes that it
 * announces. */
static bool is_whole_question(const struct stack_question *q, ssize_t n)
{
	return n >= (ssize_t)sizeof(*q) && (size_t)n == sizeof(*q) + q->n;
}

/* Asks the other side for n bytes of the process's memory. How many came, 0 where none did. Ends this process where
 * nobody is there any more. */
static size_t ask_memory(void *arg, uint64_t at, void *ret, size_t n)
{
	struct server *s = arg;
	struct stack_answer a = {.kind = REPLY_WANTS, .n = (uint32_t)n, .at = at};
	const struct stack_question *q = (const struct stack_question *)s->reply;
	if (!send_reply(s->socket, &a, sizeof(a)))
		_exit(0);
	ssize_t got = receive_question(s->socket, s->reply);
	if (got <= 0)
		_exit(0);
	if (!is_whole_question(q, got) || q->kind != ASK_MEMORY || q->n > n || q->at != at)
		return 0;
	memcpy(ret, q + 1, q->n);
	return q->n;
}

/* Tells of a module under its number. False: the name is too long, or nobody is there any more. */
static bool send_module(void *arg, uint32_t number, const char *identity, const char *path)
{
	struct server *s = arg;
	struct stack_answer *a = (struct stack_answer *)s->out;
	int n = snprintf((char *)(a + 1), sizeof(s->out) - sizeof(*a), "%s %s", identity, path);
	if (n < 0 || (size_t)n >= sizeof(s->out) - sizeof(*a))
		return false;
	*a = (struct stack_answer){.kind = REPLY_MODULE, .n = (uint32_t)n, .module = number};
	return send_reply(s->socket, a, sizeof(*a) + (size_t)n);
}

/* Until the other side closes. May die at any time. */
static _Noreturn void serve_stacks(struct server *s)
{
	const struct stack_question *q = (const struct stack_question *)s->in;
	struct stack_answer *a = (struct stack_answer *)s->out;
	struct unwind_calls calls = {.arg = s, .memory = ask_memory, .module = send_module};
	static struct unwound x;
	s->unwinder = unwinder_new(&calls);
	if (!s->unwinder)
		_exit(1);
	for (;;) {
		ssize_t n = receive_question(s->socket, s->in);
		if (n <= 0)
			_exit(0);
		if (!is_whole_question(q, n))
			continue;
		if (q->kind == ASK_GONE)
			unwinder_forget(s->unwinder, q->pid);
		if (q->kind != ASK_STACK)
			continue;
		__atomic_store_n(s->taken, q->number, __ATOMIC_RELEASE);
		alarm(SECONDS);
		unwinder_stack(s->unwinder, q, q + 1, &x);
		alarm(0);
		size_t frames = x.n * sizeof(*x.frames), words = x.n_words * sizeof(*x.words);
		*a = (struct stack_answer){.kind = REPLY_STACK, .n = (uint32_t)x.n, .end = x.end, .words = (uint32_t)x.n_words};
		a->registers = x.registers;
		a->number = q->number;
		memcpy(a + 1, x.frames, frames);
		memcpy((char *)(a + 1) + frames, x.words, words);
		if (!send_reply(s->socket, a, sizeof(*a) + frames + words))
			_exit(0);
	}
}

/* Makes a process that serves, and another when that one dies. */
static _Noreturn void restart_server(int fd)
{
	static struct server s;
	int status;
	s.socket = fd;
	s.taken = mmap(NULL, sizeof(*s.taken), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s.taken == MAP_FAILED)
		_exit(1);
	for (int i = 0; i < DEATHS; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve_stacks(&s);
		}
		while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
			break;
		struct stack_answer lost = {.kind = REPLY_LOST, .number = __atomic_load_n(s.taken, __ATOMIC_ACQUIRE)};
		if (!send_reply(fd, &lost, sizeof(lost)))
			break;
	}
	_exit(0);
}

/* Signals for the whole group end the command, and with it the recorder, and with that this. Returns in the first
 * process: 0, or 1 where it cannot fork. The other one serves on descriptor 3, and does not return. */
static int serve_in_background(int fd)
{
	struct rlimit memory = {MEMORY_MOST, MEMORY_MOST}, none = {0, 0};
	static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE,
	                              SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2};
	pid_t pid = fork();
	if (pid != 0)
		return pid > 0 ? 0 : 1;
	setsid();
	sigset_t none_blocked;
	sigemptyset(&none_blocked);
	sigprocmask(SIG_SETMASK, &none_blocked, NULL);
	signal(SIGALRM, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* whose own memory is more */
	setrlimit(RLIMIT_AS, &memory);
#else
	(void)memory;
#endif
	setrlimit(RLIMIT_CORE, &none);
	/* Where memory runs out it is not the command that is to be ended for it. */
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (score >= 0 && write(score, "1000", 4) < 0)
		(void)0; /* it is as likely as others, then */
	if (score >= 0)
		close(score);
	if (chdir("/") < 0 || dup2(fd, 3) < 0)
		return 1;
	for (int i = 0; i < 3; i++)
		close(i);
	closefrom(4);
	restart_server(3);
}

int main(int argc, char **argv)
{
	/* Nothing is asked of servers for debug information. */
	unsetenv("DEBUGINFOD_URLS");
	if (argc == 3 && !strcmp(argv[1], "--serve"))
		return serve_in_background(atoi(argv[2]));
	if (argc >= 2 && !strcmp(argv[1], "--name"))
		return names_print(argv + 2, (size_t)(argc - 2), stdout) < 0;
	if (argc == 2 && !strcmp(argv[1], "--works")) {
		printf("elfutils %d.%d\n", _ELFUTILS_VERSION / 1000, _ELFUTILS_VERSION % 1000);
		return 0;
	}
	fprintf(stderr, "usage: stemma-stacks --serve FD | --name PATH... | --works\n");
	return 2;
}
