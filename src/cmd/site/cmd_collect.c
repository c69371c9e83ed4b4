/* stemma collect: what other machines ship, taken into this record. */
#include "base/io.h"
#include "cmd/site/collect_int.h"
#include "cmd/site/site_wait.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "site/broker.h"
#include "site/drop_folder.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

enum { CERTIFICATE_MAX = 1 << 20, RETRY_S = 60 };

/* ---- senders ---- */

/* Prints the sender's token, which is kept nowhere else. A status, reported. */
static int add_node(struct collecting *x)
{
	struct err err = {0};
	char token[NODE_TOKEN + 1];
	struct collector_sender s = {
	    .name = x->o->add_node, .host = x->o->host, .any_user = !x->o->user, .share = x->share};
	if (x->o->relay ? x->o->host || x->o->user : !x->o->host && !x->o->user)
		return report_usage(x->c, "--add-node needs --host or --user, or --relay");
	if (x->o->user) {
		char *end;
		const struct passwd *p = getpwnam(x->o->user);
		s.uid = p ? p->pw_uid : strtoull(x->o->user, &end, 10);
		if (!p && (end == x->o->user || *end)) {
			report("there is no user '%s' on this machine", x->o->user);
			return STATUS_SELF;
		}
	}
	int rc = nodes_add(x->home, &s, &err, token);
	if (rc < 0)
		return report_err(&err, rc == -EINVAL ? STATUS_USAGE : STATUS_SELF);
	printf("%s\n", token);
	return STATUS_OK;
}

/* Removes a sender from the list. STATUS_NOTHING: there is none. A status, reported. */
static int remove_node(struct collecting *x)
{
	struct err err = {0};
	int rc = nodes_remove(x->home, x->o->remove_node, &err);
	if (rc < 0)
		return report_err(&err, STATUS_SELF);
	if (rc == 0)
		report("there is no sender '%s'", x->o->remove_node);
	return rc ? STATUS_OK : STATUS_NOTHING;
}

/* ---- receiving ---- */

/* Tells what was refused of a sender's frames; nothing if nothing was. */
static void tell_batch(void *arg, const char *sender, const struct collected *r)
{
	(void)arg;
	if (!r->refused)
		return;
	struct buf why = {0};
	fmt_name(&why, str_of(r->why));
	report("%llu frame%s of '%s' refused: %s", (unsigned long long)r->refused, str_were(r->refused), sender,
	       buf_cstr(&why));
	buf_release(&why);
}

/* One look at the folder, with x->lock. With --watch the same failure is reported once. A status. */
static int collect_folder(struct collecting *x)
{
	struct err err = {0};
	pthread_mutex_lock(&x->lock);
	int rc = drop_collect(x->o->from, x->collector, x->share, &err, tell_batch, x);
	pthread_mutex_unlock(&x->lock);
	if (rc < 0 && (!x->complained || !x->o->watch))
		report_err(&err, STATUS_SELF);
	x->complained = rc < 0;
	return rc < 0 ? STATUS_SELF : STATUS_OK;
}

/* For the HTTP server, in any thread: is it the token of a sender? The list is read anew each time. */
static bool admit(void *arg, const char *token)
{
	struct collecting *x = arg;
	struct err err = {0};
	pthread_mutex_lock(&x->lock);
	bool known = nodes_read(&x->nodes, x->home, &err) == 0 && nodes_find(&x->nodes, str_of(token));
	pthread_mutex_unlock(&x->lock);
	return known;
}

/* Fills in an error as JSON; of a lack of room, when to try again. */
static void say(struct http_reply *ret, unsigned status, const char *why)
{
	json_t *o = json_pack("{s:s, s:i}", "error", why, "status", (int)status);
	ret->retry_after = status == 507 || status == 503 ? RETRY_S : 0;
	if (o && ret->retry_after)
		json_object_set_new(o, "retry_after", json_integer(ret->retry_after));
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	ret->status = status;
	snprintf(ret->text, sizeof(ret->text), "%s\n", text ? text : "{}");
	free(text);
	json_decref(o);
}

void collect_take(struct collecting *x, const struct collector_sender *s, const void *body, size_t n,
                  struct http_reply *ret)
{
	struct err err = {0};
	struct collected done;
	if (!s) {
		say(ret, 401, "the sender is not known");
		return;
	}
	int rc = collector_take(x->collector, s, body, n, &err, &done);
	if (rc == 0) {
		tell_batch(x, s->name, &done);
		ret->status = 200;
		rc = collected_json(x->collector, &done, ret->text, sizeof(ret->text));
	}
	if (rc < 0) {
		report("'%s': %s", s->name, err.text);
		/* Of this machine only what the sender can do something about is said. */
		say(ret, rc == -EDQUOT || rc == -ENOSPC ? 507 : 503,
		    rc == -EDQUOT   ? "the sender's share is used up"
		    : rc == -ENOSPC ? "the collector's disk has less free space than its option --floor"
		                    : "the collector could not store the records; its own messages say why");
	}
}

/* Called by the server's threads, one at a time within. token: who sends. */
static void answer(void *arg, const char *path, const char *token, const void *body, size_t n, struct http_reply *ret)
{
	struct collecting *x = arg;
	if (strcmp(path, "/v1/frames") != 0) {
		say(ret, 404, "not found: use /v1/frames");
		return;
	}
	pthread_mutex_lock(&x->lock);
	collect_take(x, nodes_find(&x->nodes, str_of(token)), body, n, ret);
	pthread_mutex_unlock(&x->lock);
}

/* Reads a certificate or a key. STATUS_OK, or STATUS_SELF, reported. */
static int read_pem(const char *path, struct buf *ret)
{
	struct err err = {0};
	int rc = io_read_file(path, CERTIFICATE_MAX, ret);
	if (rc == 0 && buf_cstr(ret)[0])
		return STATUS_OK;
	err_set(&err, rc < 0 ? -rc : 0, rc < 0 ? "cannot read '%s'" : "'%s' is empty", path);
	return report_err(&err, STATUS_SELF);
}

/* Takes records over HTTP. Until a signal ends it. A status, reported. */
static int serve(struct collecting *x)
{
	struct buf certificate = {0}, key = {0};
	struct http_server server = {.address = x->o->listen, .admit = admit, .answer = answer, .arg = x};
	struct http_running *running = NULL;
	struct err err = {0};
	unsigned port;
	int status = !x->o->certificate ? STATUS_OK : read_pem(x->o->certificate, &certificate);
	status = status == STATUS_OK && x->o->key ? read_pem(x->o->key, &key) : status;
	if (status == STATUS_OK && x->o->certificate) {
		server.certificate = buf_cstr(&certificate);
		server.key = buf_cstr(&key);
	}
	if (status == STATUS_OK && http_start(&server, &err, &running, &port) < 0)
		status = report_err(&err, STATUS_SELF);
	if (status == STATUS_OK) {
		printf("listening on port %u\n", port);
		fflush(stdout);
		do {
			if (x->o->from)
				collect_folder(x);
		} while (site_wait(x->interval));
	}
	http_stop(running);
	if (key.p)
		explicit_bzero(key.p, key.n);
	buf_release(&certificate);
	buf_release(&key);
	return status;
}

/* Takes records from where the options say. A status, reported; with --watch STATUS_OK whatever failed meanwhile. */
static int collect(struct collecting *x)
{
	site_wait_begin();
	if (x->o->listen)
		return serve(x);
	if (broker_is_url(x->o->from))
		return collect_broker(x);
	int status;
	do {
		status = collect_folder(x);
	} while (x->o->watch && site_wait(x->interval));
	return x->o->watch ? STATUS_OK : status;
}

/* What cannot be meant, and the figures. A status, reported. */
static int check_options(struct collecting *x)
{
	const struct opts_collect *o = x->o;
	const int what = (o->from || o->listen) + !!o->add_node + !!o->remove_node + o->status;
	if (x->c->n_operands)
		return report_usage(x->c, "collect takes no arguments");
	if (what != 1)
		return report_usage(x->c,
		                    "collect needs exactly one of --from, --listen, --add-node, --remove-node and --status"
		                    " (--from FOLDER and --listen can be combined)");
	if ((o->certificate || o->key) && (!o->certificate || !o->key || !o->listen))
		return report_usage(x->c, "--certificate and --key require each other and --listen");
	const bool broker = o->from && broker_is_url(o->from);
	if ((o->ca || o->token || o->creds || o->replicas) && !broker)
		return report_usage(x->c, "--ca, --token, --creds and --replicas require --from nats://HOST");
	if (broker && o->listen)
		return report_usage(x->c, "--listen cannot be combined with --from nats://");
	if (o->clocks && !o->status)
		return report_usage(x->c, "--clocks requires --status");
	if ((o->host || o->user || o->relay) && !o->add_node)
		return report_usage(x->c, "--host, --user and --relay require --add-node");
	int status = site_interval(x->c, "--interval", o->interval, 1000000000, &x->interval);
	status = status != STATUS_OK ? status : site_size(x->c, "--share", o->share, &x->share);
	return status != STATUS_OK ? status : site_size(x->c, "--floor", o->floor, &x->floor);
}

/* A status, reported. */
static int open_and_collect(struct collecting *x)
{
	struct err err = {0};
	int status = x->o->status ? cmd_store_exists(x->c) : STATUS_OK;
	if (status != STATUS_OK)
		return status;
	if (store_places(cmd_home(x->c), &err, &x->home, NULL) < 0)
		return report_err(&err, STATUS_SELF);
	if (x->o->add_node)
		return add_node(x);
	if (x->o->remove_node)
		return remove_node(x);
	int rc = x->o->status ? collector_look(x->home, &err, &x->collector)
	                      : collector_open(x->home, x->floor, &err, &x->collector);
	if (rc < 0)
		return report_err(&err, STATUS_SELF);
	return x->o->status ? collect_status(x) : collect(x);
}

/* Gives the exit status. Collects until it is told to end. */
int cmd_collect(struct cmd *c, const struct opts_collect *o)
{
	struct collecting x = {.c = c, .o = o, .floor = 1ull << 30, .lock = PTHREAD_MUTEX_INITIALIZER};
	int status = check_options(&x);
	status = status == STATUS_OK ? open_and_collect(&x) : status;
	collector_close(x.collector);
	nodes_release(&x.nodes);
	free(x.home);
	return status;
}
