#include "capture/node_tracer/helper_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct helper {
	struct helper_work *work; /* direct; else NULL */
	pid_t pid;
	int to, from, sock;
	bool gone;
	struct helper_shared *shared;
};

/* Maps the memory through which the helper is asked. 0, -errno. */
static int map_shared_page(struct helper *h)
{
	void *p = mmap(NULL, sizeof(*h->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	h->shared = p;
	return 0;
}

int helper_direct(struct helper **ret)
{
	struct helper *h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->to = h->from = h->sock = -1;
	int r = map_shared_page(h);
	if (r == 0)
		r = helper_work_new(&h->work);
	if (r < 0) {
		helper_close(h);
		return r;
	}
	*ret = h;
	return 0;
}

/* Three capabilities, of those that there are; nothing that it could execute would have one. False: it cannot. */
static bool give_up_the_rest(void)
{
	static const int keep[] = {CAP_SYS_ADMIN, CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE};
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[2], wants[2] = {0};
	if (syscall(SYS_capget, &head, has) < 0)
		return false;
	for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++) {
		unsigned bit = 1u << (keep[i] % 32);
		wants[keep[i] / 32].permitted |= has[keep[i] / 32].permitted & bit;
		wants[keep[i] / 32].effective |= has[keep[i] / 32].permitted & bit;
	}
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_capset, &head, wants) == 0;
}

/* Serves until the daemon is gone; 125: it cannot begin. */
static _Noreturn void be_helper(struct helper_shared *shared, int from, int to, int sock)
{
	struct helper_work *w;
	sigset_t none;
	prctl(PR_SET_NAME, "stemmad-helper", 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* It ends when the daemon has: that one has questions until its end. */
	static const int left[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		signal(left[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* The daemon's others would be kept open; standard error is for what a sanitizer may say. */
	int up[3] = {fcntl(from, F_DUPFD, 10), fcntl(to, F_DUPFD, 10), fcntl(sock, F_DUPFD, 10)};
	if (dup2(up[0], 0) < 0 || dup2(up[1], 1) < 0 || dup2(up[2], 3) < 0 || close_range(4, ~0u, 0) < 0 ||
	    !give_up_the_rest() || helper_work_new(&w) < 0)
		_exit(125);
	helper_serve(w, shared, 0, 1, 3);
	helper_work_free(w);
	_exit(0);
}

/* Closes a descriptor. -1: closed already. */
static void close_and_forget(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int helper_start(struct err *err, struct helper **ret)
{
	int ask[2] = {-1, -1}, answer[2] = {-1, -1}, sock[2] = {-1, -1}, r;
	struct helper *h = calloc(1, sizeof(*h));
	if (!h)
		return err_set(err, ENOMEM, "cannot start the helper");
	r = map_shared_page(h);
	if (r == 0 && (pipe2(ask, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0 ||
	               socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0))
		r = -errno;
	if (r == 0 && (h->pid = fork()) < 0) {
		r = -errno;
		h->pid = 0;
	} else if (r == 0 && h->pid == 0) {
		close_and_forget(&ask[1]);
		close_and_forget(&answer[0]);
		close_and_forget(&sock[0]);
		be_helper(h->shared, ask[0], answer[1], sock[1]);
	}
	close_and_forget(&ask[0]);
	close_and_forget(&answer[1]);
	close_and_forget(&sock[1]);
	h->to = ask[1];
	h->from = answer[0];
	h->sock = sock[0];
	if (r < 0) {
		helper_close(h);
		return err_set(err, -r, "cannot start the helper");
	}
	*ret = h;
	return 0;
}

void helper_close(struct helper *h)
{
	if (!h)
		return;
	close_and_forget(&h->to);
	close_and_forget(&h->from);
	close_and_forget(&h->sock);
	while (h->pid && waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	helper_work_free(h->work);
	if (h->shared)
		munmap(h->shared, sizeof(*h->shared));
	free(h);
}

/* Of the helper's process. */
pid_t helper_pid(const struct helper *h)
{
	return h->pid;
}

/* To be polled; it stays h's. */
int helper_fd(const struct helper *h)
{
	return h->from;
}

/* The helper has ended: every question fails. */
bool helper_gone(const struct helper *h)
{
	return h->gone;
}

/* The descriptor that came with a byte; -1: none did. */
static int receive_fd(const struct helper *h)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t n;
	int fd = -1;
	do
		n = recvmsg(h->sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL; c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* The size of the answer; 0: it is gone. */
static size_t wait_for_answer(const struct helper *h, uint32_t size, int *ret_fd)
{
	ssize_t n;
	do
		n = write(h->to, &size, sizeof(size));
	while (n < 0 && errno == EINTR);
	do
		n = n < 0 ? n : read(h->from, &size, sizeof(size));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(size))
		return 0;
	if (size & HELPER_HAS_FD)
		*ret_fd = receive_fd(h);
	return size & ~HELPER_HAS_FD;
}

/* Asks what stands in h->shared->q; the answer is in h->shared->a, but for one that failed, whose r is returned alone.
 * need: what an answer that is none has at least. -ECONNRESET: the helper is gone; -errno of the answer. */
static int call_helper(struct helper *h, size_t need, size_t *ret_n, int *ret_fd)
{
	size_t size = helper_size(h->shared->q.op, h->shared->q.n), n;
	struct helper_answer *a = &h->shared->a;
	int fd = -1;
	if (h->gone)
		return -ECONNRESET;
	if (h->work) {
		const struct helper_answer *done = helper_work_do(h->work, &h->shared->q, size, &n, &fd);
		memcpy(a, done, n);
	} else
		n = wait_for_answer(h, (uint32_t)size, &fd);
	h->gone = n < HELPER_ANSWER_HEAD || n > sizeof(*a) || (a->r >= 0 && n < HELPER_ANSWER_HEAD + need) ||
	          (a->r >= 0 && ret_fd && fd < 0); /* there was no room for it, or it is none of ours */
	if (fd >= 0 && (h->gone || a->r < 0 || !ret_fd)) {
		close(fd);
		fd = -1;
	}
	if (ret_fd)
		*ret_fd = fd;
	if (ret_n)
		*ret_n = n;
	return h->gone ? -ECONNRESET : a->r;
}

/* Clears the head of the shared question. The caller fills in the rest. */
static void begin_question(struct helper *h, uint32_t op)
{
	memset(&h->shared->q, 0, HELPER_QUESTION_HEAD);
	h->shared->q.op = op;
}

/* What is known of a file system by what the helper said; "unknown" where it says nothing. Never NULL. */
static const struct fs_domain *domain_of(struct helper_domain *d)
{
	d->name[sizeof(d->name) - 1] = d->type[sizeof(d->type) - 1] = '\0';
	struct fs_domain told = {.dev = d->dev,
	                         .name = d->name,
	                         .type = d->type,
	                         .network = d->network,
	                         .birth_changes = d->birth_changes,
	                         .pseudo = d->pseudo,
	                         .mtime_step = d->mtime_step};
	static const struct fs_domain unknown = {.name = "unknown", .type = "", .mtime_step = 2000000000};
	return d->known ? fileid_domain_told(&told) : &unknown;
}

/* Takes over the identity of a file as the helper found it. 0, or the -errno that the helper gave. */
static int take_id(struct helper_id *id, struct fileid *ret)
{
	if (id->r < 0)
		return id->r;
	*ret = (struct fileid){.domain = domain_of(&id->domain), .ino = id->ino, .gen = id->gen, .st = id->st};
	return 0;
}

int helper_watch(struct helper *h, bool targets, int *ret_fd)
{
	begin_question(h, HELPER_OP_WATCH);
	h->shared->q.number = targets;
	return call_helper(h, 0, NULL, ret_fd);
}

/* Lets go of the group. Nothing if there is none. */
void helper_unwatch(struct helper *h)
{
	begin_question(h, HELPER_OP_UNWATCH);
	call_helper(h, 0, NULL, NULL);
}

/* Sets the path to ask for. 0, -ENAMETOOLONG. */
static int set_question_path(struct helper *h, const char *path)
{
	size_t n = strlen(path);
	if (n >= sizeof(h->shared->q.path))
		return -ENAMETOOLONG;
	memcpy(h->shared->q.path, path, n);
	memset(h->shared->q.path + n, 0, sizeof(h->shared->q.path) - n);
	return 0;
}

int helper_look(struct helper *h, const char *mount, uint64_t dev, bool waits, struct helper_place *ret)
{
	begin_question(h, HELPER_OP_LOOK);
	h->shared->q.number = dev;
	h->shared->q.n = waits;
	int r = set_question_path(h, mount);
	r = r < 0 ? r : call_helper(h, sizeof(h->shared->a.look), NULL, NULL);
	if (r < 0)
		return r;
	*ret = h->shared->a.look.place;
	ret->domain = domain_of(&h->shared->a.look.domain);
	return 0;
}

/* mask: of fanotify. 0, -errno. */
int helper_mark(struct helper *h, uint32_t slot, uint64_t mask)
{
	begin_question(h, HELPER_OP_MARK);
	h->shared->q.slot = slot;
	h->shared->q.number = mask;
	return call_helper(h, 0, NULL, NULL);
}

/* The slot is free again. */
void helper_forget(struct helper *h, uint32_t slot)
{
	begin_question(h, HELPER_OP_FORGET);
	h->shared->q.slot = slot;
	call_helper(h, 0, NULL, NULL);
}

int helper_states(struct helper *h, const struct helper_handle *of, unsigned n, struct helper_state *ret)
{
	if (!n || n > HELPER_BATCH)
		return -EINVAL;
	begin_question(h, HELPER_OP_STATES);
	h->shared->q.n = n;
	memcpy(h->shared->q.handle, of, n * sizeof(*of));
	int r = call_helper(h, n * sizeof(*ret), NULL, NULL);
	if (r >= 0)
		memcpy(ret, h->shared->a.state, n * sizeof(*ret));
	return r < 0 ? r : 0;
}

int helper_handle_path(struct helper *h, const struct helper_handle *of, char ret[PATH_MAX])
{
	size_t n;
	begin_question(h, HELPER_OP_PATH);
	h->shared->q.handle[0] = *of;
	int r = call_helper(h, 1, &n, NULL);
	if (r < 0)
		return r;
	h->shared->a.path[n - HELPER_ANSWER_HEAD - 1] = '\0';
	memcpy(ret, h->shared->a.path, n - HELPER_ANSWER_HEAD);
	return 0;
}

ssize_t helper_link(struct helper *h, pid_t pid, enum helper_link link, unsigned fd, char ret[PATH_MAX], int *ret_id,
                    struct fileid *id)
{
	size_t n;
	begin_question(h, HELPER_OP_LINK);
	h->shared->q.pid = pid;
	h->shared->q.slot = link;
	h->shared->q.number = fd;
	h->shared->q.n = id != NULL;
	int r = call_helper(h, sizeof(h->shared->a.found.id) + 1, &n, NULL);
	if (r < 0)
		return r;
	n -= HELPER_ANSWER_HEAD + sizeof(h->shared->a.found.id) + 1;
	h->shared->a.found.path[n] = '\0';
	memcpy(ret, h->shared->a.found.path, n + 1);
	if (id)
		*ret_id = take_id(&h->shared->a.found.id, id);
	return (ssize_t)n;
}

/* 0 and a descriptor of the caller's; -errno. */
int helper_open(struct helper *h, pid_t pid, enum helper_file file, int *ret_fd)
{
	begin_question(h, HELPER_OP_OPEN);
	h->shared->q.pid = pid;
	h->shared->q.slot = file;
	return call_helper(h, 0, NULL, ret_fd);
}

int helper_pids(struct helper *h, bool first, int32_t *ret, bool *ret_more)
{
	size_t n;
	begin_question(h, HELPER_OP_PIDS);
	h->shared->q.n = first;
	int r = call_helper(h, 0, &n, NULL);
	if (r < 0)
		return r;
	n = (n - HELPER_ANSWER_HEAD) / sizeof(*ret);
	memcpy(ret, h->shared->a.pid, n * sizeof(*ret));
	*ret_more = h->shared->a.n && n;
	return (int)n;
}

int helper_find(struct helper *h, const char *path, char real[PATH_MAX], struct fileid *ret)
{
	size_t n;
	begin_question(h, HELPER_OP_FIND);
	h->shared->q.n = real != NULL;
	int r = set_question_path(h, path);
	r = r < 0 ? r : call_helper(h, sizeof(h->shared->a.found.id) + 1, &n, NULL);
	if (r < 0)
		return r;
	n -= HELPER_ANSWER_HEAD + sizeof(h->shared->a.found.id);
	h->shared->a.found.path[n - 1] = '\0';
	if (real)
		memcpy(real, h->shared->a.found.path, n);
	return take_id(&h->shared->a.found.id, ret);
}
