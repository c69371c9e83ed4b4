#include "base/os/still.h"

#include "base/fileid.h"
#include "base/hex.h"
#include "base/os/elfid.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int still_holds(struct digest_cache *cache, int fd, const char *content)
{
	static const char build_id[] = "build-id:";
	if (!strncmp(content, build_id, sizeof(build_id) - 1)) {
		unsigned char id[ELFID_MAX];
		char hex[2 * ELFID_MAX + 1];
		int n = elfid_build_id(fd, id);
		return n < 0 ? n : n > 0 && !strcmp(hex_text(id, (size_t)n, hex), content + sizeof(build_id) - 1);
	}
	struct digest d;
	char text[DIGEST_TEXT];
	int r = digest_fd(cache, fd, &d, NULL);
	if (r < 0)
		return r;
	digest_text(&d, text);
	return !strcmp(text, content);
}

bool still_looks_so(const char *path, const struct still_print *print)
{
	struct fileid now;
	return fileid_get(AT_FDCWD, path, true, &now) == 0 && now.ino == print->ino && now.gen == print->gen &&
	       str_is(print->domain, now.domain->name ? now.domain->name : "") && now.st.stx_size == print->size &&
	       fileid_time(&now.st.stx_mtime) == print->mtime;
}

const char *still_changed_words(const struct still_seen *seen, const struct still_print *was)
{
	if (!seen->mode || seen->print_same)
		return NULL;
	return seen->size != was->size ? "its size" : seen->mtime != was->mtime ? "its time" : NULL;
}

/* Looks whether a file is still what it was: of an open regular file. STILL_UNKNOWN: without a digest it cannot be
 * told, unless the file's state is the same as in was->print. */
static enum still look_at_open(struct digest_cache *cache, int fd, const char *path, const struct stat *st,
                               const struct still_was *was, struct still_seen *seen)
{
	seen->mode = st->st_mode & 0777;
	seen->size = (uint64_t)st->st_size;
	seen->mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	seen->print_same = was->print && still_looks_so(path, was->print);
	if (!*was->content)
		return seen->print_same ? STILL_SAME : STILL_UNKNOWN;
	if (was->has_size && was->size != seen->size)
		return STILL_OTHER;
	int r = still_holds(cache, fd, was->content);
	return r < 0 ? STILL_UNKNOWN : r ? STILL_SAME : STILL_OTHER;
}

enum still still_look(struct digest_cache *cache, const char *path, const struct still_was *was, struct still_seen *ret)
{
	struct still_seen seen = {0};
	struct stat st;
	enum still found = *was->content || was->print ? STILL_OTHER : STILL_UNKNOWN;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		found = errno == ENOENT || errno == ENOTDIR ? STILL_GONE : STILL_UNKNOWN;
	else if (fstat(fd, &st) < 0)
		found = STILL_UNKNOWN;
	else if (S_ISREG(st.st_mode))
		found = look_at_open(cache, fd, path, &st, was, &seen);
	if (fd >= 0)
		close(fd);
	if (ret)
		*ret = seen;
	return found;
}
