#include "event/env.h"

bool env_allowed(struct str name)
{
	static const struct row {
		const char *text;
		size_t n;
		bool prefix;
	} rows[] = {
#define ENV(name) {#name, sizeof(#name) - 1, false},
#define ENV_PREFIX(name) {#name, sizeof(#name) - 1, true},
#define ENV_JOB(role, name) {#name, sizeof(#name) - 1, false},
#include "event/env.def"
	};
#define ENV(name)
#define ENV_PREFIX(name)
#define ENV_JOB(role, name)
#define ENV_OWN(own)                                                                                                   \
	if (str_is(name, #own))                                                                                            \
		return false;
	if (name.n && name.p[0] == 'S') {
#include "event/env.def"
	}
	/* Asked for every variable of every exec: most rows differ in the first byte. */
	for (const struct row *r = rows; name.n && r < rows + sizeof(rows) / sizeof(rows[0]); r++)
		if (r->text[0] == name.p[0] && (r->prefix ? name.n >= r->n : name.n == r->n) && !memcmp(name.p, r->text, r->n))
			return true;
	return false;
}

bool env_loads(struct str name)
{
	static const struct {
		const char *text;
		bool prefix;
	} rows[] = {
#define LOADER(name) {#name, false},
#define LOADER_PREFIX(name) {#name, true},
#include "event/loader.def"
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = strlen(rows[i].text);
		if ((rows[i].prefix ? name.n >= n : name.n == n) && !memcmp(name.p, rows[i].text, n))
			return true;
	}
	return false;
}

bool env_marked(struct str v)
{
	const char *eq = v.n ? memchr(v.p, '=', v.n) : NULL;
	struct str name = str_n(v.p, eq ? (size_t)(eq - v.p) : 0);
	return name.n && env_allowed(name) && !env_loads(name) && !str_is(name, "PWD") &&
	       !(name.n >= 6 && !memcmp(name.p, "STEMMA", 6));
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
