/* settings.h - what the daemon is told by its file and its options. A slip in the file is said and has no effect: the
 * daemon starts, and records. Read again, a file with a slip changes nothing: a limit that was set would be the default
 * then. */
#ifndef STEMMA_DAEMON_SETTINGS_H
#define STEMMA_DAEMON_SETTINGS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SETTINGS_FILE "/etc/stemma/stemmad.conf"

enum setting {
#define SETTING(name, type, def, when, meaning) SETTING_##name,
#include "daemon/settings.def"
	SETTING_COUNT
};

struct settings {
	char *value[SETTING_COUNT]; /* NULL: the default; of a list: lines */
};

/* path NULL: SETTINGS_FILE, which need not be there. say(arg, line) for each slip, with its place. 0, -errno with a
 * sentence. */
int settings_read(struct settings *s, const char *path, void (*say)(void *arg, const char *line), void *arg,
                  struct err *err);
/* "key=value". 0, -EINVAL with a sentence, -ENOMEM. */
int settings_set(struct settings *s, const char *line, struct err *err);
void settings_release(struct settings *s);
/* What is in force from the start to the end (folders, what is kept, what is watched) stays that of `now` in `s`. Calls
 * say(arg, line) for each that `s` had otherwise. 0, -ENOMEM. */
int settings_keep(struct settings *s, const struct settings *now, void (*say)(void *arg, const char *line), void *arg);

const char *settings_text(const struct settings *s, enum setting k);
/* A number, bytes, ns, or a part of 1, by its type. */
double settings_figure(const struct settings *s, enum setting k);
/* Calls each(arg, item) for the items of a list. */
void settings_list(const struct settings *s, enum setting k, void (*each)(void *arg, const char *item), void *arg);

#endif
