/* js_print.h - the public JSON (answer/js.h) on standard output. */
#ifndef STEMMA_CMD_UI_JS_PRINT_H
#define STEMMA_CMD_UI_JS_PRINT_H

#include "answer/js.h"
#include "cmd/cmd.h"

/* Prints to standard output and releases. line: compact, on one line. STATUS_OK, or STATUS_SELF when memory ran out
 * (and it was said). */
int js_print(json_t *o, bool line);
/* From now on the object that js_print prints has "record": ["damaged"]: part of the logs is missing. */
void js_damaged(bool is);

#endif
