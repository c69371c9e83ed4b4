/* What anybody may send to the daemon's socket: any bytes are answered once, in a word and a sentence, or not at all,
 * and nobody's descriptors stay open. What may be asked for is held to who asks.
 *
 * An input is messages: a byte that says who asks (1: an administrator, 2: with a descriptor, 4: half a connection, 8:
 * two questions of one connection), then the message up to its NUL. Questions for a store are left out: a process of
 * its own answers those. */
#include "daemon/control.h"
#include "daemon/grain.h"
#include "daemon/request.h"
#include "fuzz_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static struct {
	struct control *control;
	struct grain *grain;
	int epoll;
	bool admin;
	char folder[32], socket[48];
	struct {
		char *words; /* of a request that is in force, perhaps */
		bool admin;
	} asked[16];
	unsigned n_asked;
} d = {.epoll = -1, .folder = "/dev/shm/stemma-fuzz.XXXXXX"};

static void bring_up(void *arg)
{
	(void)arg;
}

static void stats(void *arg, const char *operands, struct buf *out)
{
	(void)arg;
	buf_printf(out, "%s", operands);
}

static int granularity(void *arg, const char *operands, uint32_t uid, bool admin, struct buf *out, struct err *err)
{
	(void)arg, (void)admin;
	unsigned before = grain_count(d.grain);
	int r = grain_ask(d.grain, operands, d.admin ? 0 : uid + 1, d.admin, err);
	must(r == 0 || err->text[0]);
	must(r == 0 || grain_count(d.grain) == before);
	must(grain_count(d.grain) <= GRAIN_MAX);
	if (grain_count(d.grain) > before) {
		must(d.n_asked < 16 && (d.asked[d.n_asked].words = strdup(operands)));
		d.asked[d.n_asked++].admin = d.admin;
	}
	buf_printf(out, "done");
	return r;
}

/* What was asked for is taken back, so that an input finds nothing of the one before. */
static void take_back(uint32_t uid)
{
	for (unsigned i = 0; i < d.n_asked; i++) {
		char *words = d.asked[i].words, *open = NULL;
		struct err err = {0};
		words += strspn(words, " \t\n\v\f\r");
		must(!strncmp(words, "access", 6) && asprintf(&open, "open%s", words + 6) > 0);
		grain_ask(d.grain, open, d.asked[i].admin ? 0 : uid + 1, d.asked[i].admin, &err);
		free(open);
		free(d.asked[i].words);
	}
	d.n_asked = 0;
	must(grain_count(d.grain) == 0);
}

static bool is_admin(void *arg, uint32_t uid, uint32_t gid)
{
	(void)arg, (void)uid, (void)gid;
	return d.admin;
}

static void clean(void)
{
	char touch[64];
	control_close(d.control);
	grain_close(d.grain);
	snprintf(touch, sizeof(touch), "%s/touch", d.folder);
	rmdir(touch);
	rmdir(d.folder);
}

static void begin(void)
{
	static const struct control_hooks hooks = {
	    .bring_up = bring_up, .stats = stats, .granularity = granularity, .is_admin = is_admin};
	static const struct answer_limits limits = {0};
	struct err err = {0};
	if (d.epoll >= 0)
		return;
	must(mkdtemp(d.folder) != NULL);
	snprintf(d.socket, sizeof(d.socket), "%s/socket", d.folder);
	d.epoll = epoll_create1(EPOLL_CLOEXEC);
	must(d.epoll >= 0 && control_open(d.socket, d.folder, d.epoll, 0, &hooks, &limits, &err, &d.control) == 0);
	must(grain_open(d.folder, NULL, NULL, &err, &d.grain) == 0);
	atexit(clean);
}

/* As the daemon's own loop. */
static void serve(void)
{
	struct epoll_event v[16];
	for (int n; (n = epoll_wait(d.epoll, v, 16, 0)) > 0;)
		for (int i = 0; i < n; i++)
			control_ready(d.control, v[i].data.u64);
}

static void ask(uint8_t how, const char *text, size_t n)
{
	static char reply[REPLY_MAX];
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} c = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {(char *)text, n};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	strcpy(sun.sun_path, d.socket);
	must(s >= 0 && connect(s, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	memcpy(CMSG_DATA(&c.head), &s, sizeof(s));
	if (how & 2) {
		m.msg_control = &c;
		m.msg_controllen = sizeof(c);
	}
	d.admin = how & 1;
	if (n && !(how & 4) && sendmsg(s, &m, MSG_NOSIGNAL) < 0)
		must(errno == EPERM || errno == EMSGSIZE || errno == EPIPE); /* SO_PASSRIGHTS; too long */
	if (how & 8)
		send(s, text, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	serve();
	ssize_t got = recv(s, reply, sizeof(reply), MSG_DONTWAIT);
	if (got < 0 && errno == ECONNRESET) /* it closed with a question unread */
		got = recv(s, reply, sizeof(reply), MSG_DONTWAIT);
	must(got <= 0 || (got >= 3 && (!memcmp(reply, "ok ", 3) || !memcmp(reply, "no ", 3) || !memcmp(reply, "busy", 4))));
	must(recv(s, reply, sizeof(reply), MSG_DONTWAIT) <= 0);
	close(s);
	serve();
	control_tick(d.control);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	begin();
	int before = dup(d.epoll);
	close(before);
	for (int k = 0; size > 1 && k < 8; k++) {
		uint8_t how = *data++;
		size_t n = 0;
		size--;
		while (n < size && (how & 16 ? n < REQUEST_MAX + 8 : data[n] != '\0'))
			n++;
		if (n < 5 || memcmp(data, "store", 5) != 0)
			ask(how, (const char *)data, n);
		n += n < size;
		data += n;
		size -= n;
	}
	for (int i = 0; i < CONTROL_WAIT + 2; i++)
		control_tick(d.control);
	take_back(getuid());
	int after = dup(d.epoll);
	close(after);
	must(before == after);
	return 0;
}
