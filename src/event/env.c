#include "event/env.h"

bool env_allowed(struct str name)
{
	static const struct row {
		const char *text;
		bool prefix;
	} rows[] = {
#define ENV(name) {#name, false},
#define ENV_PREFIX(name) {#name, true},
#define ENV_JOB(role, name) {#name, false},
#include "event/env.def"
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str row = str_of(rows[i].text);
		if (rows[i].prefix ? str_starts(name, row) : str_eq(name, row))
			return true;
	}
	return false;
}

bool env_role(struct str name, enum env_role *ret_role, unsigned *ret_rank)
{
	static const struct row {
		const char *text;
		enum env_role role;
	} rows[] = {
#define ENV(name)
#define ENV_PREFIX(name)
#define ENV_JOB(role, name) {#name, ENV_ROLE_##role},
#include "event/env.def"
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (str_is(name, rows[i].text)) {
			*ret_role = rows[i].role;
			*ret_rank = (unsigned)i;
			return true;
		}
	return false;
}
