/* notes_print.h - notes, and what could not be seen, on standard output. */
#ifndef STEMMA_CMD_UI_NOTES_PRINT_H
#define STEMMA_CMD_UI_NOTES_PRINT_H

#include "answer/entities.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"

/* One line, or more where the note has them; about: say on what it is. 0 or -errno. */
int note_print(struct store *s, const struct note_info *n, bool about);
int notes_print(struct store *s, enum notes_of of, store_id id);

/* What could not be seen, in words: one line per reason, "  meaning (N executions: first, ...)". Prints nothing if all
 * was seen. 0, -errno. */
struct gaps {
	struct {
		uint64_t executions;
		store_id first;
	} reason[64];
};
/* Notes the gaps of an execution's record. */
void gaps_add(struct gaps *g, store_id exec, uint64_t bits);
int gaps_print(struct store *s, const struct gaps *g);

#endif
