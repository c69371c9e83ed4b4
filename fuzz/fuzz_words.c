/* What people write: expressions of find, moments, durations, lines of settings. Nothing is accepted that makes no
 * sense. */
#include "base/buf.h"
#include "base/config.h"
#include "fuzz_file.h"
#include "query/find/expr.h"
#include "query/find/when.h"

#include <stdlib.h>
#include <string.h>

static void whole(const struct expr *e, unsigned depth)
{
	must(e && depth <= 512 && e->op < EXPR_OPS);
	if (e->op == EXPR_OR || e->op == EXPR_AND || e->op == EXPR_NOT) {
		whole(e->a, depth + 1);
		if (e->op != EXPR_NOT)
			whole(e->b, depth + 1);
		must(!e->value);
	} else {
		must(e->value && expr_name(e->op));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *words[64];
	must(text);
	memcpy(text, data, size);
	text[size] = 0;

	struct err err = {0};
	struct expr *e = NULL;
	enum expr_kind kind;
	char *one[1] = {text};
	if (expr_parse(one, 1, &err, &e, &kind) == 0)
		whole(e, 0);
	else
		must(!e && err.text[0]);
	expr_free(e);

	int64_t t;
	if (when_parse(text, 1700000000000000000, &t) == 0)
		must(text[0]);
	if (config_parse_duration(text, &t) == 0)
		must(t >= 0);

	struct config c = {0};
	for (unsigned key = 0; key < CONFIG_COUNT; key++) {
		struct err why = {0};
		if (config_set(&c, key, text, "option", &why) < 0)
			must(why.text[0]);
		must(config_get(&c, key));
		(void)config_duration(&c, key);
	}
	config_release(&c);

	/* The same as words of a command line. */
	size_t n = 0;
	for (char *save, *w = strtok_r(text, "\n", &save); w && n < 64; w = strtok_r(NULL, "\n", &save))
		words[n++] = w;
	e = NULL;
	err = (struct err){0};
	if (n && expr_parse(words, n, &err, &e, &kind) == 0)
		whole(e, 0);
	expr_free(e);
	free(text);
	return 0;
}
