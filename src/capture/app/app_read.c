#include "capture/app/app_read.h"

#include <string.h>

bool app_read_head(const void *p, size_t n, struct app_told *ret)
{
	struct app_head h;
	if (n < APP_HEAD)
		return false;
	memcpy(&h, p, sizeof(h));
	if (h.magic != APP_MAGIC)
		return false;
	*ret = (struct app_told){.dropped = h.dropped,
	                         .image = h.image,
	                         .pidns = h.pidns,
	                         .started = h.started,
	                         .born = h.born,
	                         .pid = h.pid,
	                         .serial = h.serial};
	memcpy(ret->run, h.run, sizeof(ret->run) - 1);
	memcpy(ret->tool, h.tool, sizeof(ret->tool) - 1);
	return true;
}

/* The entries in [at, end). Stops at what is damaged. 0, or what `each` returned. */
static int read_app_chunk(const char *at, const char *end, uint32_t tid,
                          int (*each)(void *arg, const struct app_said *), void *arg)
{
	struct app_entry e;
	while ((size_t)(end - at) >= sizeof(e)) {
		memcpy(&e, at, sizeof(e));
		/* A size of 0: nothing, or what was being written when the program was killed. */
		if (e.size < sizeof(e) || e.size % 8 || e.size > (size_t)(end - at))
			return 0;
		const char *text = at + sizeof(e);
		uint64_t n = (uint64_t)e.name + e.version + e.value;
		at += e.size;
		if (e.name > APP_NAME_MAX || e.version > APP_NAME_MAX || e.value > APP_VALUE_MAX || n > e.size - sizeof(e))
			continue;
		struct app_said said = {.kind = e.kind,
		                        .flags = e.flags,
		                        .tid = tid,
		                        .time = e.time,
		                        .step = e.step,
		                        .id = e.id,
		                        .activity = e.activity,
		                        .number = e.number,
		                        .whole = e.whole,
		                        .name = str_n(text, e.name),
		                        .version = str_n(text + e.name, e.version),
		                        .value = str_n(text + e.name + e.version, e.value)};
		int rc = each(arg, &said);
		if (rc)
			return rc;
	}
	return 0;
}

int app_read_entries(const void *p, size_t n, int (*each)(void *arg, const struct app_said *), void *arg)
{
	struct app_chunk c;
	for (size_t at = APP_HEAD; n >= APP_CHUNK && at <= n - APP_CHUNK;) {
		memcpy(&c, (const char *)p + at, sizeof(c));
		size_t room = (size_t)c.chunks * APP_CHUNK;
		if (c.magic != APP_CHUNK_MAGIC || c.at != at || c.chunks < 1 || c.chunks > APP_CLAIM_MAX || room > n - at) {
			at += APP_CHUNK; /* never claimed, or its owner was killed just then */
			continue;
		}
		const char *chunk = (const char *)p + at;
		int rc = read_app_chunk(chunk + sizeof(c), chunk + room, c.tid, each, arg);
		if (rc)
			return rc;
		at += room;
	}
	return 0;
}
