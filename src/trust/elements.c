#include "trust/elements.h"

#include "base/vec.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* x itself stays. */
static void element_release(struct element *x)
{
	for (size_t i = 0; i < x->n; i++)
		free(x->value[i]);
	free(x->value);
	free(x->name);
	free(x->unknown);
	free(x->tolerance);
	free(x->statistic);
}

/* e is empty then. */
void elements_release(struct elements *e)
{
	for (size_t i = 0; i < e->n; i++)
		element_release(&e->v[i]);
	free(e->v);
	*e = (struct elements){0};
}

/* Names with a zero byte inside cannot be told apart behind it: they are cut there, as argv would. */
static char *copy_name(struct str s)
{
	return strndup(s.p ? s.p : "", s.n);
}

struct element *elements_find(const struct elements *e, struct str name)
{
	for (size_t i = 0; i < e->n; i++)
		if (str_is(name, e->v[i].name))
			return &e->v[i];
	return NULL;
}

struct element *elements_at(struct elements *e, struct str name)
{
	struct element *x = elements_find(e, name);
	if (x)
		return x;
	if (!vec_has_room(e->v, e->n, e->cap)) {
		e->failed = true;
		return NULL;
	}
	char *own = copy_name(name);
	if (!own) {
		e->failed = true;
		return NULL;
	}
	e->v[e->n] = (struct element){.name = own};
	return &e->v[e->n++];
}

bool element_put(struct element *x, struct str value)
{
	char **more = realloc(x->value, (x->n + 1) * sizeof(*more)), *own;
	if (!more)
		return false;
	x->value = more;
	own = copy_name(value);
	if (!own)
		return false;
	x->value[x->n++] = own;
	return true;
}

bool element_text(char **text, struct str value)
{
	char *own = copy_name(value);
	if (!own)
		return false;
	free(*text);
	*text = own;
	return true;
}

void elements_add(struct elements *e, struct str name, struct str value)
{
	struct element *x = elements_at(e, name);
	if (x && !element_put(x, value))
		e->failed = true;
}

static int compare_by_name(const void *a, const void *b)
{
	return strcmp(((const struct element *)a)->name, ((const struct element *)b)->name);
}

void elements_sort(struct elements *e)
{
	if (e->n)
		qsort(e->v, e->n, sizeof(*e->v), compare_by_name);
}

/* ---- values ---- */

bool value_number(const char *text, double *ret)
{
	char *end;
	const char *p = text + (*text == '-' || *text == '+');
	/* strtod takes hexadecimals, infinities and blanks before, too. */
	if (!isdigit((unsigned char)p[0]) && !(p[0] == '.' && isdigit((unsigned char)p[1])))
		return false;
	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		return false;
	double d = strtod(text, &end);
	if (*end || !isfinite(d))
		return false;
	*ret = d;
	return true;
}

/* Reads a whole number: the digits of an integer without a plus and zeros before; NULL: it is none. */
static const char *integer(const char *s, bool *ret_minus)
{
	*ret_minus = *s == '-';
	s += *s == '-' || *s == '+';
	if (!*s || s[strspn(s, "0123456789")])
		return NULL;
	while (*s == '0' && s[1])
		s++;
	if (*s == '0')
		*ret_minus = false;
	return s;
}

bool value_same(const char *a, const char *b)
{
	bool minus_a, minus_b;
	double x, y;
	if (!strcmp(a, b))
		return true;
	const char *i = integer(a, &minus_a), *k = integer(b, &minus_b);
	if (i && k)
		return minus_a == minus_b && !strcmp(i, k);
	return value_number(a, &x) && value_number(b, &y) && x == y;
}
