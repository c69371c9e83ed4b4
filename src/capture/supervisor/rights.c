#include "capture/supervisor/rights.h"
#include "base/io.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Does this line of two status files say the same? It is in each. */
static bool same_line(const char *ours, const char *theirs, const char *name)
{
	const char *a = strstr(ours, name), *b = strstr(theirs, name);
	if (!a || !b)
		return false;
	size_t n = strcspn(a + 1, "\n"); /* the name begins with a new line */
	return n == strcspn(b + 1, "\n") && !memcmp(a + 1, b + 1, n);
}

/* Is the process in this process's namespace of that kind (a name below /proc/PID/ns)? False, too, where it cannot
 * be told. */
static bool same_namespace(pid_t pid, const char *name)
{
	char ours[48], theirs[48];
	struct stat a, b;
	snprintf(ours, sizeof(ours), "/proc/self/ns/%s", name);
	snprintf(theirs, sizeof(theirs), "/proc/%d/ns/%s", pid, name);
	return stat(ours, &a) == 0 && stat(theirs, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool rights_are_ours(pid_t pid)
{
	static const char *const lines[] = {
	    "\nUid:", "\nGid:", "\nGroups:", "\nCapInh:", "\nCapPrm:", "\nCapEff:", "\nCapBnd:"};
	static const char *const namespaces[] = {"user", "pid", "mnt", "net"};
	char path[32], ours[4096], theirs[4096];
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (!io_text("/proc/self/status", ours, sizeof(ours)) || !io_text(path, theirs, sizeof(theirs)))
		return false;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!same_line(ours, theirs, lines[i]))
			return false;
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
		if (!same_namespace(pid, namespaces[i]))
			return false;
	return true;
}
