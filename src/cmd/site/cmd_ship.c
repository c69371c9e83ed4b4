/* stemma ship: the record, sent to a collector. */
#include "base/io.h"
#include "base/ulid.h"
#include "cmd/site/site_wait.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "site/drop_folder.h"
#include "site/http.h"
#include "site/nodes.h"
#include "site/shipper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_LOOK_NS = 200000000, ANSWER_PATIENCE_S = 10, BACK_OFF_MAX_S = 60 };

struct shipping {
	struct cmd *c;
	const struct opts_ship *o;
	struct shipper *s;
	char token[NODE_TOKEN + 2];
	char *url; /* NULL: a folder */
	uint64_t rate;
	int64_t interval;
	unsigned patience; /* s that an answer in a folder is waited for */
	uint64_t frames, bytes, known, refused;
	bool waits; /* a batch lies in the folder, and nobody has taken it */
	bool ended; /* by a signal */
};

/* What the collector said of a batch. 1: it has dealt with it; 0: it is to be sent again; -errno. */
static int take_answer(struct shipping *x, const char *text, uint64_t frames, struct err *err)
{
	json_error_t bad;
	json_t *o = json_loadb(text, strlen(text), 0, &bad);
	const char *id = json_string_value(json_object_get(o, "collector"));
	const json_t *taken = json_object_get(o, "taken");
	int rc = 1;
	if (!id || !ulid_is(id, strlen(id)) || !json_is_integer(taken)) {
		rc = err_set(err, EPROTO, "the collector's answer cannot be read");
	} else if (shipper_is_other(x->s, id)) {
		report("'%s' is a different collector than before: sending everything again", x->o->to);
		shipper_lost(x->s);
		rc = 0;
	} else if ((rc = shipper_sent(x->s, err)) == 0) {
		const uint64_t refused = (uint64_t)json_integer_value(json_object_get(o, "refused"));
		const char *why = json_string_value(json_object_get(o, "why"));
		x->frames += (uint64_t)json_integer_value(taken);
		x->known += (uint64_t)json_integer_value(json_object_get(o, "known"));
		x->bytes += (uint64_t)json_integer_value(json_object_get(o, "bytes"));
		x->refused += refused;
		if (refused) {
			struct buf said = {0};
			fmt_name(&said, str_of(why ? why : "no reason was given"));
			report("the collector refused %llu of %llu frames: %s", (unsigned long long)refused,
			       (unsigned long long)(frames ? frames : refused), buf_cstr(&said));
			buf_release(&said);
		}
		rc = 1;
	}
	json_decref(o);
	return rc;
}

static int post_batch(struct shipping *x, struct str batch, struct err *err, struct http_reply *ret)
{
	const struct http_post p = {
	    .url = x->url, .token = x->token, .ca = x->o->ca, .body = batch.p, .n = batch.n, .rate = x->rate};
	return http_post(&p, err, ret);
}

/* Over the network. 1: sent; 0: not now, *wait_s says when again; -errno: it makes no sense to go on. */
static int send_by_http(struct shipping *x, struct str batch, uint64_t frames, unsigned *wait_s, struct err *err)
{
	struct http_reply r;
	int rc = post_batch(x, batch, err, &r);
	if (rc == -EHOSTUNREACH)
		return 0;
	if (rc < 0)
		return rc;
	if (r.status == 200)
		return take_answer(x, r.text, frames, err);
	if (r.status == 401)
		return err_set(err, EACCES, "'%s' does not know the token", x->o->to);
	err_set(err, 0, "'%s' answers with status %u", x->o->to, r.status);
	if (r.status < 500 && r.status != 429)
		return -EPROTO;
	*wait_s = r.retry_after ? r.retry_after : *wait_s;
	return 0;
}

/* The answer to the batch that lies in the folder. 1: dealt with; 0: there is none yet, or it is to be put there again.
 */
static int folder_answer(struct shipping *x, struct err *err)
{
	char text[HTTP_ANSWER];
	int rc = 0;
	for (unsigned ms = 0; ms <= x->patience * 1000; ms += ANSWER_LOOK_NS / 1000000) {
		rc = drop_answer(x->o->to, shipper_pending(x->s), err, text, sizeof(text));
		if (rc == 1)
			return take_answer(x, text, 0, err);
		if (rc == -ENOENT) {
			shipper_lost(x->s);
			return 0;
		}
		if (rc < 0)
			return rc;
		if (!site_wait(ANSWER_LOOK_NS)) {
			x->ended = true;
			break;
		}
	}
	x->waits = true;
	return 0;
}

static int send_by_folder(struct shipping *x, struct str batch, struct err *err)
{
	char name[DROP_NAME];
	int rc = drop_put(x->o->to, batch, err, name);
	rc = rc < 0 ? rc : shipper_left(x->s, name, err);
	return rc < 0 ? rc : folder_answer(x, err);
}

/* Sends what there is. 1: all of it; 0: the rest later, after *wait_s; -errno with a sentence. */
static int send_all(struct shipping *x, unsigned *wait_s, struct err *err)
{
	struct str batch;
	uint64_t frames;
	int rc = 1;
	x->waits = false;
	if (shipper_pending(x->s)[0] && (rc = folder_answer(x, err)) <= 0 && shipper_pending(x->s)[0])
		return rc;
	while (!x->ended && (rc = shipper_batch(x->s, err, &batch, &frames)) == 1) {
		rc = x->url ? send_by_http(x, batch, frames, wait_s, err) : send_by_folder(x, batch, err);
		if (rc < 0 || (rc == 0 && (x->waits || err->text[0])))
			return rc;
	}
	return rc < 0 ? rc : !x->ended;
}

static int read_token(struct shipping *x)
{
	const char *path = x->o->token;
	if (!path)
		return report_usage(x->c, "a URL needs --token FILE");
	ssize_t n = io_read_text(path, x->token, sizeof(x->token));
	if (n < 0) {
		struct err err = {0};
		err_set(&err, (int)-n, "cannot read '%s'", path);
		return report_err(&err, STATUS_SELF);
	}
	x->token[strcspn(x->token, "\n")] = '\0';
	if (strspn(x->token, "0123456789abcdef") != NODE_TOKEN) {
		report("'%s' contains no token", path);
		return STATUS_SELF;
	}
	return STATUS_OK;
}

static int print_result(struct shipping *x)
{
	uint64_t waiting = 0;
	struct err err = {0};
	if (shipper_waiting(x->s, &err, &waiting) < 0)
		return report_err(&err, STATUS_SELF);
	if (x->o->json) {
		json_t *o = json_object();
		js_num(o, "format", 1);
		js_num(o, "sent_frames", x->frames);
		js_num(o, "sent_bytes", x->bytes);
		js_num(o, "known_frames", x->known);
		js_num(o, "refused_frames", x->refused);
		js_num(o, "waiting_bytes", waiting);
		return js_print(o, false);
	}
	struct buf size = {0}, left = {0};
	fmt_size(&size, x->bytes, false);
	fmt_size(&left, waiting, false);
	if (x->o->status)
		printf("%s to be sent\n", waiting ? buf_cstr(&left) : "nothing");
	else
		printf("%llu frame%s sent (%s)", (unsigned long long)x->frames, str_plural(x->frames), buf_cstr(&size));
	if (!x->o->status && x->known)
		printf(", %llu known to the collector", (unsigned long long)x->known);
	if (!x->o->status && waiting)
		printf(", %s to be sent", buf_cstr(&left));
	if (!x->o->status)
		printf("\n");
	buf_release(&size);
	buf_release(&left);
	return STATUS_OK;
}

/* Until it is stopped, or once. */
static int ship(struct shipping *x)
{
	unsigned back_off = 1;
	for (;;) {
		struct err err = {0};
		unsigned wait_s = back_off;
		const uint64_t before = x->frames + x->known + x->refused;
		int rc = send_all(x, &wait_s, &err);
		if (rc < 0)
			return report_err(&err, STATUS_SELF);
		if (!x->o->watch && rc == 0 && err.text[0])
			return report_err(&err, STATUS_NOTHING);
		if (!x->o->watch && x->waits)
			report_hint("a batch waits in '%s' for the collector; run stemma ship again to send the rest", x->o->to);
		if (!x->o->watch || x->ended)
			return STATUS_OK;
		if (rc == 0 && err.text[0] && back_off == 1)
			report("%s; retrying", err.text);
		back_off = rc == 1 || x->frames + x->known + x->refused != before ? 1
		           : back_off * 2 < BACK_OFF_MAX_S                        ? back_off * 2
		                                                                  : BACK_OFF_MAX_S;
		if (!site_wait(rc == 1 || !err.text[0] ? x->interval : (int64_t)wait_s * 1000000000))
			return STATUS_OK;
	}
}

static int open_and_ship(struct shipping *x)
{
	struct err err = {0};
	char *home = NULL;
	int status = cmd_store_exists(x->c);
	if (status != STATUS_OK)
		return status;
	if (store_places(cmd_home(x->c), &err, &home, NULL) < 0 || shipper_open(home, x->o->to, &err, &x->s) < 0) {
		free(home);
		return report_err(&err, STATUS_SELF);
	}
	free(home);
	if (x->url && !x->o->status)
		status = read_token(x);
	if (status == STATUS_OK && !x->o->status) {
		site_wait_begin();
		status = ship(x);
	}
	int s = status == STATUS_OK || status == STATUS_NOTHING ? print_result(x) : STATUS_OK;
	shipper_close(x->s);
	return status != STATUS_OK ? status : s != STATUS_OK ? s : x->refused ? STATUS_NOTHING : STATUS_OK;
}

int cmd_ship(struct cmd *c, const struct opts_ship *o)
{
	struct shipping x = {.c = c, .o = o, .patience = ANSWER_PATIENCE_S};
	if (c->n_operands)
		return report_usage(c, "ship takes no arguments");
	if (!o->to)
		return report_usage(c, "ship needs --to FOLDER or --to https://HOST:PORT");
	int status = site_interval(c, o->interval, 1000000000, &x.interval);
	status = status != STATUS_OK ? status : site_size(c, "--rate", o->rate, &x.rate);
	if (status != STATUS_OK)
		return status;
	const bool url = strstr(o->to, "://") != NULL;
	if (url && asprintf(&x.url, "%s%sv1/frames", o->to, o->to[strlen(o->to) - 1] == '/' ? "" : "/") < 0) {
		report("out of memory");
		return STATUS_SELF;
	}
	status = open_and_ship(&x);
	free(x.url);
	return status;
}
