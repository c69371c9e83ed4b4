/* drop_folder.h - a shared folder as a carrier. A sender puts a batch there as one file that appears whole,
 * UID.HASH.frames; the collector takes it, writes UID.HASH.answer into the folder `answers` of its own, and removes the
 * batch. Who sends is who owns the file: the file system says so. A sender has one batch there at a time.
 *
 * The folder needs to be writable by the senders, with the sticky bit where they must not remove each other's
 * (mode 1777, like /tmp). `answers` belongs to the collector; a sender believes what lies there only if its owner is
 * also the folder's. */
#ifndef STEMMA_SITE_DROP_FOLDER_H
#define STEMMA_SITE_DROP_FOLDER_H

#include "base/err.h"
#include "base/str.h"
#include "site/collector.h"

#include <stdbool.h>
#include <stdint.h>

#define DROP_NAME 64

/* Puts a batch. 0 with its name, or -errno with a sentence. Its group may read it where the folder has the set-group-id
 * bit, so that a collector of that group can. */
int drop_put(const char *folder, struct str batch, struct err *err, char ret_name[DROP_NAME]);
/* The answer to it, JSON. 1; 0: not yet; -ENOENT: neither batch nor answer is there; -errno with a sentence. */
int drop_answer(const char *folder, const char *name, struct err *err, char *ret, size_t size);

/* Takes all batches that lie there into c. Answers that are older than a week go. share: see collector_sender. tell is
 * called for each batch. 0, or -errno with a sentence: the first that failed; the others were tried. */
int drop_collect(const char *folder, struct collector *c, uint64_t share, struct err *err,
                 void (*tell)(void *arg, const char *sender, const struct collected *r), void *arg);
/* What is said of a batch, as JSON: the same for all carriers. 0; -ENOMEM, also where size is too small. */
int collected_json(const struct collector *c, const struct collected *r, char *ret, size_t size);

#endif
