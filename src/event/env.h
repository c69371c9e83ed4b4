/* env.h - which environment variables a record may hold: the rows of env.def. Everything else stays out (contract: private by default). */
#ifndef STEMMA_EVENT_ENV_H
#define STEMMA_EVENT_ENV_H

#include "base/str.h"

/* May a variable of this name be recorded? */
bool env_allowed(struct str name);

#endif
