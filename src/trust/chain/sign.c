#include "trust/chain/sign.h"

#include "base/buf.h"
#include "base/child.h"
#include "base/io.h"
#include "base/os/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX 65536

/* Runs it with `in` as its standard input; what it prints is in out. The exit status, or -errno. */
static int run_signer(char *const argv[], const char *in, struct buf *out, struct err *err)
{
	int from = memfile_new("text");
	int rc = from < 0 ? from : io_write(from, in, strlen(in), NULL);
	if (rc == 0 && lseek(from, 0, SEEK_SET) < 0)
		rc = -errno;
	if (rc == 0)
		rc = child_read(&(struct child){.argv = argv, .in = from, .err = CHILD_PRINTS, .most = OUTPUT_MAX}, out);
	if (from >= 0)
		close(from);
	if (rc < 0)
		return err_set(err, -rc, rc == -ENOENT ? "cannot start %s (Debian: openssh-client)" : "cannot start %s",
		               argv[0]);
	return WIFEXITED(rc) ? WEXITSTATUS(rc) : 255;
}

/* Cuts b's text behind it. Points into b. */
static const char *first_line(struct buf *b)
{
	const char *p = buf_cstr(b);
	size_t n = strcspn(p, "\r\n");
	if (b->p)
		b->p[n] = '\0';
	return p;
}

int sign_text(const char *space, const char *key, const char *text, struct err *err, char **ret)
{
	struct buf out = {0};
	char *const argv[] = {(char *)"ssh-keygen", (char *)"-q",  (char *)"-Y", (char *)"sign", (char *)"-f", (char *)key,
	                      (char *)"-n",         (char *)space, NULL};
	int rc = run_signer(argv, text, &out, err);
	const char *from = rc == 0 ? strstr(buf_cstr(&out), "-----BEGIN SSH SIGNATURE-----") : NULL;
	if (rc >= 0 && !from) {
		err_set(err, 0, "the key '%s' does not sign: %s", key, first_line(&out));
		rc = -EKEYREJECTED;
	}
	if (rc == 0 && !(*ret = strdup(from)))
		rc = err_set(err, ENOMEM, "cannot sign");
	buf_release(&out);
	return rc;
}

int sign_check(const char *space, const char *allowed, const char *identity, const char *text, const char *signature,
               struct err *err)
{
	struct buf out = {0};
	char path[40], *who = NULL;
	int fd = memfile_new("signature");
	/* The program opens it by name. */
	if (fd < 0 || fcntl(fd, F_SETFD, 0) < 0 || io_write(fd, signature, strlen(signature), NULL) < 0) {
		if (fd >= 0)
			close(fd);
		return err_set(err, errno, "cannot check a signature");
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int rc = 0;
	if (!identity) {
		char *const find[] = {
		    (char *)"ssh-keygen", (char *)"-q",    (char *)"-Y", (char *)"find-principals", (char *)"-s", path,
		    (char *)"-f",         (char *)allowed, NULL};
		rc = run_signer(find, "", &out, err);
		if (rc > 0) {
			err_set(err, 0, "it is not signed by anyone in '%s'", allowed);
			rc = -EKEYREJECTED;
		}
		who = rc == 0 ? strdup(first_line(&out)) : NULL;
		buf_reset(&out);
	}
	if (rc == 0) {
		char *const argv[] = {(char *)"ssh-keygen",
		                      (char *)"-q",
		                      (char *)"-Y",
		                      (char *)"verify",
		                      (char *)"-n",
		                      (char *)space,
		                      (char *)"-f",
		                      (char *)allowed,
		                      (char *)"-I",
		                      identity ? (char *)identity : who,
		                      (char *)"-s",
		                      path,
		                      NULL};
		rc = run_signer(argv, text, &out, err);
		if (rc > 0)
			err_set(err, 0, "the signature is invalid: %s", first_line(&out));
	}
	buf_release(&out);
	free(who);
	close(fd);
	return rc == -EKEYREJECTED || rc > 0 ? 0 : rc < 0 ? rc : 1;
}
