/* What engines of workflows leave in files, and stages are named by: the first byte says which. */
#include "query/stages/stages_texts.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_plan(struct str text)
{
	struct stages_plan p = {.folder = str_of("/w")};
	buf_str(&p.text, text);
	if (stages_plan_parse(&p) == 0)
		for (size_t i = 0; i < p.n; i++)
			if (!p.jobs[i].name.n || memchr(p.jobs[i].name.p, 0, p.jobs[i].name.n))
				abort(); /* a name is one */
	stages_plan_job(&p, str_of("/w/out/a/b"));
	stages_plan_job(&p, text);
	stages_plan_release(&p);
}

static void read_ninja(struct str text)
{
	struct stages_ninja l = {0};
	if (stages_ninja_parse(&l, str_of("/w/"), text) == 0)
		stages_ninja_first(&l, str_of("/w/out"));
	stages_ninja_release(&l);
}

static bool is_within(struct str part, struct str text)
{
	return !part.n || (part.p >= text.p && part.p + part.n <= text.p + text.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = str_n((const char *)data + 1, size ? size - 1 : 0);
	if (!size)
		return 0;
	if (*data == 's')
		read_plan(text);
	else if (*data == 'n')
		read_ninja(text);
	else if (!is_within(stages_task_name(text), text) || !is_within(stages_metadata_rule(text), text))
		abort();
	return 0;
}
