/* collector_elsewhere.c - sessions that the record has from elsewhere than from senders: of runs that were recorded
 * here, and of imports. No sender has a say about these: their numbers stand in every export.
 *
 * Segments are looked through when a batch asks, and what is behind the place where the last look ended. Cost: a stat
 * of each such segment for a batch that asks. Memory: 24 bytes a session. */
#include "site/collector_int.h"

#include "base/hash.h"
#include "import/segments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct looking {
	struct elsewhere *e;
	struct err *err;
};

/* What was read of the segment so far: nothing if it is new, another file now, or shorter. NULL: no memory. Valid until
 * the next is added. */
static struct elsewhere_segment *find_or_add_segment(struct elsewhere *e, const char *path, const struct stat *st)
{
	const uint64_t name = hash_str(str_of(path));
	const uint32_t at = map_get(&e->by_name, name);
	struct elsewhere_segment *s = at != VEC_NONE ? &e->segments.v[at] : vec_add(&e->segments);
	if (!s || (at == VEC_NONE && !map_set(&e->by_name, name, (uint32_t)(e->segments.n - 1))))
		return NULL;
	if (at == VEC_NONE || s->inode != st->st_ino || s->read > (uint64_t)st->st_size)
		*s = (struct elsewhere_segment){.inode = st->st_ino};
	return s;
}

/* A callback for each segment: reads what is new in it. What a collector wrote is passed over. -errno, reported. */
static int look_into_segment(void *arg, const char *path)
{
	const struct looking *x = arg;
	struct log_reader *r;
	struct log_frame_info f;
	struct stat st;
	if (!strncmp(log_place_day(path), LOG_PLACE_COLLECTED, strlen(LOG_PLACE_COLLECTED)) || lstat(path, &st) < 0)
		return 0;
	struct elsewhere_segment *s = find_or_add_segment(x->e, path, &st);
	if (!s)
		return -ENOMEM;
	if (s->read == (uint64_t)st.st_size)
		return 0;
	int rc = log_reader_open(path, x->err, &r);
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	log_reader_seek(r, s->read);
	while ((rc = log_reader_frame(r, &f)) == 1) {
		s->read = f.end;
		if (!map_set(&x->e->sessions, f.session, 1)) {
			rc = -ENOMEM;
			break;
		}
	}
	log_reader_close(r);
	return rc;
}

int collector_elsewhere(struct collector *c, uint64_t session)
{
	struct err err = {0};
	struct looking x = {&c->elsewhere, &err};
	struct stat st;
	char *logs = NULL;
	uint64_t passed = 0;
	if (c->elsewhere.looked || map_get(&c->elsewhere.sessions, session) != VEC_NONE)
		return map_get(&c->elsewhere.sessions, session) != VEC_NONE;
	if (asprintf(&logs, "%s/logs", c->home) < 0)
		return -ENOMEM;
	int rc = stat(logs, &st) < 0 && errno == ENOENT ? 0 : segments_walk(logs, look_into_segment, &x, &passed, &err);
	free(logs);
	if (rc < 0)
		return rc;
	c->elsewhere.looked = true;
	return map_get(&c->elsewhere.sessions, session) != VEC_NONE;
}

/* e itself may not be used afterwards. */
void elsewhere_release(struct elsewhere *e)
{
	vec_release(&e->segments);
	map_release(&e->by_name);
	map_release(&e->sessions);
}
