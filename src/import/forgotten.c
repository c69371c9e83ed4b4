#include "import/forgotten.h"

#include "import/segments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* The first event of a session. 1: a keeper's, who may tell of what is gone; 0 of another, or -ENOMEM. */
static int take_first_event(struct forgotten *f, uint64_t session, const struct event *ev)
{
	if (ev->kind != EVENT_session)
		return 0;
	if (ev->session.run.n && intern_add(&f->here, ev->session.run) == VEC_NONE)
		return -ENOMEM;
	if (!str_is(ev->session.mode, "keeping"))
		return 0;
	return map_set(&f->keepers, session, 1) ? 1 : -ENOMEM;
}

/* Notes what a tombstone says was forgotten: a run, or a session. 0, -ENOMEM. */
static int take_tombstone(struct forgotten *f, const struct event_tombstone *t)
{
	if (t->dead && !map_set(&f->dead, t->dead, 1))
		return -ENOMEM;
	return t->run.n && intern_add(&f->runs, t->run) == VEC_NONE ? -ENOMEM : 0;
}

int forgotten_take(struct forgotten *f, struct log_reader *r, const struct log_frame_info *frame)
{
	struct event ev;
	int rc = 1;
	if (frame->seq != 1 && map_get(&f->keepers, frame->session) == VEC_NONE)
		return 0;
	for (bool first = frame->seq == 1; log_reader_event(r, &ev) == 1; first = false) {
		if (first && (rc = take_first_event(f, frame->session, &ev)) != 1)
			return rc;
		if (ev.kind == EVENT_tombstone && take_tombstone(f, &ev.tombstone) < 0)
			return -ENOMEM;
	}
	return 0;
}

struct reading {
	struct forgotten *f;
	struct err *err;
};

/* arg is a struct reading. 0; -errno with a sentence. */
static int read_forgotten_segment(void *arg, const char *path)
{
	const struct reading *x = arg;
	struct log_reader *r;
	struct log_frame_info frame;
	int rc = log_reader_open(path, x->err, &r);
	if (rc < 0)
		return rc;
	while ((rc = log_reader_frame(r, &frame)) == 1)
		if ((rc = forgotten_take(x->f, r, &frame)) < 0)
			break;
	if (rc < 0)
		err_set(x->err, -rc, "cannot read '%s'", path);
	log_reader_close(r);
	return rc;
}

int forgotten_read(struct forgotten *f, const char *home, struct err *err)
{
	struct reading x = {f, err};
	struct stat st;
	char *logs = NULL;
	uint64_t passed = 0;
	if (asprintf(&logs, "%s/logs", home) < 0)
		return err_set(err, ENOMEM, "cannot import");
	int rc = stat(logs, &st) < 0 && errno == ENOENT ? 0 : segments_walk(logs, read_forgotten_segment, &x, &passed, err);
	free(logs);
	return rc;
}

/* Whether the record says that it was forgotten. */
bool forgotten_session(const struct forgotten *f, uint64_t session)
{
	return map_get(&f->dead, session) != VEC_NONE;
}

/* Whether the record says that it was forgotten. "": no. */
bool forgotten_run(const struct forgotten *f, struct str ulid)
{
	return ulid.n && intern_find(&f->runs, ulid) != VEC_NONE;
}

bool forgotten_here(const struct forgotten *f, struct str ulid)
{
	return ulid.n && intern_find(&f->here, ulid) != VEC_NONE;
}

/* f itself may not be used afterwards. */
void forgotten_release(struct forgotten *f)
{
	map_release(&f->keepers);
	map_release(&f->dead);
	intern_release(&f->runs);
	intern_release(&f->here);
}
