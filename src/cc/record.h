/* record.h - makes the record of one compiler's command, and writes it to the log. Everything is looked at after the
 * command has ended; nothing here changes what it made. */
#ifndef STEMMA_CC_RECORD_H
#define STEMMA_CC_RECORD_H

#include "base/err.h"
#include "cc/args.h"

#include <stdint.h>

struct record {
	const char *home;  /* of the record */
	const char *cache; /* folder on local disk for what is kept between commands; NULL none */
	char *const *argv; /* as it was given, from the compiler on */
	const struct args *args;
	const char *compiler; /* its path */
	const void *tape;     /* entries, NULL: nothing was seen */
	size_t ntape;
	uint64_t lost;             /* entries for which there was no room */
	int64_t began, ended;      /* ns since 1970 */
	int status;                /* of wait */
	const unsigned char *note; /* BUILD_NOTE_BYTES, NULL none */
	const char *note_path;     /* the file that brought it, which is no input */
	const char *brought;       /* folder of what else was brought along, which is no input either; NULL none */
	/* What another compiler read, whose objects took the place of sources: its path, and the files; NULL none. */
	const char *beside;
	char *const *beside_read; /* absolute, NULL-terminated */
};

/* Collects what a build has read and made, and writes its record. 0 or -errno, with a sentence that nobody needs to
 * hear. */
int record_write(const struct record *r, struct err *err);

#endif
