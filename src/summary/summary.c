#include "summary/summary.h"

#include "base/strv.h"

#include <errno.h>
#include <stdlib.h>

static const struct {
	const char *word, *unit;
	int decimals;
} figures[FIGURES] = {
#define FIGURE(name, unit, decimals, meaning) {#name, unit, decimals},
#include "summary/figures.def"
};

/* Static. */
const char *figure_key(enum figure_name f)
{
	return figures[f].word;
}

/* Of the value with its decimals. Static. */
const char *figure_unit(enum figure_name f)
{
	return figures[f].unit;
}

/* How many of the value's digits stand behind the point. */
int figure_decimals(enum figure_name f)
{
	return figures[f].decimals;
}

int figure_by_name(const char *name)
{
	for (int f = 0; f < FIGURES; f++)
		if (strcmp(figures[f].word, name) == 0)
			return f;
	return -ENOENT;
}

/* NULL for one that is not known. Static. */
const char *exit_type_name(enum exit_type t)
{
	static const char *const words[] = {
	    [EXIT_TYPE_NORMAL] = "normal", [EXIT_TYPE_SIGNAL] = "signal", [EXIT_TYPE_LIMIT] = "limit"};
	return t <= EXIT_TYPE_LIMIT ? words[t] : NULL;
}

/* Never NULL. Static. */
const struct limit_unit *limit_unit_of(const char *name)
{
	static const struct limit_unit units[] = {{"s", 9}, {"cores", 3}, {"B", 0}, {"", 0}};
	enum { TIME, THOUSANDTHS, SIZE, COUNT };
	static const struct {
		const char *word;
		unsigned kind;
	} limits[] = {
#define LIMIT(id, word, kind, figure, least, meaning) {word, kind},
#define ALIAS(word, id, unit)
#include "summary/limit.def"
	};
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (strcmp(limits[i].word, name) == 0)
			return &units[limits[i].kind];
	return &units[COUNT];
}

/* Release with summary_release. */
void summary_init(struct summary *s)
{
	*s = (struct summary){.exit_status = -1, .signal = -1};
}

/* Releases a list of limits. */
static void summary_free_limits(struct summary_limit *l, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(l[i].name);
	free(l);
}

/* Releases a list of pairs. */
static void free_pairs(struct summary_pair *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(p[i].key);
		free(p[i].value);
	}
	free(p);
}

/* s is as after summary_init then. */
void summary_release(struct summary *s)
{
	free(s->run);
	free(s->cwd);
	free(s->user);
	strv_free(s->argv);
	for (int f = 0; f < FIGURES; f++) {
		free(s->figure[f].method);
		free(s->figure[f].absent);
	}
	summary_free_limits(s->limit, s->nlimit);
	summary_free_limits(s->exceeded, s->nexceeded);
	free_pairs(s->host, s->nhost);
	free_pairs(s->label, s->nlabel);
	for (size_t i = 0; i < s->nescaped; i++)
		free(s->escaped[i]);
	free(s->escaped);
	for (size_t i = 0; i < s->nprocess; i++)
		free(s->process[i].exe);
	free(s->process);
	for (size_t i = 0; i < s->nfile; i++) {
		free(s->file[i].path);
		free(s->file[i].how);
	}
	free(s->file);
	summary_init(s);
}

/* Stores `value` in the place of what is there. word: how it was found, or, of a figure that is not known, why not;
 * copied. The two texts of `value` are not looked at. 0; -ENOMEM: nothing changed. */
static int replace_figure(struct figure *at, struct figure value, const char *word)
{
	char *copy = word ? strdup(word) : NULL;
	if (word && !copy)
		return -ENOMEM;
	free(at->method);
	free(at->absent);
	*at = value;
	at->method = value.known ? copy : NULL;
	at->absent = value.known ? NULL : copy;
	return 0;
}

int summary_set(struct summary *s, enum figure_name f, int64_t value, const char *method, bool complete)
{
	return replace_figure(
	    &s->figure[f],
	    (struct figure){.known = true, .value = value, .low = value, .high = value, .complete = complete}, method);
}

/* Replaces what it had. method is copied. 0, -ENOMEM. */
int summary_set_bounds(struct summary *s, enum figure_name f, int64_t value, int64_t low, int64_t high,
                       const char *method, bool complete)
{
	return replace_figure(
	    &s->figure[f],
	    (struct figure){.known = true, .bounded = true, .value = value, .low = low, .high = high, .complete = complete},
	    method);
}

/* Replaces what it had. why is copied. 0, -ENOMEM. */
int summary_absent(struct summary *s, enum figure_name f, const char *why)
{
	return replace_figure(&s->figure[f], (struct figure){0}, why);
}
