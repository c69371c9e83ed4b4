/* rerun_int.h - what a plan for running again is made of; shared by rerun.c and rerun_lost.c. */
#ifndef STEMMA_TRUST_RERUN_RERUN_INT_H
#define STEMMA_TRUST_RERUN_RERUN_INT_H

#include "base/vec.h"
#include "trust/rerun/consumed.h"
#include "trust/rerun/rerun.h"

struct rerun_planning {
	struct store *s;
	const char *from;
	const struct witness_options *o;
	struct err *err;
	struct rerun *r;
	const struct witness *seen;
	struct reported_list digests;
	VEC(store_id) made; /* versions that the run made, sorted */
	struct consumed consumed;
};

/* Reports that there is no memory. -ENOMEM with a sentence. */
int rerun_oom(struct err *err);
/* Did the run make the version? */
bool rerun_made(const struct rerun_planning *p, store_id version);
/* Does it lie below the folder cwd? Then *path is what it is called from there. */
bool rerun_cut_folder(const char *cwd, struct str *path);
/* The file of that name among those that are needed so far; NULL. */
struct rerun_file *rerun_find_needed(struct rerun *r, struct str name, bool below);
/* One more, of that file; what is wanted is the digest that the run told. Its state is not looked at yet. Valid until
 * the next one. NULL: no memory. */
struct rerun_file *rerun_add_needed(struct rerun_planning *p, const struct file_info *f, struct str name, bool program);
/* Of a received run: looks at what the user gave in the file's place. 0, -ENOMEM with a sentence. */
int rerun_look_beneath(struct rerun_planning *p, struct rerun_file *x, const struct file_info *f,
                       const struct version_info *v);
/* Adds the file of the version to those that are needed, and looks at it, unless it is the system's (*ret is NULL
 * then); valid until the next one. 0 or -errno with a sentence. */
int rerun_need_version(struct rerun_planning *p, store_id version, bool program, struct rerun_file **ret);

/* What the file was called when the run began, where the run moved it; else its path. */
struct str rerun_name_before(const struct rerun_planning *p, const struct file_info *f);

/* rerun_lost.c: what the run itself changed, moved or removed, and so is not there any more as it was; and what it put
 * another file in the place of without surely reading it. After all that it used was added. 0 or -errno with a
 * sentence. */
int rerun_add_lost(struct rerun_planning *p);

#endif
