/* pack.h - what the parts of the pack share: pack.c collects and copies, pack_text.c writes what is to be read or run.
 *
 * A pack is a folder with one run: its inputs by digest, the packages that its programs were of, a recipe for
 * Apptainer, and run.sh, which puts the inputs into their places, runs the command, and compares what it made. */
#ifndef STEMMA_EXPORT_PACK_H
#define STEMMA_EXPORT_PACK_H

#include "base/digest.h"
#include "export/dir.h"
#include "prov/prov.h"
#include "software/software.h"

/* A file that the run used, or made. Its path is pack.texts'. */
struct pack_file {
	store_id version;
	const char *path;
	bool known; /* digest is; of an input: it is in the pack */
	struct digest digest;
	uint64_t size;
	int64_t mtime;   /* ns since 1970 */
	unsigned mode;   /* permissions, of an input */
	const char *why; /* of an input that is not in the pack; static */
};
/* A symbolic link that the run needs. */
struct pack_link {
	const char *path, *target;
};
struct pack {
	struct store *s;
	store_id run;
	bool received; /* the run is somebody else's: only what everybody may read is copied */
	struct export_dir dir;
	struct software software;
	VEC(struct pack_file) inputs, outputs; /* by path */
	VEC(struct pack_link) links;
	struct arena texts;
	struct buf environment; /* NAME=VALUE, a NUL behind each, as the command got it */
};

/* Each 0, or -errno with a sentence. */
int pack_write_lists(struct pack *p, struct err *err);
int pack_write_script(struct pack *p, struct err *err);
int pack_write_recipe(struct pack *p, struct err *err);
/* Finds p->links, for the run's n executions. 0, -errno. */
int pack_find_links(struct pack *p, const store_id *execs, size_t n);
/* Is the package one that Debian's apt installs? */
bool pack_is_installed(const struct package *p);

#endif
