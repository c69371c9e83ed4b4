/* logs.h - event logs of another machine, or another record, taken into this one.
 *
 * Frames are copied as they are: only whole ones whose checksum is right, and only those that are not there yet. An
 * event's identity is (session, seq), so what is taken in joins what is there by itself, in whatever order it comes. A
 * frame that tells of the same events otherwise than one that is there is passed over: whoever was first is believed,
 * so that nobody's log changes the record of another. For the same reason a frame whose tombstones would forget what
 * this record's own runs wrote, or what was imported of another host, is passed over (tombs.h).
 *
 * Each source becomes one segment logs/<host of origin>/import/<hash of what it adds>.stl. Segments are written under
 * temporary names beside their places and renamed when all are whole. Modes are 0700 and 0600.
 *
 * Cost: one reading of the sources and one of the record's own logs (checksums only), and 0.2 us an event of the
 * sources; memory is 64 bytes a frame of the sessions that are told of. */
#ifndef STEMMA_IMPORT_LOGS_H
#define STEMMA_IMPORT_LOGS_H

#include "base/err.h"
#include "event/log_reader.h"

#include <stdint.h>

struct import_logs_report {
	uint64_t segments, blocks, sessions;          /* of the sources */
	uint64_t new_segments, new_blocks, new_bytes; /* of what was added */
	uint64_t clashing;                            /* frames that contradict what is there */
	uint64_t forgotten;                           /* frames of sessions that were forgotten here */
	uint64_t forgetting;                          /* frames that would forget what is another's (tombs.h) */
	uint64_t empty;                               /* sources without a whole frame */
	uint64_t passed;                              /* entries of folders that are no segments: links, deeper folders */
	struct log_damage damage;                     /* of the sources; bad_events is not looked for */
};

/* Takes path, a segment or a folder of them (a record's own, its logs, or a part of those), into the record at home. 0,
 * or -errno with a sentence, and then nothing was added. */
int import_logs(const char *home, const char *path, struct err *err, struct import_logs_report *ret);

/* Adds a whole segment, given as bytes, as logs/<host>/import/<name>.stl. 1: added; 0: it was there; -errno. */
int import_segment(const char *home, struct str host, uint64_t name, const void *p, size_t n, struct err *err);

#endif
