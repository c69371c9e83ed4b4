/* spdx.c - a bill of materials of what was selected, as SPDX 2.3 JSON: a package for each package, with the files that
 * were used in its comment; a package of the purpose FILE for the file that was made, and for each file whose package
 * is not known. SPDX's own files need a SHA-1, which nobody has recorded.
 *
 * Licences are not known to any package manager that is asked: they are NOASSERTION, which says so. Equal records give
 * equal documents: the namespace and the time are of what was selected. */
#include "export/export.h"
#include "export/sbom/sbom.h"

#include <stdio.h>

#define COMMENT_FILES 20 /* are named */

/* Writes the identifier of element `at` of a kind. */
static void put_spdx_id(struct jsonw *j, const char *key, const char *kind, size_t at)
{
	char id[64];
	snprintf(id, sizeof(id), "SPDXRef-%s-%zu", kind, at);
	jsonw_pair_cstr(j, key, id);
}

/* What each package must have, whatever is known of it. */
static void put_no_assertion(struct jsonw *j)
{
	jsonw_pair_cstr(j, "downloadLocation", "NOASSERTION");
	jsonw_key(j, "", "filesAnalyzed");
	jsonw_flag(j, false);
	jsonw_pair_cstr(j, "licenseConcluded", "NOASSERTION");
	jsonw_pair_cstr(j, "licenseDeclared", "NOASSERTION");
	jsonw_pair_cstr(j, "copyrightText", "NOASSERTION");
}

/* Writes a digest, as a member of the object that is being written. */
static void put_checksums(struct jsonw *j, const struct digest *d)
{
	char text[DIGEST_TEXT];
	digest_text(d, text);
	jsonw_key(j, "", "checksums");
	jsonw_open(j, '[');
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "algorithm", "SHA256");
	jsonw_pair_cstr(j, "checksumValue", strchr(text, ':') + 1);
	jsonw_close(j, '}');
	jsonw_close(j, ']');
}

/* A file as a package. */
static void write_file(struct jsonw *j, const char *kind, size_t at, struct str path, const struct digest *digest,
                       const char *comment)
{
	jsonw_line(j, 2);
	jsonw_open(j, '{');
	put_spdx_id(j, "SPDXID", kind, at);
	jsonw_pair(j, "name", "", path.n ? path : str_of("what was selected of the record"));
	put_no_assertion(j);
	if (digest)
		put_checksums(j, digest);
	jsonw_pair_cstr(j, "primaryPackagePurpose", "FILE");
	if (comment)
		jsonw_pair_cstr(j, "comment", comment);
	jsonw_close(j, '}');
}

/* "used: /usr/bin/sort (program), /usr/bin/uniq (program), and 7 more files" */
static void put_comment(struct jsonw *j, const struct sbom *b, size_t package)
{
	struct buf text = {0};
	size_t n = 0, more = 0;
	buf_printf(&text, "used: ");
	for (size_t i = 0; i < b->software.files.n; i++) {
		const struct software_file *f = &b->software.files.v[i];
		if (f->package != package)
			continue;
		if (n >= COMMENT_FILES) {
			more++;
			continue;
		}
		buf_printf(&text, "%s%s (%s%s)", n++ ? ", " : "", f->path, software_kind_name[f->kind],
		           f->sure ? "" : ", possibly");
	}
	if (more)
		buf_printf(&text, ", and %zu more file%s", more, str_plural(more));
	jsonw_pair(j, "comment", "", buf_view(&text));
	buf_release(&text);
}

/* Writes a software package. */
static void write_package(struct jsonw *j, const struct sbom *b, size_t at)
{
	const struct package *p = &b->software.packages.v.v[at];
	struct buf purl = {0};
	jsonw_line(j, 2);
	jsonw_open(j, '{');
	put_spdx_id(j, "SPDXID", "Package", at);
	jsonw_pair(j, "name", "", str_of(p->name));
	jsonw_pair(j, "versionInfo", "", str_of(p->version));
	put_no_assertion(j);
	if (*p->summary)
		jsonw_pair(j, "summary", "", str_of(p->summary));
	if (sbom_is_address(p->homepage))
		jsonw_pair(j, "homepage", "", str_of(p->homepage));
	if (*p->source)
		jsonw_pair(j, "sourceInfo", p->manager == PACKAGE_conda ? "build " : "source package ", str_of(p->source));
	jsonw_pair_cstr(j, "primaryPackagePurpose", sbom_is_application(b, (uint32_t)at) ? "APPLICATION" : "LIBRARY");
	jsonw_key(j, "", "externalRefs");
	jsonw_open(j, '[');
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "referenceCategory", "PACKAGE-MANAGER");
	jsonw_pair_cstr(j, "referenceType", "purl");
	jsonw_pair(j, "referenceLocator", "", str_of(sbom_purl(b, p, &purl)));
	jsonw_close(j, '}');
	jsonw_close(j, ']');
	put_comment(j, b, at);
	jsonw_close(j, '}');
	buf_release(&purl);
}

/* What was used to make the result: programs as tools, the rest as what it was built with. */
static void write_relationship(struct jsonw *j, const char *kind, size_t at, bool tool)
{
	jsonw_line(j, 2);
	jsonw_open(j, '{');
	put_spdx_id(j, "spdxElementId", kind, at);
	jsonw_pair_cstr(j, "relationshipType", tool ? "BUILD_TOOL_OF" : "BUILD_DEPENDENCY_OF");
	put_spdx_id(j, "relatedSpdxElement", "Result", 0);
	jsonw_close(j, '}');
}

/* Writes which file is of which package, and what the result was made with. */
static void write_relationships(struct jsonw *j, const struct sbom *b)
{
	jsonw_line(j, 1);
	jsonw_key(j, "", "relationships");
	jsonw_open(j, '[');
	jsonw_line(j, 2);
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "spdxElementId", "SPDXRef-DOCUMENT");
	jsonw_pair_cstr(j, "relationshipType", "DESCRIBES");
	put_spdx_id(j, "relatedSpdxElement", "Result", 0);
	jsonw_close(j, '}');
	for (size_t i = 0; i < b->software.packages.v.n; i++)
		write_relationship(j, "Package", i, sbom_is_application(b, (uint32_t)i));
	for (size_t i = 0; i < b->software.files.n; i++)
		if (b->software.files.v[i].package == VEC_NONE)
			write_relationship(j, "File", i, b->software.files.v[i].kind <= SOFTWARE_SCRIPT);
	jsonw_close(j, ']');
}

/* Writes the head of the document. */
static void write_head(struct jsonw *j, const struct sbom *b)
{
	char time[32], space[64 + DIGEST_TEXT], id[DIGEST_TEXT];
	sbom_time(b->time, time);
	digest_text(&b->id, id);
	snprintf(space, sizeof(space), "urn:stemma:spdx:%s", strchr(id, ':') + 1);
	jsonw_line(j, 1);
	jsonw_pair_cstr(j, "spdxVersion", "SPDX-2.3");
	jsonw_pair_cstr(j, "dataLicense", "CC0-1.0");
	jsonw_pair_cstr(j, "SPDXID", "SPDXRef-DOCUMENT");
	jsonw_pair(j, "name", "software that made ",
	           b->version ? str_base_name(buf_view(&b->path)) : str_of("what was selected"));
	jsonw_pair_cstr(j, "documentNamespace", space);
	jsonw_line(j, 1);
	jsonw_key(j, "", "creationInfo");
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "created", time);
	jsonw_key(j, "", "creators");
	jsonw_open(j, '[');
	jsonw_cstr(j, "Tool: stemma-" STEMMA_VERSION);
	jsonw_close(j, ']');
	if (b->gaps)
		jsonw_pair_cstr(j, "comment", "The record is incomplete: software may be missing.");
	jsonw_close(j, '}');
}

/* Writes the software that made the selection as SPDX 2.3. 0, -errno with a sentence. */
int export_spdx(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	static const char *const comments[] = {[SOFTWARE_IN_NONE] = "no package manager knows this file",
	                                       [SOFTWARE_CHANGED] =
	                                           "the file is no longer as recorded, so its package is not known"};
	struct sbom b;
	struct jsonw j = {.out = out};
	int r = sbom_collect(p, err, &b);
	(void)o;
	if (r < 0)
		return r;
	jsonw_open(&j, '{');
	write_head(&j, &b);
	jsonw_line(&j, 1);
	jsonw_key(&j, "", "packages");
	jsonw_open(&j, '[');
	write_file(&j, "Result", 0, buf_view(&b.path), b.has_digest ? &b.digest : NULL, NULL);
	for (size_t i = 0; i < b.software.packages.v.n; i++)
		write_package(&j, &b, i);
	for (size_t i = 0; i < b.software.files.n; i++) {
		const struct software_file *f = &b.software.files.v[i];
		if (f->package == VEC_NONE)
			write_file(&j, "File", i, str_of(f->path), f->has_digest ? &f->digest : NULL, comments[f->state]);
	}
	jsonw_close(&j, ']');
	write_relationships(&j, &b);
	out_char(out, '\n');
	jsonw_close(&j, '}');
	out_char(out, '\n');
	jsonw_release(&j);
	sbom_release(&b);
	return 0;
}
