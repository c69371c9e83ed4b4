/* log_pack.h - the events of a frame in fewer bytes (doc/format/event-log.md, "Packed frames").
 *
 * What is packed is bytes, those that event_encode made; what is unpacked is the same bytes. Each frame stands alone.
 * No globals; what is read may be anything. About 0.15 us an event each way. */
#ifndef STEMMA_EVENT_LOG_PACK_H
#define STEMMA_EVENT_LOG_PACK_H

#include "base/buf.h"

/* The n bytes at plain are count events, the first with that seq, its time relative to `time`; packed they are appended
 * to out. 0; -EMSGSIZE where they would not be fewer, or are no such events; -ENOMEM. Then out is as it was. */
int log_pack(const void *plain, size_t n, uint32_t count, uint64_t seq, int64_t time, struct buf *out);
/* The other way; plain: bytes that it must come to. They replace what is in out. 0, -EBADMSG, -ENOMEM. */
int log_unpack(const void *packed, size_t n, size_t plain, uint32_t count, uint64_t seq, int64_t time, struct buf *out);

#endif
