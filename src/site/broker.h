/* broker.h - a message broker (NATS JetStream) as a carrier. The library, libnats, is in a module of its own,
 * nats_module.c, which is loaded when it is needed; a stemma that was built without it says so.
 *
 * A sender NAME puts messages of whole frames to the subject STREAM.frames.NAME, the collector takes them from the
 * stream, and says to STREAM.answer.NAME what became of each. Who may publish to which subject is the broker's to
 * enforce: that is what a sender's name rests on (doc/site.md). That the broker has a message proves nothing: only the
 * collector's answer does, and who has none sends again.
 *
 * Not safe for threads. */
#ifndef STEMMA_SITE_BROKER_H
#define STEMMA_SITE_BROKER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BROKER_MESSAGE = 512 << 10, /* bytes of a message of several frames */
	BROKER_ID = 128,            /* characters of a message's id, with the 0 */
	BROKER_ANSWER = 4096,       /* bytes of an answer that are read */
	BROKER_PUT_MS = 2000,       /* that the broker may take to store a message */
	BROKER_TAKEN_S = 20,        /* a message that the collector has not dealt with is brought again */
	BROKER_WAITING = 64,        /* messages of a sender that may wait */
	BROKER_NAME = 48            /* characters of a sender's name, and of a stream's */
};
#define BROKER_BYTES (1ll << 30) /* that may wait in a stream, of all senders */

struct broker_at {
	const char *url;      /* nats://[NAME@]HOST[:PORT][,HOST[:PORT]...][/STREAM], or tls:// */
	const char *password; /* of NAME; NULL: none */
	const char *creds;    /* file with NAME's credentials (decentralised accounts); NULL: none */
	const char *ca;       /* file with the certificates that are trusted; NULL: the system's */
};
/* Is it a broker's URL? */
bool broker_is_url(const char *url);
/* Is the module there? */
bool broker_is_there(void);

struct broker;
/* For sending. 0, or -errno with a sentence: -EINVAL, the URL; -EACCES, the broker does not let NAME in; -EHOSTUNREACH,
 * it does not answer; -ENOSYS, there is no module. at's texts stay until broker_close. Without TLS only this machine
 * is reached. */
int broker_open(const struct broker_at *at, struct err *err, struct broker **ret);
/* For collecting: makes the stream where there is none, kept `replicas` times. */
int broker_collect(const struct broker_at *at, unsigned replicas, struct err *err, struct broker **ret);
void broker_close(struct broker *b); /* NULL is fine */

/* ---- sending ---- */

/* The sender's name. Stays until broker_close. */
const char *broker_name(const struct broker *b);
/* Bytes that a message may have. */
size_t broker_room(const struct broker *b);
/* Stores a message under its id, once: a second one of the same id within two minutes is dropped. 0 and its number in
 * the stream; -EAGAIN with a sentence: it is not known whether it was stored, or not now; another -errno. */
int broker_put(struct broker *b, const char *id, const void *p, size_t n, struct err *err, uint64_t *ret_number);
/* The next answer of the collector. 1; 0: none came in that time; -errno with a sentence. */
int broker_answer(struct broker *b, unsigned ms, struct err *err, char ret_id[BROKER_ID], char ret[BROKER_ANSWER + 1]);
/* Does the message of that number still wait for the collector? 1; 0: it is gone; -errno: that is not known. */
int broker_waits(struct broker *b, uint64_t number);

/* ---- collecting ---- */

struct broker_message {
	const char *sender, *id;
	const void *p;
	size_t n;
};
/* The next message. 1 (it stays until broker_done); 0: none came in that time; -errno with a sentence. */
int broker_next(struct broker *b, unsigned ms, struct err *err, struct broker_message *ret);
/* The message at hand is dealt with, and the sender is told. NULL: it is not, and is to come again. 0, or -errno with a
 * sentence: it may come again. */
int broker_done(struct broker *b, const char *answer, struct err *err);

#endif
