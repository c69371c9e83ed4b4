#include "base/os/host.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char processor[256];
static long processors;

/* A machine with two kinds of them has the first one's name. */
static void look_up_name(void)
{
	static const char key[] = "model name";
	char line[512];
	FILE *f = fopen("/proc/cpuinfo", "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *v = strncmp(line, key, strlen(key)) != 0 ? NULL : strchr(line, ':');
		if (!v)
			continue;
		v += 1 + strspn(v + 1, " \t");
		v[strcspn(v, "\n")] = '\0';
		snprintf(processor, sizeof(processor), "%s", v);
		break;
	}
	if (f)
		fclose(f);
}

/* Sets processors, 1 where the system does not say. */
static void look_up_number(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	processors = n > 0 ? n : 1;
}

const char *host_processor(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, look_up_name);
	return processor;
}

long host_processors(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, look_up_number);
	return processors;
}
