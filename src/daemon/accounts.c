#include "daemon/accounts.h"

#include "daemon/world.h"

#include <stddef.h>
#include <stdio.h>

static struct range {
	uint32_t first, last, owner;
} ranges[ACCOUNTS_MAX];
static size_t n_ranges;

void accounts_read(const char *path)
{
	char line[512], name[256];
	unsigned long first, count;
	FILE *f = fopen(path ? path : "/etc/subuid", "re");
	n_ranges = 0;
	while (f && n_ranges < ACCOUNTS_MAX && fgets(line, sizeof(line), f)) {
		struct range *r = &ranges[n_ranges];
		if (sscanf(line, "%255[^:#]:%lu:%lu", name, &first, &count) != 3 || !count || !first || first >= UINT32_MAX ||
		    count > UINT32_MAX - first || !world_uid(name, &r->owner))
			continue;
		r->first = (uint32_t)first;
		r->last = (uint32_t)(first + count - 1);
		n_ranges++;
	}
	if (f)
		fclose(f);
}

uint32_t accounts_of(uint32_t uid)
{
	for (size_t i = 0; i < n_ranges; i++)
		if (uid >= ranges[i].first && uid <= ranges[i].last)
			return ranges[i].owner;
	return uid;
}
