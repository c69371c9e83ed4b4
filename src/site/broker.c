#include "site/broker.h"

#include "base/io.h"
#include "site/nats_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct nats_module *module;

/* Once; what it needs lies beside the program, or where it was installed. 0, -ENOSYS with a sentence and a hint. */
static int load_nats(struct err *err)
{
	char path[PATH_MAX];
	if (module)
		return 0;
	void *h = io_own("../site/stemma-nats.so", "../" STEMMA_LIBDIR "/stemma/stemma-nats.so", path, sizeof(path))
	              ? dlopen(path, RTLD_NOW | RTLD_LOCAL)
	              : NULL;
	module = h ? dlsym(h, NATS_MODULE_SYMBOL) : NULL;
	if (module)
		return 0;
	const char *why = h ? "its module belongs to another version of stemma" : dlerror();
	err_set(err, 0, "stemma cannot speak NATS%s%s", why ? ": " : "", why ? why : "");
	err_hint(err, "install libnats and build stemma with it, or use HTTPS or a shared folder");
	return -ENOSYS;
}

bool broker_is_there(void)
{
	struct err err = {0};
	return load_nats(&err) == 0;
}

bool broker_is_url(const char *url)
{
	return !strncmp(url, "nats://", 7) || !strncmp(url, "tls://", 6);
}

/* ---- URLs ---- */

/* A word that may be part of a subject. */
static bool is_word(const char *p, size_t n)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	size_t k = 0;
	while (k < n && strchr(plain, p[k]))
		k++;
	return n && n <= BROKER_NAME && k == n;
}

/* By the name: nothing is resolved. */
static bool host_is_local(const char *p, size_t n)
{
	static const char *const here[] = {"127.0.0.1", "localhost", "[::1]"};
	for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++)
		if (n == strlen(here[i]) && !strncasecmp(p, here[i], n))
			return true;
	return false;
}

/* HOST or HOST:PORT. */
static bool add_host(struct broker_place *place, const char *p, size_t n)
{
	const char *colon = n && p[0] == '[' ? memchr(p, ']', n) : p;
	colon = colon ? memchr(colon, ':', (size_t)(p + n - colon)) : NULL;
	const size_t host = colon ? (size_t)(colon - p) : n;
	if (!host || n > 250 || place->n_hosts == sizeof(place->hosts) / sizeof(place->hosts[0]) ||
	    strcspn(p, "@?# ") < n || (colon && (colon + 1 == p + n || strspn(colon + 1, "0123456789") < n - host - 1)))
		return false;
	snprintf(place->hosts[place->n_hosts], sizeof(place->hosts[0]), "nats://%.*s%s", (int)n, p, colon ? "" : ":4222");
	place->n_hosts++;
	place->local &= host_is_local(p, host);
	return true;
}

/* Takes the address of a NATS server apart. url: as broker_is_url. False: it is malformed. */
static bool parse_place(const char *url, struct broker_place *ret)
{
	*ret = (struct broker_place){.stream = "STEMMA", .local = true, .tls = url[0] == 't'};
	const char *p = strstr(url, "://") + 3, *end = p + strcspn(p, "/"), *at = memchr(p, '@', (size_t)(end - p));
	if (*end && end[1] && (!is_word(end + 1, strlen(end + 1))))
		return false;
	if (*end && end[1])
		snprintf(ret->stream, sizeof(ret->stream), "%s", end + 1);
	if (at) {
		if (!is_word(p, (size_t)(at - p)))
			return false;
		snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(at - p), p);
		p = at + 1;
	}
	for (const char *comma; p < end; p = comma + (comma < end)) {
		comma = memchr(p, ',', (size_t)(end - p));
		comma = comma ? comma : end;
		if (!add_host(ret, p, (size_t)(comma - p)))
			return false;
	}
	return ret->n_hosts != 0;
}

/* Connects to a NATS server. 0, -EINVAL: no such address, -EPERM: it would go unencrypted to another machine,
 * -ENOSYS: no NATS, else as the module's open; with a sentence. */
static int open_at(const struct broker_at *at, bool collects, unsigned replicas, struct err *err, struct broker **ret)
{
	struct broker_place place;
	if (!broker_is_url(at->url) || !parse_place(at->url, &place)) {
		err_set(err, 0, "'%s' is not the address of a NATS server", at->url);
		err_hint(err, "use nats://NAME@HOST:PORT/STREAM; NAME and STREAM have letters, digits, '-' and '_' only");
		return -EINVAL;
	}
	if (!collects && !place.name[0]) {
		err_set(err, 0, "'%s' does not name the sender", at->url);
		err_hint(err, "nats://NAME@HOST does; NAME is the one of stemma collect --add-node");
		return -EINVAL;
	}
	if (!place.local && !place.tls && !at->ca) {
		err_set(err, 0, "without TLS stemma connects only to this machine (127.0.0.1, ::1), not to '%s'", at->url);
		err_hint(err, "write tls:// in the place of nats://, or give --ca");
		return -EPERM;
	}
	int rc = load_nats(err);
	return rc < 0 ? rc : module->open(at, &place, collects, replicas, err, ret);
}

int broker_open(const struct broker_at *at, struct err *err, struct broker **ret)
{
	return open_at(at, false, 1, err, ret);
}

int broker_collect(const struct broker_at *at, unsigned replicas, struct err *err, struct broker **ret)
{
	return open_at(at, true, replicas, err, ret);
}

/* NULL is no error. */
void broker_close(struct broker *b)
{
	if (b)
		module->close(b);
}

const char *broker_name(const struct broker *b)
{
	return module->name(b);
}

size_t broker_room(const struct broker *b)
{
	return module->room(b);
}

int broker_put(struct broker *b, const char *id, const void *p, size_t n, struct err *err, uint64_t *ret_number)
{
	return module->put(b, id, p, n, err, ret_number);
}

int broker_answer(struct broker *b, unsigned ms, struct err *err, char ret_id[BROKER_ID], char ret[BROKER_ANSWER + 1])
{
	return module->answer(b, ms, err, ret_id, ret);
}

int broker_waits(struct broker *b, uint64_t number)
{
	return module->waits(b, number);
}

int broker_next(struct broker *b, unsigned ms, struct err *err, struct broker_message *ret)
{
	return module->next(b, ms, err, ret);
}

int broker_done(struct broker *b, const char *answer, struct err *err)
{
	return module->done(b, answer, err);
}
