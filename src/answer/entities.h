/* entities.h - runs, executions, files and versions, in words and as JSON: the same in every command. */
#ifndef STEMMA_ANSWER_ENTITIES_H
#define STEMMA_ANSWER_ENTITIES_H

#include "answer/fmt.h"
#include "answer/js.h"
#include "answer/source.h"
#include "query/deleted.h"

/* log --json's run. Asks for executions: what store_exec returned before may be gone. NULL: the record cannot be read.
 */
json_t *run_json(const struct answer_source *a, const struct run_info *r);
/* The ULID of the run that stemma rerun repeated when it made this one, by the label that it gives; nothing of others.
 * Within r. */
struct str run_rerun_of(const struct run_info *r);
/* Does a count of what the run used and made hold? Else parts of the run were not observed, and it is the least that
 * can be said. */
bool run_counts_complete(const struct run_info *r);
/* lineage --json's entity and execution. 0 or -errno. exec_json: *ret is the caller's, and only set where it is 0. x is
 * no longer valid then: another execution was read. */
json_t *entity_json(const struct version_info *v, const struct file_info *f);
int exec_json(struct store *s, const struct exec_info *x, json_t **ret);
/* Says to which other execution this one counts (query/fold.h), if to another. 0 or -errno. */
int representative_json(struct store *s, store_id exec, json_t *one);

/* One version as people name it: path@{n}, or what kind of stream it is. */
void version_name(struct buf *b, const struct version_info *v, const struct file_info *f);
/* Appends the name of a version as exec knew the file: by the name by which it opened it, if the file had several
 * and has this one still (store_opened_name); exec 0: by the name that it shows. 0 or -errno. */
int version_name_opened(struct store *s, struct buf *b, const struct version_info *v, struct file_info *f,
                        store_id exec);
/* Says so under `opened_as`, where it is another name. 0 or -errno. */
int opened_name_json(struct store *s, json_t *o, store_id exec, store_id file);
/* "12 KiB, 2026-...", "external"; what is worth saying beside the name, without brackets; may be nothing. */
void version_note(struct buf *b, const struct version_info *v, const struct file_info *f, bool bytes);
/* Is it the last version of the file that its name names now, as far as the record goes? For regular files. */
bool version_is_current(const struct version_info *v, const struct file_info *f);
/* "replaced since", "removed since"; nothing for what is current and for what is no regular file. Asks for other files:
 * what store_file returned before may be gone. 0 or -errno. */
int version_since(struct store *s, const struct version_info *v, const struct file_info *f, struct buf *b);
/* An execution as a command line, cut to about max bytes; a fork without exec says so. 0 or -errno. */
int exec_name(struct store *s, store_id exec, bool brief, size_t max, struct buf *b);
/* "python3 /w/.snakemake/scripts/tmpab12cd.fit.py", from there on in b, becomes "python3 fit.py": the name of a script
 * that a workflow system copied before it ran it. */
void fmt_copied_script(struct buf *b, size_t from);
/* "samtools sort" of "samtools sort -o a.bam": the program, and its script or a word behind it that is neither an
 * option nor a file. Within name. */
struct str command_kind(const char *name);
/* ann@host */
void fmt_who(struct buf *b, struct str user, struct str host);
/* Who ran an execution: of a fork, who ran what it is a fork of; else whose run it is. 0 or -errno. exec_user: without
 * the host, as it is. exec_user: nothing is appended where it is not known. */
int exec_who(struct store *s, store_id exec, struct buf *b);
int exec_user(struct store *s, store_id exec, struct buf *b);

/* " by CMD at TIME" of an object that was deleted; brief: without the seconds. deleted_json: `deleted` with time and,
 * where it is known, the execution. 0 or -errno. */
int fmt_deleted(struct store *s, const struct deletion *d, size_t max, bool brief, bool utf8, struct buf *b);
int deleted_json(struct store *s, const struct deletion *d, json_t *o);

/* What people wrote about a thing. note_add: appends it to a list; about: say on what it is. 0 or -errno. */
int note_add(struct store *s, json_t *list, const struct note_info *n, bool about);
/* "notes": all those on it, where there are any; of a file only those on version n if that is not 0. 0 or -errno. */
int notes_json(struct store *s, json_t *o, enum notes_of of, store_id id, uint64_t n);

/* Is a file of that kind (TERM_kind_*) a stream: a FIFO, pipe, socket or terminal? */
bool kind_is_stream(uint64_t kind);
/* What somebody wants to read of first: data; then programs and pipes (entity_sort knows none); then memory that
 * processes share (of the segments that MPI libraries put into files, too); then sockets; then what a workflow system
 * keeps for itself (engine_own_file). */
enum entity_sort { ENTITY_DATA, ENTITY_PROGRAM, ENTITY_SEGMENT, ENTITY_SOCKET, ENTITY_OWN, ENTITY_SORTS };
enum entity_sort entity_sort(uint64_t kind, struct str path);
/* "3 segments of shared memory", "1 socket", "2 files of the workflow system" */
void fmt_entity_count(struct buf *b, enum entity_sort sort, uint64_t n);

#endif
