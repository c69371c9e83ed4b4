/* show.h - all that is known of one run, file, execution or build: what `stemma show` answers.
 *
 * Functions return 0 or -errno where nothing else is said; errors that need words leave a sentence in err. What a
 * struct here owns is released by the function of its name, which may be called on a zeroed one. */
#ifndef STEMMA_ANSWER_SHOW_SHOW_H
#define STEMMA_ANSWER_SHOW_SHOW_H

#include "answer/entities.h"
#include "answer/items.h"
#include "answer/source.h"
#include "cc/build.h"
#include "query/target.h"

/* ---- what is asked for ---- */

/* What a word leads to: how a file was built, and a run, file or execution. */
struct show_found {
	struct build_list builds; /* of the same bytes; n 0: nothing is to be told of how it was built */
	size_t build;             /* the one to be told of: not from a cache, where there is such a one */
	bool has_target;
	struct target target;
};
/* Finds what the text means: builds, or a run, an execution or a file. text: as for target_any, or the public id of
 * a build; only_file: it stood behind `--`. only_builds: nothing else is asked for where there is a build. Returns
 * 1, or as target_any with a sentence. ret is to be released where it is 1. */
int show_find(const struct answer_source *a, const char *text, bool only_file, bool only_builds, struct err *err,
              struct show_found *ret);
void show_found_release(struct show_found *f);

/* ---- what was used and made ---- */

/* Which of the versions are listed, and as what. */
struct show_items {
	struct items items;
	uint8_t *sorts; /* of each: enum entity_sort, or SHOW_UNLISTED */
	size_t of[ENTITY_SORTS + 1];
	store_id exec; /* that used them all; 0 several */
};
#define SHOW_UNLISTED ENTITY_SORTS /* a system file, an absent one, of a run a pipe: not without --all */

struct show_run {
	store_id id;
	struct run_info run; /* its texts belong to the store */
	store_id *execs;
	size_t n;
	struct show_items used, made;
};
/* Reads a run, its executions, and what it used and made, for `stemma show`. 1, 0: there is no such run, or -errno.
 */
int show_run_load(const struct answer_source *a, store_id run, bool all, struct show_run *ret);
void show_run_release(struct show_run *r);

struct show_exec {
	store_id id;
	struct show_items used, made;
};
/* Reads what an execution used and made, for `stemma show`. all: also what of the system is left out otherwise. 0,
 * -errno; then there is nothing to be released. */
int show_exec_load(const struct answer_source *a, store_id exec, bool all, struct show_exec *ret);

void show_exec_release(struct show_exec *x);

/* The files that a word means: the one it leads to first, then others that have or had the name, if no version was
 * asked for. *ret is malloc'ed. 0, -errno; *ret is the caller's in any case. */
int show_files(struct store *s, const char *text, const struct file_target *t, store_id **ret, size_t *ret_n);

/* ---- how it was built ---- */

struct show_build {
	const struct build *b;
	struct build_sources sources;      /* of a recorded one, through all records */
	enum build_match *match;           /* is each still what it was? NULL: that was not asked for */
	size_t matches[BUILD_UNKNOWN + 1]; /* how many of each */
	bool differs;                      /* not all are what they were, or nothing says what they were */
};
/* Takes a build and the state of its sources for `stemma show`. check: look at the sources; cache may be NULL. *ret
 * refers to b. */
int show_build_load(const struct answer_source *a, const struct build *b, bool check, struct digest_cache *cache,
                    struct err *err, struct show_build *ret);
void show_build_release(struct show_build *v);
/* same, changed, missing, unknown */
const char *show_match(enum build_match match);
/* A header of the machine, which is told only as one of a number. */
bool show_is_usual_role(const struct build_file *f);

/* ---- JSON ---- */

/* Appends to list what was found: an object for each thing (stemma-show(1)). check: of builds, whether the sources are
 * what they were; *ret_differs is set where not. */
int show_json(const struct answer_source *a, const struct show_found *f, const char *text, bool all, bool check,
              struct err *err, json_t *list, bool *ret_differs);
/* A new reference. */
json_t *show_build_json(const struct show_build *v);
/* Adds what programs of the run annotated: "annotations", "ranks", "mpi_io", each only where there is something. */
int app_log_json(struct store *s, store_id run, json_t *o);

#endif
