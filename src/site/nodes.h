/* nodes.h - who may send to a collector over the network: names and the digests of their tokens, in collect/nodes of
 * the record (mode 0600), a line each:
 *
 *     NAME HOST|* UID|* SHARE sha256:DIGEST
 *
 * A token is 32 random bytes as hexadecimal digits; it is printed once and not kept. */
#ifndef STEMMA_SITE_NODES_H
#define STEMMA_SITE_NODES_H

#include "base/digest.h"
#include "base/err.h"
#include "base/vec.h"
#include "site/collector.h"

#include <sys/stat.h>

enum { NODE_TOKEN = 64 }; /* characters */

struct node {
	struct collector_sender sender; /* its name and host are the list's */
	struct digest token;
};
struct nodes {
	char *home;
	VEC(struct node) list;
	struct timespec changed; /* of the file that was read */
	uint64_t inode, size;
};

/* Letters, digits, '-', '_' and '.', which is not the first; at most COLLECTOR_NAME. */
bool nodes_name_is(const char *name);
/* Reads them, or reads them again where the file has changed. No file: nobody may. 0, or -errno with a sentence. */
int nodes_read(struct nodes *n, const char *home, struct err *err);
void nodes_release(struct nodes *n);
/* Whose token it is, or NULL. Takes the same time for every wrong one. Stays until nodes_read. */
const struct collector_sender *nodes_find(const struct nodes *n, struct str token);

/* Adds a sender; one of that name is replaced. ret: the token. 0, -EINVAL (its name), or -errno, with a sentence. */
int nodes_add(const char *home, const struct collector_sender *s, struct err *err, char ret[NODE_TOKEN + 1]);
/* Takes a sender from the list. 1: taken away; 0: there was none of that name; -errno. */
int nodes_remove(const char *home, const char *name, struct err *err);

#endif
