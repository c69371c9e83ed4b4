#include "trust/rerun/consumed.h"

#include "base/map.h"
#include "base/vec.h"
#include "event/log_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* A file as one session knows it. */
struct known_file {
	char *path, *domain;
	uint64_t ino, gen;
	bool folder, own; /* own: the run made it, or emptied it, or it was noted already */
	bool opened;      /* it is among those that were opened */
};

struct consuming {
	struct consumed *out;
	uint64_t session, seq; /* seq: of the last event that was taken */
	struct map by_num, domains;
	VEC(struct known_file) files;
	VEC(char *) names; /* of domains */
	struct err *err;
	int rc;
};

/* What is known of a session's files goes. */
static void forget_session(struct consuming *r)
{
	for (size_t i = 0; i < r->files.n; i++) {
		free(r->files.v[i].path);
		free(r->files.v[i].domain);
	}
	for (size_t i = 0; i < r->names.n; i++)
		free(r->names.v[i]);
	vec_release(&r->files);
	vec_release(&r->names);
	map_release(&r->by_num);
	map_release(&r->domains);
	r->seq = 0;
}

/* Its name; without memory r->rc is -ENOMEM. */
static void on_domain(struct consuming *r, const struct event *ev)
{
	char **slot = vec_add(&r->names);
	if (!slot || !(*slot = strndup(ev->domain.name.p ? ev->domain.name.p : "", ev->domain.name.n)) ||
	    !map_set(&r->domains, ev->domain.num, (uint32_t)(r->names.n - 1)))
		r->rc = -ENOMEM;
}

/* Regular files and folders only. */
static void on_file(struct consuming *r, const struct event *ev)
{
	bool folder = ev->file.kind == TERM_kind_directory;
	if ((!folder && ev->file.kind != TERM_kind_regular) || map_get(&r->by_num, ev->file.num) != VEC_NONE)
		return;
	uint32_t d = map_get(&r->domains, ev->file.domain);
	struct known_file *x = vec_add(&r->files);
	if (!x) {
		r->rc = -ENOMEM;
		return;
	}
	*x = (struct known_file){.path = strndup(ev->file.path.p ? ev->file.path.p : "", ev->file.path.n),
	                         .domain = strdup(d == VEC_NONE ? "" : r->names.v[d]),
	                         .ino = ev->file.ino,
	                         .gen = ev->file.gen,
	                         .folder = folder};
	if (!x->path || !x->domain || !map_set(&r->by_num, ev->file.num, (uint32_t)(r->files.n - 1)))
		r->rc = -ENOMEM;
}

/* What is known of a file of the session. num: the session's; NULL: not known. */
static struct known_file *known_file_of(struct consuming *r, uint64_t num)
{
	uint32_t i = num ? map_get(&r->by_num, num) : VEC_NONE;
	return i == VEC_NONE ? NULL : &r->files.v[i];
}

/* Once, and only as long as there are not too many. */
static void note_consumed(struct consuming *r, struct known_file *x, struct str path, enum consumed_how how,
                          const struct event *ev)
{
	bool named = how == CONSUMED_MOVED || how == CONSUMED_LINKED;
	struct consumed *c = r->out;
	x->own = true;
	c->more |= c->n >= CONSUMED_MOST;
	if (c->n >= CONSUMED_MOST || !path.n)
		return;
	if (!vec_has_room(c->v, c->n, c->cap)) {
		r->rc = -ENOMEM;
		return;
	}
	struct consumed_file *one = &c->v[c->n++];
	*one = (struct consumed_file){.path = strndup(path.p, path.n),
	                              .domain = strdup(x->domain),
	                              .ino = x->ino,
	                              .gen = x->gen,
	                              .folder = x->folder,
	                              .how = how,
	                              .became = named ? strndup(ev->name.path.p, ev->name.path.n) : NULL,
	                              .time = ev->time};
	if (!one->path || !one->domain || (named && !one->became))
		r->rc = -ENOMEM;
}

/* What identifies a file: the hash of its file system, inode and generation. */
static struct consumed_id consumed_id(struct str domain, uint64_t ino, uint64_t gen)
{
	return (struct consumed_id){XXH3_64bits(domain.n ? domain.p : "", domain.n), ino, gen};
}

static int compare_consumed_ids(const void *a, const void *b)
{
	const struct consumed_id *x = a, *y = b;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	if (x->gen != y->gen)
		return x->gen < y->gen ? -1 : 1;
	return (x->domain > y->domain) - (x->domain < y->domain);
}

bool consumed_opened(const struct consumed *c, struct str domain, uint64_t ino, uint64_t gen)
{
	struct consumed_id id = consumed_id(domain, ino, gen);
	return c->opened.n && bsearch(&id, c->opened.v, c->opened.n, sizeof(id), compare_consumed_ids);
}

/* Takes an access: notes files that the run made or opened for writing. */
static void on_access(struct consuming *r, const struct event *ev)
{
	struct known_file *x = known_file_of(r, ev->access.file);
	if (!x)
		return;
	x->own |= (ev->access.mode & (ACCESS_CREATE | ACCESS_TRUNC)) != 0;
	if (x->opened || !(ev->access.mode & ACCESS_WRITE) || ev->access.api == TERM_api_inherit)
		return;
	struct consumed_id *one = vec_add(&r->out->opened);
	if (one)
		*one = consumed_id(str_of(x->domain), x->ino, x->gen);
	else
		r->rc = -ENOMEM;
	x->opened = true;
}

/* A name that was only found changed (no process) was changed by somebody else. */
static void on_name(struct consuming *r, const struct event *ev)
{
	struct known_file *x = known_file_of(r, ev->name.file);
	if (!x || x->own)
		return;
	if (ev->name.op == TERM_nameop_create || !ev->proc) {
		x->own = ev->name.op == TERM_nameop_create;
		return;
	}
	if (ev->name.op == TERM_nameop_rename)
		note_consumed(r, x, ev->name.old, CONSUMED_MOVED, ev);
	else if (ev->name.op == TERM_nameop_link)
		note_consumed(r, x, str_of(x->path), CONSUMED_LINKED, ev);
	else if (ev->name.op == TERM_nameop_unlink)
		note_consumed(r, x, ev->name.path, CONSUMED_REMOVED, ev);
	else if (ev->name.op == TERM_nameop_replace)
		note_consumed(r, x, ev->name.path, CONSUMED_REPLACED, ev);
}

/* One event of the session; other kinds are passed over. */
static void on_event(struct consuming *r, const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_domain:
		on_domain(r, ev);
		break;
	case EVENT_file:
		on_file(r, ev);
		break;
	case EVENT_access:
		on_access(r, ev);
		break;
	case EVENT_name:
		on_name(r, ev);
		break;
	default:
		break;
	}
}

/* Called for each part of the run's log: reads it. arg: struct consuming. Events that were read before are passed
 * over. 0, -errno with a sentence. */
static int read_part(void *arg, const struct run_part *part)
{
	struct consuming *r = arg;
	struct log_reader *l;
	struct log_frame_info f;
	struct event ev;
	int rc = log_reader_open(part->segment, r->err, &l);
	if (rc < 0)
		return rc;
	if (part->session != r->session)
		forget_session(r);
	r->session = part->session;
	log_reader_seek(l, part->from);
	while ((rc = log_reader_frame(l, &f)) == 1 && f.offset < part->to && r->rc == 0)
		while (f.session == part->session && r->rc == 0 && log_reader_event(l, &ev) == 1)
			if (ev.seq > r->seq) {
				r->seq = ev.seq;
				on_event(r, &ev);
			}
	log_reader_close(l);
	return rc < 0 ? err_set(r->err, -rc, "cannot read the log %s", part->segment) : r->rc;
}

int consumed_read(struct store *s, store_id run, struct err *err, struct consumed *ret)
{
	struct consuming r = {.out = ret, .err = err};
	*ret = (struct consumed){0};
	int rc = store_run_parts(s, run, read_part, &r);
	forget_session(&r);
	if (ret->opened.n)
		qsort(ret->opened.v, ret->opened.n, sizeof(*ret->opened.v), compare_consumed_ids);
	if (rc < 0)
		err_set(err, -rc, "cannot read what the run moved and removed");
	return rc < 0 ? rc : 0;
}

void consumed_release(struct consumed *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].path);
		free(c->v[i].became);
		free(c->v[i].domain);
	}
	free(c->v);
	vec_release(&c->opened);
	*c = (struct consumed){0};
}
