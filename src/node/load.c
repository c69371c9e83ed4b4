#include "node/load.h"

static const struct {
	const char *name;
	size_t offset;
	bool access_only; /* only the finest step causes it */
} rows[] = {
    {"reads and writes", offsetof(struct load_rates, calls), true},
    {"events", offsetof(struct load_rates, events), false},
    {"the daemon's processor time", offsetof(struct load_rates, cpu), false},
    {"the daemon's memory", offsetof(struct load_rates, memory), false},
};

/* "?" for one that is not known. Static. */
const char *load_step_name(enum load_step step)
{
	static const char *const names[] = {"access", "open", "processes"};
	return step <= LOAD_PROCESSES ? names[step] : "?";
}

/* The rate of row i of the table. */
static double rate_at(const struct load_rates *r, size_t i)
{
	return *(const double *)(const void *)((const char *)r + rows[i].offset);
}

bool load_tick(struct load *l, const struct load_rates *now, const char **ret_why)
{
	const char *over = NULL;
	bool quiet = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double limit = rate_at(&l->limit, i), rate = rate_at(now, i);
		if (limit <= 0 || (rows[i].access_only && l->step != LOAD_ACCESS))
			continue;
		if (rate > limit && !over)
			over = rows[i].name;
		quiet &= rate < limit / 2;
	}
	l->over = over ? l->over + 1 : 0;
	l->quiet = quiet ? l->quiet + 1 : 0;
	if (l->over >= LOAD_UP && l->step < LOAD_PROCESSES) {
		l->step++;
		l->over = l->quiet = 0;
		*ret_why = over;
		return true;
	}
	if (l->quiet >= LOAD_DOWN && l->step > LOAD_ACCESS) {
		l->step--;
		l->over = l->quiet = 0;
		*ret_why = "quiet";
		return true;
	}
	return false;
}
