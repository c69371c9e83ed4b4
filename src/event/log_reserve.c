#include "event/log_reserve.h"

#include <errno.h>
#include <fcntl.h>

/* Blocks beyond the end of the file, whose size stays. 0 or -errno. */
static int allocate(int fd, uint64_t from, uint64_t n)
{
	int r;
	do
		r = fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)n);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

int log_reserve_keep(struct log_reserve *r, int fd, uint64_t size, size_t n)
{
	if (size + n + LOG_RESERVE <= r->until)
		return 0;
	int rc = allocate(fd, size, n + LOG_RESERVE + LOG_AHEAD);
	if (rc == 0) {
		r->until = size + n + LOG_RESERVE + LOG_AHEAD;
		return 0;
	}
	/* Not so much; or past the limit of a file's size, which is no matter of room. */
	if (rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG)
		rc = allocate(fd, size, n + LOG_RESERVE);
	if (rc == 0)
		r->until = size + n + LOG_RESERVE;
	else if (rc != -ENOSPC && rc != -EDQUOT && rc != -EFBIG)
		r->until = UINT64_MAX;
	return rc == -ENOSPC || rc == -EDQUOT ? rc : 0;
}
