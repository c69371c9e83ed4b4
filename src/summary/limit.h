/* limit.h - what a task is to be held to, as users write it: `--limit memory=2G,wall=1h30m`, and files of such.
 *
 * Values: times 90, 90s, 1.5h, 2h30m, 1d, 500ms, 01:30:00; sizes in bytes or with K M G T P E (1024 each, as batch
 * systems have it; KiB the same; KB MB GB are 1000 each); counts 100, 10k. No allocation, no globals. */
#ifndef STEMMA_SUMMARY_LIMIT_H
#define STEMMA_SUMMARY_LIMIT_H

#include "base/buf.h"
#include "base/err.h"
#include "summary/summary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum limit_name {
#define LIMIT(id, word, kind, figure, least, meaning) LIMIT_##id,
#define ALIAS(word, id, unit)
#include "summary/limit.def"
	LIMITS
};

struct limits {
	bool given[LIMITS];
	int64_t value[LIMITS]; /* ns, bytes, count, thousandths: as the figure that it is held against */
};

/* Adds the limits of a text "name=value,name=value". A name that is there already with another value is a
 * contradiction, and an error; so is an unknown name or unit, a value that no task could keep. 0 or -EINVAL with a
 * sentence, and *limits as it was. */
int limits_parse(struct limits *limits, const char *text, struct err *err);
/* Adds those of a file's text: lines "name = value" or resource_monitor's "name: value", # comments. `file` is for the
 * sentence. -EINVAL with a sentence, and *limits as it was. */
int limits_parse_file(struct limits *limits, const char *text, size_t n, const char *file, struct err *err);
/* Reads the file and adds its. At most 64 KiB. 0 or -errno with a sentence. */
int limits_read_file(struct limits *limits, const char *file, struct err *err);
/* Those that `over` has take the place of what *limits has. */
void limits_override(struct limits *limits, const struct limits *over);
bool limits_any(const struct limits *limits);

/* "10s", "2m": the time of a limit, for --grace. 0 or -EINVAL with a sentence. */
int limits_parse_time(const char *text, struct err *err, int64_t *ret);

/* -ENOENT: no limit is called so. */
/* The limit of that name; -ENOENT: no limit is called so. */
int limit_by_name(const char *name);

const char *limit_key(enum limit_name l);     /* "open-files" */
const char *limit_meaning(enum limit_name l); /* "open descriptors of all processes together" */
enum figure_name limit_figure(enum limit_name l);
/* Appends a value for people: "1 h 30 min", "200 MiB", "100". */
void limit_show(struct buf *out, enum limit_name l, int64_t value);

#endif
