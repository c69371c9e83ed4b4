/* fuzz_frames.h - logs of any events: an input is a list of chunks: session (1 byte), size (2, little-endian), time
 * (8), then so many bytes of events. A chunk becomes a frame with a right checksum; sessions 2 and 6 lie in one
 * segment, 4 and 8 in the other. */
#ifndef STEMMA_FUZZ_FRAMES_H
#define STEMMA_FUZZ_FRAMES_H

#include "base/buf.h"
#include "event/event.h"
#include "event/log_frame.h"
#include "fuzz_file.h"

#include <string.h>

enum { FRAMES_CHUNK = 11, FRAMES_SESSIONS = 4 };

/* How many whole events there are, and how many bytes they take. */
static inline uint32_t frames_count(const uint8_t *p, size_t n, int64_t before, size_t *ret_size)
{
	const unsigned char *at = p, *end = p + n;
	struct event ev;
	uint32_t count = 0;
	*ret_size = 0;
	while (at < end && event_decode(&at, end, before, &ev) == 0) {
		before = ev.time;
		*ret_size = (size_t)(at - p);
		count++;
	}
	return count;
}

/* The two segments; release them. */
static inline void frames_cut(const uint8_t *data, size_t size, struct buf out[2])
{
	uint64_t seq[FRAMES_SESSIONS] = {0};
	uint32_t number[FRAMES_SESSIONS] = {0};
	while (size >= FRAMES_CHUNK) {
		unsigned session = data[0] % FRAMES_SESSIONS;
		size_t n = data[1] | (size_t)data[2] << 8, whole;
		int64_t time;
		memcpy(&time, data + 3, sizeof(time));
		data += FRAMES_CHUNK;
		size -= FRAMES_CHUNK;
		if (n > size)
			n = size;
		uint32_t count = frames_count(data, n, time, &whole);
		if (count) {
			char *frame = malloc(sizeof(struct log_frame) + whole);
			must(frame);
			memcpy(frame + sizeof(struct log_frame), data, whole);
			size_t length = log_frame_build(frame, &(struct log_frame){.size = (uint32_t)whole,
			                                                           .session = 2 + 2 * session,
			                                                           .number = number[session]++,
			                                                           .count = count,
			                                                           .seq = 1 + seq[session],
			                                                           .time = time});
			seq[session] += count;
			buf_add(&out[session & 1], frame, length);
			free(frame);
		}
		data += n;
		size -= n;
	}
}

#endif
