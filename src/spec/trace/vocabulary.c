#include "spec/trace/vocabulary.h"

#include "base/hash.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* w is empty then. */
void vocabulary_release(struct vocabulary *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
	free(w->slot);
	*w = (struct vocabulary){0};
}

/* Makes the table of words larger. 0, -ENOMEM; nothing is lost then. */
static int vocabulary_grow(struct vocabulary *w)
{
	uint32_t size = w->slot ? 2 * (w->mask + 1) : 256;
	uint32_t *slot = calloc(size, sizeof(*slot));
	char **v = realloc(w->v, size / 2 * sizeof(*v));
	if (v)
		w->v = v;
	if (!slot || !v) {
		free(slot);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t at = (uint32_t)hash_bytes(v[i], strlen(v[i])) & (size - 1);
		while (slot[at])
			at = (at + 1) & (size - 1);
		slot[at] = i + 1;
	}
	free(w->slot);
	w->slot = slot;
	w->mask = size - 1;
	w->cap = size / 2;
	return 0;
}

int vocabulary_number(struct vocabulary *w, const char *p, size_t n, uint32_t *ret)
{
	if (w->n == w->cap) {
		int r = vocabulary_grow(w);
		if (r < 0)
			return r;
	}
	uint32_t at = (uint32_t)hash_bytes(p, n) & w->mask;
	while (w->slot[at] && (strncmp(w->v[w->slot[at] - 1], p, n) != 0 || w->v[w->slot[at] - 1][n]))
		at = (at + 1) & w->mask;
	if (!w->slot[at]) {
		w->v[w->n] = strndup(p, n);
		if (!w->v[w->n])
			return -ENOMEM;
		w->slot[at] = ++w->n;
	}
	*ret = w->slot[at] - 1;
	return 0;
}

int vocabulary_load_text(const char *path, size_t most, struct err *err, char **ret, size_t *ret_n)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		int r = -errno;
		if (fd >= 0)
			close(fd);
		return err_set(err, -r, "cannot read '%s'", path);
	}
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size > most) {
		close(fd);
		return err_set(err, S_ISREG(st.st_mode) ? EFBIG : EINVAL, "cannot read '%s'", path);
	}
	char *p = malloc((size_t)st.st_size + 1);
	ssize_t n = p ? io_pread(fd, p, (size_t)st.st_size, 0) : -ENOMEM;
	close(fd);
	if (n < 0) {
		free(p);
		return err_set(err, (int)-n, "cannot read '%s'", path);
	}
	*ret = p;
	*ret_n = (size_t)n;
	return 0;
}

int vocabulary_report_text(int r, const char *path, const struct err *why, struct err *err)
{
	if (r == -EBADMSG)
		err_set(err, 0, "'%s': %s", path, why->text);
	return r < 0 && r != -EBADMSG ? err_set(err, -r, "cannot read '%s'", path) : r;
}
