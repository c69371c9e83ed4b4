/* handed.c - a store as an open file (the daemon of a node hands over a copy of what the asker may see). It has no name
 * that the asker could open, so SQLite is given its pages as memory: mapped, so that only those are read that are asked
 * for. */
#include "store/store_int.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int store_open_fd(int fd, struct err *err, struct store **ret)
{
	enum { WRITE_VERSION = 18, READ_VERSION = 19, HEADER = 100 };
	struct store *s = calloc(1, sizeof(*s));
	struct stat st;
	int r = !s ? -ENOMEM : fstat(fd, &st) < 0 ? -errno : st.st_size < HEADER ? -EBADMSG : 0;
	if (r == 0) {
		void *map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
		if (map == MAP_FAILED) {
			r = -errno;
		} else {
			s->handed = map;
			s->handed_size = (size_t)st.st_size;
			/* It was written with a log beside it, which is folded in; memory has none. */
			s->handed[WRITE_VERSION] = s->handed[READ_VERSION] = 1;
			s->home = strdup("(node)");
			s->index = strdup("(node)");
			r = s->home && s->index ? store_db_open(s, s->index, false, false, err) : -ENOMEM;
		}
	}
	close(fd);
	if (r < 0) {
		store_close(s);
		return err_set(err, -r, "cannot read the answer of the daemon of this node");
	}
	*ret = s;
	return 0;
}
