/* slow-end.c - preloaded into `stemma run`: what its worker does last takes long, as on a machine with hundreds of
 * programs a processor. Its first thread burns SLOW_END seconds of processor time before the worker hands the summary
 * over. */
#undef _FILE_OFFSET_BITS /* which makes one of pwrite and pwrite64 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void burn(void)
{
	static int done;
	char name[17] = "";
	const char *seconds = getenv("SLOW_END");
	prctl(PR_GET_NAME, name);
	if (done || !seconds || strcmp(name, "stemma-worker") != 0)
		return;
	done = 1;
	struct timespec from, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec - from.tv_sec < atoi(seconds));
}

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	burn();
	return syscall(SYS_pwrite64, fd, p, n, at);
}

__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
	burn();
	return syscall(SYS_pwrite64, fd, p, n, at);
}
