/* cyclonedx.c - a bill of materials of what was selected, as CycloneDX 1.5 JSON: a component for each package, in it
 * the files that were used; a component for each file whose package is not known, which says so; the file that was made
 * is the component that all of it is about.
 *
 * Equal records give equal documents: the serial number and the time are of what was selected. */
#include "export/export.h"
#include "export/sbom/sbom.h"

#include <stdio.h>

/* What a component is called in the document: "package:3", "file:7". */
static void put_ref(struct jsonw *j, const char *kind, size_t at)
{
	char ref[32];
	snprintf(ref, sizeof(ref), "%s:%zu", kind, at);
	jsonw_cstr(j, ref);
}

/* Writes a digest, as a member of the object that is being written. */
static void put_hashes(struct jsonw *j, const struct digest *d)
{
	char text[DIGEST_TEXT];
	digest_text(d, text);
	jsonw_key(j, "", "hashes");
	jsonw_open(j, '[');
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "alg", "SHA-256");
	jsonw_pair_cstr(j, "content", strchr(text, ':') + 1);
	jsonw_close(j, '}');
	jsonw_close(j, ']');
}

/* Writes a property: a name and a value. */
static void put_property(struct jsonw *j, const char *name, const char *value)
{
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "name", name);
	jsonw_pair_cstr(j, "value", value);
	jsonw_close(j, '}');
}

/* Writes a file as a component. */
static void write_file(struct jsonw *j, const struct sbom *b, size_t at, unsigned indent)
{
	const struct software_file *f = &b->software.files.v[at];
	const char *unknown = sbom_unknown(f);
	jsonw_line(j, indent);
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "type", "file");
	jsonw_key(j, "", "bom-ref");
	put_ref(j, "file", at);
	jsonw_pair(j, "name", "", str_of(f->path));
	if (f->has_digest)
		put_hashes(j, &f->digest);
	jsonw_key(j, "", "properties");
	jsonw_open(j, '[');
	put_property(j, "stemma:kind", software_kind_name[f->kind]);
	if (!f->sure)
		put_property(j, "stemma:certainty", "may");
	if (unknown)
		put_property(j, "stemma:package_unknown", unknown);
	jsonw_close(j, ']');
	jsonw_close(j, '}');
}

/* Writes a software package as a component. */
static void write_package(struct jsonw *j, const struct sbom *b, size_t at)
{
	const struct package *p = &b->software.packages.v.v[at];
	struct buf purl = {0};
	jsonw_line(j, 2);
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "type", sbom_is_application(b, (uint32_t)at) ? "application" : "library");
	jsonw_key(j, "", "bom-ref");
	put_ref(j, "package", at);
	jsonw_pair(j, "name", "", str_of(p->name));
	jsonw_pair(j, "version", "", str_of(p->version));
	if (*p->summary)
		jsonw_pair(j, "description", "", str_of(p->summary));
	if (*p->maintainer)
		jsonw_pair(j, "publisher", "", str_of(p->maintainer));
	jsonw_pair(j, "purl", "", str_of(sbom_purl(b, p, &purl)));
	if (sbom_is_address(p->homepage)) {
		jsonw_key(j, "", "externalReferences");
		jsonw_open(j, '[');
		jsonw_open(j, '{');
		jsonw_pair_cstr(j, "type", "website");
		jsonw_pair(j, "url", "", str_of(p->homepage));
		jsonw_close(j, '}');
		jsonw_close(j, ']');
	}
	jsonw_line(j, 3);
	jsonw_key(j, "", "components");
	jsonw_open(j, '[');
	for (size_t i = 0; i < b->software.files.n; i++)
		if (b->software.files.v[i].package == at)
			write_file(j, b, i, 4);
	jsonw_close(j, ']');
	jsonw_close(j, '}');
	buf_release(&purl);
}

/* Writes the number of the document: urn:uuid: of the digest, in the form of a UUID of version 8, whose bits are
 * everybody's own. */
static void put_serial_number(struct jsonw *j, const struct digest *d)
{
	char text[64];
	const unsigned char *u = d->b;
	snprintf(text, sizeof(text), "urn:uuid:%02x%02x%02x%02x-%02x%02x-8%01x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
	         u[1], u[2], u[3], u[4], u[5], u[6] & 15, u[7], (u[8] & 0x3f) | 0x80, u[9], u[10], u[11], u[12], u[13],
	         u[14], u[15]);
	jsonw_pair_cstr(j, "serialNumber", text);
}

/* Writes the head of the document: when it was made, by what, and of what it tells. */
static void write_metadata(struct jsonw *j, const struct sbom *b)
{
	char time[32];
	sbom_time(b->time, time);
	jsonw_key(j, "", "metadata");
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "timestamp", time);
	jsonw_key(j, "", "tools");
	jsonw_open(j, '{');
	jsonw_key(j, "", "components");
	jsonw_open(j, '[');
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "type", "application");
	jsonw_pair_cstr(j, "name", "stemma");
	jsonw_pair_cstr(j, "version", STEMMA_VERSION);
	jsonw_close(j, '}');
	jsonw_close(j, ']');
	jsonw_close(j, '}');
	jsonw_line(j, 2);
	jsonw_key(j, "", "component");
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "type", b->version ? "file" : "data");
	jsonw_pair_cstr(j, "bom-ref", "result");
	jsonw_pair(j, "name", "", b->version ? buf_view(&b->path) : str_of("what was selected of the record"));
	if (b->has_digest)
		put_hashes(j, &b->digest);
	jsonw_close(j, '}');
	jsonw_close(j, '}');
}

/* The result depends on all of it. What is missing is said: it is incomplete if something was not seen, or the package
 * of a file is not known. */
static void write_dependencies(struct jsonw *j, const struct sbom *b)
{
	jsonw_line(j, 1);
	jsonw_key(j, "", "dependencies");
	jsonw_open(j, '[');
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "ref", "result");
	jsonw_key(j, "", "dependsOn");
	jsonw_open(j, '[');
	for (size_t i = 0; i < b->software.packages.v.n; i++)
		put_ref(j, "package", i);
	for (size_t i = 0; i < b->software.files.n; i++)
		if (b->software.files.v[i].package == VEC_NONE)
			put_ref(j, "file", i);
	jsonw_close(j, ']');
	jsonw_close(j, '}');
	jsonw_close(j, ']');
	jsonw_line(j, 1);
	jsonw_key(j, "", "compositions");
	jsonw_open(j, '[');
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "aggregate", b->gaps || b->unknown ? "incomplete" : "unknown");
	jsonw_key(j, "", "dependencies");
	jsonw_open(j, '[');
	jsonw_cstr(j, "result");
	jsonw_close(j, ']');
	jsonw_close(j, '}');
	jsonw_close(j, ']');
}

/* Writes the software that made the selection as CycloneDX. 0, -errno with a sentence. */
int export_cyclonedx(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	struct sbom b;
	struct jsonw j = {.out = out};
	int r = sbom_collect(p, err, &b);
	(void)o;
	if (r < 0)
		return r;
	jsonw_open(&j, '{');
	jsonw_line(&j, 1);
	jsonw_pair_cstr(&j, "bomFormat", "CycloneDX");
	jsonw_pair_cstr(&j, "specVersion", "1.5");
	put_serial_number(&j, &b.id);
	jsonw_key(&j, "", "version");
	jsonw_count(&j, 1);
	jsonw_line(&j, 1);
	write_metadata(&j, &b);
	jsonw_line(&j, 1);
	jsonw_key(&j, "", "components");
	jsonw_open(&j, '[');
	for (size_t i = 0; i < b.software.packages.v.n; i++)
		write_package(&j, &b, i);
	for (size_t i = 0; i < b.software.files.n; i++)
		if (b.software.files.v[i].package == VEC_NONE)
			write_file(&j, &b, i, 2);
	jsonw_close(&j, ']');
	write_dependencies(&j, &b);
	out_char(out, '\n');
	jsonw_close(&j, '}');
	out_char(out, '\n');
	jsonw_release(&j);
	sbom_release(&b);
	return 0;
}
