/* app_messages.c - what ranks of MPI sent each other, as accesses to streams (doc/annotations.md, "Messages between
 * ranks"). Everything here was written by the user's program: a row says something of its own execution only. */
#include "capture/app/channel.h"
#include "capture/app/images.h"
#include "capture/supervisor/super.h"

#include <stdio.h>

#define ANYBODY_MOST 256 /* ranks, each of which may have sent what came from whoever it was */
#define ADDRESS_ROOM 128
#define ACCESSES_MOST (1u << 17) /* of an image; mpi_messages.c has 4096 rows */

struct mpi_teller {
	struct sup *s;
	const struct channel_image *image;
	struct proc subject; /* the process under a number of its own */
	int64_t now;
	bool begun, unknown; /* its process event was written; it cannot be */
	uint64_t untold;     /* calls */
	unsigned told;       /* accesses */
};

static int64_t mpi_time_within(const struct mpi_teller *t, int64_t said)
{
	int64_t boot = t->now - t->s->clock_offset, born = t->image->head.born;
	return (said < born ? born : said > boot ? boot : said) + t->s->clock_offset;
}

/* The process under another number, for its execution may not be the one that is current under the first. False: nobody
 * saw the program. */
static bool begin_messages(struct mpi_teller *t)
{
	const struct app_told *h = &t->image->head;
	uint64_t n;
	if (t->begun || t->unknown)
		return t->begun;
	t->unknown = !h->pid || !images_find(t->s->images, h->pid, h->started, mpi_time_within(t, h->born), &n);
	if (t->unknown)
		return false;
	t->begun = true;
	t->subject = (struct proc){.pid = (pid_t)h->pid, .num = ++t->s->known->procs};
	struct event ev = {.process = {.pid = h->pid, .started = h->started, .forked = TIME_NONE}};
	sup_event(t->s, EVENT_process, t->now, &t->subject, &ev);
	struct event image = {.image = {.n = n}};
	sup_event(t->s, EVENT_image, t->now, &t->subject, &image);
	return true;
}

/* The job's name in streams' domains: of the launcher that was seen starting the rank, else by what the launcher told.
 * False: neither is known, so that two jobs could not be told apart. */
static bool name_job(const struct mpi_teller *t, uint64_t told, char *ret)
{
	const struct app_told *h = &t->image->head;
	uint64_t launcher = images_launcher(t->s->images, h->pid, h->started);
	if (launcher)
		snprintf(ret, ADDRESS_ROOM, "mpi:%s.%llu", t->s->run, (unsigned long long)launcher);
	else if (told)
		snprintf(ret, ADDRESS_ROOM, "mpi:%016llx", (unsigned long long)told);
	return launcher || told;
}

/* As a person reads it. Of a collective: of all ranks, or of some, which a hash tells from others. */
static void name_stream(const struct app_mpimsg *m, int from, char *ret)
{
	char who[64];
	snprintf(who, sizeof(who), m->members ? "%u ranks %08x" : "all %u ranks", m->ranks, (unsigned)m->members);
	switch (m->op) {
	case APP_MSG_PEER:
		snprintf(ret, ADDRESS_ROOM, "mpi:rank %d to rank %d", from, m->to);
		break;
	case APP_MSG_FROM_ROOT:
		snprintf(ret, ADDRESS_ROOM, "mpi:rank %d to %s", from, who);
		break;
	case APP_MSG_TO_ROOT:
		snprintf(ret, ADDRESS_ROOM, "mpi:%s to rank %d", who, m->to);
		break;
	default:
		snprintf(ret, ADDRESS_ROOM, "mpi:among %s", who);
	}
}

static void emit_message_access(struct mpi_teller *t, const struct file *f, const struct app_mpimsg *m, bool writes,
                                bool sure)
{
	int64_t from = mpi_time_within(t, m->first), to = mpi_time_within(t, m->last);
	struct event ev = {.access = {.file = f->num,
	                              .mode = writes ? ACCESS_WRITE : ACCESS_READ,
	                              .via = TERM_via_data,
	                              .sure = sure,
	                              .api = TERM_api_mpi}};
	uint64_t seq = sup_event(t->s, EVENT_access, from, &t->subject, &ev);
	/* What is sent later is what is there when the call is made, but for what is started again and again. */
	bool goes_on = m->how & APP_MSG_GOES_ON && (!writes || m->how & APP_MSG_MAY);
	struct event end = {.access_end = {.access = seq,
	                                   .until = goes_on     ? TIME_NONE
	                                            : to > from ? to
	                                                        : from + 1,
	                                   .evidence = !writes ? TERM_evidence_none
	                                               : sure  ? TERM_evidence_must
	                                                       : TERM_evidence_may,
	                                   .count = m->calls}};
	if (writes && sure && m->bytes) {
		end.access_end.bytes_written = m->bytes;
		end.access_end.known = 2;
	}
	sup_event(t->s, EVENT_access_end, goes_on ? t->now : to, &t->subject, &end);
}

/* Accesses of the stream that goes from that rank, or has no one beginning (-1). */
static void emit_message_stream(struct mpi_teller *t, const struct app_mpimsg *m, int from, bool sure)
{
	char domain[ADDRESS_ROOM], address[ADDRESS_ROOM];
	if (t->told++ >= ACCESSES_MOST || !name_job(t, m->job, domain) || !begin_messages(t)) {
		t->untold += m->calls;
		return;
	}
	name_stream(m, from, address);
	const struct file *f = file_address(t->s, TERM_kind_socket, domain, address);
	if (!f)
		return;
	if (m->how & APP_MSG_WRITES)
		emit_message_access(t, f, m, true, sure);
	if (m->how & APP_MSG_READS)
		emit_message_access(t, f, m, false, sure);
}

/* Does it make sense? A rank is below INT32_MAX / 2. */
static bool is_message(const struct app_mpimsg *m)
{
	const int most = INT32_MAX / 2;
	bool from = m->from >= 0 && m->from < most, to = m->to >= 0 && m->to < most;
	if (!m->calls || !m->first || m->last < m->first || !(m->how & (APP_MSG_WRITES | APP_MSG_READS)))
		return false;
	return m->op == APP_MSG_PEER        ? to && (from || (m->from == -1 && m->how & APP_MSG_READS))
	       : m->op == APP_MSG_FROM_ROOT ? from
	       : m->op == APP_MSG_TO_ROOT   ? to
	                                    : m->op == APP_MSG_AMONG;
}

/* Called for each entry of a tape; arg is a struct mpi_teller. Always 0. */
static int emit_message(void *arg, const struct app_said *said)
{
	struct mpi_teller *t = arg;
	struct app_mpimsg m;
	if (said->kind != APP_MPIMSG || said->value.n < sizeof(m))
		return 0;
	memcpy(&m, said->value.p, sizeof(m));
	bool anybody = m.op == APP_MSG_PEER && m.from == -1;
	if (m.op == APP_MSG_UNTOLD || (anybody && m.ranks > ANYBODY_MOST)) {
		t->untold += m.calls;
		return 0;
	}
	if (!is_message(&m))
		return 0;
	bool sure = !(m.how & APP_MSG_MAY) && !anybody;
	if (!anybody)
		emit_message_stream(t, &m, m.from, sure);
	for (int from = 0; anybody && from < (int)m.ranks; from++)
		if (from != m.to)
			emit_message_stream(t, &m, from, false);
	return 0;
}

void app_emit_messages(struct sup *s, const struct channel_image *image)
{
	struct mpi_teller t = {.s = s, .image = image, .now = sup_now(s)};
	for (size_t i = 0; i < image->n; i++)
		app_read_entries(image->windows[i].p, image->windows[i].n, emit_message, &t);
	if (t.untold)
		sup_gap(s, t.begun ? &t.subject : NULL, TERM_gap_lost, t.untold, "which ranks of MPI sent to each other");
}
