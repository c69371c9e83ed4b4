/* sbom.h - what bills of materials are written from: the software of the executions that were selected, with packages
 * and digests, and the file that it made (software/software.h). */
#ifndef STEMMA_EXPORT_SBOM_SBOM_H
#define STEMMA_EXPORT_SBOM_SBOM_H

#include "base/digest.h"
#include "export/jsonw.h"
#include "prov/prov.h"
#include "software/software.h"

struct sbom {
	struct store *s;
	struct software software;
	store_id version; /* the file, where the selection is one; else 0 */
	struct buf path;  /* of it */
	bool has_digest;  /* recorded, or of the file that still is that version */
	struct digest digest;
	uint64_t gaps;    /* of the executions, bits of term gap */
	bool unknown;     /* the package of a file is not known */
	int64_t time;     /* when the last of the executions ended; TIME_NONE unknown */
	struct digest id; /* of what was selected: the same for the same selection of a record */
};

/* Reads files whose digests are not recorded. 0, and *ret is to be released; -errno with a sentence. */
int sbom_collect(struct prov_source *p, struct err *err, struct sbom *ret);
void sbom_release(struct sbom *b);
/* Is a file of the package a program, or a script that was started? */
bool sbom_is_application(const struct sbom *b, uint32_t package);
/* The package URL (purl) of a package; "" there is no type for its manager. Stays in ret, which is emptied first. */
const char *sbom_purl(const struct sbom *b, const struct package *p, struct buf *ret);
/* 2026-11-28T12:13:05Z, as both formats want it: whole seconds. What is unknown is 1970. */
void sbom_time(int64_t ns, char ret[32]);
/* Is it an address that schemas take for one? */
bool sbom_is_address(const char *text);
/* Why the package of the file is not known; NULL: it is. */
const char *sbom_unknown(const struct software_file *f);

#endif
