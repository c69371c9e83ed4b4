#include "site/collector.h"

#include "base/io.h"
#include "base/ulid.h"
#include "event/log_frame.h"
#include "keep/drop.h"
#include "site/collector_int.h"
#include "site/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- opening ---- */

/* The identity, made where there is none. fd: the lock, whose text it is. 0; -errno with a sentence. */
static int read_id(struct collector *c, struct err *err)
{
	ssize_t n = io_pread(c->lock, c->id, COLLECTOR_ID, 0);
	if (n == COLLECTOR_ID && ulid_is(c->id, COLLECTOR_ID))
		return 0;
	int rc = n < 0 ? (int)n : ulid_new(c->id);
	if (rc == 0 && pwrite(c->lock, c->id, COLLECTOR_ID, 0) != COLLECTOR_ID)
		rc = -EIO;
	if (rc == 0 && fsync(c->lock) < 0)
		rc = -errno;
	return rc < 0 ? err_set(err, -rc, "cannot write '%s/collect/lock'", c->home) : 0;
}

/* Makes the folder where missing. -EBUSY with a sentence: another collector runs. */
static int take_lock(struct collector *c, struct err *err)
{
	char *path = NULL;
	if (asprintf(&path, "%s/collect", c->home) < 0)
		return err_set(err, ENOMEM, "cannot collect");
	int rc = io_mkdirs(path, 0700);
	if (rc < 0)
		err_set(err, -rc, "cannot make the folder '%s'", path);
	free(path);
	if (rc < 0)
		return rc;
	if (asprintf(&path, "%s/collect/lock", c->home) < 0)
		return err_set(err, ENOMEM, "cannot collect");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	c->lock = fd < 0 ? -errno : io_above_std(fd);
	if (c->lock < 0)
		rc = err_set(err, -c->lock, "cannot open '%s'", path);
	else if (flock(c->lock, LOCK_EX | LOCK_NB) < 0) {
		rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
		err_set(err, 0, "another stemma collect is writing to the record '%s'", c->home);
		err_hint(err, "stop that one first, or use another record with --store");
	}
	free(path);
	return rc;
}

int collector_open(const char *home, uint64_t floor, struct err *err, struct collector **ret)
{
	struct collector *c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(err, ENOMEM, "cannot collect");
	c->lock = -1;
	c->floor = floor;
	int rc = io_mkdirs(home, 0700);
	if (rc < 0)
		err_set(err, -rc, "cannot make the folder '%s'", home);
	else if (!(c->home = realpath(home, NULL)))
		rc = err_set(err, errno, "cannot collect into '%s'", home);
	rc = rc < 0 ? rc : take_lock(c, err);
	rc = rc < 0 ? rc : read_id(c, err);
	rc = rc < 0 ? rc : ledger_read(c, err);
	if (rc < 0) {
		collector_close(c);
		return rc;
	}
	*ret = c;
	return 0;
}

int collector_look(const char *home, struct err *err, struct collector **ret)
{
	struct collector *c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(err, ENOMEM, "cannot read the record");
	c->lock = -1;
	c->looks = true;
	int rc = (c->home = realpath(home, NULL)) ? ledger_read(c, err) : err_set(err, errno, "cannot open '%s'", home);
	if (rc < 0) {
		collector_close(c);
		return rc;
	}
	*ret = c;
	return 0;
}

/* NULL is no error. */
void collector_close(struct collector *c)
{
	if (!c)
		return;
	ledger_release(c);
	elsewhere_release(&c->elsewhere);
	for (size_t i = 0; i < c->out.n; i++)
		buf_release(&c->out.v[i].bytes);
	vec_release(&c->out);
	vec_release(&c->dead);
	if (c->lock >= 0)
		close(c->lock);
	free(c->states);
	free(c->home);
	free(c);
}

const char *collector_id(const struct collector *c)
{
	return c->id;
}

/* ---- taking ---- */

struct taking {
	struct collector *c;
	const struct collector_sender *s;
	uint32_t sender;
	const char *p;
	size_t n;
	struct collected *ret;
};

/* Notes that frames were refused: n more frames; the first reason is kept. */
static void refuse(struct collected *r, uint64_t n, const char *why)
{
	if (!r->why[0])
		snprintf(r->why, sizeof(r->why), "%s", why);
	r->refused += n;
}

/* What is collected for the host; NULL: no memory. Valid until another host is added. */
static struct buf *out_for(struct collector *c, uint32_t host)
{
	for (size_t i = 0; i < c->out.n; i++)
		if (c->out.v[i].host == host)
			return &c->out.v[i].bytes;
	struct collector_out *o = vec_add(&c->out);
	if (!o)
		return NULL;
	*o = (struct collector_out){.host = host};
	return &o->bytes;
}

/* A frame that was checked: noted, and put to what is to be written. 0, -ENOMEM. */
static int keep_frame(struct taking *t, const struct offered *o)
{
	struct collector *c = t->c;
	if (ledger_note(c, t->sender, o) < 0)
		return -ENOMEM;
	struct buf *out = out_for(c, ledger_session(c, o->f.session)->host);
	if (!out)
		return -ENOMEM;
	buf_add(out, o->p, o->n);
	for (size_t i = 0; i < o->dead.n; i++) {
		uint64_t *d = vec_add(&c->dead);
		if (!d || !map_set(&c->gone.dead, o->dead.v[i], 1))
			return -ENOMEM;
		*d = o->dead.v[i];
	}
	t->ret->taken++;
	t->ret->bytes += o->n;
	return out->failed ? -ENOMEM : 0;
}

/* Takes a frame that was sent. 0 also for one that is known or refused, which is counted; -errno. */
static int take_frame(struct taking *t, struct log_reader *r, const struct log_frame_info *f)
{
	struct offered o = {.f = *f, .p = t->p + f->offset, .n = (size_t)(f->end - f->offset)};
	const char *why = NULL;
	int rc = offered_check(t->c, t->s, r, &o);
	enum ledger_step step = LEDGER_REFUSE;
	if (rc == 0 && !o.bad)
		step = ledger_place(t->c, t->sender, &o, &why);
	if (step == LEDGER_TAKE && (why = ledger_refuses_host(t->c, t->s, t->sender, &o)))
		step = LEDGER_REFUSE;
	if (rc == 0 && step == LEDGER_TAKE)
		rc = keep_frame(t, &o);
	else if (rc == 0 && step == LEDGER_KNOWN)
		t->ret->known++;
	else if (rc == 0)
		refuse(t->ret, 1, o.bad ? o.bad : why);
	vec_release(&o.dead);
	return rc;
}

/* Takes all frames that were sent. 0 also where some are refused; -errno. */
static int take_frames(struct taking *t)
{
	struct log_reader *r;
	struct log_frame_info f;
	int rc = log_reader_memopen(t->p, t->n, &r);
	if (rc < 0)
		return rc;
	while ((rc = log_reader_frame(r, &f)) == 1 && (rc = take_frame(t, r, &f)) == 0)
		;
	const struct log_damage *d = log_reader_damage(r);
	if (d->skipped || d->torn)
		refuse(t->ret, 1, "it has bytes that belong to no complete frame");
	if (d->newer)
		refuse(t->ret, d->newer, "it was written by a newer version of stemma; update the collector");
	log_reader_close(r);
	return rc;
}

/* Would n bytes more leave less than the floor? False if it cannot be told. */
static bool is_disk_full(const struct collector *c, size_t n)
{
	struct statvfs v;
	return statvfs(c->home, &v) == 0 && (uint64_t)v.f_bavail * v.f_frsize < c->floor + n;
}

/* After a failure: what is here is read again, since nothing else says what was written. 0, -errno with a sentence:
 * c->stale then. */
static int read_again(struct collector *c, struct err *err)
{
	ledger_release(c);
	int rc = ledger_read(c, err);
	c->stale = rc < 0;
	return rc;
}

/* What a tombstone of the batch tells of is taken out here, too. The tombstones are on disk: what fails now is done
 * when another one comes, and no question answers from it. */
static void drop_dead(struct collector *c)
{
	if (!c->dead.n)
		return;
	struct err err = {0};
	if (keep_drop_sessions(c->home, c->dead.v, c->dead.n, &err) == 0)
		c->dead.n = 0;
}

size_t collector_relay_line(const void *batch, size_t n, char ret[COLLECTOR_NAME + 1])
{
	const size_t head = strlen(COLLECTOR_RELAYED), most = head + COLLECTOR_NAME + 1;
	const char *end = n > head ? memchr(batch, '\n', n < most ? n : most) : NULL;
	if (!end || memcmp(batch, COLLECTOR_RELAYED, head) != 0)
		return 0;
	const size_t line = (size_t)(end - (const char *)batch), name = line - head;
	memcpy(ret, (const char *)batch + head, name);
	ret[name] = '\0';
	return strlen(ret) == name && nodes_name_is(ret) ? line + 1 : 0;
}

int collector_take(struct collector *c, const struct collector_sender *who, const void *batch, size_t n,
                   struct err *err, struct collected *ret)
{
	struct collector_sender as = *who, *s = &as;
	char relayed[COLLECTOR_NAME + 1];
	const char *frames = batch;
	*ret = (struct collected){0};
	if (n > COLLECTOR_BATCH) {
		err_set(err, 0, "a batch of %zu bytes is larger than the %u that a collector accepts", n, COLLECTOR_BATCH);
		return -EMSGSIZE;
	}
	const size_t line = !who->host && who->any_user ? collector_relay_line(batch, n, relayed) : 0;
	if (line) {
		as.name = relayed;
		frames += line;
		n -= line;
	}
	int rc = c->stale ? read_again(c, err) : 0;
	if (rc < 0)
		return rc;
	const uint32_t sender = ledger_sender(c, s->name);
	if (sender == VEC_NONE)
		return err_set(err, ENOMEM, "cannot collect");
	if (s->share && c->senders.v[sender].bytes + n > s->share) {
		err_set(err, 0, "the share of '%s' is used up", s->name);
		err_hint(err, "raise --share, or remove runs with stemma forget or stemma gc");
		return -EDQUOT;
	}
	if (is_disk_full(c, n)) {
		err_set(err, 0, "the disk of the record has less free space than --floor");
		err_hint(err, "free some space, or start the collector with a smaller --floor");
		return -ENOSPC;
	}
	for (size_t i = 0; i < c->out.n; i++)
		buf_release(&c->out.v[i].bytes);
	c->out.n = 0;
	c->elsewhere.looked = false;
	struct taking t = {c, s, sender, frames, n, ret};
	c->stale = true;
	rc = take_frames(&t);
	if (rc < 0)
		err_set(err, -rc, "cannot store the records that were sent");
	rc = rc < 0 ? rc : collector_append(c, s->name, err);
	c->stale = rc < 0;
	if (rc == 0)
		drop_dead(c);
	return rc;
}

/* ---- what people are told ---- */

static int compare_states(const void *pa, const void *pb)
{
	const struct collector_state *a = pa, *b = pb;
	return strcmp(a->name, b->name);
}

int collector_states(const struct collector *cc, const struct collector_state **ret, size_t *ret_n)
{
	struct collector *c = (struct collector *)(uintptr_t)cc;
	free(c->states);
	if (!(c->states = calloc(c->senders.n + 1, sizeof(*c->states))))
		return -ENOMEM;
	for (size_t i = 0; i < c->senders.n; i++)
		c->states[i] = (struct collector_state){.name = c->senders.v[i].name,
		                                        .hosts = c->senders.v[i].hosts.n,
		                                        .bytes = c->senders.v[i].bytes,
		                                        .until = c->senders.v[i].until};
	for (size_t i = 0; i < c->sessions.n; i++) {
		struct collector_state *s = &c->states[c->sessions.v[i].sender];
		s->sessions++;
		s->open += !c->sessions.v[i].ended;
		s->missing += c->sessions.v[i].missing;
	}
	qsort(c->states, c->senders.n, sizeof(*c->states), compare_states);
	*ret = c->states;
	*ret_n = c->senders.n;
	return 0;
}
