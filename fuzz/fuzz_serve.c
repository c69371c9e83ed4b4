/* Requests to `stemma serve`: the target, who may ask, what is accepted. What is taken has only what its address takes,
 * and is taken again; without the token nothing is. The first byte says what is tried. */
#include "fuzz_file.h"
#include "serve/serve_accept.h"
#include "serve/serve_access.h"
#include "serve/serve_problem.h"
#include "serve/serve_request.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void try_target(struct str target)
{
	struct serve_request q;
	struct err err = {0};
	const int rc = serve_request_read(target, &err, &q);
	must(rc == 0 || (rc < 0 && err.text[0]));
	if (rc == -ENOMEM)
		return;
	if (rc < 0) {
		must(rc == -ENOENT || rc == -EINVAL || rc == -E2BIG);
		struct buf b = {0};
		serve_problem(400, err.text, "", &b);
		json_t *o = json_loadb(b.p, b.n, JSON_REJECT_DUPLICATES, NULL);
		must(o && json_is_string(json_object_get(o, "detail")));
		json_decref(o);
		buf_release(&b);
		return;
	}
	uint64_t takes = 0, needs = 0;
	for (size_t i = 0; i < serve_n_takes; i++) {
		takes |= (uint64_t)(serve_takes[i].route == q.route) << serve_takes[i].parameter;
		needs |= (uint64_t)(serve_takes[i].route == q.route && serve_takes[i].required) << serve_takes[i].parameter;
	}
	for (int p = 0; p < SERVE_PARAMETERS; p++) {
		must(!q.text[p] || (takes >> p & 1));
		must(q.text[p] || !(needs >> p & 1));
		must(q.text[p] || !q.number[p]);
		must(!serve_parameters[p].most || q.number[p] <= serve_parameters[p].most);
		must(!q.text[p] || strlen(q.text[p]) <= target.n);
	}
	serve_request_release(&q);
}

/* Lines: host, origin, authorization, then the target. */
static void try_access(const char *text)
{
	struct serve_access a = {
	    .tcp = true, .port = 4711, .owner = 1000, .token = "0123456789012345678901234567890123456789abc"};
	struct serve_incoming in = {.method = "GET", .uid = -1};
	const char **const to[] = {&in.host, &in.origin, &in.authorization};
	char *copy = strdup(text), *at = copy;
	struct err err = {0};
	struct str target;
	for (size_t i = 0; i < 3 && at; i++) {
		char *line = strsep(&at, "\n");
		*to[i] = *line ? line : NULL;
	}
	in.target = str_of(at ? at : "");
	const unsigned status = serve_access_check(&a, &in, &err, &target);
	must(status == 0 || status == 401 || status == 403);
	must(status == 0 || err.text[0]);
	if (status == 0) {
		must((in.authorization && strstr(in.authorization, a.token)) || strstr(in.target.p, a.token));
		must(in.host && strstr(in.host, ":4711"));
		must(target.p >= in.target.p && target.p + target.n == in.target.p + in.target.n);
		in.uid = 1001;
		must(serve_access_check(&a, &in, &err, &target) == 403);
	}
	free(copy);
}

static void try_accept(const char *text)
{
	static const char *const types[] = {"text/csv", "text/turtle", "application/json"};
	const size_t k = serve_accept(text, types, 3);
	must(k <= 3 && serve_accept(text, types, 3) == k);
	must(k == 3 || !*text || strchr(text, '/'));
	must(serve_accept(text, types, 0) == 0);
}

/* A body as a parameter is what it was. */
static void try_body(struct str body)
{
	struct buf b = {0};
	struct serve_request q;
	struct err err = {0};
	serve_request_with_body(str_of("/sparql"), "query", body, &b);
	const int rc = b.failed ? -ENOMEM : serve_request_read(buf_view(&b), &err, &q);
	must(rc == 0 || rc == -ENOMEM || memchr(body.p, 0, body.n));
	if (rc == 0) {
		must(str_eq(str_of(q.text[SERVE_P_query]), body));
		serve_request_release(&q);
	}
	buf_reset(&b);
	serve_request_with_body(str_of("/sparql?query=x"), NULL, body, &b);
	if (!b.failed)
		try_target(buf_view(&b));
	buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	char *text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] & 3) {
	case 0:
		try_access(text);
		break;
	case 1:
		try_target(str_n(text, size - 1));
		break;
	case 2:
		try_accept(text);
		break;
	default:
		try_body(str_n(text, size - 1));
	}
	free(text);
	return 0;
}
