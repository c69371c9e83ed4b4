#include "serve/serve_listen.h"

#include "serve/serve_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int serve_listen_tcp(unsigned *port, struct err *err)
{
	struct sockaddr_in a = {
	    .sin_family = AF_INET, .sin_port = htons((uint16_t)*port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(a);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
	if (fd < 0)
		return err_set(err, errno, "cannot listen at 127.0.0.1");
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 || bind(fd, (struct sockaddr *)&a, n) < 0 ||
	    listen(fd, SERVE_BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)&a, &n) < 0) {
		const int why = errno;
		close(fd);
		return err_set(err, why, "cannot listen at 127.0.0.1:%u", *port);
	}
	*port = ntohs(a.sin_port);
	return fd;
}

/* A socket that is left over: nobody answers there, and it is ours. */
static void remove_left_over(const struct sockaddr_un *a)
{
	struct stat st;
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (lstat(a->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid() &&
	    connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 && errno == ECONNREFUSED)
		unlink(a->sun_path);
	close(fd);
}

int serve_listen_unix(const char *path, struct err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(a.sun_path))
		return err_set(err, ENAMETOOLONG, "cannot listen at '%s'", path);
	memcpy(a.sun_path, path, strlen(path));
	remove_left_over(&a);
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(err, errno, "cannot listen at '%s'", path);
	const mode_t before = umask(0177);
	const int rc = bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, SERVE_BACKLOG) < 0 ? errno : 0;
	umask(before);
	if (!rc)
		return fd;
	close(fd);
	return err_set(err, rc, "cannot listen at '%s'", path);
}
