/* log_place.h - the folders of a record: logs/<host>/<day>/<slot>.stl.
 *
 * A host's name may have any bytes but NUL. As a folder's name it is written so that every walk over the record finds
 * it: a dot at its beginning is "%2E", a slash is "_", and no name at all is "localhost". */
#ifndef STEMMA_EVENT_LOG_PLACE_H
#define STEMMA_EVENT_LOG_PLACE_H

#include <stdbool.h>

#define LOG_PLACE_HOST 256

/* The folder of the host of that name; cut where it is longer than a folder's name can be. */
void log_place_host(const char *name, char ret[LOG_PLACE_HOST]);
/* That of this machine. */
void log_place_own_host(char ret[LOG_PLACE_HOST]);
/* Is the name, at so many levels below logs/, none of a record's? Hidden names are not, except of a host, whose folder
 * had a dot at the beginning before this was written so. A host is one level down where a daemon keeps the logs of all
 * users. */
bool log_place_hidden(const char *name, unsigned depth);
/* Where others' frames lie: logs/<host>/import/ and logs/<host>/collected-<sender>/. */
#define LOG_PLACE_IMPORT "import"
#define LOG_PLACE_COLLECTED "collected-"
/* Of a segment's path: the folder that it lies in, and what follows; "" where the path has none. */
const char *log_place_day(const char *path);
/* Does it lie there, and not where this record's own runs are written? */
bool log_place_received(const char *path);

#endif
