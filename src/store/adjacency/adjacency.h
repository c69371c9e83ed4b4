/* adjacency.h - the edges apart from the rows: what a walk asks of each file and process, packed, in files beside the
 * index (doc/format/store.md, "Adjacency"). Private to the store.
 *
 * A segment holds ADJ_ROWS rows of files or of processes that follow one another. It is made by who indexes, of the
 * index alone, published whole and never changed. The table `adjacency` of the index names the segment that counts, by
 * a mark that no other has, and the blocks of rows that were written since: these are read from the index. So whoever
 * reads in a view has one state of both. A segment that is missing, that another build made, or that is damaged is as
 * none: the index is asked, and answers the same. A row that a segment cannot hold (parts, objects of HDF5 files, more
 * than VERSIONS_INLINE versions) has no bytes in it, and is asked of the index, too.
 *
 * A segment is read into memory, never mapped: a file that becomes shorter under a mapping would end the process. Of
 * its rows those pieces are read that are asked for, each once.
 *
 * Where the index lies elsewhere (elsewhere/source.h), so do the segments.
 *
 * The calls that read return 1, 0 (ask the index) or -ENOMEM, and answer in a view only. What they give points into the
 * segment until the view ends. */
#ifndef STEMMA_STORE_ADJACENCY_H
#define STEMMA_STORE_ADJACENCY_H

#include "store/read.h"

#define ADJ_RANGE_BITS 14
#define ADJ_ROWS (1u << ADJ_RANGE_BITS)
#define ADJ_BLOCKS (ADJ_ROWS / BLOCK_ROWS)
#define ADJ_BYTES_MAX (64u << 20) /* of a segment's rows; what comes behind is not in it */
#define ADJ_RANGES_MAX (1u << 16) /* a billion rows of each table; what comes behind is not in it */
#define ADJ_OPEN 32               /* files of segments that are open at once */
#define ADJ_MANY 8                /* pieces of a segment, after which the others are expected, too */
#define ADJ_LEAST 2048            /* for fewer rows that are in none no segment is made */

/* Which blocks of a segment's rows were written since it was made. */
struct adj_changed {
	unsigned char bit[ADJ_BLOCKS / 8];
};

/* What a segment has to be to count. */
struct adj_name {
	enum block_table table;
	uint64_t range;
	uint64_t generation; /* of the index: how many times it was brought up to date */
	uint64_t mark;       /* a random number */
	uint32_t rows;
};

struct adj_segment {
	uint64_t epoch; /* view in which the index was asked which segment counts */
	bool usable, damaged;
	struct adj_name name;
	struct adj_changed changed;
	int file;           /* open, -1: opened again when it is needed */
	unsigned char *map; /* room for all of it, in which its head and the pieces that are checked are; NULL: none */
	size_t size;
	const unsigned char *data; /* the rows' bytes, data_n of them */
	uint32_t data_n;
	uint32_t taken;         /* pieces that were read */
	unsigned char *checked; /* a bit for each piece of data that was found whole */
};

struct adj {
	bool off, all;           /* as STEMMA_ADJACENCY says: nobody reads and makes any; also for few rows */
	bool making;             /* rows are read from the index alone */
	const struct str *given; /* a fuzzer's: all rows are this */
	uint64_t epoch;
	VEC(struct adj_segment *) ranges[BLOCK_TABLES];
	struct adj_segment *open[ADJ_OPEN]; /* whose files are open */
	size_t next_open;                   /* whose place is taken next */
	uint64_t room;                      /* bytes that may still be reserved for segments */
	/* By who indexes: what was written. */
	VEC(struct adj_written {
		uint64_t place;
		struct adj_changed changed;
	})
	written;
	struct map written_at; /* place -> which of written */
	size_t last;           /* of written, the last one that was asked for */
};

/* ---- adj_segment.c ---- */

/* What the store keeps; NULL without memory. */
struct adj *adj_of(struct store *s);
void adj_release(struct store *s);
/* A new view: which segments count may have changed. */
void adj_view_begin(struct store *s);
/* The bytes of a row. 1, 0: no segment has it, or it changed since. Valid as long as the view. */
int adj_row(struct store *s, enum block_table table, uint64_t id, struct str *ret);
/* A row of it was no good: it is not used any more, and removed. Returns 0. */
int adj_drop(struct store *s, enum block_table table, uint64_t id);
/* The row of the index that says which segment counts: 1, 0, -errno. */
int adj_named(struct store *s, enum block_table table, uint64_t range, struct adj_name *ret,
              struct adj_changed *ret_changed);
/* Makes a file of edges the one that is in force. 0, -errno with a sentence. */
int adj_name_put(struct store *s, const struct adj_name *n, const struct adj_changed *changed, struct err *err);
/* The key of a range of rows of a table. */
static inline uint64_t adj_place(enum block_table table, uint64_t range)
{
	return (uint64_t)table << 32 | range;
}
/* The folder of segments, "" if there is none: the store has no file, or the path is too long. */
void adj_folder(const struct store *s, char *ret, size_t size);
void adj_file_name(const struct adj_name *n, char ret[96]);
/* The segment's file, which is one of our own in the folder, not a link to one. A descriptor, or -errno. */
int adj_open(const struct store *s, const struct adj_name *n);
/* Publishes a segment: where each of its rows ends in data. 0 or -errno. */
int adj_segment_write(struct store *s, const struct adj_name *n, const uint32_t *ends, struct str data);

/* ---- adj_edges.c ---- */

enum adj_edges { ADJ_USES, ADJ_OUTPUTS, ADJ_GENS };
/* Appends them. 1, 0 where a segment cannot hold one of them. */
int adj_put_edges(struct buf *out, enum adj_edges kind, int64_t base, const struct edges *v);
/* Fills ret anew. 1, 0 what is there is damaged, -ENOMEM. */
int adj_get_edges(struct str packed, enum adj_edges kind, int64_t base, struct edges *ret);
/* Appends the length of a part, and the part. */
void adj_put_part(struct buf *out, const struct buf *part);

/* ---- adj_files.c ---- */

/* What a walk asks of a version first. */
int adj_version_judged(struct store *s, store_id id, struct version_judged *ret);
/* Fill ret anew. */
int adj_version_gens(struct store *s, store_id id, struct edges *ret);
/* Reads from which versions a version is derived. 1, 0: it is in no segment; -errno. */
int adj_version_derived(struct store *s, store_id id, struct edges *ret);

/* Reads which executions read a version. 1, 0: it is in no segment; -errno. */
int adj_version_readers(struct store *s, store_id id, struct ids *ret);
/* Appends the row as the index has it; nothing where a segment cannot hold it. 0 or -errno. */
int adj_put_file(struct store *s, uint64_t id, struct buf *out);

/* ---- adj_processes.c ---- */

/* A process, as far as edges between executions go (struct process_view, "told"). Where v holds it already nothing is
 * read. 1, 0: it is in no segment; -errno. */
int adj_process(struct store *s, uint64_t id, struct process_view *v);
/* What an execution used or made. Fills ret anew. 1, 0: it is in no segment; -errno. */
int adj_exec_edges(struct store *s, store_id exec, enum adj_edges which, struct edges *ret);
/* Appends the process's row, which is empty where there is none. -errno. */
int adj_put_process(struct store *s, uint64_t id, struct buf *out);

/* ---- adj_make.c: by who indexes ---- */

/* A block was written. 0 or -ENOMEM. */
int adj_note_written(struct store *s, enum block_table table, uint64_t block);
/* Before a transaction ends: what was written, to the segments' names. 0 or -errno. */
int adj_keep_written(struct store *s, struct err *err);
/* When all is indexed: makes the segments that are worth it. What fails is left to the index. */
void adj_bring(struct store *s);
/* The index is replaced, or taken away: so are its segments. */
void adj_purge(const struct store *s);
/* Holds each row of the segments that count against the index; calls say for each that is other. 0 or -errno. */
int adj_check(struct store *s, int (*say)(void *arg, enum block_table table, uint64_t id), void *arg);

#endif
