#include "export/provio_setting.h"

#include "base/hash.h"
#include "query/idmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* Is the metric an accuracy, which PROV-IO has a word of its own for? */
static bool is_accuracy(struct str name)
{
	return name.n == 8 && strncasecmp(name.p, "accuracy", 8) == 0;
}

/* Which metrics are the last of their names; NULL without memory. */
static bool *find_last_metrics(const struct app_log *d)
{
	struct idmap names = {0};
	bool is_new, *last = calloc(d->metrics.n + 1, sizeof(*last));
	for (size_t i = d->metrics.n; last && i-- > 0;) {
		const struct event_app_metric *m = &d->metrics.v[i].ev.app_metric;
		if (!app_log_image_of(d, &d->metrics.v[i], m->app))
			continue;
		if (!idmap_add(&names, hash_str(m->name) | 1, 1, &is_new)) {
			free(last);
			last = NULL;
			break;
		}
		last[i] = is_new;
	}
	idmap_release(&names);
	return last;
}

/* What the run came to: its accuracy, else its only metric. */
static const struct reported_event *find_quality(const struct app_log *d, const bool *last_metric)
{
	const struct reported_event *only = NULL;
	size_t n = 0;
	for (size_t i = 0; i < d->metrics.n; i++) {
		if (!last_metric[i])
			continue;
		if (is_accuracy(d->metrics.v[i].ev.app_metric.name))
			return &d->metrics.v[i];
		only = &d->metrics.v[i];
		n++;
	}
	return n == 1 ? only : NULL;
}

int provio_settings_find(const struct app_log *d, struct provio_settings *ret)
{
	struct idmap names = {0};
	bool is_new = false;
	int r = 0;
	*ret = (struct provio_settings){.d = d, .last = calloc(d->words.n + 1, sizeof(*ret->last)), .type = str_of("")};
	ret->last_metric = find_last_metrics(d);
	if (!ret->last || !ret->last_metric)
		return -ENOMEM;
	for (size_t i = d->words.n; r == 0 && i-- > 0;) {
		const struct event_app_word *o = &d->words.v[i].ev.app_word;
		if (!app_log_image_of(d, &d->words.v[i], o->app))
			continue;
		if (o->said == TERM_said_type && !ret->type.n)
			ret->type = o->name;
		if (o->said != TERM_said_config)
			continue;
		if (!idmap_add(&names, hash_str(o->name) | 1, 1, &is_new))
			r = -ENOMEM;
		ret->last[i] = is_new;
	}
	idmap_release(&names);
	ret->quality = find_quality(d, ret->last_metric);
	return r;
}

/* It may be released twice. */
void provio_settings_release(struct provio_settings *s)
{
	free(s->last);
	free(s->last_metric);
	s->last = s->last_metric = NULL;
}

/* The value in quotes, escaped. */
static void put_property(struct out *out, const char *name, struct str value)
{
	out_text(out, " ;\n  ns1:");
	out_text(out, name);
	out_text(out, " \"");
	out_escaped(out, value, NULL);
	out_char(out, '"');
}

void provio_settings_write(const struct provio_settings *s, struct out *out, size_t word, const char *ulid)
{
	const struct event_app_word *o = &s->d->words.v[word].ev.app_word;
	if (!s->last[word])
		return;
	put_property(out, "Name", o->name);
	put_property(out, "Type", s->type.n ? s->type : str_of("Configuration"));
	put_property(out, "Value", o->value);
	put_property(out, "Version", o->version.n ? o->version : str_of(ulid));
	const double v = s->quality ? app_log_number(&s->quality->ev.app_metric) : 0;
	if (!s->quality || v != v)
		return;
	char text[40];
	for (int digits = 15; digits <= 17; digits++) { /* as short as it can be and still be the same */
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	put_property(out, "Quality", str_of(text));
	out_text(out, "^^xsd:double");
}
