#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int errnum, const char *fmt, ...)
{
	if (err && !err->text[0]) {
		va_list ap;
		va_start(ap, fmt);
		int n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		if (errnum > 0 && n >= 0 && (size_t)n < sizeof(err->text) - 2)
			snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %s", strerror(errnum));
	}
	return errnum > 0 ? -errnum : -1;
}

/* Sets err's hint, unless it has one. err may be NULL. */
void err_hint(struct err *err, const char *fmt, ...)
{
	if (!err || err->hint[0])
		return;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
}

/* err may be NULL. */
void err_clear(struct err *err)
{
	if (err)
		err->text[0] = err->hint[0] = '\0';
}
