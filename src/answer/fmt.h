/* fmt.h - values as people read them: names, times, sizes, command lines, tables. Everything is appended to a buffer;
 * nothing here prints.
 *
 * What comes out is safe for a terminal: control characters and bytes that are no text are escaped as \n, \x1b, ...
 * (and a backslash is doubled), so one name never takes more than one line. */
#ifndef STEMMA_ANSWER_FMT_H
#define STEMMA_ANSWER_FMT_H

#include "base/buf.h"
#include "store/store.h"

/* Appends it for a terminal: a backslash, control characters and what is no UTF-8 as \n, \x1b and the like. */
void fmt_name(struct buf *b, struct str s);
/* A piece of a program's text, on one line: as fmt_name, but backslashes are its own, and a tab is four spaces. */
void fmt_source(struct buf *b, struct str s);
/* A path: below the working directory relative to it, then as fmt_name. */
void fmt_path(struct buf *b, struct str path);
/* A field of comma-separated values (RFC 4180). Control characters but tabs and line ends, characters of direction and
 * bytes that are no text are escaped as \x1b, and backslashes are their own. With text, what a spreadsheet would take
 * for a formula gets a ' before it. */
void fmt_csv(struct buf *b, struct str s, bool text);
/* path@{n} */
void fmt_version(struct buf *b, struct str path, uint64_t n);
/* One argument as a shell would take it again. */
void fmt_arg(struct buf *b, struct str arg);
/* A command line; the program by its last component if `brief`. Stops, with an ellipsis, when more than max bytes came.
 */
void fmt_argv(struct buf *b, const struct strlist *argv, bool brief, size_t max);

/* 2026-11-21T12:13:05+01:00, local time; "?" for unknown, "-" for not ended. Without the offset if `shorter`. */
void fmt_time(struct buf *b, int64_t ns, bool shorter);
/* 250 ms, 2.50 s, 3:07, 2:10:00, 3d 02:10; "?" when either end is unknown. */
void fmt_span(struct buf *b, int64_t from, int64_t to);
void fmt_duration(struct buf *b, uint64_t ns);
/* Appends a size for people. IEC: 512 B, 1.2 KiB; plain digits if `bytes`. */
void fmt_size(struct buf *b, uint64_t size, bool bytes);
/* ok, 1, SIGKILL, ? - how something ended (term ending). */
void fmt_ending(struct buf *b, uint64_t ending, uint64_t code);
/* The last 8 characters of a run's id, which is what people type. */
struct str fmt_run(struct str ulid);

/* Columns the bytes take on a terminal (they have been through fmt_name: no control characters, no colour). */
size_t fmt_columns(struct str s);
/* Cuts b down to what fits so many columns from offset `from` on, with an ellipsis at the end if anything was cut. */
void fmt_fit(struct buf *b, size_t from, size_t columns, bool utf8);

#endif
