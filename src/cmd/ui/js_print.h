/* js_print.h - the public JSON (answer/js.h) on standard output. */
#ifndef STEMMA_CMD_UI_JS_PRINT_H
#define STEMMA_CMD_UI_JS_PRINT_H

#include "answer/js.h"
#include "cmd/cmd.h"

/* Prints to standard output and releases. line: compact, on one line. STATUS_OK, or STATUS_SELF when memory ran out
 * (and it was said). */
int js_print(json_t *o, bool line);
/* Prints the next piece of a JSON text, whole characters, to standard output. 0. */
int js_print_piece(void *arg, struct str piece);
/* What is missing in the record, bits of term gap: js_damaged, for who writes the object in pieces. */
uint64_t js_record_gaps(void);
/* From now on the object that js_print prints has "record": ["damaged"]: part of the logs is missing. */
void js_damaged(bool is);

#endif
