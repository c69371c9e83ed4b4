/* when.h - a moment as people write it. */
#ifndef STEMMA_QUERY_FIND_WHEN_H
#define STEMMA_QUERY_FIND_WHEN_H

#include <stdint.h>

/* 2026-11-21, 2026-11-21T12:13, ...:05, ...:05.25, each with Z, +01:00 or nothing for local time (a blank may stand for
 * the T); now, today, yesterday; 90s, 15m, 2h, 3d, 1w ago (with or without "ago"). `now` in ns. 0, or -EINVAL. */
int when_parse(const char *text, int64_t now, int64_t *ret);

#endif
