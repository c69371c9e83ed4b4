/* version_class.c - what a version is to a walk, by the kind and path of its file. */
#include "base/os/engine_paths.h"
#include "base/os/system.h"
#include "graph/graph.h"
#include "store/store.h"

/* A cache of Python's is passed through to the source it was made from (B14), so it is not folded where it stands among
 * somebody's own files. */
static bool is_bytecode(struct str path)
{
	return memmem(path.p, path.n, "/__pycache__/", 13) != NULL;
}

enum version_class store_version_class(uint64_t kind, struct str path, const char *extra)
{
	const bool object = gkind_is_object((unsigned)kind) && kind != TERM_kind_xattr;
	if (kind == TERM_kind_absent)
		return VERSION_ABSENT;
	if (kind == TERM_kind_pseudo)
		return VERSION_SYSTEM;
	if (kind != TERM_kind_regular && !object) /* an object's path begins with its file's */
		return VERSION_DATA;
	enum system_class c = system_path(path, extra);
	if (c == SYSTEM_YES || (c == SYSTEM_UNLESS_NAMED && is_bytecode(path)))
		return VERSION_SYSTEM;
	if (c == SYSTEM_UNLESS_NAMED)
		return VERSION_NAMED;
	if (engine_bookkeeping(path))
		return VERSION_ENGINE;
	return engine_copied_script(path).n ? VERSION_SCRIPT : VERSION_DATA;
}
