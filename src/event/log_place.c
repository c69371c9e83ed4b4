#include "event/log_place.h"

#include <string.h>
#include <unistd.h>

void log_place_host(const char *name, char ret[LOG_PLACE_HOST])
{
	static const char dot[] = "%2E";
	size_t n = 0;
	if (!*name)
		name = "localhost";
	if (*name == '.') {
		memcpy(ret, dot, sizeof(dot) - 1);
		n = sizeof(dot) - 1;
		name++;
	}
	for (; *name && n < LOG_PLACE_HOST - 1; name++)
		ret[n++] = *name == '/' ? '_' : *name;
	ret[n] = '\0';
}

void log_place_own_host(char ret[LOG_PLACE_HOST])
{
	char name[LOG_PLACE_HOST] = "";
	gethostname(name, sizeof(name) - 1);
	log_place_host(name, ret);
}

bool log_place_hidden(const char *name, unsigned depth)
{
	/* Some file systems show their snapshots in every folder. */
	static const char *const never[] = {".", "..", ".snapshot", ".snapshots", ".zfs"};
	if (name[0] != '.')
		return false;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (!strcmp(name, never[i]))
			return true;
	return depth > 1;
}

const char *log_place_day(const char *path)
{
	const char *at = strrchr(path, '/');
	while (at && at > path && at[-1] != '/')
		at--;
	return at && *at != '/' ? at : "";
}

bool log_place_received(const char *path)
{
	static const char import[] = LOG_PLACE_IMPORT "/", collected[] = LOG_PLACE_COLLECTED;
	const char *day = log_place_day(path);
	return !strncmp(day, collected, sizeof(collected) - 1) || !strncmp(day, import, sizeof(import) - 1);
}
