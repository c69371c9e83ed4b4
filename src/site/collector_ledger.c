/* collector_ledger.c - which frames of which sessions are here. Made from the segments; nothing else is kept. */
#include "site/collector_int.h"

#include "base/hash.h"
#include "site/segment_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Only what the ledger holds; c itself stays. */
void ledger_release(struct collector *c)
{
	for (size_t i = 0; i < c->senders.n; i++)
		vec_release(&c->senders.v[i].hosts);
	for (size_t i = 0; i < c->sessions.n; i++)
		vec_release(&c->sessions.v[i].holes);
	vec_release(&c->senders);
	vec_release(&c->sessions);
	vec_release(&c->hosts);
	table_release(&c->host_names);
	c->n_holes = 0;
	map_release(&c->numbers);
	forgotten_release(&c->gone);
	c->numbers = (struct map){0};
	c->gone = (struct forgotten){0};
}

uint32_t ledger_sender(struct collector *c, const char *name)
{
	for (size_t i = 0; i < c->senders.n; i++)
		if (!strcmp(c->senders.v[i].name, name))
			return (uint32_t)i;
	struct ledger_sender *s = vec_add(&c->senders);
	if (!s)
		return VEC_NONE;
	*s = (struct ledger_sender){.until = TIME_NONE};
	snprintf(s->name, sizeof(s->name), "%s", name);
	return (uint32_t)(c->senders.n - 1);
}

/* Finds a host by the name of its folder. VEC_NONE: none of that name. */
static uint32_t find_host(const struct collector *c, const char *folder)
{
	size_t pos = TABLE_START;
	uint32_t at;
	do
		at = table_next(&c->host_names, hash_fold(hash_str(str_of(folder))), &pos);
	while (at != VEC_NONE && strcmp(c->hosts.v[at].name, folder) != 0);
	return at;
}

/* Its place, made where missing; VEC_NONE without memory. */
static uint32_t ledger_host(struct collector *c, const char *folder)
{
	const uint32_t known = find_host(c, folder);
	struct ledger_host *h = known == VEC_NONE ? vec_add(&c->hosts) : NULL;
	if (!h || !table_add(&c->host_names, hash_fold(hash_str(str_of(folder))), (uint32_t)(c->hosts.n - 1)))
		return known;
	snprintf(h->name, sizeof(h->name), "%s", folder);
	return (uint32_t)(c->hosts.n - 1);
}

/* Whether the sender may send for the host. */
static bool has_host(const struct ledger_sender *s, uint32_t host)
{
	for (size_t i = 0; i < s->hosts.n; i++)
		if (s->hosts.v[i] == host)
			return true;
	return false;
}

const char *ledger_refuses_host(const struct collector *c, const struct collector_sender *s, uint32_t sender,
                                const struct offered *o)
{
	const uint32_t at = map_get(&c->numbers, o->f.session);
	const uint32_t host = at != VEC_NONE ? c->sessions.v[at].host : find_host(c, o->host);
	const struct ledger_sender *from = &c->senders.v[sender];
	if (!s->any_user && from->hosts.n >= COLLECTOR_HOSTS && !has_host(from, host))
		return "its sender has sent records of too many hosts";
	for (size_t i = 0; i < c->out.n; i++)
		if (c->out.v[i].host == host)
			return NULL;
	return c->out.n < COLLECTOR_BATCH_HOSTS ? NULL : "its batch has records of too many hosts";
}

/* NULL: it is not known. Valid until one is added. */
struct ledger_session *ledger_session(struct collector *c, uint64_t number)
{
	const uint32_t at = map_get(&c->numbers, number);
	return at == VEC_NONE ? NULL : &c->sessions.v[at];
}

/* Finds a frame among those that are missing. NULL: that frame is not missing. */
static struct ledger_hole *find_hole(const struct ledger_session *s, const struct log_frame_info *f)
{
	for (size_t i = 0; i < s->holes.n; i++)
		if (s->holes.v[i].number == f->number)
			return &s->holes.v[i];
	return NULL;
}

enum ledger_step ledger_place(const struct collector *c, uint32_t sender, const struct offered *o, const char **ret_why)
{
	const struct log_frame_info *f = &o->f;
	const uint32_t at = map_get(&c->numbers, f->session);
	if (forgotten_session(&c->gone, f->session))
		return LEDGER_KNOWN;
	if (at == VEC_NONE) {
		*ret_why = "the beginning of its session is missing";
		return o->begins ? LEDGER_TAKE : LEDGER_REFUSE;
	}
	const struct ledger_session *s = &c->sessions.v[at];
	if (s->sender != sender) {
		*ret_why = "its session was sent by another sender";
		return LEDGER_REFUSE;
	}
	*ret_why = "it contradicts what the collector already has";
	/* A frame that forget has cut in two has its number twice. */
	if (f->number + 1 >= s->next && f->seq >= s->end)
		return LEDGER_TAKE;
	if (f->number + 1 == s->next && f->seq == s->last_seq && f->count > s->last_count)
		return LEDGER_TAKE;
	if (f->number + 1 >= s->next)
		return f->seq + f->count <= s->end ? LEDGER_KNOWN : LEDGER_REFUSE;
	const struct ledger_hole *h = find_hole(s, f);
	return !h ? LEDGER_KNOWN : f->seq >= h->from && f->seq + f->count <= h->to ? LEDGER_TAKE : LEDGER_REFUSE;
}

/* Numbers between the session's last frame and this one, which may still come. Beyond a limit they are only counted as
 * missing. 0, -ENOMEM. */
static int note_holes(struct collector *c, struct ledger_session *s, const struct log_frame_info *f)
{
	const uint32_t n = f->number - s->next;
	for (uint32_t i = 0; i < n && s->holes.n < LEDGER_HOLES && c->n_holes < LEDGER_HOLES_ALL; i++) {
		struct ledger_hole *h = vec_add(&s->holes);
		if (!h)
			return -ENOMEM;
		*h = (struct ledger_hole){s->end, f->seq, s->next + i};
		c->n_holes++;
	}
	s->missing += n;
	return 0;
}

/* The frame came late: its hole is filled, and those beside it cannot reach over it. */
static void fill_hole(struct collector *c, struct ledger_session *s, const struct log_frame_info *f)
{
	struct ledger_hole *h = find_hole(s, f);
	if (!h)
		return;
	/* What stands on both sides of it cannot overlap it any more. */
	for (size_t i = 0; i < s->holes.n; i++) {
		struct ledger_hole *o = &s->holes.v[i];
		if (o->number < f->number && o->to > f->seq)
			o->to = f->seq;
		if (o->number > f->number && o->from < f->seq + f->count)
			o->from = f->seq + f->count;
	}
	*h = s->holes.v[--s->holes.n];
	c->n_holes--;
	s->missing--;
}

/* Notes that a sender sends records of a host. 0, -ENOMEM. Each once for a sender. */
static int note_host(struct collector *c, uint32_t sender, uint32_t host)
{
	struct ledger_sender *s = &c->senders.v[sender];
	if (has_host(s, host))
		return 0;
	uint32_t *slot = vec_add(&s->hosts);
	if (slot)
		*slot = host;
	return slot ? 0 : -ENOMEM;
}

/* Adds a session of a sender. NULL: no memory, or the host cannot be noted. Valid until the next is added. */
static struct ledger_session *add_session(struct collector *c, uint32_t sender, const struct offered *o)
{
	const uint32_t host = ledger_host(c, o->host);
	struct ledger_session *s = host == VEC_NONE || note_host(c, sender, host) < 0 ? NULL : vec_add(&c->sessions);
	if (!s || !map_set(&c->numbers, o->f.session, (uint32_t)(c->sessions.n - 1)))
		return NULL;
	*s = (struct ledger_session){.number = o->f.session, .sender = sender, .host = host, .end = 1};
	return s;
}

int ledger_note(struct collector *c, uint32_t sender, const struct offered *o)
{
	const struct log_frame_info *f = &o->f;
	struct ledger_session *s = ledger_session(c, f->session);
	if (!s && !(s = add_session(c, sender, o)))
		return -ENOMEM;
	if (f->number >= s->next) {
		if (note_holes(c, s, f) < 0)
			return -ENOMEM;
		s->next = f->number + 1;
	} else if (f->number + 1 < s->next) {
		fill_hole(c, s, f);
	}
	if (f->number + 1 == s->next) {
		s->last_seq = f->seq;
		s->last_count = f->count;
		s->end = f->seq + f->count;
	}
	s->ended |= o->ends;
	struct ledger_sender *from = &c->senders.v[sender];
	from->bytes += f->end - f->offset;
	if (f->time > from->until)
		from->until = f->time;
	return 0;
}

/* ---- what is here already ---- */

struct ledger_reading {
	struct collector *c;
	struct err *err;
	const char *host, *day;
	uint32_t sender;
};

/* Reads the frames of a segment that were collected. *ret_end: behind the last whole frame. 0, -errno. */
static int read_frames(struct ledger_reading *x, struct log_reader *r, uint64_t *ret_end)
{
	struct log_frame_info f;
	struct event ev;
	int rc;
	while ((rc = log_reader_frame(r, &f)) == 1) {
		struct offered o = {.f = f, .begins = f.number == 0 && f.seq == 1};
		snprintf(o.host, sizeof(o.host), "%s", x->host);
		*ret_end = f.end;
		while (log_reader_event(r, &ev) == 1)
			o.ends |= ev.kind == EVENT_session_end;
		if ((rc = ledger_note(x->c, x->sender, &o)) < 0)
			return rc;
	}
	return rc;
}

/* What is torn at its end is cut off, unless c only looks. -errno, reported. */
static int read_collected(struct ledger_reading *x, const char *path)
{
	struct log_reader *r;
	uint64_t whole = 0;
	int rc = log_reader_open(path, x->err, &r);
	if (rc < 0)
		return rc;
	rc = read_frames(x, r, &whole);
	const uint64_t torn = log_reader_damage(r)->torn;
	log_reader_close(r);
	if (rc < 0)
		return err_set(x->err, -rc, "cannot read '%s'", path);
	return torn && !x->c->looks ? collector_cut_tail(x->c, path, x->host, x->day, whole, x->err) : 0;
}

/* Reads what a sender has sent of a host. day: the folder of the sender below that of the host. -errno, reported. */
static int read_sender(struct collector *c, const char *host, const char *day, struct err *err)
{
	struct ledger_reading x = {c, err, host, day, ledger_sender(c, day + strlen(COLLECTED_DAY))};
	struct segment_list list;
	char *dir = NULL;
	if (x.sender == VEC_NONE || asprintf(&dir, "%s/logs/%s/%s", c->home, host, day) < 0)
		return err_set(err, ENOMEM, "cannot collect");
	int rc = segment_list_read(dir, err, &list);
	free(dir);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < list.paths.n; i++)
		rc = read_collected(&x, list.paths.v[i]);
	segment_list_release(&list);
	return rc;
}

/* Reads what was collected of a host. -errno, reported; a folder that is not there has no senders. */
static int read_host(struct collector *c, const char *host, struct err *err)
{
	char *dir = NULL;
	int rc = 0;
	if (asprintf(&dir, "%s/logs/%s", c->home, host) < 0)
		return err_set(err, ENOMEM, "cannot collect");
	DIR *d = opendir(dir);
	free(dir);
	for (struct dirent *e; d && rc == 0 && (e = readdir(d));)
		if (!strncmp(e->d_name, COLLECTED_DAY, strlen(COLLECTED_DAY)) &&
		    strlen(e->d_name) <= strlen(COLLECTED_DAY) + COLLECTOR_NAME)
			rc = read_sender(c, host, e->d_name, err);
	if (d)
		closedir(d);
	return rc;
}

int ledger_read(struct collector *c, struct err *err)
{
	char *logs = NULL;
	int rc = forgotten_read(&c->gone, c->home, err);
	if (rc < 0)
		return rc;
	if (asprintf(&logs, "%s/logs", c->home) < 0)
		return err_set(err, ENOMEM, "cannot collect");
	DIR *d = opendir(logs);
	if (!d && errno != ENOENT)
		rc = err_set(err, errno, "cannot read the folder '%s'", logs);
	free(logs);
	for (struct dirent *e; d && rc == 0 && (e = readdir(d));)
		if (!log_place_hidden(e->d_name, 0))
			rc = read_host(c, e->d_name, err);
	if (d)
		closedir(d);
	return rc;
}
