/* What make -p printed (stemma check --make-database): any bytes. Each rule has a target, and its paths are absolute, a
 * NUL behind each. */
#include "answer/check/check_targets.h"
#include "fuzz_home.h"

static int look_at_rule(void *arg, const struct str *paths, size_t n)
{
	size_t *rules = arg;
	must(n > 0);
	for (size_t i = 0; i < n; i++)
		must((!paths[i].n || paths[i].p[0] == '/') && paths[i].p[paths[i].n] == '\0');
	++*rules;
	return *rules > 100000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t rules = 0;
	int r = check_make_each(str_n((const char *)data, size), str_of("/work"), look_at_rule, &rules);
	must(r == 0 || r == 1);
	return 0;
}
