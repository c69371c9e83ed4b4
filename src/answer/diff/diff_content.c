#include "answer/diff/diff_content.h"

#include "trust/content.h"

/* The digest of the version; false: it is not known. */
static bool find_digest(struct diff_content_source *c, store_id version, char ret[DIGEST_TEXT])
{
	struct version_info v;
	struct file_info f;
	if (store_version(c->s, version, &v) != 1 || store_file(c->s, v.file, &f) != 1 || f.kind != TERM_kind_regular)
		return false;
	if (digest_told(c->s, &v, &f, ret) == 1)
		return true;
	if (!v.has_size || v.size > DIFF_CONTENT_ALL - c->read)
		return false;
	bool known = content_now(c->cache, &v, &f, DIFF_CONTENT_FILE, ret);
	c->read += known ? v.size : 0;
	return known;
}

enum diff_content diff_content_of(void *arg, store_id a, store_id b)
{
	struct diff_content_source *c = arg;
	char x[DIGEST_TEXT], y[DIGEST_TEXT];
	if (!find_digest(c, a, x) || !find_digest(c, b, y))
		return CONTENT_UNKNOWN;
	return strcmp(x, y) ? CONTENT_DIFFERS : CONTENT_SAME;
}
