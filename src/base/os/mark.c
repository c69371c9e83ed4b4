#include "base/os/mark.h"

#include "base/buf.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY = 32, ULID_CHARS = 26, LINE = ULID_CHARS + 1 + 32 + 1 };

/* ---- the hash ---- */

/* The number that 8 bytes are. Of 8 bytes, little-endian. */
static uint64_t load64(const unsigned char *p)
{
	uint64_t v = 0;
	for (int i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

/* Rotates x. To the left; by from 1 to 63. */
static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

/* One round of SipHash on its state. */
static void sip_round(uint64_t v[4])
{
	v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
	v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
}

/* SipHash-2-4 of n bytes under a key of 16. */
static uint64_t mark_siphash(const unsigned char key[16], const void *p, size_t n)
{
	uint64_t k0 = load64(key), k1 = load64(key + 8);
	uint64_t v[4] = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
	                 k1 ^ 0x7465646279746573};
	const unsigned char *b = p;
	for (size_t at = 0;; at += 8) {
		unsigned char last[8] = {0};
		bool whole = at + 8 <= n;
		if (!whole) {
			if (n > at)
				memcpy(last, b + at, n - at);
			last[7] = (unsigned char)n;
		}
		uint64_t m = load64(whole ? b + at : last);
		v[3] ^= m;
		sip_round(v);
		sip_round(v);
		v[0] ^= m;
		if (!whole)
			break;
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- the key ---- */

/* Reads the key of this user. 0; -ENOENT: there is none; -EPERM: it is not a file of KEY bytes that belongs to this
 * user and only this user can read. */
static int read_key(const char *path, unsigned char ret[KEY])
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	bool mine = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077) &&
	            st.st_size == KEY && io_pread(fd, ret, KEY, 0) == KEY;
	close(fd);
	return mine ? 0 : -EPERM;
}

/* Whoever is first makes it; the others read what that one made. 0, -EIO, -EPERM as read_key, -errno. */
static int make_key(const char *folder, const char *path, unsigned char ret[KEY])
{
	char *temporary = NULL;
	int rc = io_mkdirs(folder, 0700), fd = -1;
	if (rc == 0 && getrandom(ret, KEY, 0) != KEY)
		rc = -EIO;
	if (rc == 0 && asprintf(&temporary, "%s/.key.XXXXXX", folder) < 0)
		return -ENOMEM;
	if (rc == 0 && (fd = mkostemp(temporary, O_CLOEXEC)) < 0)
		rc = -errno;
	if (fd >= 0) {
		rc = io_write(fd, ret, KEY, NULL);
		close(fd);
		if (rc == 0 && link(temporary, path) < 0)
			rc = errno == EEXIST ? read_key(path, ret) : -errno;
		unlink(temporary);
	}
	free(temporary);
	return rc;
}

/* A home that does not exist is not made: HOME may be a name that means "none". */
static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Finds this user's key, with which marks are made. make: if there is none. 0; -ENOENT: there is none, or no home
 * that it could be in; as read_key and make_key. */
static int get_key(bool make, unsigned char ret[KEY])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	struct buf folder = {0}, path = {0};
	if (state && *state == '/')
		buf_printf(&folder, "%s/stemma", state);
	else if (home && *home == '/' && is_folder(home))
		buf_printf(&folder, "%s/.local/state/stemma", home);
	else
		return -ENOENT;
	buf_printf(&path, "%s/key", buf_cstr(&folder));
	int rc = folder.failed || path.failed ? -ENOMEM : read_key(buf_cstr(&path), ret);
	if (rc == -ENOENT && make)
		rc = make_key(buf_cstr(&folder), buf_cstr(&path), ret);
	buf_release(&folder);
	buf_release(&path);
	return rc;
}

/* ---- the mark ---- */

/* Appends "LENGTH:BYTES", so that two texts after one another cannot be taken for others. */
static void append_netstring(struct buf *b, struct str s)
{
	buf_printf(b, "%zu:", s.n);
	buf_str(b, s);
}

/* The line that stands for the run: its id and a keyed hash of what is in w. 0; -EINVAL: the id is none; as get_key. */
static int format_mark(bool make, const struct mark_what *w, char ret[LINE + 1])
{
	unsigned char key[KEY];
	char machine[64] = "";
	struct buf b = {0};
	int rc = strlen(w->run) == ULID_CHARS ? get_key(make, key) : -EINVAL;
	if (rc < 0)
		return rc;
	if (!io_text("/etc/machine-id", machine, sizeof(machine)) && gethostname(machine, sizeof(machine) - 1) < 0)
		machine[0] = '\0';
	append_netstring(&b, str_of(w->run));
	append_netstring(&b, str_of(machine));
	buf_printf(&b, "%lu:%zu:", (unsigned long)geteuid(), w->argc);
	append_netstring(&b, w->cwd);
	for (size_t i = 0; i < w->argc; i++)
		append_netstring(&b, w->argv[i]);
	/* A sum does not depend on the order; without the key nobody finds other variables of the same sum. */
	for (int k = 0; k < 2; k++) {
		uint64_t sum = w->envc;
		for (size_t i = 0; i < w->envc; i++)
			sum += mark_siphash(key + 16 * k, w->env[i].p, w->env[i].n);
		buf_printf(&b, "%016llx:", (unsigned long long)sum);
	}
	if (!b.failed)
		snprintf(ret, LINE + 1, "%.26s %016llx%016llx\n", w->run, (unsigned long long)mark_siphash(key, b.p, b.n),
		         (unsigned long long)mark_siphash(key + 16, b.p, b.n));
	rc = b.failed ? -ENOMEM : 0;
	buf_release(&b);
	explicit_bzero(key, sizeof(key));
	return rc;
}

int mark_put(const char *home, const struct mark_what *w)
{
	char line[LINE + 1], path[4096];
	int rc = format_mark(true, w, line);
	if (rc < 0)
		return rc;
	if (snprintf(path, sizeof(path), "%s/marks", home) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
	if (fd < 0)
		return -errno;
	rc = io_write(fd, line, LINE, NULL);
	close(fd);
	return rc;
}

bool mark_has(const char *home, const struct mark_what *w)
{
	char line[LINE + 1], path[4096], read[LINE + 2];
	if (format_mark(false, w, line) < 0 || snprintf(path, sizeof(path), "%s/marks", home) >= (int)sizeof(path))
		return false;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	bool found = false;
	if (!f && fd >= 0)
		close(fd);
	while (f && !found && fgets(read, sizeof(read), f))
		found = !strcmp(read, line);
	if (f)
		fclose(f);
	return found;
}
