/* What a command that is linked statically has instead of the C library's functions that load libraries. It was made
 * for another machine, and libraries of this one may want another C library than the one it has in itself: glibc then
 * ends the program or worse. So nothing is loaded, and who asks for a library is told that it is not there. Names of
 * users, which glibc finds by libraries too, are those that this machine's getent prints. */
#include "base/buf.h"
#include "base/child.h"

#include <dlfcn.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The declarations of the C library are its own. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { LINE_MOST = 65536, WAIT_MS = 5000 };

/* There are no libraries: always NULL, with the reason in dlerror. */
void *dlopen(const char *name, int mode)
{
	(void)name, (void)mode;
	return NULL;
}

/* Nothing was loaded: always NULL. */
void *dlsym(void *restrict handle, const char *restrict name)
{
	(void)handle, (void)name;
	return NULL;
}

/* Static; always the same reason. */
char *dlerror(void)
{
	static char text[] = "this stemma is statically linked and cannot load libraries";
	return text;
}

/* The line that getent has of a key, at most LINE_MOST bytes and waited for WAIT_MS, in *line, which the next call uses
 * again; NULL where there is none, or no getent. */
static FILE *entry_of(const char *database, const char *key, struct buf *line)
{
	static char name[] = "getent", dashes[] = "--";
	char base[16], what[256];
	if (snprintf(what, sizeof(what), "%s", key) >= (int)sizeof(what))
		return NULL;
	snprintf(base, sizeof(base), "%s", database);
	char *argv[] = {name, dashes, base, what, NULL};
	line->n = 0;
	child_read(
	    &(struct child){.argv = argv, .in = CHILD_NULL, .err = CHILD_NULL, .most = LINE_MOST, .limit_ms = WAIT_MS},
	    line);
	return line->n ? fmemopen(line->p, line->n, "r") : NULL;
}

/* The line of a user in the system's list. NULL: none. Valid until the next call. key: a name or a number. */
static struct passwd *user_of(const char *key)
{
	static struct buf line;
	FILE *f = entry_of("passwd", key, &line);
	struct passwd *ret = f ? fgetpwent(f) : NULL;
	if (f)
		fclose(f);
	return ret;
}

/* The line of a group in the system's list; as user_of. */
static struct group *group_of(const char *key)
{
	static struct buf line;
	FILE *f = entry_of("group", key, &line);
	struct group *ret = f ? fgetgrent(f) : NULL;
	if (f)
		fclose(f);
	return ret;
}

/* Writes n into ret in decimal; gives ret. */
static const char *number_text(unsigned n, char ret[16])
{
	snprintf(ret, 16, "%u", n);
	return ret;
}

/* Asks getent, since nothing can be loaded. Valid until the next call; NULL: there is none. */
struct passwd *getpwuid(uid_t uid)
{
	char key[16];
	return user_of(number_text(uid, key));
}

/* Asks getent, since nothing can be loaded. Valid until the next call; NULL: there is none. */
struct passwd *getpwnam(const char *name)
{
	return user_of(name);
}

/* Asks getent, since nothing can be loaded. Valid until the next call; NULL: there is none. */
struct group *getgrgid(gid_t gid)
{
	char key[16];
	return group_of(number_text(gid, key));
}

/* Asks getent, since nothing can be loaded. Valid until the next call; NULL: there is none. */
struct group *getgrnam(const char *name)
{
	return group_of(name);
}
