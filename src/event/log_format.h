/* log_format.h - the frame of a segment as it is on disk (doc/format/event-log.md). Little-endian. */
#ifndef STEMMA_EVENT_LOG_FORMAT_H
#define STEMMA_EVENT_LOG_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_MAGIC 0x314c5453u        /* "STL1" */
#define LOG_MAGIC_PACKED 0x324c5453u /* "STL2": the events are packed (log_pack.h); the newest that is known */
#define LOG_MAGIC_MASK 0x00ffffffu   /* without the version digit */
#define LOG_PAYLOAD_MAX (1u << 20)
#define LOG_SEGMENT_MAX (64u << 20) /* a slot rolls here */

struct log_frame {
	uint32_t magic;
	uint32_t size;
	uint64_t sum; /* XXH3-64 of everything after this field */
	uint64_t session;
	uint32_t number;
	uint32_t count;
	uint64_t seq;
	int64_t time;
	uint64_t plain; /* packed: bytes of the events that the payload comes to; else 0 */
};
static_assert(sizeof(struct log_frame) == 56, "frame header");
static_assert(offsetof(struct log_frame, session) == 16, "sum covers from session on");

#endif
