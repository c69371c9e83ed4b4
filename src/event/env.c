#include "event/env.h"

bool env_allowed(struct str name)
{
	static const struct row {
		const char *text;
		bool prefix;
	} rows[] = {
#define ENV(name) {#name, false},
#define ENV_PREFIX(name) {#name, true},
#include "event/env.def"
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str row = str_of(rows[i].text);
		if (rows[i].prefix ? str_starts(name, row) : str_eq(name, row))
			return true;
	}
	return false;
}
