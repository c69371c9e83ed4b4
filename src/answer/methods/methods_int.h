/* methods_int.h - what the parts of methods share: methods.c walks, methods_steps.c gathers the steps, methods_json.c
 * is the JSON. */
#ifndef STEMMA_ANSWER_METHODS_METHODS_INT_H
#define STEMMA_ANSWER_METHODS_METHODS_INT_H

#include "answer/methods/methods.h"

/* Adds an execution: to a step with the same program and settings, or as a new one. 0 or -errno. m->software is filled.
 */
int methods_add_step(struct store *s, struct methods *m, store_id exec, bool sure);
/* Orders the steps by start. */
void methods_order_steps(struct methods *m);
void methods_add_text(struct methods_texts *t, struct str s);
void methods_step_release(struct methods_step *step);

#endif
