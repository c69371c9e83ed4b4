/* The tracer where it was built without clang or libbpf: everything says so. */
#include "capture/node_tracer/tracer.h"

#include <errno.h>
#include <stdio.h>

static const char why[] = "built without it: clang and libbpf were missing";

int tracer_probe(bool measure, struct tracer_caps *ret)
{
	(void)measure;
	*ret = (struct tracer_caps){.n = 1, .cap = {{.name = "processes", .cost = -1}}};
	snprintf(ret->cap[0].text, sizeof(ret->cap[0].text), "%s", why);
	return 0;
}

int tracer_open(const struct tracer_options *options, struct tracer **ret, struct err *err)
{
	(void)options;
	(void)ret;
	return err_set(err, ENOTSUP, "cannot trace the node (%s)", why);
}

/* Nobody can have one. */
void tracer_close(struct tracer *t)
{
	(void)t;
}

const struct tracer_caps *tracer_has(const struct tracer *t)
{
	static const struct tracer_caps none;
	(void)t;
	return &none;
}

int tracer_fd(const struct tracer *t)
{
	(void)t;
	return -1;
}

int tracer_drain(struct tracer *t, tracer_each *each, void *arg, struct err *err)
{
	(void)t, (void)each, (void)arg;
	return err_set(err, ENOTSUP, "%s", why);
}

int tracer_poll(struct tracer *t, int timeout_ms, tracer_each *each, void *arg, struct err *err)
{
	(void)timeout_ms;
	return tracer_drain(t, each, arg, err);
}

int tracer_set(struct tracer *t, enum tracer_who who, uint64_t id, bool on, struct err *err)
{
	(void)t, (void)who, (void)id, (void)on;
	return err_set(err, ENOTSUP, "%s", why);
}

int tracer_set_none(struct tracer *t, struct err *err)
{
	return tracer_set(t, TRACER_NODE, 0, false, err);
}

int tracer_files(struct tracer *t, bool on, struct err *err)
{
	return tracer_set(t, TRACER_NODE, 0, on, err);
}

int tracer_totals(struct tracer *t, tracer_each *each, void *arg, struct err *err)
{
	return tracer_drain(t, each, arg, err);
}

/* All 0: there is no tracer. */
void tracer_stats(struct tracer *t, struct tracer_stats *ret)
{
	(void)t;
	*ret = (struct tracer_stats){0};
}

/* There is no tracer: always 0. */
size_t tracer_rates(struct tracer *t, struct tracer_rate *ret, size_t n)
{
	(void)t, (void)ret, (void)n;
	return 0;
}

/* There is no tracer: always false. */
bool tracer_pass(struct tracer *t, uint32_t uid, bool on)
{
	(void)t;
	(void)uid;
	(void)on;
	return false;
}

uint64_t tracer_passed(const struct tracer *t, uint32_t uid)
{
	(void)t;
	(void)uid;
	return 0;
}
