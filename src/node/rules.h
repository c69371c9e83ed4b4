/* rules.h - what a program is to the search for representative executions: rules.def, and the site's own rows before
 * it. No kernel interface. A struct rules is its owner's; lookups change nothing. */
#ifndef STEMMA_NODE_RULES_H
#define STEMMA_NODE_RULES_H

#include "base/err.h"
#include "base/str.h"

enum rule_class {
	RULE_none,  /* what a user means by a command */
	RULE_pass,  /* its children are representative */
	RULE_told,  /* ... and it is itself what a user started: a login shell, the script of a job, what starts ranks */
	RULE_job,   /* as RULE_pass, and a shell's script that it starts is told */
	RULE_own,   /* representative whoever starts it: what joins one place of work with another */
	RULE_shell, /* in rows only: RULE_pass where it is interactive, RULE_told where it is a login shell */
};

struct rules;

/* Out of memory: NULL. rules_free(NULL) is fine. */
struct rules *rules_new(void);
void rules_free(struct rules *r);
/* A row before all others: "pass NAME", "told NAME", "job NAME", "own NAME", "shell NAME" or "keep NAME" (not passed).
 * 0, -EINVAL with a sentence, -ENOMEM. */
int rules_add(struct rules *r, const char *row, struct err *err);
/* The class of a program. path: its file (a script's interpreter); argv: NUL-terminated strings, one behind the other;
 * under_job: what started it is of class job. r may be NULL. */
enum rule_class rules_class(const struct rules *r, struct str path, struct str argv, bool under_job);

#endif
