/* err.h - the one human sentence of a failure.
 *
 * Functions return 0 or -errno (or a count); the sentence is set once, at the deepest place that knows it, and printed
 * by cmd/ as "stemma: <sentence>". A struct err belongs to its caller, needs no release, and may be NULL everywhere. */
#ifndef STEMMA_BASE_ERR_H
#define STEMMA_BASE_ERR_H

struct err {
	char text[512];
	char hint[256]; /* one line the user can act on, or "" */
};

/* Sets err's text to the formatted sentence and returns -errnum. With errnum > 0, ": " and its description follow.
 * Later calls on an err already set change nothing: the deepest sentence stays. */
int err_set(struct err *err, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void err_clear(struct err *err);

#endif
