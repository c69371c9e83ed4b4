/* app_read.h - the reading side of app_format.h. What is read was written by a user's program, and is believed in
 * nothing: sizes and offsets are checked, texts are bounded. Pure: memory in, calls out. */
#ifndef STEMMA_CAPTURE_APP_READ_H
#define STEMMA_CAPTURE_APP_READ_H

#include "base/str.h"
#include "capture/app/app_format.h"

struct app_said {
	unsigned kind, flags; /* any */
	uint32_t tid;
	int64_t time, step;
	uint64_t id, activity, number, whole;
	struct str name, version, value; /* within the memory */
};
struct app_told {
	uint64_t dropped, image, pidns;
	int64_t started, born;
	uint32_t pid, serial;
	char run[32], tool[64]; /* NUL-terminated */
};
/* The header of a window of n bytes. False: it is none. */
bool app_read_head(const void *p, size_t n, struct app_told *ret);
/* Gives each whole entry, thread by thread; stops where `each` does not return 0, and returns that. */
int app_read_entries(const void *p, size_t n, int (*each)(void *arg, const struct app_said *), void *arg);

#endif
