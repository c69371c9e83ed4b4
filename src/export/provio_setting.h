/* provio_setting.h - what programs told of their settings, as PROV-IO's tools tell it and its queries ask for it: Name,
 * Type, Value, Version and Quality of one node, under the prefix that those queries have. Memory: a byte a word or
 * figure. */
#ifndef STEMMA_EXPORT_PROVIO_SETTING_H
#define STEMMA_EXPORT_PROVIO_SETTING_H

#include "prov/out.h"
#include "query/app_log.h"

/* rdflib takes a query's prefixes from the document that is asked, and PROV-IO's queries say ns1: without a word. */
#define PROVIO_SETTING_PREFIX "@prefix ns1: <https://www.w3.org/ns/mls#> .\n"

struct provio_settings {
	const struct app_log *d;
	bool *last;                           /* of each word: the last value of a setting, which counts */
	bool *last_metric;                    /* of each metric: the last of its name */
	const struct reported_event *quality; /* the metric that the run came to; NULL: none */
	struct str type;                      /* what kind of run it is; "" not told */
};
/* Finds the settings and last metrics that the export tells. 0 or -ENOMEM. Release it in any case. */
int provio_settings_find(const struct app_log *d, struct provio_settings *ret);
void provio_settings_release(struct provio_settings *s);
/* Writes the properties of a word, a setting's, if it counts: behind others of the same subject. ulid: of the run. */
void provio_settings_write(const struct provio_settings *s, struct out *out, size_t word, const char *ulid);

#endif
