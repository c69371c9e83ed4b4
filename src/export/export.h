/* export.h - the formats, one row of formats.def each. */
#ifndef STEMMA_EXPORT_EXPORT_H
#define STEMMA_EXPORT_EXPORT_H

#include "prov/out.h"
#include "prov/prov.h"

/* What some formats want besides the selection. */
struct export_options {
	const char *target; /* directory or archive, where the format makes one */
	bool with_files;    /* copies of the files that are still as recorded */
	/* Did the user record this run here? NULL: it counts as received. A received record can name any file, so of files
	 * that not everybody may read there are copies only if all runs that are exported are the user's own. */
	bool (*is_own)(void *arg, store_id run);
	void *is_own_arg;
	uint64_t *left_out; /* gets how many are not; may be NULL */
	/* Of RDF: is this predicate wanted, the name in the namespace? What is not is left out, and what nothing is wanted
	 * of is not read. NULL: all are. Only of N-Triples. */
	bool (*wants)(void *arg, const char *ns, const char *name);
	void *wants_arg;
	const store_id *highlight; /* versions whose lineage stands out in a picture */
	size_t n_highlight;
};

enum export_target { TARGET_STREAM, TARGET_DIRECTORY };
struct export_format {
	const char *name, *meaning;
	enum export_target target;
	/* Writes the document. out is NULL for TARGET_DIRECTORY. 0, or -errno with a sentence; an error of out is for
	 * out_close to tell. */
	int (*write)(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err);
};
extern const struct export_format export_formats[];
extern const size_t export_n_formats;
const struct export_format *export_format(const char *name); /* NULL: there is none of the name */

/* Is the format about files that somebody takes along or makes again? HDF5 files are wholes there, whatever is known of
 * the objects in them. */
bool export_is_of_files(const struct export_format *f);

/* Namespaces of the documents. */
#define STEMMA_NS "urn:stemma:ns#" /* classes and attributes */
#define STEMMA_ID "urn:stemma:id:" /* things */

#define FORMAT(symbol, name, target, meaning)                                                                          \
	int export_##symbol(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err);
#include "export/formats.def"
#undef FORMAT

#endif
