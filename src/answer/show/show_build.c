#include "answer/show/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *show_match(enum build_match match)
{
	static const char *const words[] = {
	    [BUILD_SAME] = "same", [BUILD_CHANGED] = "changed", [BUILD_MISSING] = "missing", [BUILD_UNKNOWN] = "unknown"};
	return words[match];
}

bool show_is_usual_role(const struct build_file *f)
{
	return f->role == TERM_role_header &&
	       (strncmp(f->path, "/usr/", 5) == 0 || strncmp(f->path, "/opt/", 5) == 0 || strncmp(f->path, "/lib", 4) == 0);
}

/* Compares the sources with what lies on disk now, by digest. 0, -ENOMEM. */
static int check_sources(struct digest_cache *cache, struct show_build *v)
{
	v->match = calloc(v->sources.n + 1, sizeof(*v->match));
	if (!v->match)
		return -ENOMEM;
	for (size_t i = 0; i < v->sources.n; i++) {
		v->match[i] = build_match(cache, &v->sources.v[i].file);
		v->matches[v->match[i]]++;
		v->differs |= v->match[i] != BUILD_SAME;
	}
	return 0;
}

int show_build_load(const struct answer_source *a, const struct build *b, bool check, struct digest_cache *cache,
                    struct err *err, struct show_build *ret)
{
	*ret = (struct show_build){.b = b, .differs = check && b->origin == BUILD_ELF};
	int r = b->origin == BUILD_ELF ? 0 : build_sources(a->store, b, err, &ret->sources);
	if (r == 0 && check)
		r = check_sources(cache, ret);
	if (r < 0)
		show_build_release(ret);
	return r < 0 ? r : 0;
}

/* v is empty then; the build that it refers to stays. */
void show_build_release(struct show_build *v)
{
	build_sources_release(&v->sources);
	free(v->match);
	*v = (struct show_build){0};
}

/* ---- JSON ---- */

/* Sets o[key] to the list of words; v ends with NULL. */
static void words_json(json_t *o, const char *key, char *const *v)
{
	json_t *list = json_array();
	for (size_t i = 0; v[i]; i++)
		js_add(list, js_string(str_of(v[i])));
	js_put(o, key, list);
}

/* Size and digest only where it was digested. The caller's. */
static json_t *file_json(const struct build_file *f)
{
	json_t *o = json_object();
	struct buf id = {0};
	char digest[DIGEST_TEXT];
	js_text(o, "role", term_name(SET_role, f->role));
	js_str(o, "path", str_of(f->path));
	if (f->digested) {
		js_num(o, "size", f->size);
		digest_text(&f->digest, digest);
		js_text(o, "digest", digest);
	}
	if (f->mtime != TIME_NONE)
		js_time(o, "modified", f->mtime);
	build_format_id(f, &id);
	if (id.n)
		js_text(o, "build_id", buf_cstr(&id));
	buf_release(&id);
	if (f->detail && f->detail[0])
		js_text(o, "detail", f->detail);
	return o;
}

/* The caller owns it. */
static json_t *files_json(const struct build_files *l)
{
	json_t *list = json_array();
	for (size_t i = 0; i < l->n; i++)
		js_add(list, file_json(&l->v[i]));
	return list;
}

/* Lists the sources of a build, with what became of each source since, where that was looked at. The caller owns it.
 */
static json_t *sources_json(const struct show_build *v)
{
	json_t *list = json_array();
	for (size_t i = 0; i < v->sources.n; i++) {
		json_t *one = file_json(&v->sources.v[i].file);
		if (v->match)
			js_text(one, "now", show_match(v->match[i]));
		js_text(one, "named_by", v->sources.v[i].made_by);
		js_add(list, one);
	}
	return list;
}

/* Adds what the record has of the build: command, compiler, when, how it ended, environment, gaps, programs and
 * sources. */
static void recorded_build_json(const struct show_build *v, json_t *o)
{
	const struct build *b = v->b;
	js_text(o, "id", b->pub);
	words_json(o, "argv", b->argv);
	words_json(o, "arguments", b->args);
	js_str(o, "compiler", str_of(b->compiler));
	js_str(o, "cwd", str_of(b->cwd));
	js_str(o, "user", str_of(b->user));
	js_str(o, "host", str_of(b->host));
	js_time(o, "start", b->began);
	js_time(o, "end", b->ended);
	js_ending(o, "exit", b->ending, (uint64_t)b->code);
	if (b->commit[0])
		js_text(o, "commit", b->commit);
	if (b->commit[0] && b->dirty >= 0)
		js_bool(o, "dirty", b->dirty > 0);
	if (b->run[0])
		js_text(o, "run", b->run);
	words_json(o, "environment", b->env);
	words_json(o, "gaps", b->gaps);
	js_put(o, "programs", files_json(&b->tools));
	js_put(o, "from", sources_json(v));
}

json_t *show_build_json(const struct show_build *v)
{
	const struct build *b = v->b;
	json_t *o = json_object();
	js_text(o, "kind", "build");
	js_text(o, "origin", b->origin == BUILD_ELF ? "elf" : "recorded");
	if (b->origin == BUILD_RECORDED)
		recorded_build_json(v, o);
	else if (b->package)
		js_text(o, "package", b->package);
	js_str(o, "version", str_of(b->version));
	js_str(o, "target", str_of(b->target));
	js_put(o, "inputs", files_json(&b->in));
	js_put(o, "outputs", files_json(&b->out));
	return o;
}
