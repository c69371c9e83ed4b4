/* collect_nats.c - a broker (NATS JetStream) as a carrier of `stemma collect`. The subject of a message names its
 * sender, which is looked up among the nodes: what a sender may tell of is theirs. A message is acknowledged when it
 * was answered; so one that a killed collector had at hand comes again. */
#include "cmd/site/collect_int.h"
#include "cmd/site/ship_int.h"
#include "cmd/site/site_wait.h"
#include "site/broker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 500, SECRET = 512, REPLICAS_MAX = 5 };

/* The sender of that name. NULL: no sender of that name, or the list cannot be read, which was reported. Reads the
 * list anew. */
static const struct collector_sender *sender_named(struct collecting *x, const char *name)
{
	struct err err = {0};
	if (nodes_read(&x->nodes, x->home, &err) < 0) {
		report_err(&err, STATUS_SELF);
		return NULL;
	}
	for (size_t i = 0; i < x->nodes.list.n; i++)
		if (!strcmp(x->nodes.list.v[i].sender.name, name))
			return &x->nodes.list.v[i].sender;
	return NULL;
}

/* Takes the frames of a message and fills in the answer. */
static void take_message(struct collecting *x, const struct broker_message *m, struct http_reply *ret)
{
	pthread_mutex_lock(&x->lock);
	collect_take(x, sender_named(x, m->sender), m->p, m->n, ret);
	pthread_mutex_unlock(&x->lock);
}

/* What waits there. 1: until a signal came; 0: until nothing came for a moment; -errno with a sentence. */
static int take_messages(struct collecting *x, struct broker *b, struct err *err)
{
	struct broker_message m;
	struct http_reply r;
	for (;;) {
		int rc = broker_next(b, LOOK_MS, err, &m);
		if (rc == 1) {
			x->complained = false;
			take_message(x, &m, &r);
			rc = broker_done(b, r.text, err);
		} else if (rc == 0 && !x->o->watch) {
			return 0;
		}
		if (rc < 0)
			return rc;
		if (!site_wait(1000))
			return 1;
	}
}

/* Of --from and its options. secret: filled, and pointed to by *at, only with a token. An exit status. */
static int read_nats_options(struct collecting *x, struct broker_at *at, char secret[SECRET], unsigned *replicas)
{
	const struct opts_collect *o = x->o;
	char *end = NULL;
	*at = (struct broker_at){.url = o->from, .creds = o->creds, .ca = o->ca};
	*replicas = o->replicas ? (unsigned)strtoul(o->replicas, &end, 10) : 1;
	if (o->replicas && (end == o->replicas || *end || *replicas < 1 || *replicas > REPLICAS_MAX))
		return report_usage(x->c, "--replicas: '%s' is not a number from 1 to %d", o->replicas, REPLICAS_MAX);
	if (o->token && o->creds)
		return report_usage(x->c, "give only one of --token and --creds");
	int status = o->token ? ship_read_secret(o->token, secret, SECRET) : STATUS_OK;
	at->password = o->token ? secret : NULL;
	return status;
}

/* A broker that does not answer, or breaks off: with --watch it is tried again. */
static bool goes_on(struct collecting *x, int rc, const struct err *err)
{
	const bool again = rc == -EHOSTUNREACH || rc == -EAGAIN;
	if (!x->o->watch || !again || !x->complained)
		report_err(err, STATUS_SELF);
	x->complained = true;
	return x->o->watch && again && site_wait(x->interval);
}

int collect_broker(struct collecting *x)
{
	struct broker_at at;
	struct broker *b = NULL;
	char secret[SECRET] = "";
	unsigned replicas;
	int status = read_nats_options(x, &at, secret, &replicas), rc = 0;
	bool again = status == STATUS_OK;
	while (again) {
		struct err err = {0};
		rc = b ? 0 : broker_collect(&at, replicas, &err, &b);
		rc = rc < 0 ? rc : take_messages(x, b, &err);
		again = rc < 0 && goes_on(x, rc, &err);
	}
	broker_close(b);
	explicit_bzero(secret, sizeof(secret));
	return status != STATUS_OK || rc >= 0 || x->o->watch ? status : STATUS_SELF;
}
