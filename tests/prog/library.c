/* library.c - asks libstemma as a program of somebody else would: library QUESTION STORE [ARGUMENT...]. Prints the
 * answer; ends with 0, with 1 where there is none, or with 2 and the sentence. */
#include <stemma/stemma.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ask(struct stemma_record *r, int argc, char **argv, char **ret, struct stemma_error *err)
{
	const char *what = argv[1], *a = argc > 3 ? argv[3] : "", *b = argc > 4 ? argv[4] : "";
	unsigned flags = (unsigned)strtoul(b, NULL, 10);
	if (strcmp(what, "why") == 0)
		return stemma_why(r, a, flags, ret, err);
	if (strcmp(what, "lineage") == 0)
		return stemma_lineage(r, a, flags, 0, ret, err);
	if (strcmp(what, "runs") == 0)
		return stemma_runs(r, 0, strtoull(a, NULL, 10), ret, err);
	if (strcmp(what, "find") == 0)
		return stemma_find(r, a, flags, ret, err);
	if (strcmp(what, "diff") == 0)
		return stemma_diff(r, a, b, ret, err);
	const char *c = argc > 5 ? argv[5] : "";
	const char *const words[] = {a, NULL}, *const *runs = *a ? words : NULL;
	if (strcmp(what, "trust") == 0)
		return stemma_trust(r, runs, *b ? b : NULL, *c ? c : NULL, ret, err);
	if (strcmp(what, "claim") == 0)
		return stemma_claim(r, runs, ret, err);
	if (strcmp(what, "verify") == 0)
		return stemma_verify(r, *a ? a : NULL, ret, err);
	if (strcmp(what, "show") == 0)
		return stemma_show(r, a, flags, ret, err);
	if (strcmp(what, "stat") == 0)
		return stemma_stat(r, a, flags, strtoull(c, NULL, 10), ret, err);
	if (strcmp(what, "stat-at") == 0)
		return stemma_stat_at(r, a, flags, strtoll(c, NULL, 10), ret, err);
	if (strcmp(what, "diff-trace") == 0)
		return stemma_diff_trace(r, a, b, (unsigned)strtoul(c, NULL, 10), ret, err);
	if (strcmp(what, "summaries") == 0)
		return stemma_summaries(r, argc > 3 ? a : NULL, ret, err);
	struct stemma_target t;
	int rc = stemma_resolve(r, a, &t, err);
	if (rc == 0)
		printf("%d %s %llu %d\n", t.kind, t.id, (unsigned long long)t.version, t.disk);
	return rc;
}

int main(int argc, char **argv)
{
	struct stemma_record *r = NULL;
	struct stemma_error err = {0};
	char *text = NULL;
	if (argc < 3)
		return 3;
	stemma_close(NULL);
	stemma_free(NULL);
	const char *read_only = getenv("READ_ONLY");
	int rc = stemma_open(*argv[2] ? argv[2] : NULL, read_only ? STEMMA_READ_ONLY : 0, &r, &err);
	if (rc && r)
		return 4;
	for (int again = getenv("AGAIN") ? 100 : 1; rc == 0 && again; again--) {
		stemma_free(text);
		rc = ask(r, argc, argv, &text, &err);
		if (rc == 0 && !read_only)
			rc = stemma_update(r, &err);
	}
	if (rc == 0 && text)
		puts(text);
	if (rc)
		fprintf(stderr, "%s\n%s\n", err.text, err.hint);
	stemma_free(text);
	stemma_close(r);
	return rc == 0 ? 0 : rc == STEMMA_NOTHING ? 1 : 2;
}
