/* forgotten.h - what `stemma forget` took out of the record, by its tombstones: it must not come back. */
#ifndef STEMMA_IMPORT_FORGOTTEN_H
#define STEMMA_IMPORT_FORGOTTEN_H

#include "event/log_reader.h"
#include "graph/intern.h"

#include <stdbool.h>

struct forgotten {
	struct map keepers;   /* sessions that may hold tombstones */
	struct map dead;      /* sessions that are gone whole */
	struct interner runs; /* ULIDs */
	struct interner here; /* ULIDs of runs that the record has */
};

/* Looks for tombstones in a frame of the record's own; frames come as they lie in a segment. 0, -ENOMEM. */
int forgotten_take(struct forgotten *f, struct log_reader *r, const struct log_frame_info *frame);
/* Takes all of the record at home. Cost: one reading of its logs. 0, or -errno with a sentence. */
int forgotten_read(struct forgotten *f, const char *home, struct err *err);
bool forgotten_session(const struct forgotten *f, uint64_t session);
bool forgotten_run(const struct forgotten *f, struct str ulid);
/* Has the record a log of the run? */
bool forgotten_here(const struct forgotten *f, struct str ulid);
void forgotten_release(struct forgotten *f);

#endif
