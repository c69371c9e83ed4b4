#include "capture/count/totals.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Adds what a file of /proc says was read and written. False: it cannot be read; nothing is added. */
static bool add_totals(const char *name, uint64_t *read_bytes, uint64_t *written)
{
	char text[512];
	if (!io_text(name, text, sizeof(text)))
		return false;
	const char *r = strstr(text, "rchar: "), *w = strstr(text, "wchar: ");
	if (!r || !w)
		return false;
	*read_bytes += strtoull(r + 7, NULL, 10);
	*written += strtoull(w + 7, NULL, 10);
	return true;
}

bool totals_of(pid_t pid, bool first_thread, uint64_t *ret_read, uint64_t *ret_written)
{
	char name[64];
	snprintf(name, sizeof(name), first_thread ? "/proc/%d/task/%d/io" : "/proc/%d/io", pid, pid);
	*ret_read = *ret_written = 0;
	return add_totals(name, ret_read, ret_written);
}

bool totals_of_threads(pid_t pid, uint64_t n, uint64_t *ret_read, uint64_t *ret_written)
{
	char name[64];
	uint64_t found = 0;
	*ret_read = *ret_written = 0;
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	DIR *d = opendir(name);
	bool all = d;
	for (struct dirent *e; all && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "/proc/%d/task/%.12s/io", pid, e->d_name);
		all = add_totals(name, ret_read, ret_written);
		found++;
	}
	if (d)
		closedir(d);
	return all && found == n;
}

bool totals_waits(pid_t pid)
{
	static const int calls[] = {0, 7, 23, 35, 56, 58, 61, 230, 232, 247, 270, 271, 281, 435};
	char name[64], text[256];
	snprintf(name, sizeof(name), "/proc/%d/syscall", pid);
	if (!io_text(name, text, sizeof(text)) || text[0] < '0' || text[0] > '9')
		return false;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i] == atoi(text))
			return true;
	return false;
}

/* Does a thread wait for another one of the process, without a limit? The kernel says which call it is in. */
static bool thread_waits_for_other(pid_t pid, const char *tid)
{
	enum { FUTEX = 202, WAIT = 0, WAIT_BITSET = 9, OPERATION = 0x7f };
	char name[64], text[256];
	unsigned long long operation, timeout;
	long nr;
	snprintf(name, sizeof(name), "/proc/%d/task/%.12s/syscall", pid, tid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH; /* it has ended */
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return errno == ESRCH;
	text[n] = '\0';
	if (sscanf(text, "%ld 0x%*x 0x%llx 0x%*x 0x%llx", &nr, &operation, &timeout) != 3 || nr != FUTEX)
		return false;
	return timeout == 0 && ((operation & OPERATION) == WAIT || (operation & OPERATION) == WAIT_BITSET);
}

bool totals_stand(pid_t pid, pid_t tid)
{
	enum { TRIES = 20, PAUSE_NS = 50000 };
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	char name[48];
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	for (int i = 0; i < TRIES; i++) {
		DIR *d = opendir(name);
		bool idle = d;
		for (struct dirent *e; idle && (e = readdir(d));)
			idle = e->d_name[0] == '.' || atoi(e->d_name) == tid || thread_waits_for_other(pid, e->d_name);
		if (d)
			closedir(d);
		if (idle)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}
