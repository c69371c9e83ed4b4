/* show_build.h - how a file was built, for `stemma show`. */
#ifndef STEMMA_CMD_SHOW_SHOW_BUILD_H
#define STEMMA_CMD_SHOW_SHOW_BUILD_H

#include "cmd/ui/js_print.h"

struct show_build {
	struct cmd *c;
	bool all, bytes;
	bool sources; /* look whether they are what they were */
	bool differs; /* some are not: set by what follows */
	bool after;   /* something was printed before */
};

/* Of the file at the path, or of the record with the public id (b...). list: JSON, NULL text. 1: it was shown, 0: there
 * is nothing to tell, or -errno. */
int show_build_file(struct show_build *w, const char *path, json_t *list, struct err *err);
int show_build_record(struct show_build *w, const char *pub, json_t *list, struct err *err);
/* Is it worth asking? A program, a library, an object, an archive. */
bool show_build_could(const char *path);

#endif
