#include "export/package.h"

#include "base/child.h"

#include <stdio.h>
#include <string.h>

#define PATH_ROOM 4096
#define WAIT_MS 10000 /* a busy disk: the list of all files of all packages is read */

/* The first line that a command prints; "" where it fails. */
static void ask_dpkg(char *const *argv, char *ret, size_t n)
{
	struct buf printed = {0};
	struct child c = {.argv = argv, .most = n - 1, .limit_ms = WAIT_MS};
	int rc = child_read(&c, &printed);
	snprintf(ret, n, "%s", rc == 0 ? buf_cstr(&printed) : "");
	ret[strcspn(ret, "\r\n")] = '\0';
	buf_release(&printed);
}

bool package_version(struct str path, char *ret, size_t n)
{
	char name[PATH_ROOM], line[PATH_ROOM + 256] = "";
	ret[0] = '\0';
	if (!path.n || path.n >= sizeof(name) || path.p[0] != '/')
		return false;
	memcpy(name, path.p, path.n);
	name[path.n] = '\0';
	if (strlen(name) != path.n || strpbrk(name, "*?[\\\r\n"))
		return false;
	/* What a package put into /bin lies in /usr/bin on most systems. */
	const char *const names[] = {name, strncmp(name, "/usr/", 5) == 0 ? name + 4 : NULL};
	for (unsigned i = 0; i < 2 && names[i] && !line[0]; i++) {
		char *ask[] = {(char *)"dpkg-query", (char *)"-S", (char *)names[i], NULL};
		ask_dpkg(ask, line, sizeof(line));
	}
	char *colon = strstr(line, ": ");
	if (!colon || strchr(line, ',') || line[0] == '-')
		return false;
	*colon = '\0';
	char *of[] = {(char *)"dpkg-query", (char *)"-W", (char *)"-f=${Version}", line, NULL};
	ask_dpkg(of, ret, n);
	return ret[0] != '\0';
}
