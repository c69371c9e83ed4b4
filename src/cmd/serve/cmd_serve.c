/* stemma serve: the record over HTTP, for its owner. */
#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/ui/amount.h"
#include "serve/serve.h"
#include "serve/serve_access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEAST_MEMORY = 64 << 20 };

/* A token that others can read is none. 0; -EPERM; -EBADMSG: it holds none; -errno; with a sentence. */
static int read_token(int fd, const char *path, struct err *err, char ret[SERVE_TOKEN + 1])
{
	struct stat st;
	char text[SERVE_TOKEN + 2] = "";
	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0) || st.st_mode & 077) {
		err_set(err, 0, "'%s' is not a file that only you can read", path);
		err_hint(err, "chmod 600, or remove the file; stemma serve then writes a new token to it");
		return -EPERM;
	}
	ssize_t n = io_read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return err_set(err, (int)-n, "cannot read '%s'", path);
	const struct str said = str_n(text, n && text[n - 1] == '\n' ? (size_t)n - 1 : (size_t)n);
	if (!serve_token_is(said)) {
		err_set(err, 0, "there is no token in '%s'", path);
		err_hint(err, "remove the file; stemma serve then writes a new token to it");
		return -EBADMSG;
	}
	memcpy(ret, said.p, SERVE_TOKEN);
	ret[SERVE_TOKEN] = '\0';
	return 0;
}

/* The token in the file; where there is no file, a new one, which is written there. 0; -errno with a sentence. */
static int keep_token(const char *path, struct err *err, char ret[SERVE_TOKEN + 1])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int rc = fd < 0 ? -errno : read_token(fd, path, err, ret);
	if (fd >= 0)
		close(fd);
	if (rc != -ENOENT)
		return rc < 0 ? err_set(err, -rc, "cannot read '%s'", path) : 0;
	rc = serve_token_make(ret);
	fd = rc < 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	rc = rc < 0 ? rc : fd < 0 ? -errno : 0;
	if (rc == 0)
		rc = io_write(fd, ret, SERVE_TOKEN, NULL);
	if (rc == 0)
		rc = io_write(fd, "\n", 1, NULL);
	if (fd >= 0)
		close(fd);
	return rc < 0 ? err_set(err, -rc, "cannot write '%s'", path) : 0;
}

/* Prints where the server listens. For a program that waits for the server to be ready. */
static void print_address(void *arg, const char *address)
{
	(void)arg;
	printf("%s\n", address);
	fflush(stdout);
}

/* Reads the number of a port, 0 to 65535, in digits alone. */
static bool read_port(const char *text, unsigned *ret)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	*ret = (unsigned)n;
	return *text >= '0' && *text <= '9' && !*end && n <= 65535;
}

/* A status, reported. */
static int read_serve_options(const struct cmd *c, const struct opts_serve *o, struct serve_options *ret)
{
	if (c->n_operands)
		return report_usage(c, "serve takes no arguments");
	if (o->socket && (o->port || o->token))
		return report_usage(c, "--socket cannot be combined with --port or --token");
	if (o->port && !read_port(o->port, &ret->port))
		return report_usage(c, "--port: '%s' is not a port from 1 to 65535", o->port);
	if (o->timeout && (config_parse_duration(o->timeout, &ret->ns) < 0 || ret->ns < 1000000))
		return report_usage(c, "--timeout: '%s' is not a time such as 500ms or 60s", o->timeout);
	if (o->memory && (amount_parse_size(o->memory, &ret->memory) < 0 || ret->memory < LEAST_MEMORY))
		return report_usage(c, "--memory must be a size of at least 64M, not '%s'", o->memory);
	return STATUS_OK;
}

/* Gives the exit status. Serves until it is told to end. */
int cmd_serve(struct cmd *c, const struct opts_serve *o)
{
	struct err err = {0};
	char token[SERVE_TOKEN + 1];
	struct serve_options s = {
	    .home = cmd_home(c), .socket = o->socket, .ns = 10000000000, .memory = 1ull << 30, .ready = print_address};
	int status = read_serve_options(c, o, &s);
	if (status == STATUS_OK)
		status = cmd_store_exists(c);
	if (status != STATUS_OK)
		return status;
	int rc = o->token ? keep_token(o->token, &err, token) : 0;
	s.token = o->token ? token : NULL;
	rc = rc < 0 ? rc : serve_run(&s, &err);
	explicit_bzero(token, sizeof(token));
	return rc < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
}
