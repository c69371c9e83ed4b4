/* shipper.h - the sending end: a record's frames that a collector has not, in batches, in the order of writing.
 *
 * How far the collector has everything stands in ship/HASH of the record (HASH: of the destination), a line for each
 * segment: device, inode, offset, offset with the batch that is not answered yet, path. It is moved by shipper_sent
 * alone, after the collector has answered, and is on disk when that returns. A segment that `forget` has put in the
 * place of another has another inode and is sent again from its beginning. What was imported is not sent; nor is what
 * was collected from others, unless it is asked for: then it alone, and each batch is of one sender and says of which
 * (collector.h).
 *
 * One shipper for each record and destination (a lock on that file). Not safe for threads.
 *
 * Cost of a batch where nothing is new: one walk over the folders of the logs, one stat a segment. Memory: a batch, and
 * about 150 bytes a segment. */
#ifndef STEMMA_SITE_SHIPPER_H
#define STEMMA_SITE_SHIPPER_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SHIPPER_BATCH (4u << 20)     /* bytes; a batch has at least one frame */
#define SHIPPER_RELAYED (448u << 10) /* the same, of what was collected: so it is one message for a broker, too */

struct shipper;
/* collected: what was collected here is sent, in place of what was recorded here. 0, or -errno with a sentence: -EBUSY,
 * somebody ships there now. */
int shipper_open(const char *home, const char *destination, bool collected, struct err *err, struct shipper **ret);
void shipper_close(struct shipper *s); /* NULL is fine */

/* The next frames that were not sent. 1; 0: there is nothing new; -errno with a sentence. *ret_frames and the bytes,
 * which are s's until the next call. */
int shipper_batch(struct shipper *s, struct err *err, struct str *ret, uint64_t *ret_frames);
/* The collector of that identity has answered that it has dealt with the batch. 0, or -errno with a sentence. */
int shipper_sent(struct shipper *s, struct err *err);
/* The collector's identity. Where it is not the one that answered before, all is sent again: true, and the batch at
 * hand is void. */
bool shipper_is_other(struct shipper *s, const char *id);
/* The batch at hand lies somewhere under that name until it is answered: kept beside the marks, so that another process
 * goes on with it. 0, or -errno with a sentence. */
int shipper_left(struct shipper *s, const char *name, struct err *err);
/* Its name, or "": there is none. It ends with shipper_sent, or with shipper_lost: it is to be sent again. */
const char *shipper_pending(const struct shipper *s);
void shipper_lost(struct shipper *s);
/* Bytes that wait to be sent now. 0, or -errno with a sentence. */
int shipper_waiting(struct shipper *s, struct err *err, uint64_t *ret);

#endif
