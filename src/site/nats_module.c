/* nats_module.c - NATS JetStream by libnats. Publishing is synchronous: libnats's asynchronous one never ends for
 * messages that were on their way to a server that died. */
#include "site/nats_module.h"

#include <errno.h>
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONSUMER "collector"
#define HEADER_ID "Stemma-Message"
enum {
	CONNECT_MS = 5000,
	API_MS = 5000,
	RECONNECT_MS = 500,
	FETCH = 32,         /* messages that the collector asks for at once */
	AGAIN_MS = 5000,    /* until what could not be taken comes again */
	ENVELOPE = 4096,    /* bytes of subject and headers */
	JS_NO_ROOM = 10077, /* the stream is full, or this sender's part of it */
};

struct broker {
	natsOptions *options;
	natsConnection *nc;
	jsCtx *js;
	natsSubscription *sub; /* answers, or the consumer's messages */
	struct broker_place place;
	char frames[2 * BROKER_NAME + 16]; /* the subject of this sender */
	natsMsgList list;                  /* that were brought */
	int at;
	char sender[BROKER_NAME + 1], id[BROKER_ID]; /* of the message at hand */
};

/* Reports an error of NATS. -EACCES, -ENOMEM, -EMSGSIZE, else -EAGAIN, with a sentence. */
static int nats_failed(const struct broker *b, natsStatus s, const char *doing, struct err *err)
{
	const char *last = NULL;
	/* "Permissions Violation ..." comes beside what failed. */
	const bool more = b->nc && natsConnection_GetLastError(b->nc, &last) != NATS_OK && last && *last;
	err_set(err, 0, "%s: %s%s%.200s", doing, natsStatus_GetText(s), more ? ": " : "", more ? last : "");
	if (more && !strncmp(last, "Permissions Violation", 21))
		return -EACCES;
	switch (s) {
	case NATS_NO_MEMORY:
		return -ENOMEM;
	case NATS_CONNECTION_AUTH_FAILED:
	case NATS_NOT_PERMITTED:
		return -EACCES;
	case NATS_MAX_PAYLOAD:
		return -EMSGSIZE;
	default:
		return -EAGAIN;
	}
}

/* Waits a second, at most, for what is to be sent. */
static void module_close(struct broker *b)
{
	natsMsgList_Destroy(&b->list);
	natsSubscription_Destroy(b->sub);
	jsCtx_Destroy(b->js);
	if (b->nc)
		natsConnection_FlushTimeout(b->nc, 1000);
	natsConnection_Destroy(b->nc);
	natsOptions_Destroy(b->options);
	free(b);
}

/* ---- connecting ---- */

/* Gives the client library all hosts of the place. */
static natsStatus set_servers(struct broker *b)
{
	const char *servers[sizeof(b->place.hosts) / sizeof(b->place.hosts[0])];
	for (unsigned i = 0; i < b->place.n_hosts; i++)
		servers[i] = b->place.hosts[i];
	return natsOptions_SetServers(b->options, servers, (int)b->place.n_hosts);
}

/* Sets how the connection is encrypted. Nothing to do without tls and a certificate of one's own. */
static natsStatus set_tls(struct broker *b, const struct broker_at *at)
{
	if (!b->place.tls && !at->ca)
		return NATS_OK;
	natsStatus s = natsOptions_SetSecure(b->options, true);
	if (s == NATS_OK && at->ca)
		s = natsOptions_LoadCATrustedCertificates(b->options, at->ca);
	return s;
}

/* b->options: freed with b, also if it fails. */
static natsStatus set_options(struct broker *b, const struct broker_at *at)
{
	char inbox[2 * BROKER_NAME + 16];
	natsStatus s = natsOptions_Create(&b->options);
	/* Replies come to a subject of this sender's own: with the usual one, who may read replies may read all. */
	snprintf(inbox, sizeof(inbox), "%s.inbox.%s", b->place.stream, b->place.name[0] ? b->place.name : CONSUMER);
	s = s == NATS_OK ? set_servers(b) : s;
	s = s == NATS_OK ? set_tls(b, at) : s;
	if (s == NATS_OK && at->creds)
		s = natsOptions_SetUserCredentialsFromFiles(b->options, at->creds, NULL);
	else if (s == NATS_OK && b->place.name[0])
		s = natsOptions_SetUserInfo(b->options, b->place.name, at->password ? at->password : "");
	s = s == NATS_OK ? natsOptions_SetCustomInboxPrefix(b->options, inbox) : s;
	s = s == NATS_OK ? natsOptions_SetTimeout(b->options, CONNECT_MS) : s;
	s = s == NATS_OK ? natsOptions_SetMaxReconnect(b->options, -1) : s;
	s = s == NATS_OK ? natsOptions_SetReconnectWait(b->options, RECONNECT_MS) : s;
	s = s == NATS_OK ? natsOptions_SetPingInterval(b->options, 10000) : s;
	s = s == NATS_OK ? natsOptions_SetIgnoreDiscoveredServers(b->options, true) : s; /* only whom the URL names */
	return s == NATS_OK ? natsOptions_SetName(b->options, "stemma") : s;
}

/* For the one that ships: subscribes to what the collector answers. */
static natsStatus listen_to_answers(struct broker *b)
{
	char subject[2 * BROKER_NAME + 16];
	snprintf(b->frames, sizeof(b->frames), "%s.frames.%s", b->place.stream, b->place.name);
	snprintf(subject, sizeof(subject), "%s.answer.%s", b->place.stream, b->place.name);
	natsStatus s = natsConnection_SubscribeSync(&b->sub, b->nc, subject);
	return s == NATS_OK ? natsConnection_FlushTimeout(b->nc, CONNECT_MS) : s;
}

/* Makes the stream unless there is one. replicas: of each message. */
static natsStatus make_stream(struct broker *b, unsigned replicas)
{
	char subject[2 * BROKER_NAME + 16];
	const char *subjects[] = {subject};
	jsStreamConfig c;
	jsStreamInfo *info = NULL;
	jsErrCode code = 0;
	natsStatus s = js_GetStreamInfo(&info, b->js, b->place.stream, NULL, &code);
	jsStreamInfo_Destroy(info);
	if (s != NATS_NOT_FOUND)
		return s;
	jsStreamConfig_Init(&c);
	snprintf(subject, sizeof(subject), "%s.frames.*", b->place.stream);
	c.Name = b->place.stream;
	c.Subjects = subjects;
	c.SubjectsLen = 1;
	c.Retention = js_WorkQueuePolicy; /* what was acknowledged goes */
	c.Discard = js_DiscardNew;        /* who cannot store now keeps it */
	c.DiscardNewPerSubject = true;
	/* The server answers a publisher at any subject that this one names, so at these requests of its own, too. */
	c.DenyDelete = true;
	c.DenyPurge = true;
	c.MaxMsgsPerSubject = BROKER_WAITING;
	c.MaxBytes = BROKER_BYTES;
	c.Replicas = (int64_t)replicas;
	s = js_AddStream(NULL, b->js, &c, NULL, &code);
	return s == NATS_ERR && code == JSStreamNameExistErr ? NATS_OK : s;
}

/* For the one that collects: makes the stream and takes messages from it. */
static natsStatus listen_to_frames(struct broker *b, unsigned replicas)
{
	char subject[2 * BROKER_NAME + 16];
	jsSubOptions o;
	natsStatus s = make_stream(b, replicas);
	if (s != NATS_OK)
		return s;
	jsSubOptions_Init(&o);
	snprintf(subject, sizeof(subject), "%s.frames.*", b->place.stream);
	o.Stream = b->place.stream;
	o.Config.AckPolicy = js_AckExplicit;
	o.Config.AckWait = BROKER_TAKEN_S * 1000000000ll;
	o.Config.MaxAckPending = 4 * FETCH;
	return js_PullSubscribe(&b->sub, b->js, subject, CONSUMER, NULL, &o, NULL);
}

/* Connects to the NATS server. 0, with *ret to close; -errno with a sentence. */
static int module_open(const struct broker_at *at, const struct broker_place *place, bool collects, unsigned replicas,
                       struct err *err, struct broker **ret)
{
	jsOptions o;
	char doing[192];
	struct broker *b = calloc(1, sizeof(*b));
	if (!b)
		return err_set(err, ENOMEM, "cannot speak NATS");
	b->place = *place;
	jsOptions_Init(&o);
	o.Wait = API_MS;
	natsStatus s = set_options(b, at);
	if (s != NATS_OK) {
		snprintf(doing, sizeof(doing), "cannot set up the connection to the NATS server");
	} else {
		snprintf(doing, sizeof(doing), "cannot use the NATS server '%.100s'", place->hosts[0]);
		s = natsConnection_Connect(&b->nc, b->options);
		s = s == NATS_OK ? natsConnection_JetStream(&b->js, b->nc, &o) : s;
		if (s == NATS_OK)
			s = collects ? listen_to_frames(b, replicas) : listen_to_answers(b);
	}
	if (s == NATS_CONNECTION_AUTH_FAILED)
		snprintf(doing, sizeof(doing), "'%.60s' does not let '%s' in", place->hosts[0], place->name);
	if (s != NATS_OK) {
		int rc = nats_failed(b, s, doing, err);
		module_close(b);
		return rc == -EAGAIN ? -EHOSTUNREACH : rc;
	}
	*ret = b;
	return 0;
}

/* ---- sending ---- */

/* Belongs to b; "": it collects. */
static const char *module_name(const struct broker *b)
{
	return b->place.name;
}

/* In bytes, of one message. */
static size_t module_room(const struct broker *b)
{
	const int64_t most = natsConnection_GetMaxPayload(b->nc) - ENVELOPE;
	return most < ENVELOPE ? ENVELOPE : most < BROKER_MESSAGE ? (size_t)most : BROKER_MESSAGE;
}

/* Puts a message into the broker's stream. 0 if the broker has stored it; -EAGAIN: it is full, -EMSGSIZE: too large,
 * else -errno, with a sentence. */
static int module_put(struct broker *b, const char *id, const void *p, size_t n, struct err *err, uint64_t *ret_number)
{
	jsPubOptions o;
	jsPubAck *ack = NULL;
	jsErrCode code = 0;
	jsPubOptions_Init(&o);
	o.MsgId = id;
	o.MaxWait = BROKER_PUT_MS;
	o.ExpectStream = b->place.stream;
	natsStatus s = js_Publish(&ack, b->js, b->frames, p, (int)n, &o, &code);
	if (s == NATS_OK)
		*ret_number = ack->Sequence;
	jsPubAck_Destroy(ack);
	if (s == NATS_OK)
		return 0;
	if ((int)code == JS_NO_ROOM) {
		err_set(err, 0,
		        "the NATS server is full: it accepts no message until the collector takes those that wait there");
		return -EAGAIN;
	}
	if (s == NATS_MAX_PAYLOAD) {
		err_set(err, 0, "a message has %zu bytes, and the NATS server accepts at most %lld", n,
		        (long long)natsConnection_GetMaxPayload(b->nc));
		err_hint(err, "set max_payload to 2MB in nats-server's configuration");
		return -EMSGSIZE;
	}
	return nats_failed(b, s, "the NATS server did not store a message", err);
}

/* Waits up to ms. 1, 0: none came, -errno with a sentence. */
static int module_answer(struct broker *b, unsigned ms, struct err *err, char ret_id[BROKER_ID],
                         char ret[BROKER_ANSWER + 1])
{
	natsMsg *m = NULL;
	const char *id = NULL;
	natsStatus s = natsSubscription_NextMsg(&m, b->sub, ms);
	if (s == NATS_TIMEOUT)
		return 0;
	if (s != NATS_OK)
		return nats_failed(b, s, "the collector's answers cannot be read", err);
	if (natsMsgHeader_Get(m, HEADER_ID, &id) != NATS_OK)
		id = "";
	const int n = natsMsg_GetDataLength(m);
	snprintf(ret_id, BROKER_ID, "%s", id);
	snprintf(ret, BROKER_ANSWER + 1, "%.*s", n, natsMsg_GetData(m));
	natsMsg_Destroy(m);
	return 1;
}

/* Does the collector still have the message to take? 1, also if it never took any; 0, -EAGAIN. */
static int module_waits(struct broker *b, uint64_t number)
{
	jsConsumerInfo *info = NULL;
	natsStatus s = js_GetConsumerInfo(&info, b->js, b->place.stream, CONSUMER, NULL, NULL);
	if (s != NATS_OK)
		return s == NATS_NOT_FOUND ? 1 : -EAGAIN;
	const bool none = info->NumPending == 0 && info->NumAckPending == 0;
	const int waits = info->AckFloor.Stream < number && !none;
	jsConsumerInfo_Destroy(info);
	return waits;
}

/* ---- collecting ---- */

/* The message at hand: its sender's name and its id. */
static void read_envelope(struct broker *b, natsMsg *m)
{
	const char *id = NULL, *dot = strrchr(natsMsg_GetSubject(m), '.');
	snprintf(b->sender, sizeof(b->sender), "%s", dot ? dot + 1 : "");
	if (natsMsgHeader_Get(m, "Nats-Msg-Id", &id) != NATS_OK)
		id = "";
	snprintf(b->id, sizeof(b->id), "%s", id);
	/* What the sender's own line says is sent back to it: no more than one line. */
	for (char *p = b->id; *p; p++)
		if (*p <= ' ' || *p > '~')
			*p = '.';
}

/* Waits up to ms. 1: it is valid until module_done, 0: none came, -errno with a sentence. */
static int module_next(struct broker *b, unsigned ms, struct err *err, struct broker_message *ret)
{
	if (b->at == b->list.Count) {
		jsErrCode code = 0;
		natsMsgList_Destroy(&b->list);
		b->list = (natsMsgList){0};
		b->at = 0;
		natsStatus s = natsSubscription_Fetch(&b->list, b->sub, FETCH, ms, &code);
		if (s == NATS_TIMEOUT || (s == NATS_OK && b->list.Count == 0))
			return 0;
		if (s != NATS_OK)
			return nats_failed(b, s, "cannot receive messages from the NATS server", err);
	}
	natsMsg *m = b->list.Msgs[b->at];
	read_envelope(b, m);
	*ret = (struct broker_message){b->sender, b->id, natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m)};
	return 1;
}

/* To the sender of the message that was taken last. */
static natsStatus say_answer(struct broker *b, const char *answer)
{
	natsMsg *m = NULL;
	char subject[2 * BROKER_NAME + 16];
	snprintf(subject, sizeof(subject), "%s.answer.%s", b->place.stream, b->sender);
	natsStatus s = natsMsg_Create(&m, subject, NULL, answer, (int)strlen(answer));
	s = s == NATS_OK ? natsMsgHeader_Set(m, HEADER_ID, b->id) : s;
	s = s == NATS_OK ? natsConnection_PublishMsg(b->nc, m) : s;
	natsMsg_Destroy(m);
	return s;
}

/* Answers the message that was taken last, and lets the broker forget it. answer: NULL if it could not be taken;
 * then it comes again in AGAIN_MS. 0, -errno with a sentence. */
static int module_done(struct broker *b, const char *answer, struct err *err)
{
	natsMsg *m = b->list.Msgs[b->at++];
	natsStatus s = answer ? say_answer(b, answer) : natsMsg_NakWithDelay(m, AGAIN_MS, NULL);
	s = s == NATS_OK && answer ? natsMsg_Ack(m, NULL) : s;
	return s == NATS_OK ? 0 : nats_failed(b, s, "cannot send an answer through the NATS server", err);
}

const struct nats_module stemma_nats_module_1 = {module_open,   module_close, module_name, module_room, module_put,
                                                 module_answer, module_waits, module_next, module_done};
