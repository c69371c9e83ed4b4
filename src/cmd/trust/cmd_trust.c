/* stemma trust: how far a claim agrees with what provenance saw; what varied from run to run; the chain of seals. */
#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/trust/trust_view.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "trust/claim.h"
#include "trust/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The claim; "-": from standard input. */
static int load_claim(const char *path, struct err *err, struct claim *ret)
{
	struct buf b = {0};
	int rc = strcmp(path, "-") ? io_read_file(path, CLAIM_BYTES, &b) : io_read_rest(STDIN_FILENO, CLAIM_BYTES, &b);
	/* What is too large for a claim is told of as such. */
	if (rc < 0 && rc != -EFBIG)
		err_set(err, -rc, "cannot read '%s'", path);
	else
		rc = claim_read(b.p ? b.p : "", b.n, err, ret);
	buf_release(&b);
	return rc;
}

/* The runs that were named; else those that the claim names; else the last one. */
static int find_judged_runs(struct cmd *c, const struct claim *claim, struct err *err, store_id **ids, size_t *n)
{
	int rc = 1;
	for (int i = 0; rc == 1 && i < c->n_operands; i++)
		rc = witness_find(c->store, c->operands[i], err, ids, n);
	for (size_t i = 0; rc == 1 && !c->n_operands && claim && claim->runs && claim->runs[i]; i++) {
		/* A claim names runs by their whole ids: "@" would be another one tomorrow. */
		if (strlen(claim->runs[i]) != 26)
			return (err_set(err, 0, "the claim names the run '%s', which is no whole id", claim->runs[i]), -EINVAL);
		rc = witness_find(c->store, claim->runs[i], err, ids, n);
	}
	if (rc == 1 && !*n)
		rc = witness_find(c->store, "@", err, ids, n);
	/* One run named twice counts once. */
	for (size_t i = 0; rc == 1 && i < *n; i++)
		for (size_t k = i + 1; k < *n;)
			if ((*ids)[k] == (*ids)[i])
				(*ids)[k] = (*ids)[--*n];
			else
				k++;
	return rc;
}

/* What others can compare with theirs; not the user's environment, nor what one machine has by chance. */
static bool published(const char *name)
{
	static const char *const names[] = {"binary",        "library.", "program.", "build.", "cpu.model",
	                                    "cpu.microcode", "kernel",   "machine",  "os",     "libc"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]);
		if (names[i][n - 1] == '.' ? !strncmp(name, names[i], n) : !strcmp(name, names[i]))
			return true;
	}
	return false;
}

static int print_claim(struct witness *x)
{
	struct claim c = {.side = x->side, .runs = x->ulids};
	struct buf b = {0};
	/* Of several runs that differ the claim says the median of numbers, and nothing of what is none. */
	struct elements *r = &c.side.part[TRUST_RESULTS];
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].varied)
			trust_view_median(&r->v[i]);
	struct elements *v = &c.side.part[TRUST_INVARIANTS];
	size_t kept = 0;
	for (size_t i = 0; i < v->n; i++) { /* those that held */
		struct element t = v->v[kept];
		if (v->v[i].varied || !published(v->v[i].name))
			continue;
		v->v[kept] = v->v[i];
		v->v[i] = t;
		kept++;
	}
	size_t all = v->n;
	v->n = kept;
	int rc = claim_write(&c, &b);
	v->n = all;
	x->side = c.side;
	if (rc == 0)
		fwrite(b.p, 1, b.n, stdout);
	buf_release(&b);
	return rc < 0 ? STATUS_SELF : STATUS_OK;
}

static int judge_runs(struct cmd *c, const struct opts_trust *o)
{
	struct err err = {0};
	struct claim claim = {0};
	struct witness seen = {0};
	struct trust t = {0};
	store_id *ids = NULL;
	size_t n = 0;
	char *index = NULL;
	if (o->claim && load_claim(o->claim, &err, &claim) < 0)
		return report_err(&err, STATUS_USAGE);
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK) {
		claim_release(&claim);
		return status;
	}
	int rc = find_judged_runs(c, o->claim ? &claim : NULL, &err, &ids, &n);
	if (rc != 1) {
		status = report_err(&err, rc == -EINVAL ? STATUS_USAGE : cmd_target_status(rc));
		goto out;
	}
	if (store_places(cmd_home(c), &err, NULL, &index) == 0 && strrchr(index, '/'))
		*strrchr(index, '/') = '\0';
	struct witness_options so = {.system_extra = config_get(&c->config, CONFIG_system),
	                             .cache = index ? digest_cache_open(index) : NULL};
	err = (struct err){0};
	rc = witness_runs(c->store, ids, n, &so, &err, &seen);
	digest_cache_close(so.cache);
	if (rc == 0 && o->report) {
		status = print_claim(&seen);
		goto out;
	}
	if (rc == 0 && o->claim)
		rc = trust_measure(&seen.side, &claim.side, o->tolerance, &err, &t);
	if (rc < 0) {
		status = report_err(&err, rc == -EINVAL ? STATUS_USAGE : STATUS_SELF);
		goto out;
	}
	if (o->json)
		status = trust_view_json(&seen, o->claim ? &t : NULL);
	else
		trust_view_text(&seen, o->claim ? &t : NULL);
	/* What failed in the same way again is the same again, and nobody's result. */
	if (status == STATUS_OK && o->claim && !(t.judged && t.t >= 1 && t.reproducible && !seen.failed))
		status = STATUS_NOTHING;
out:
	trust_release(&t);
	witness_release(&seen);
	claim_release(&claim);
	free(ids);
	free(index);
	return status;
}

int cmd_trust(struct cmd *c, const struct opts_trust *o)
{
	if ((o->verify || o->seal) && (o->claim || o->report || o->tolerance))
		return report_usage(c,
		                    "--seal and --verify are about the whole record: not with --claim, --report, --tolerance");
	if (o->tolerance && !o->claim)
		return report_usage(c, "--tolerance needs --claim");
	if (o->claim && o->report)
		return report_usage(c, "--report writes a claim: not with --claim");
	if (o->seal && o->verify)
		return report_usage(c, "--seal or --verify, not both");
	if (o->key && !o->seal)
		return report_usage(c, "--key signs, and goes with --seal; signatures are checked by --verify --signers FILE");
	if (o->signers && !o->verify)
		return report_usage(c, "--signers goes with --verify");
	if (o->identity && !o->signers)
		return report_usage(c, "--identity goes with --verify --signers");
	if (o->seal && c->n_operands)
		return report_usage(c, "--seal seals all that is recorded: it takes no runs");
	return o->seal ? trust_seal(c, o) : o->verify ? trust_verify(c, o) : judge_runs(c, o);
}
