/* stemma ship: the record, sent to a collector. */
#include "base/io.h"
#include "base/ulid.h"
#include "cmd/site/ship_int.h"
#include "cmd/site/site_wait.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BACK_OFF_MAX_S = 60 };

int ship_read_answer(const char *text, struct err *err, struct ship_answer *ret)
{
	json_error_t bad;
	json_t *o = json_loadb(text, strlen(text), 0, &bad);
	const char *id = json_string_value(json_object_get(o, "collector"));
	const char *why = json_string_value(json_object_get(o, "why"));
	int rc = 0;
	*ret = (struct ship_answer){0};
	if (!id || !ulid_is(id, strlen(id)) || !json_is_integer(json_object_get(o, "taken"))) {
		err_set(err, 0, "the answer of the collector cannot be read");
		err_hint(err, "check whether the collector at this address is a stemma of the same version");
		rc = -EPROTO;
	} else {
		snprintf(ret->collector, sizeof(ret->collector), "%s", id);
		snprintf(ret->why, sizeof(ret->why), "%s", why ? why : "");
		ret->taken = (uint64_t)json_integer_value(json_object_get(o, "taken"));
		ret->known = (uint64_t)json_integer_value(json_object_get(o, "known"));
		ret->refused = (uint64_t)json_integer_value(json_object_get(o, "refused"));
		ret->bytes = (uint64_t)json_integer_value(json_object_get(o, "bytes"));
	}
	json_decref(o);
	return rc;
}

int ship_take_answer(struct shipping *x, const struct ship_answer *a, uint64_t frames, struct err *err)
{
	if (shipper_is_other(x->s, a->collector)) {
		report("'%s' is a different collector than before: sending everything again", x->o->to);
		shipper_lost(x->s);
		return 0;
	}
	int rc = shipper_sent(x->s, err);
	if (rc < 0)
		return rc;
	x->frames += a->taken;
	x->known += a->known;
	x->bytes += a->bytes;
	x->refused += a->refused;
	if (a->refused) {
		struct buf said = {0};
		fmt_name(&said, str_of(a->why[0] ? a->why : "no reason was given"));
		report("the collector refused %llu of %llu frames; of the first it says: %s", (unsigned long long)a->refused,
		       (unsigned long long)(frames ? frames : a->taken + a->known + a->refused), buf_cstr(&said));
		report_hint("they stay in the record here, and are not sent again");
		buf_release(&said);
	}
	return 1;
}

int ship_read_secret(const char *path, char *ret, size_t size)
{
	ssize_t n = io_read_text(path, ret, size);
	if (n < 0) {
		struct err err = {0};
		err_set(&err, (int)-n, "cannot read '%s'", path);
		return report_err(&err, STATUS_SELF);
	}
	ret[strcspn(ret, "\n")] = '\0';
	return STATUS_OK;
}

/* Sends what there is. 1: all of it; 0: the rest later, after *wait_s; -errno with a sentence. */
static int send_all(struct shipping *x, unsigned *wait_s, struct err *err)
{
	struct str batch;
	uint64_t frames;
	int rc = 1;
	x->waits = false;
	if (x->carrier->resume && (rc = x->carrier->resume(x, err)) <= 0)
		return rc;
	while (!x->ended && (rc = shipper_batch(x->s, err, &batch, &frames)) == 1) {
		rc = x->carrier->send(x, batch, frames, wait_s, err);
		if (rc < 0 || (rc == 0 && (x->waits || err->text[0])))
			return rc;
	}
	return rc < 0 ? rc : !x->ended;
}

/* What was sent, and what waits. A status, reported. */
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

/* Sends what is new in the record. Until it is stopped, or once. A status, reported. */
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
			report("a batch waits in '%s' for the collector", x->o->to),
			    report_hint("run stemma ship again to send the rest");
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

/* Waits until there is a record, as for a collector that has received nothing yet; x->ended: a signal came first. A
 * status, reported. */
static int wait_for_record(struct shipping *x)
{
	struct err err = {0};
	char *home = NULL, *logs = NULL;
	if (store_places(cmd_home(x->c), &err, &home, NULL) < 0)
		return report_err(&err, STATUS_SELF);
	if (asprintf(&logs, "%s/logs", home) < 0)
		logs = NULL;
	free(home);
	site_wait_begin();
	while (logs && !x->ended && access(logs, F_OK) < 0 && errno == ENOENT)
		x->ended = !site_wait(x->interval);
	const int status = x->ended ? STATUS_OK : logs ? cmd_store_exists(x->c) : report_lack(STATUS_SELF);
	free(logs);
	return status;
}

/* Opens the record, and sends what is new in it. STATUS_NOTHING: not all was sent, or some was refused. A status,
 * reported. */
static int open_and_ship(struct shipping *x)
{
	struct err err = {0};
	char *home = NULL;
	int status = x->o->watch && !x->o->status ? wait_for_record(x) : cmd_store_exists(x->c);
	if (status != STATUS_OK || x->ended)
		return status;
	if (store_places(cmd_home(x->c), &err, &home, NULL) < 0 ||
	    shipper_open(home, x->o->to, x->o->collected, &err, &x->s) < 0) {
		free(home);
		return report_err(&err, STATUS_SELF);
	}
	free(home);
	if (!x->o->status) {
		site_wait_begin();
		status = x->carrier->open ? x->carrier->open(x) : STATUS_OK;
		status = status == STATUS_OK ? ship(x) : status;
	}
	int s = status == STATUS_OK || status == STATUS_NOTHING ? print_result(x) : STATUS_OK;
	shipper_close(x->s);
	if (x->carrier->close)
		x->carrier->close(x);
	return status != STATUS_OK ? status : s != STATUS_OK ? s : x->refused ? STATUS_NOTHING : STATUS_OK;
}

/* Never NULL: what is neither a folder nor NATS's is HTTP's. */
static const struct ship_carrier *carrier_to(const char *to)
{
	static const struct ship_carrier *const all[] = {&ship_by_folder, &ship_by_nats, &ship_by_http};
	size_t i = 0;
	while (i + 1 < sizeof(all) / sizeof(all[0]) && !all[i]->is(to))
		i++;
	return all[i];
}

/* Gives the exit status. Ships until it is told to end, or once. */
int cmd_ship(struct cmd *c, const struct opts_ship *o)
{
	struct shipping x = {.c = c, .o = o};
	if (c->n_operands)
		return report_usage(c, "ship takes no arguments");
	if (!o->to)
		return report_usage(c, "ship needs --to with a folder, https://HOST:PORT or nats://NAME@HOST");
	x.carrier = carrier_to(o->to);
	if (o->creds && x.carrier != &ship_by_nats)
		return report_usage(c, "--creds requires --to nats://NAME@HOST");
	int status = site_interval(c, "--interval", o->interval, 1000000000, &x.interval);
	status = status != STATUS_OK ? status : site_size(c, "--rate", o->rate, &x.rate);
	return status != STATUS_OK ? status : open_and_ship(&x);
}
