/* ship_nats.c - a broker (NATS JetStream) as a carrier of `stemma ship`. A batch goes as messages of whole frames, each
 * under an id that its frames give: (session, first seq) and a hash. The broker drops a second one of the same id. The
 * batch is dealt with when the collector has answered to each message; that the broker has stored one is no answer. A
 * message that waits there no longer and was not answered is sent again, under its id with a number. */
#include "answer/fmt.h"
#include "base/hash.h"
#include "cmd/site/ship_int.h"
#include "cmd/site/site_wait.h"
#include "event/log_frame.h"
#include "site/broker.h"
#include "site/collector.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STALL_S = 30, LOOK_MS = 200, ROUND_MS = 2000, MESSAGES = BROKER_WAITING, SECRET = 512 };

struct sent {
	char id[BROKER_ID]; /* without the number of the attempt */
	uint64_t number;    /* in the stream; 0: it was not stored yet */
	unsigned attempt;
	bool answered;
	struct ship_answer answer;
};
struct by_nats {
	struct broker *b; /* NULL: not connected */
	char password[SECRET];
	struct sent sent[MESSAGES]; /* of the batch at hand, and of the one before it as far as it is the same */
	unsigned n;
	unsigned wait_s; /* the collector takes nothing for so long, and said `error` */
	char error[128];
	bool unknown; /* it does not know this sender */
};

/* The password is erased. */
static void close_nats(struct shipping *x)
{
	struct by_nats *n = x->state;
	if (n) {
		broker_close(n->b);
		explicit_bzero(n->password, sizeof(n->password));
	}
	free(n);
	x->state = NULL;
}

/* An exit status; what is wrong was reported. */
static int open_nats(struct shipping *x)
{
	struct by_nats *n = x->state = calloc(1, sizeof(*n));
	if (!n)
		return report_lack(STATUS_SELF);
	if (x->o->token && x->o->creds)
		return report_usage(x->c, "give only one of --token and --creds");
	return x->o->token ? ship_read_secret(x->o->token, n->password, sizeof(n->password)) : STATUS_OK;
}

/* ---- messages ---- */

/* The first frames of a batch that make a message: their bytes. */
static size_t message_of(struct str rest, size_t room)
{
	size_t n = 0;
	while (n + sizeof(struct log_frame) <= rest.n) {
		const size_t frame = sizeof(struct log_frame) + log_frame_header(rest.p + n).size;
		if (n && n + frame > room)
			break;
		n += frame;
	}
	return n < rest.n ? n : rest.n;
}

/* The same for the same message, so that the broker can tell that it came twice. Its first frame is at `from`. */
static void message_id(const struct broker *b, struct str message, size_t from, char ret[BROKER_ID])
{
	const struct log_frame h = log_frame_header(message.p + from);
	snprintf(ret, BROKER_ID, "%s-%016llx-%llx-%016llx", broker_name(b), (unsigned long long)h.session,
	         (unsigned long long)h.seq, (unsigned long long)hash_str(message));
}

/* ".N": the broker passes over an id that it has seen, and this one is to be stored. */
static void attempt_id(const struct sent *s, char ret[BROKER_ID])
{
	if (s->attempt)
		snprintf(ret, BROKER_ID, "%.112s.%u", s->id, s->attempt);
	else
		snprintf(ret, BROKER_ID, "%s", s->id);
}

/* Stores it, and tries until the broker says so. 1; 0 with a sentence: not now; -errno. */
static int put_message(struct shipping *x, struct sent *s, struct str message, struct err *err)
{
	struct by_nats *n = x->state;
	char id[BROKER_ID];
	attempt_id(s, id);
	for (unsigned ms = 0;; ms += BROKER_PUT_MS) {
		struct err now = {0};
		int rc = broker_put(n->b, id, message.p, message.n, &now, &s->number);
		if (rc == 0)
			return 1;
		if (rc != -EAGAIN || ms >= STALL_S * 1000) {
			*err = now;
			return rc == -EAGAIN ? 0 : rc;
		}
		if (!site_wait((int64_t)LOOK_MS * 1000000)) {
			x->ended = true;
			return 0;
		}
	}
}

/* Stores the messages that were never stored, and those that wait at the broker no longer and were not answered: the
 * message, or the answer, was lost. 1; 0 with a sentence: not now; -errno. */
static int put_messages(struct shipping *x, const struct str *message, struct err *err)
{
	struct by_nats *n = x->state;
	int rc = 1;
	for (unsigned i = 0; rc == 1 && !x->ended && i < n->n; i++) {
		struct sent *s = &n->sent[i];
		if (s->answered || (s->number && broker_waits(n->b, s->number) != 0))
			continue;
		s->attempt += s->number != 0;
		rc = put_message(x, s, message[i], err);
		if (rc == 1 && x->rate && !site_wait((int64_t)(message[i].n * 1000000000 / x->rate)))
			x->ended = true;
	}
	return rc;
}

/* ---- answers ---- */

/* The collector has not taken a message: when it may, and why. */
static void note_error(struct by_nats *n, const char *text)
{
	json_error_t bad;
	json_t *o = json_loadb(text, strlen(text), 0, &bad);
	const char *why = json_string_value(json_object_get(o, "error"));
	const json_int_t after = json_integer_value(json_object_get(o, "retry_after"));
	snprintf(n->error, sizeof(n->error), "%s", why ? why : "its answer cannot be read");
	n->wait_s = after > 0 && after < 86400 ? (unsigned)after : 1;
	n->unknown = json_integer_value(json_object_get(o, "status")) == 401;
	json_decref(o);
}

/* Notes the answer to a message by its id; one that nobody waits for is passed over. */
static void note_answer(struct by_nats *n, const char *id, const char *text)
{
	struct err bad = {0};
	const size_t length = strcspn(id, ".");
	for (unsigned i = 0; i < n->n; i++) {
		struct sent *s = &n->sent[i];
		if (strlen(s->id) != length || strncmp(s->id, id, length) != 0 || s->answered)
			continue;
		s->answered = ship_read_answer(text, &bad, &s->answer) == 0;
		if (!s->answered)
			note_error(n, text);
		return;
	}
}

/* Has each message that was sent an answer? */
static bool all_answered(const struct by_nats *n)
{
	unsigned i = 0;
	while (i < n->n && n->sent[i].answered)
		i++;
	return i == n->n;
}

/* Answers, until so long none came. 1: some came; 0; -errno. */
static int wait_answers(struct shipping *x, struct err *err)
{
	struct by_nats *n = x->state;
	char id[BROKER_ID], text[BROKER_ANSWER + 1];
	int some = 0;
	for (unsigned ms = 0; ms < ROUND_MS && !n->error[0] && !all_answered(n) && !x->ended; ms += LOOK_MS) {
		int rc = broker_answer(n->b, LOOK_MS, err, id, text);
		if (rc < 0)
			return rc;
		if (rc == 1) {
			note_answer(n, id, text);
			some = 1;
			ms = 0;
		} else {
			x->ended = !site_wait(1000000);
		}
	}
	return some;
}

/* Takes the answers. All messages are answered: as one. 1, 0, -errno, as ship_take_answer. */
static int take_answers(struct shipping *x, uint64_t frames, struct err *err)
{
	struct by_nats *n = x->state;
	struct ship_answer all = n->sent[0].answer;
	for (unsigned i = 1; i < n->n; i++) {
		const struct ship_answer *a = &n->sent[i].answer;
		if (strcmp(a->collector, all.collector) != 0) {
			n->n = 0; /* two collectors: nobody has all */
			return err_set(err, 0, "two collectors receive from '%s': give each collector a stream of its own",
			               x->o->to);
		}
		all.taken += a->taken;
		all.known += a->known;
		all.refused += a->refused;
		all.bytes += a->bytes;
		if (!all.why[0])
			snprintf(all.why, sizeof(all.why), "%s", a->why);
	}
	n->n = 0;
	return ship_take_answer(x, &all, frames, err);
}

/* ---- a batch ---- */

/* Where the batch's messages begin. What is known of one with the same id stays. 0, or -EMSGSIZE with a sentence. */
static int cut_batch(struct by_nats *n, struct str batch, struct err *err, struct str ret[MESSAGES])
{
	const size_t room = broker_room(n->b);
	unsigned k = 0;
	while (batch.n && k < MESSAGES) {
		struct sent *s = &n->sent[k];
		char id[BROKER_ID], relayed[COLLECTOR_NAME + 1];
		const size_t line = collector_relay_line(batch.p, batch.n, relayed);
		ret[k] = str_n(batch.p, line ? batch.n : message_of(batch, room));
		message_id(n->b, ret[k], line, id);
		if (k >= n->n || strcmp(id, s->id) != 0) {
			*s = (struct sent){0};
			snprintf(s->id, sizeof(s->id), "%s", id);
		}
		batch = str_n(batch.p + ret[k].n, batch.n - ret[k].n);
		k++;
	}
	n->n = k;
	if (!batch.n)
		return 0;
	err_set(err, 0, "a batch needs more than %d messages of %zu bytes, the largest that the NATS server accepts",
	        MESSAGES, room);
	err_hint(err, "set max_payload to 2MB in nats-server's configuration");
	return -EMSGSIZE;
}

/* Connects to the NATS server. 0, also if it was connected; -errno with a sentence. */
static int connect_nats(struct shipping *x, struct err *err)
{
	struct by_nats *n = x->state;
	const struct broker_at at = {
	    .url = x->o->to, .password = x->o->token ? n->password : NULL, .creds = x->o->creds, .ca = x->o->ca};
	return n->b ? 0 : broker_open(&at, err, &n->b);
}

/* Why the batch was not taken. 0; -EACCES: the collector does not know who sends; with a sentence. */
static int tell_error(struct shipping *x, unsigned *wait_s, struct err *err)
{
	struct by_nats *n = x->state;
	struct buf said = {0};
	fmt_name(&said, str_of(n->error));
	err_set(err, 0, "the collector takes nothing from '%s': %s", x->o->to, buf_cstr(&said));
	buf_release(&said);
	*wait_s = n->wait_s;
	n->error[0] = '\0';
	return n->unknown ? -EACCES : 0;
}

/* Sends a batch in messages of a frame or more. 0: not now, try again; 1 as take_answers; -errno with a sentence. */
static int send_by_nats(struct shipping *x, struct str batch, uint64_t frames, unsigned *wait_s, struct err *err)
{
	struct by_nats *n = x->state;
	struct str message[MESSAGES];
	int rc = connect_nats(x, err);
	if (rc < 0)
		return rc == -EHOSTUNREACH ? 0 : rc;
	rc = cut_batch(n, batch, err, message);
	if (rc < 0)
		return rc;
	for (unsigned ms = 0; ms < SHIP_PATIENCE_S * 1000 && !x->ended; ms += ROUND_MS) {
		rc = put_messages(x, message, err);
		if (rc <= 0 || x->ended)
			return rc < 0 ? rc : 0;
		rc = wait_answers(x, err);
		if (rc < 0)
			return rc == -EAGAIN ? 0 : rc;
		if (n->error[0])
			return tell_error(x, wait_s, err);
		if (all_answered(n))
			return take_answers(x, frames, err);
		ms = rc == 1 ? 0 : ms;
	}
	x->waits = true;
	return 0;
}

const struct ship_carrier ship_by_nats = {
    .is = broker_is_url, .open = open_nats, .send = send_by_nats, .close = close_nats};
