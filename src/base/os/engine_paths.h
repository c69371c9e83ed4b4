/* engine_paths.h - what the path of a file says of it: is it a workflow system's own? */
#ifndef STEMMA_BASE_OS_ENGINE_PATHS_H
#define STEMMA_BASE_OS_ENGINE_PATHS_H

#include "base/str.h"

#include <stdint.h>

/* Is a file an engine's own, of which no stage is made: below .snakemake, .ninja_log and the like? */
bool engine_own_file(struct str path);
/* Of these, does an engine only keep there what it did and what is out of date? Such a file says whether a job runs,
 * and nothing of it is in what the job makes. (Scripts and environments below .snakemake are content.) */
bool engine_bookkeeping(struct str path);
/* A script that Snakemake copied before it ran it, .snakemake/scripts/tmpXXXX.NAME: NAME, within path. Else nothing. */
struct str engine_copied_script(struct str path);
/* A number that changes when these rules do. */
uint64_t engine_path_rules(void);

#endif
