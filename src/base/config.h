/* config.h - the settings of config.def and where each value came from.
 *
 * Precedence, least first: the default, .stemma/config of the nearest directory from here upwards (the project's file),
 * /etc/stemma.conf, $XDG_CONFIG_HOME/stemma/config (~/.config/stemma/config), the STEMMA_* variable, an option. A file
 * holds lines `key = value`; `#` begins a comment line.
 *
 * A project's file comes with a project that somebody else may have written. It may set what config.def gives to
 * projects; what else it sets is ignored, and one line names it. The file, its folder .stemma and the folder above must
 * belong to the user or to root and must not be symbolic links, else the file is ignored. A project that the user names
 * in `projects` may set everything but `projects` itself, and its settings come after the user's file.
 *
 * Nothing wrong in a file or variable is a failure: it is said through `warn` and has no effect, so that a slip in a
 * setting never stops a job. Values belong to the config. */
#ifndef STEMMA_BASE_CONFIG_H
#define STEMMA_BASE_CONFIG_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum config_key {
#define CONFIG(key, env, type, def, scope, values, meaning) CONFIG_##key,
#include "base/config.def"
#undef CONFIG
	CONFIG_COUNT
};

struct config {
	char *value[CONFIG_COUNT]; /* NULL: the default holds */
	char *origin[CONFIG_COUNT];
};

typedef void config_warn(void *arg, const char *line);

/* Reads all files and variables. 0 or -ENOMEM. */
int config_load(struct config *c, config_warn *warn, void *arg);
/* As config_load, from one file only; a missing file is fine. base: what relative paths are relative to. */
int config_load_file(struct config *c, const char *path, const char *base, config_warn *warn, void *arg);
/* Sets one value, over what is there. -EINVAL with a sentence if the value is not one of the key's. */
/* Is it a value of that setting? config_set: value and origin are copied. 0; -EINVAL: it is none; -ENOMEM; with a
 * sentence. */
bool config_allows(enum config_key key, const char *value);
int config_set(struct config *c, enum config_key key, const char *value, const char *origin, struct err *err);
void config_release(struct config *c);

/* Never NULL. */
const char *config_get(const struct config *c, enum config_key key);
const char *config_origin(const struct config *c, enum config_key key); /* "default", a file, a variable, "option" */
int64_t config_duration(const struct config *c, enum config_key key);   /* ns */

const char *config_name(enum config_key key);
const char *config_env(enum config_key key);
const char *config_values(enum config_key key);
const char *config_meaning(enum config_key key);
/* The key of a name. 1, or 0 when there is none. */
int config_find(const char *name, enum config_key *ret);
/* "10ms" -> ns, never negative. 0 or -EINVAL. */
int config_parse_duration(const char *text, int64_t *ret);

#endif
