/* show_view.h - all that is known of one thing (answer/show/show.h), on standard output. Each function returns 0, or
 * -errno where the record cannot be read. */
#ifndef STEMMA_CMD_SHOW_SHOW_VIEW_H
#define STEMMA_CMD_SHOW_SHOW_VIEW_H

#include "answer/show/show.h"
#include "cmd/cmd.h"
#include "cmd/ui/notes_print.h"

#define SHOW_LINES 40 /* lines of a list, without --all */

/* A line "NAME  value", where there is a value. */
void show_field_str(const char *name, struct str value);
void show_field_time(const char *name, int64_t ns);
void show_field_argv(const char *name, const struct strlist *l);
void show_field_list(const char *name, const struct strlist *l);

/* Prints a run, and what it used and made. 0: the record does not have it; 1 or 0; -errno. */
int show_print_run(struct cmd *c, const struct opts_show *o, store_id run);
/* Prints an execution, and what it used and made. 0 or more, -errno. */
int show_print_exec(struct cmd *c, const struct opts_show *o, store_id exec);
/* Prints the files that have or had the name. text: what was asked for. 0 or more, -errno. */
int show_print_files(struct cmd *c, const struct opts_show *o, const char *text, const struct file_target *t);
/* Of builds that made the same bytes the chosen one, and the names of the others. *ret_differs is set where sources are
 * not what they were (--sources). 0; -errno with a sentence. */
int show_print_build(struct cmd *c, const struct opts_show *o, const struct build_list *l, size_t chosen,
                     struct err *err, bool *ret_differs);
/* A Zarr array or group on disk, as text or (list not NULL) as JSON. The status; -1: it is none. */
int show_print_zarr(struct cmd *c, const char *text, json_t *list);
/* Data first, then programs and pipes, shared memory, sockets; several of the last two are told as their number.
 * of_run: they are a run's. 0, -errno. */
int show_print_items(struct cmd *c, const struct opts_show *o, const char *title, const struct show_items *l, bool used,
                     bool of_run);
/* What programs told of themselves. */
int show_print_app_log(struct cmd *c, store_id run, bool all);
/* Of an execution of a job, who submitted it; of a submission, which jobs it may have made. 0, -errno. */
int show_print_jobs(struct cmd *c, store_id exec, bool all);

#endif
