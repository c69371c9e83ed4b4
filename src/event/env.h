/* env.h - which environment variables a record may hold: the rows of env.def. Everything else stays out (contract:
 * private by default). */
#ifndef STEMMA_EVENT_ENV_H
#define STEMMA_EVENT_ENV_H

#include "base/str.h"

/* May a variable of this name be recorded? */
bool env_allowed(struct str name);

/* Does a variable of this name make programs load or run something else (loader.def)? Such a variable is never taken
 * from a record when something is run again. */
bool env_loads(struct str name);
/* Does the mark of a run (base/os/mark.h) cover this variable, NAME=value? What rerun takes from the record, it does.
 */
bool env_marked(struct str variable);

/* What a variable says of an execution's place in a job (B11). */
enum env_role { ENV_ROLE_job, ENV_ROLE_step, ENV_ROLE_rank, ENV_ROLE_ranks, ENV_ROLES };
/* What a variable says of a batch job. False where it says nothing. Of several variables of one role that with the
 * least rank holds. */
bool env_role(struct str name, enum env_role *ret_role, unsigned *ret_rank);

#endif
