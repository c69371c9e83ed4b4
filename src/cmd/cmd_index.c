/* stemma index: bring the index up to date with the logs, or make it again. */
#include "cmd/cmd.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"

/* What was read and what was found damaged: one row each, for people and for JSON. */
#define ROWS(X)                                                                                                        \
	X(segments, "segments read")                                                                                       \
	X(frames, "frames read")                                                                                           \
	X(events, "events read")                                                                                           \
	X(new_executions, "new executions")                                                                                \
	X(new_versions, "new versions")                                                                                    \
	X(skipped_bytes, "damaged bytes")                                                                                  \
	X(torn_bytes, "bytes of an incomplete frame")                                                                      \
	X(newer_frames, "frames of a newer version of stemma")                                                             \
	X(bad_frames, "damaged frames")                                                                                    \
	X(unknown_refs, "references to missing records")

/* Gives the exit status. */
int cmd_index(struct cmd *c, const struct opts_index *o)
{
	struct err err = {0};
	if (c->n_operands)
		return report_usage(c, "index takes no arguments");
	int status = cmd_store_exists(c);
	if (status != STATUS_OK)
		return status;
	unsigned flags = STORE_WRITE | (o->rebuild ? STORE_REBUILD : 0);
	if (store_open(cmd_home(c), flags, &err, &c->store) < 0)
		return report_err(&err, STATUS_SELF);
	struct store_index_options options = {.skew = config_duration(&c->config, CONFIG_skew),
	                                      .lps = o->lps,
	                                      .system_extra = config_get(&c->config, CONFIG_system)};
	struct store_index_stats s = {0};
	if (store_index(c->store, &options, &err, &s) < 0)
		return report_err(&err, STATUS_SELF);
	c->indexed = true;

	if (store_was_older(c->store))
		report("the index of an older version of stemma has been rebuilt from the logs");
	if (o->json) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_text(all, "index", store_index_path(c->store));
#define X(field, what) js_num(all, #field, s.field);
		ROWS(X)
#undef X
		return js_print(all, false);
	}
	static const char align[] = "rl";
	struct table t = {.align = align, .n_columns = 2};
#define X(field, what)                                                                                                 \
	if (s.field || &s.field < &s.skipped_bytes) {                                                                      \
		table_cellf(&t, "%llu", (unsigned long long)s.field);                                                          \
		table_cell(&t, str_of(what));                                                                                  \
	}
	ROWS(X)
#undef X
	table_print(&t, &c->out, 0);
	if (s.skipped_bytes || s.newer_frames || s.bad_frames)
		report_hint("stemma fsck lists the damage");
	return STATUS_OK;
}
