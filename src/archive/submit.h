/* submit.h - summaries that others measured, taken into the record: sessions of the log that record no run.
 *
 * A summary that is here already (the same text, or of a run that has one) is passed over, and so is one of a run that
 * was forgotten. What looks secret in a command is redacted as in what is recorded here. Memory: about 1 MiB of text at
 * a time, where the text has one summary after the other, each beginning a line. */
#ifndef STEMMA_ARCHIVE_SUBMIT_H
#define STEMMA_ARCHIVE_SUBMIT_H

#include "base/err.h"
#include "store/store.h"

struct submit_report {
	size_t read, added, repeated, forgotten;
};
struct submit;
/* Begins to add summaries of other monitors to the record. home: where the logs are; s: the store, up to date, or
 * NULL where nothing was recorded yet. set: the description that goes with all, "" none. 0 or -errno with a
 * sentence. */
int submit_open(const char *home, struct store *s, const char *set, struct err *err, struct submit **ret);
/* Adds all summaries of a text, in any form that summary/read_any.h takes. Where it is wrong in the middle, what
 * stood before in other parts may have been added; ret says how many. 0 or -errno with a sentence. */
int submit_text(struct submit *u, const char *text, size_t n, struct err *err, struct submit_report *ret);
/* Makes it durable, and frees. 0 or -errno with a sentence. */
int submit_close(struct submit *u, struct err *err);

#endif
