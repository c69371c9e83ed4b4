/* bench_reach.c - which parameters of a benchmark can reach what its program outputs. */
#include "cmd/bench/bench_show.h"
#include "trust/extract.h"

#include <stdlib.h>
#include <string.h>

/* Of one run: by the build-id of the program that its command names, and the argument that has the value. */
static enum reach reach_of_run(const struct bench_shown *x, size_t i, const char *name, struct reach_slices *slices)
{
	static const char before[] = "build-id:";
	const struct bench_show_run *r = &x->v[i];
	const struct element *e = bench_show_find(x, i, SHOW_PARAMETERS, name), *program;
	const char *slash = r->argc ? strrchr(r->argv[0], '/') : NULL;
	struct buf key = {0};
	if (!e || e->n != 1 || !r->argc)
		return REACH_UNKNOWN;
	buf_printf(&key, "program.%s", slash ? slash + 1 : r->argv[0]);
	program = key.failed ? NULL : bench_show_find(x, i, SHOW_PROGRAMS, buf_cstr(&key));
	buf_release(&key);
	if (!program || program->n != 1 || strncmp(program->value[0], before, sizeof(before) - 1) != 0)
		return REACH_UNKNOWN;
	size_t argument = extract_find_argument(r->argv, r->argc, name, e->value[0]);
	return reach_of_argument(slices, program->value[0] + sizeof(before) - 1, argument);
}

enum reach bench_reach(struct bench_shown *x, const char *name)
{
	enum reach ret = x->n ? REACH_CANNOT : REACH_UNKNOWN;
	for (size_t i = 0; i < x->n; i++) {
		enum reach r = reach_of_run(x, i, name, &x->slices);
		ret = r < ret ? r : ret;
	}
	return ret;
}

json_t *bench_reach_json(struct bench_shown *x)
{
	json_t *o = json_object();
	size_t n;
	const char **names = bench_show_names(x, SHOW_PARAMETERS, &n);
	for (size_t i = 0; names && i < n; i++) {
		const char *word = reach_word(bench_reach(x, names[i]));
		if (word)
			js_text(o, names[i], word);
	}
	free(names);
	return o;
}
