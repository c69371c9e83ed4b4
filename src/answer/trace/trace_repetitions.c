#include "answer/trace/trace_repetitions.h"

#include "answer/diff/diff_content.h"
#include "base/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Has the run traces? Only whether there is such a folder. */
static bool has_traces(struct store *s, struct str ulid)
{
	struct buf path = {0};
	buf_printf(&path, "%s/trace/%.*s", store_home(s), (int)ulid.n, ulid.p);
	bool has = !path.failed && access(buf_cstr(&path), F_OK) == 0;
	buf_release(&path);
	return has;
}

/* What a run was asked to do: its folder and its words. 1; 0: there is no such run; -errno. */
static int read_command(struct store *s, store_id run, struct buf *ret, bool *ret_traced)
{
	struct run_info info;
	struct str word;
	int r = store_run_told(s, run, &info);
	buf_reset(ret);
	*ret_traced = false;
	if (r <= 0)
		return r;
	buf_str(ret, info.cwd);
	for (size_t pos = 0; strlist_next(&info.argv, &pos, &word);) {
		buf_char(ret, '\0');
		buf_str(ret, word);
	}
	*ret_traced = has_traces(s, info.ulid);
	return ret->failed ? -ENOMEM : 1;
}

/* What a run is given, and does not do. */
static bool is_given(enum diff_category c)
{
	return c == DIFF_inputs || c == DIFF_programs || c == DIFF_build || c == DIFF_options || c == DIFF_configuration ||
	       c == DIFF_environment;
}

/* Were both given the same? 1, 0, -errno with a sentence. */
static int given_same(const struct answer_source *a, store_id run, store_id other, struct err *err)
{
	struct diff_content_source content = {.s = a->store};
	struct diff_options options = {
	    .system_extra = a->system_extra, .skew = a->skew, .content = diff_content_of, .content_arg = &content};
	const store_id ids[2] = {run, other};
	struct diff d;
	int r = diff_make(a->store, DIFF_RUN, ids, &options, err, &d);
	if (r < 0)
		return r;
	r = 1;
	for (size_t i = 0; i < d.n_items; i++)
		if (is_given(d.items[i].category) && d.items[i].content != CONTENT_SAME)
			r = 0;
	diff_release(&d);
	return r;
}

int trace_repetitions(const struct answer_source *a, store_id run, store_id other, struct err *err,
                      store_id ret[TRACE_REPETITIONS])
{
	struct buf mine = {0}, theirs = {0};
	store_id *ids = NULL;
	size_t n = 0;
	bool traced;
	int found = 0, r = read_command(a->store, run, &mine, &traced);
	if (r > 0)
		r = store_runs(a->store, TRACE_REPETITIONS_LOOKED, &ids, &n);
	if (r < 0)
		err_set(err, -r, "cannot read the record");
	for (size_t i = 0; r >= 0 && i < n && found < TRACE_REPETITIONS; i++) {
		if (ids[i] == run || ids[i] == other)
			continue;
		r = read_command(a->store, ids[i], &theirs, &traced);
		if (r < 0)
			err_set(err, -r, "cannot read the record");
		if (r > 0 && traced && str_eq(buf_view(&mine), buf_view(&theirs)) && (r = given_same(a, run, ids[i], err)) > 0)
			ret[found++] = ids[i];
	}
	free(ids);
	buf_release(&mine);
	buf_release(&theirs);
	return r < 0 ? r : found;
}
