/* stat.h - what was read and written in a run, by an execution or of a file, counted: by call, by execution, by file.
 *
 *     struct stat_sums w = {.source = a};
 *     if (stat_count_target(&w, &target) == 0)
 *         ... w.total, w.execs, w.files ...
 *     stat_release(&w);
 *
 * Counted are the accesses of executions (the graph's edges, which say how many and perhaps how many bytes) and the
 * figures of their calls, which are there where the run was recorded with --exact or --count. The arrays are owned by
 * struct stat_sums; times are ns since 1970, TIME_NONE not known; sizes are bytes. Functions return 0 or -errno. */
#ifndef STEMMA_ANSWER_STAT_STAT_H
#define STEMMA_ANSWER_STAT_STAT_H

#include "answer/entities.h"
#include "answer/source.h"
#include "base/vec.h"
#include "query/idmap.h"
#include "query/target.h"

#define STAT_APIS (TERM_ioapi_delete + 1)
#define STAT_ACCESS_APIS 64 /* numbers of the calls that an access begins with (term api) are below it */

/* Calls, one way. */
struct stat_moved {
	uint64_t calls, failed, bytes, largest, spent, size[IO_SIZES];
	int64_t first, last;
	bool any;     /* there are figures */
	bool untimed; /* of some no times were recorded: run --hdf5=untimed, run --count */
	bool bare;    /* of some only calls and bytes: run --count */
};
enum { STAT_READ, STAT_WRITE, STAT_WAYS };
/* The accesses of one call, execution or file, one way: repeats counted. */
struct stat_way {
	uint64_t accesses, bytes; /* bytes: beside those of io; of an api, all */
	bool known, partial;      /* the bytes of some are known; of some not */
	bool counted, uncounted;  /* the calls of some were counted; of some not */
	bool unseen;              /* there may have been others that nobody saw */
	struct stat_moved *io;    /* see stat_io */
};
struct stat_sum {
	store_id id; /* execution or file, unless an api */
	struct stat_way way[STAT_WAYS];
	struct stat_moved *mapped; /* see stat_mapped */
	uint64_t edges;
};
/* What was moved, nothing where nothing was: most sums of accesses have no calls, and their figures take 150 bytes. */
extern const struct stat_moved stat_nothing_moved;
/* What was moved by counted calls; never NULL. */
static inline const struct stat_moved *stat_io(const struct stat_way *w)
{
	return w->io ? w->io : &stat_nothing_moved;
}
/* What was moved through mappings; never NULL. */
static inline const struct stat_moved *stat_mapped(const struct stat_sum *s)
{
	return s->mapped ? s->mapped : &stat_nothing_moved;
}
struct stat_list {
	struct stat_sum *v;
	size_t n, cap;
};

/* One execution, file, call and way; api -1: its calls were not counted. */
struct stat_row {
	store_id exec, file;
	int api;
	bool write;
	bool bytes_known;
	struct stat_moved io;
};

struct stat_sums {
	const struct answer_source *source;
	bool all;                                          /* system files, too */
	bool objects;                                      /* objects of HDF5 files, and no files */
	store_id file, version;                            /* only this file; only this version of it; 0: any */
	uint64_t most;                                     /* of executions and files each, that are put in order; 0: all */
	int (*say)(void *arg, const struct stat_row *row); /* may be NULL; for each row, execution by execution */
	void *arg;

	struct stat_sum total;
	struct stat_sum api[STAT_ACCESS_APIS];          /* by the call an access began with */
	struct stat_moved io_api[STAT_APIS][STAT_WAYS]; /* by the call that moved bytes */
	struct stat_list execs, files;                  /* the `most` most used first, then by name; the others behind */
	uint64_t unseen;                                /* bits of term gap: why there may have been accesses nobody saw */
	store_id run;                                   /* of the last execution; 0: none yet */
	bool inexact;                                   /* of some executions not every call was seen: not run --exact */
	struct ios ios;
	struct edges edges;
	struct arena moved; /* what the sums' pointers lead to */
	struct idmap
	    files_at;       /* file that was looked at -> its place while they are counted; UINT32_MAX: it does not count */
	bool without_calls; /* the record has no figures of calls at all */
};

/* Counts what t, a run, execution or file (of a file without version all its versions), read and wrote, or what of it
 * was read and written, and puts executions and files in order. */
int stat_count_target(struct stat_sums *w, const struct target *t);
void stat_release(struct stat_sums *w);

/* Were calls counted, and not only accesses? */
bool stat_has_calls(const struct stat_sums *w);
/* Accesses of the call that an access began with, in any way? */
bool stat_has_accesses(const struct stat_sum *of_api);

/* The bytes of accesses: what their calls moved, where all of them were counted. */
struct stat_bytes {
	uint64_t n;
	bool any, known, whole; /* there were accesses; of some, of all the bytes are known */
};
/* The bytes that were moved, by the accesses and by the calls that were counted. */
struct stat_bytes stat_bytes(const struct stat_way *w);
/* What a call is called, one way: read, write, recv, send, ... */
const char *stat_call(unsigned api, bool write);
/* The name of an execution or a file, for people. */
int stat_name(struct store *s, store_id id, bool exec, struct buf *b);

/* Why more may have been read and written than the sums say, and so what there is to be told about a sum that is not
 * known. */
enum stat_lack {
	STAT_LACKS_NOTHING,
	STAT_NO_CALLS,   /* files were executed or loaded: there is no call whose bytes could be counted */
	STAT_UNPROVED,   /* run --count could not prove some */
	STAT_MAPPED,     /* every call was counted: the rest may have gone by mapped memory */
	STAT_SOME_CALLS, /* of some executions the calls were counted, of others not */
	STAT_ACCESSES,   /* only accesses were recorded */
};
enum stat_lack stat_lack(const struct stat_sums *w);

/* The parts of datasets that a run moved, those of several executions as one; most elements first. */
struct stat_part {
	struct buf name; /* FILE//PATH[0:9, 3:7].member, the bounds included */
	bool write;
	uint64_t calls, elements;
};
struct stat_parts {
	struct stat_part *v;
	size_t n;
};
/* Loads which parts of datasets a run moved. On error there is nothing in *ret to be released. 0, -errno. The one
 * with the most elements first. */
int stat_parts_load(struct store *s, store_id run, struct stat_parts *ret);
void stat_parts_release(struct stat_parts *l);

struct stat_when; /* stat_when.h: for --times */
/* The answer of `stemma stat --json`, of at most count executions and files (0: all); `when`: with times, may be NULL.
 * *ret is a new reference. */
int stat_json(const struct stat_sums *w, uint64_t count, const struct stat_when *when, json_t **ret);

#endif
