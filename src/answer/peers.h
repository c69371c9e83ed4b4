/* peers.h - the other end of a socket, and who sits at a terminal: what of it was seen? (B8) */
#ifndef STEMMA_ANSWER_PEERS_H
#define STEMMA_ANSWER_PEERS_H

#include "answer/entities.h"
#include "query/lineage/lineage.h"

/* Of a version of a socket's address, whoever bound or accepted is the server, and whoever only connected a client.
 * Where no server was seen, what came through it came from outside the record, whatever other clients sent there; so
 * where a socket without an address had no writer but its reader. 1 not seen, 0 seen or no socket, -errno. */
int peer_is_unobserved(struct store *s, const struct version_info *v, const struct file_info *f);
/* Is e an edge by which node i of a lineage may have read a terminal, which it was handed like everybody there, though
 * it had something else to read? Then it says nothing. 1, 0, -errno. */
int peer_idle(struct store *s, const struct lineage *l, uint32_t i, const struct lineage_edge *e);
/* Says in the JSON of a socket whether its other end was seen. 1 or -errno. */
int peer_json(struct store *s, const struct version_info *v, const struct file_info *f, json_t *entity);

#endif
