#include "event/log_frame.h"

#include "base/hash.h"

#include <endian.h>

#define SUM_FROM offsetof(struct log_frame, session)
#define EVENT_MIN 4 /* bytes: length, kind, time, proc */

size_t log_frame_build(void *at, const struct log_frame *h)
{
	size_t length = sizeof(*h) + h->size;
	struct log_frame d = {
	    .magic = htole32(LOG_MAGIC),
	    .size = htole32(h->size),
	    .session = htole64(h->session),
	    .number = htole32(h->number),
	    .count = htole32(h->count),
	    .seq = htole64(h->seq),
	    .time = (int64_t)htole64((uint64_t)h->time),
	};
	memcpy(at, &d, sizeof(d));
	d.sum = htole64(hash_bytes((char *)at + SUM_FROM, length - SUM_FROM));
	memcpy((char *)at + offsetof(struct log_frame, sum), &d.sum, sizeof(d.sum));
	return length;
}

struct log_frame log_frame_header(const void *p)
{
	struct log_frame d;
	memcpy(&d, p, sizeof(d));
	return (struct log_frame){
	    .magic = le32toh(d.magic),
	    .size = le32toh(d.size),
	    .sum = le64toh(d.sum),
	    .session = le64toh(d.session),
	    .number = le32toh(d.number),
	    .count = le32toh(d.count),
	    .seq = le64toh(d.seq),
	    .time = (int64_t)le64toh((uint64_t)d.time),
	    .zero = le64toh(d.zero),
	};
}

bool log_frame_plausible(const struct log_frame *h)
{
	return h->magic == LOG_MAGIC && h->size <= LOG_PAYLOAD_MAX && h->session != 0 && h->seq != 0 &&
	       h->count <= h->size / EVENT_MIN && h->seq <= UINT64_MAX - h->count;
}

bool log_frame_intact(const void *p, const struct log_frame *h)
{
	return hash_bytes((const char *)p + SUM_FROM, sizeof(*h) - SUM_FROM + h->size) == h->sum;
}
