#include "cmd/keeping/keeping.h"
#include "base/memory.h"

#include "cmd/keeping/keeping_specs.h"
#include "cmd/ui/columns.h"
#include "trust/chain/chain.h"
#include "trust/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int keeping_index(struct cmd *c)
{
	struct err err = {0};
	struct store_index_options o = {.skew = config_duration(&c->config, CONFIG_skew),
	                                .system_extra = config_get(&c->config, CONFIG_system)};
	store_close(c->store);
	c->store = NULL;
	int r = store_open(cmd_home(c), STORE_WRITE | STORE_REBUILD, &err, &c->store);
	if (r == 0)
		r = store_index(c->store, &o, &err, NULL);
	if (r < 0) {
		report("the records were removed from the logs, but the index could not be rebuilt: %s", err.text);
		report_hint("run stemma index --rebuild");
		return STATUS_SELF;
	}
	return STATUS_OK;
}

int keeping_names(struct store *s, const struct gc_choice *choice, struct buf *text, struct str **ret, struct err *err)
{
	struct str *v = calloc(choice->n + 1, sizeof(*v));
	size_t *at = calloc(choice->n + 1, sizeof(*at));
	int r = v && at ? 1 : -ENOMEM;
	for (size_t i = 0; r > 0 && i < choice->n; i++) {
		struct run_info run;
		at[i] = text->n;
		r = store_run(s, choice->runs[i].id, &run);
		if (r > 0) {
			v[i].n = run.ulid.n;
			buf_str(text, run.ulid);
		}
	}
	for (size_t i = 0; r > 0 && i < choice->n; i++)
		v[i].p = text->p + at[i];
	free(at);
	if (r <= 0 || text->failed) {
		free(v);
		return err_set(err, r < 0 ? -r : text->failed ? ENOMEM : EIO, "cannot list the runs to remove");
	}
	*ret = v;
	return 0;
}

/* ---- the chain of seals (trust/chain.h) ---- */

/* Is anything of the record? False also where that cannot be read. */
static bool is_sealed(struct cmd *c)
{
	struct reported_list seals;
	bool any = c->store && store_reported(c->store, 0, EVENT_seal, &seals) == 0 && seals.n;
	if (c->store)
		reported_list_release(&seals);
	return any;
}

/* What is sealed and as it was: only that may be sealed again after something was taken out. False: they cannot be
 * read, which was reported. *ret is malloc'ed. */
static bool matching(struct cmd *c, uint64_t **ret, size_t *ret_n)
{
	struct err err = {0};
	struct chain *chain;
	int rc = chain_open(store_home(c->store), true, &err, &chain);
	if (rc == 0) {
		rc = chain_matching(chain, &err, ret, ret_n);
		chain_close(chain);
	}
	if (rc < 0)
		report("the seals cannot be updated, so stemma trust --verify will report a change: %s", err.text);
	return rc == 0;
}

/* What fails is reported. */
static void seal_again(struct cmd *c, const uint64_t *matched, size_t n)
{
	struct err err = {0};
	struct chain *chain;
	int rc = chain_open(store_home(c->store), true, &err, &chain);
	if (rc == 0) {
		rc = chain_cut(chain, matched, n, &err);
		chain_close(chain);
	}
	if (rc < 0)
		report("the remaining records could not be sealed again, so stemma trust --verify will report a change: %s",
		       err.text);
}

/* What a rewrite of segments could not look into: bytes that were damaged, and blocks of a newer version. */
static void report_unread(uint64_t damaged, uint64_t newer)
{
	if (damaged)
		report("%llu damaged byte%s of the rewritten logs were removed, too", (unsigned long long)damaged,
		       str_plural(damaged));
	if (newer)
		report("%llu frame%s of a newer version of stemma could not be read and %s kept", (unsigned long long)newer,
		       str_plural(newer), newer == 1 ? "is" : "are");
}

int keeping_cut(struct cmd *c, struct keep_logs *l, const struct keep_cut_options *o, struct keep_cut_stats *ret)
{
	struct err err = {0};
	uint64_t *matched = NULL;
	size_t n_matched = 0;
	struct keeping_specs specs = {0};
	bool sealed = !o->dry_run && is_sealed(c) && matching(c, &matched, &n_matched);
	int found = o->dry_run ? 0 : keeping_specs_find(c, &specs);
	/* What was left out where memory lacked may be a run that is to go, or one that rests on those. */
	int r = !o->dry_run && memory_lacked() ? err_set(&err, ENOMEM, "out of memory: nothing was removed")
	                                       : keep_cut(l, o, &err, ret);
	if (r == 0 && sealed && ret->segments)
		seal_again(c, matched, n_matched);
	free(matched);
	keep_logs_close(l);
	if (r < 0) {
		keeping_specs_release(&specs);
		return report_err(&err, STATUS_SELF);
	}
	report_unread(ret->damaged, ret->newer);
	int status = o->dry_run || !ret->segments ? STATUS_OK : keeping_index(c);
	uint64_t copies = 0, kept = 0;
	if (status == STATUS_OK && !o->dry_run && ret->segments) {
		if (found == 0)
			found = keeping_specs_sweep(c, &specs, &kept);
		if (found < 0)
			report("the code of programs whose builds were removed could not be removed: %s", strerror(-found));
		r = kept_sweep(c->store, &copies);
		if (r < 0)
			report("unused copies of inputs could not be removed: %s", strerror(-r));
	}
	keeping_specs_release(&specs);
	return status;
}

int keeping_secrets(struct cmd *c, struct keep_logs *l, const struct keep_secrets_options *o,
                    struct keep_secrets_stats *ret)
{
	struct err err = {0};
	uint64_t *matched = NULL;
	size_t n_matched = 0;
	bool sealed = o->redact && is_sealed(c) && matching(c, &matched, &n_matched);
	int r = keep_secrets(l, o, &err, ret);
	if (r == 0 && sealed && ret->segments)
		seal_again(c, matched, n_matched);
	free(matched);
	keep_logs_close(l);
	if (r < 0)
		return report_err(&err, STATUS_SELF);
	report_unread(ret->damaged, ret->newer);
	return ret->segments ? keeping_index(c) : STATUS_OK;
}

void keeping_print(const struct keep_cut_options *o, const struct keep_cut_stats *s)
{
	struct buf b = {0};
	buf_printf(&b, "%s%llu event%s", o->dry_run ? "would remove " : "removed ", (unsigned long long)s->events,
	           s->events == 1 ? "" : "s");
	if (s->changed)
		buf_printf(&b, ", changed %llu", (unsigned long long)s->changed);
	buf_printf(&b, ", %llu segment%s %s", (unsigned long long)s->segments, s->segments == 1 ? "" : "s",
	           o->dry_run ? "to be rewritten" : "rewritten");
	if (!o->dry_run && s->before > s->after) {
		buf_printf(&b, ", ");
		fmt_size(&b, s->before - s->after, false);
		buf_printf(&b, " less");
	}
	puts(buf_cstr(&b));
	buf_release(&b);
}
