#include "cmd/ui/amount.h"

#include "cmd/ui/columns.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A stored value in its unit, by the figure's decimals. */
static double in_unit(enum figure_name f, double v)
{
	for (int i = figure_decimals(f); i > 0; i--)
		v /= 10;
	return v;
}

/* Times below a second to three digits, for tasks may be short. */
static void format_short_time(struct buf *b, double ns)
{
	if (ns < 0) {
		buf_char(b, '-');
		ns = -ns;
	}
	if (ns < 1e6)
		buf_printf(b, "%.0f us", ns / 1e3);
	else if (ns < 1e9)
		buf_printf(b, "%.*f ms", ns < 1e7 ? 2 : ns < 1e8 ? 1 : 0, ns / 1e6);
	else
		fmt_duration(b, (uint64_t)ns);
}

void amount_put(struct buf *b, enum figure_name f, double v, bool span, bool plain)
{
	bool moment = f == FIGURE_start || f == FIGURE_end;
	if (isnan(v))
		buf_char(b, '-');
	else if (plain)
		buf_printf(b, "%.15g", in_unit(f, v));
	else if (moment && !span)
		fmt_time(b, (int64_t)v, true);
	else if (strcmp(figure_unit(f), "s") == 0)
		format_short_time(b, v);
	else if (strcmp(figure_unit(f), "B") == 0)
		fmt_size(b, (uint64_t)fabs(v), false);
	else if (in_unit(f, v) >= 1e6)
		buf_printf(b, "%.4g", in_unit(f, v));
	else
		buf_printf(b, "%.*f", fabs(v - round(v)) < 1e-9 && !figure_decimals(f) ? 0 : 2, in_unit(f, v));
}

void amount_json(json_t *o, const char *key, enum figure_name f, double v)
{
	double x = in_unit(f, v);
	if (isnan(v) || isinf(v))
		js_put(o, key, json_null());
	else if (!figure_decimals(f) && fabs(x) < 9e15 && x == floor(x))
		js_put(o, key, json_integer((json_int_t)x));
	else
		js_put(o, key, json_real(x));
}

unsigned amount_heading(struct buf *b, enum figure_name f, size_t width)
{
	const char *p = figure_key(f);
	unsigned lines = 0;
	while (*p) {
		size_t n = strlen(p), cut = n;
		while (cut > width) {
			const char *bar = memrchr(p, '_', cut - 1);
			if (!bar || bar == p)
				break;
			cut = (size_t)(bar - p);
		}
		buf_add(b, p, cut);
		buf_char(b, '\0');
		lines++;
		p += cut + (p[cut] == '_');
	}
	return lines;
}

int amount_parse_size(const char *text, uint64_t *ret)
{
	static const char units[] = "KMGT";
	char *end;
	errno = 0;
	double v = strtod(text, &end);
	if (end == text || errno || !(v >= 0) || !isdigit((unsigned char)*text))
		return -EINVAL;
	while (*end == ' ')
		end++;
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		for (int i = 0; i <= unit - units; i++)
			v *= 1024;
		end++;
		if (*end == 'i')
			end++;
	}
	if (*end == 'B')
		end++;
	if (*end || v > 1e18)
		return -EINVAL;
	*ret = (uint64_t)v;
	return 0;
}
