#include "export/sbom/sbom.h"

#include "query/idset.h"
#include "query/stages/stages.h"
#include "software/recorded.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define NS 1000000000

/* ---- what was selected ---- */

/* For prov_walk: keeps the executions. 0, -ENOMEM. arg: a struct idset. */
static int keep_exec(void *arg, const struct prov_statement *st)
{
	return st->type && strcmp(st->type, "Execution") == 0 ? idset_add(arg, st->what) : 0;
}

/* Gaps, and the last end. 0, -errno. */
static int look_at_execs(struct sbom *b, const struct idset *execs)
{
	int r = 0;
	b->time = TIME_NONE;
	for (size_t i = 0; i < execs->n && r >= 0; i++) {
		struct exec_info x;
		r = store_exec(b->s, execs->v[i], &x);
		if (r <= 0)
			continue;
		b->gaps |= x.gaps;
		if (x.end != TIME_NONE && x.end != TIME_NEVER && x.end > b->time)
			b->time = x.end;
	}
	return r < 0 ? r : 0;
}

/* Order of qsort. */
static int compare_pubids(const void *a, const void *b)
{
	return strcmp(((const struct pubid *)a)->text, ((const struct pubid *)b)->text);
}

/* The digest of the public ids of executions and file, in an order that a rebuild of the index leaves. 0, -errno. */
static int make_id(struct sbom *b, const struct idset *execs)
{
	struct digest_sum sum;
	struct pubid *ids = calloc(execs->n + 1, sizeof(*ids));
	struct version_info v;
	int r = ids ? 0 : -ENOMEM;
	for (size_t i = 0; i < execs->n && r >= 0; i++)
		r = store_exec_pub(b->s, execs->v[i], &ids[i]);
	if (r >= 0 && execs->n)
		qsort(ids, execs->n, sizeof(*ids), compare_pubids);
	digest_begin(&sum);
	for (size_t i = 0; i < execs->n && r >= 0; i++)
		digest_add(&sum, ids[i].text, strlen(ids[i].text));
	if (r >= 0 && b->version && (r = store_version(b->s, b->version, &v)) > 0)
		digest_add(&sum, v.pub.text, strlen(v.pub.text));
	digest_end(&sum, &b->id);
	free(ids);
	return r < 0 ? r : 0;
}

/* The file, where one was selected. 0, -errno. */
static int look_at_sbom_file(struct sbom *b, const struct prov_select *sel)
{
	struct version_info v;
	struct file_info f;
	if (sel->n_versions != 1 || sel->n_runs || sel->n_execs)
		return 0;
	int r = store_version(b->s, sel->versions[0], &v);
	r = r > 0 ? store_file(b->s, v.file, &f) : r;
	if (r <= 0)
		return r;
	b->version = v.id;
	buf_str(&b->path, f.path);
	r = recorded_digest(b->s, 0, &f, &v, &b->digest);
	r = r ? r : recorded_digest_now(b->s, &f, &v, &b->digest);
	b->has_digest = r > 0;
	return r < 0 ? r : b->path.failed ? -ENOMEM : 0;
}

/* The software of the executions, and of the workflow systems that started them. 0, -errno. */
static int find_software(struct sbom *b, const struct idset *execs)
{
	struct idset all = {0};
	struct stages *st = NULL;
	int r = stages_new(b->s, &st);
	if (st)
		stages_want_owners(st);
	for (size_t i = 0; i < execs->n && r >= 0; i++) {
		store_id engine = 0;
		r = stages_owner(st, execs->v[i], &engine);
		r = r > 0 ? idset_add(&all, engine) : r;
		r = r < 0 ? r : idset_add(&all, execs->v[i]);
	}
	if (r >= 0)
		idset_close(&all);
	r = r < 0 ? r : software_find(b->s, all.v, all.n, SOFTWARE_LOADED, &b->software);
	stages_free(st);
	idset_release(&all);
	return r < 0 ? r : 0;
}

int sbom_collect(struct prov_source *p, struct err *err, struct sbom *ret)
{
	struct idset execs = {0};
	*ret = (struct sbom){.s = prov_store(p)};
	int r = prov_walk(p, PROV_BIT(PROV_activity), keep_exec, &execs);
	if (r == 0)
		idset_close(&execs);
	r = r < 0 ? r : look_at_sbom_file(ret, prov_selection(p));
	r = r < 0 ? r : look_at_execs(ret, &execs);
	r = r < 0 ? r : make_id(ret, &execs);
	r = r < 0 ? r : find_software(ret, &execs);
	r = r < 0 ? r : software_read_digests(ret->s, &ret->software);
	for (size_t i = 0; r >= 0 && i < ret->software.files.n; i++)
		ret->unknown |= ret->software.files.v[i].state != SOFTWARE_IN_PACKAGE;
	idset_release(&execs);
	if (r < 0) {
		sbom_release(ret);
		return err_set(err, -r, "cannot read which software made it");
	}
	return 0;
}

void sbom_release(struct sbom *b)
{
	software_release(&b->software);
	buf_release(&b->path);
}

/* ---- words ---- */

bool sbom_is_application(const struct sbom *b, uint32_t package)
{
	for (size_t i = 0; i < b->software.files.n; i++)
		if (b->software.files.v[i].package == package && b->software.files.v[i].kind <= SOFTWARE_SCRIPT)
			return true;
	return false;
}

const char *sbom_unknown(const struct software_file *f)
{
	return f->state == SOFTWARE_IN_PACKAGE ? NULL : f->state == SOFTWARE_IN_NONE ? "no-package" : "changed";
}

bool sbom_is_address(const char *text)
{
	return (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0) &&
	       strcspn(text, " \"<>\\^`{|}") == strlen(text);
}

void sbom_time(int64_t ns, char ret[32])
{
	struct tm tm;
	time_t s = ns == TIME_NONE || ns < 0 ? 0 : (time_t)(ns / NS);
	gmtime_r(&s, &tm);
	if (tm.tm_year > 8099) /* four digits */
		tm.tm_year = 8099;
	strftime(ret, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

/* A part of a package URL: everything but unreserved characters and the colon as %XX. */
static void put_part(struct buf *b, const char *text, bool lower)
{
	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;
		if (isalnum(c) || strchr("-._~:", c))
			buf_char(b, lower ? (char)tolower(c) : (char)c);
		else
			buf_printf(b, "%%%02X", c);
	}
}

const char *sbom_purl(const struct sbom *b, const struct package *p, struct buf *ret)
{
	static const char *const types[PACKAGE_MANAGERS] = {
	    [PACKAGE_dpkg] = "deb",     [PACKAGE_rpm] = "rpm",       [PACKAGE_pip] = "pypi",
	    [PACKAGE_conda] = "conda",  [PACKAGE_pyenv] = "generic", [PACKAGE_nix] = "generic",
	    [PACKAGE_guix] = "generic", [PACKAGE_spack] = "generic"};
	const char *distribution = b->software.packages.distribution;
	bool of_distribution = p->manager == PACKAGE_dpkg || p->manager == PACKAGE_rpm;
	buf_reset(ret);
	buf_printf(ret, "pkg:%s/", types[p->manager]);
	if (of_distribution && *distribution) {
		put_part(ret, distribution, true);
		buf_char(ret, '/');
	}
	size_t name = ret->n;
	put_part(ret, p->name, p->manager == PACKAGE_pip || p->manager == PACKAGE_dpkg);
	for (size_t i = name; p->manager == PACKAGE_pip && i < ret->n; i++)
		ret->p[i] = ret->p[i] == '_' ? '-' : ret->p[i];
	buf_char(ret, '@');
	put_part(ret, p->version, false);
	if (p->manager == PACKAGE_conda && *p->source) {
		buf_printf(ret, "?build=");
		put_part(ret, p->source, false);
		buf_printf(ret, *p->arch ? "&subdir=" : "");
		put_part(ret, p->arch, false);
	} else if (of_distribution && *p->arch) {
		buf_printf(ret, "?arch=");
		put_part(ret, p->arch, false);
	}
	return buf_cstr(ret);
}
