/* task.h - what kind of task a summary tells of: the values of the keys that group tasks. Values are appended to a buf,
 * as they are (any byte may occur). No state but what the store keeps. */
#ifndef STEMMA_ARCHIVE_TASK_H
#define STEMMA_ARCHIVE_TASK_H

#include "base/buf.h"
#include "store/store.h"

enum task_key {
#define KEY(name, meaning) TASK_##name,
#include "archive/keys.def"
	TASK_KEYS
};
struct key {
	enum task_key key; /* TASK_KEYS: a label, */
	char label[128];   /* of this name */
};
const char *task_key_name(enum task_key k);
/* The key of tasks that a word means. 0, or -ENOENT. Takes host-class for host_class. */
int task_key_parse(struct str name, struct key *ret);

/* The words of a command that say what it does; argv need not be decoded. */
void task_program(const struct strlist *argv, struct buf *ret);
void task_command(const struct strlist *argv, struct buf *ret);
void task_layout(const struct strlist *argv, struct buf *ret);

/* Appends nothing where it is not known. 0 or -errno. */
int task_value(struct store *s, const struct summary_info *m, const struct key *k, struct buf *ret);

/* The label input_bytes, which tells what the record does not know; negative: there is none. */
double task_label_input(const struct summary_info *m);

/* How it ended, as far as what it needed is concerned. */
enum task_end {
	TASK_WHOLE,  /* it ended by itself, with status 0 */
	TASK_FAILED, /* with another */
	TASK_CUT,    /* it was killed: what it needed is more than what it had */
	TASK_UNKNOWN,
};
/* How a task ended, as far as its figures can be trusted. */
enum task_end task_end(const struct summary_info *m);

#endif
