/* stat.h - what moved in a run, an execution or a file, counted: by call, by execution, by file.
 *
 * stat_count looks at the accesses of executions (the graph's edges, which say how many and perhaps how many bytes) and
 * at the figures of their calls, which are there where the run was recorded with --exact. The arrays are owned by
 * struct stat_sums; times are ns since 1970, TIME_NONE not known. */
#ifndef STEMMA_CMD_STAT_STAT_H
#define STEMMA_CMD_STAT_STAT_H

#include "cmd/cmd.h"
#include "cmd/ui/notes_print.h"
#include "query/idmap.h"

#define STAT_APIS (TERM_ioapi_delete + 1)

/* Calls, one way. */
struct moved {
	uint64_t calls, failed, bytes, largest, spent, size[IO_SIZES];
	int64_t first, last;
	bool any;     /* there are figures */
	bool untimed; /* of some no times were recorded: run --hdf5=untimed, run --count */
	bool bare;    /* of some only calls and bytes: run --count */
};
enum { STAT_READ, STAT_WRITE, STAT_WAYS };
/* The accesses of one call, execution or file, one way: repeats counted. */
struct way {
	uint64_t accesses, bytes; /* bytes: beside those of io; of an api, all */
	bool known, partial;      /* the bytes of some are known; of some not */
	bool counted, uncounted;  /* the calls of some were counted; of some not */
	bool unseen;              /* there may have been others that nobody saw */
	struct moved io;
};
struct sum {
	store_id id; /* execution or file, unless an api */
	struct way way[STAT_WAYS];
	struct moved mapped;
	uint64_t edges;
};
struct sums {
	struct sum *v;
	size_t n, cap;
	struct idmap at;
};

/* One execution, file, call and way; api -1: its calls were not counted. */
struct stat_row {
	store_id exec, file;
	int api;
	bool write;
	bool bytes_known;
	struct moved io;
};

struct stat_sums {
	struct cmd *c;
	bool all;                                          /* files of the machine, too */
	bool objects;                                      /* objects of HDF5 files, and no files */
	store_id file, version;                            /* only this file; only this version of it; 0: any */
	int (*say)(void *arg, const struct stat_row *row); /* may be NULL; for each row, execution by execution */
	void *arg;

	struct sum total;
	struct sum api[64];                        /* by the call an access began with */
	struct moved io_api[STAT_APIS][STAT_WAYS]; /* by the call that moved bytes */
	struct sums execs, files;                  /* the most used first, after stat_finish; then by name */
	uint64_t unseen;                           /* bits of term gap: why there may have been accesses that nobody saw */
	store_id run;                              /* of the last execution; 0: none yet */
	bool inexact;                              /* of some executions not every call was seen: not run --exact */
	struct ios ios;
	struct edges edges;
};

/* Of these gaps those with which accesses may be missing as a whole, and not only some of their bytes. */
uint64_t stat_unobserved(uint64_t gaps);

/* Adds what an execution moved. 0 or -errno. */
int stat_count(struct stat_sums *w, store_id exec);
/* Puts executions and files in order. 0 or -errno. */
int stat_finish(struct stat_sums *w);
void stat_release(struct stat_sums *w);

/* The bytes of accesses: what their calls moved, where all of them were counted. */
struct stat_bytes {
	uint64_t n;
	bool any, known, whole; /* there were accesses; of some, of all the bytes are known */
};
struct stat_bytes stat_bytes(const struct way *w);
/* What a call is called, one way: read, write, recv, send, ... */
const char *stat_call(unsigned api, bool write);

/* Prints which parts of datasets a run moved, the most used first. 0 or -errno. */
int stat_parts(struct cmd *c, const struct opts_stat *o, store_id run);

/* The name of an execution or a file, for people. 0 or -errno. */
int stat_name(struct store *s, store_id id, bool exec, struct buf *b);

/* The ways to show it. 0, or -errno where the record cannot be read. */
struct stat_when; /* stat_when.h: for --times */
int stat_text(const struct stat_sums *w, const struct opts_stat *o, const struct stat_when *when, const char *title);
int stat_json(const struct stat_sums *w, const struct opts_stat *o, const struct stat_when *when, int *ret_status);
/* A line for each row; `say` of struct stat_sums, with the command as its argument. stat_tsv_head: the first line. */
void stat_tsv_head(void);
int stat_tsv_row(void *cmd, const struct stat_row *row);

#endif
