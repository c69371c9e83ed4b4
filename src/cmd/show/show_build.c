#include "cmd/show/show_build.h"

#include "base/io.h"
#include "cc/build.h"
#include "cmd/ui/columns.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL (16u << 20) /* bytes of a file of another kind that is digested to see whether a build made it */

static const char *const match_words[] = {"same", "changed", "missing", "unknown"};

bool show_build_could(const char *path)
{
	struct stat st;
	char head[8] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool ret = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	           (st.st_size <= SMALL || (io_pread(fd, head, sizeof(head), 0) == sizeof(head) &&
	                                    (!memcmp(head, ELFMAG, SELFMAG) || !memcmp(head, "!<arch>\n", 8))));
	if (fd >= 0)
		close(fd);
	return ret;
}

/* ---- text ---- */

static void field_text(const char *name, const char *text)
{
	struct buf b = {0};
	fmt_name(&b, str_of(text));
	print_field_if(name, &b);
	buf_release(&b);
}

static void field_words(const char *name, char *const *v)
{
	struct buf b = {0};
	for (size_t i = 0; v[i]; i++) {
		if (i)
			buf_char(&b, ' ');
		fmt_arg(&b, str_of(v[i]));
	}
	print_field_if(name, &b);
	buf_release(&b);
}

static void print_build_gaps(const struct build *b)
{
	for (size_t i = 0; b->gaps[i]; i++) {
		const char *of, *meaning = build_gap_meaning(b->gaps[i], &of);
		struct buf line = {0};
		fmt_name(&line, str_of(of));
		buf_printf(&line, "%s%s", line.n ? " " : "", meaning);
		print_field_if(i ? "" : "missing", &line);
		buf_release(&line);
	}
}

static void print_build_defines(const struct build *b)
{
	struct buf line = {0};
	const char *name;
	bool undef;
	for (size_t pos = 0; (name = build_define(b, &pos, &undef));) {
		buf_printf(&line, "%s%s", line.n ? " " : "", undef ? "not " : "");
		fmt_arg(&line, str_of(name));
	}
	print_field_if("defines", &line);
	buf_release(&line);
}

static void print_source_line(const struct show_build *w, const struct build_file *f, int match)
{
	struct buf b = {0};
	char digest[DIGEST_TEXT];
	fmt_path(&b, str_of(f->path));
	buf_printf(&b, "  %s", term_name(SET_role, f->role));
	if (f->digested) {
		digest_text(&f->digest, digest);
		buf_printf(&b, "  %.*s", w->all ? DIGEST_TEXT : 19, digest);
	} else if (f->detail[0]) {
		buf_printf(&b, "  (%s)", f->detail);
	}
	if (f->nid) {
		buf_printf(&b, "  build-id ");
		build_format_id(f, &b);
	}
	if (match > BUILD_SAME)
		buf_printf(&b, "  %s%s%s", style_on(&w->c->out, STYLE_WARN), match_words[match], style_off(&w->c->out));
	printf("  %s\n", buf_cstr(&b));
	buf_release(&b);
}

static bool is_usual_role(const struct build_file *f)
{
	return f->role == TERM_role_header &&
	       (strncmp(f->path, "/usr/", 5) == 0 || strncmp(f->path, "/opt/", 5) == 0 || strncmp(f->path, "/lib", 4) == 0);
}

struct counts {
	size_t same, changed, missing, unknown;
};

static void count_match(struct counts *n, enum build_match m)
{
	n->same += m == BUILD_SAME;
	n->changed += m == BUILD_CHANGED;
	n->missing += m == BUILD_MISSING;
	n->unknown += m == BUILD_UNKNOWN;
}

/* The sources through all records: with --sources each is looked at. */
static void print_build_sources(struct show_build *w, const struct build_sources *s, struct digest_cache *cache)
{
	struct counts n = {0};
	size_t folded = 0;
	puts("from");
	for (size_t i = 0; i < s->n; i++) {
		const struct build_file *f = &s->v[i].file;
		enum build_match m = w->sources ? build_match(cache, f) : BUILD_SAME;
		count_match(&n, m);
		if (!w->all && is_usual_role(f) && m == BUILD_SAME)
			folded++;
		else
			print_source_line(w, f, (int)m);
	}
	if (folded)
		printf("  + %zu headers of the machine (--all)\n", folded);
	if (s->unknown)
		printf("  %zu of these %s made by nobody that was recorded\n", s->unknown, s->unknown == 1 ? "was" : "were");
	if (!w->sources)
		return;
	w->differs |= n.changed || n.missing || n.unknown;
	if (n.same == s->n)
		printf("%-12s all %zu files are what they were\n", "sources", n.same);
	else
		printf("%-12s %zu changed, %zu missing, %zu that cannot be told, %zu as they were\n", "sources", n.changed,
		       n.missing, n.unknown, n.same);
}

static void print_build_time(const struct build *b)
{
	struct buf t = {0};
	fmt_time(&t, b->ended, false);
	buf_printf(&t, ", took ");
	fmt_span(&t, b->began, b->ended);
	print_field_if("at", &t);
	buf_release(&t);
}

static void print_build_commit(const struct build *b)
{
	if (b->commit[0])
		printf("%-12s %s%s\n", "commit", b->commit,
		       b->dirty > 0    ? ", with changes"
		       : b->dirty == 0 ? ""
		                       : ", whether with changes was not asked");
}

static void print_elf_build(const struct build *b)
{
	field_text("built by", b->version[0] ? b->version : "nobody that the file names");
	field_text("target", b->target);
	if (b->package)
		field_text("package", b->package);
	puts("no record: this is what the file itself and the packages tell");
}

static void print_recorded_build(struct show_build *w, const struct build *b)
{
	struct buf line = {0};
	field_words("built by", b->argv);
	field_text("build", b->pub);
	fmt_name(&line, str_of(b->compiler));
	if (b->version[0]) {
		buf_printf(&line, ", ");
		fmt_name(&line, str_of(b->version));
	}
	print_field_if("compiler", &line);
	buf_reset(&line);
	field_text("target", b->target);
	print_build_defines(b);
	field_text("in", b->cwd);
	fmt_name(&line, str_of(b->user));
	buf_printf(&line, " on ");
	fmt_name(&line, str_of(b->host));
	print_field_if("by", &line);
	buf_release(&line);
	print_build_time(b);
	print_build_commit(b);
	if (b->run[0])
		field_text("run", b->run);
	if (b->ending != TERM_ending_exited || b->code) {
		fmt_ending(&line, b->ending, (uint64_t)b->code);
		print_field_if("ended with", &line);
		buf_release(&line);
	}
	for (size_t i = 0; w->all && b->env[i]; i++)
		field_text(i ? "" : "environment", b->env[i]);
	print_build_gaps(b);
}

static int print_build_text(struct show_build *w, const struct build *b, struct err *err)
{
	struct build_sources s = {0};
	int rc = 0;
	if (w->after)
		putchar('\n');
	w->after = true;
	if (b->origin == BUILD_ELF) {
		print_elf_build(b);
		w->differs |= w->sources;
	} else {
		print_recorded_build(w, b);
		rc = build_sources(w->c->store, b, err, &s);
		char *cache = NULL;
		store_places(cmd_home(w->c), NULL, NULL, &cache);
		if (cache)
			*strrchr(cache, '/') = '\0';
		struct digest_cache *kept = cache && w->sources ? digest_cache_open(cache) : NULL;
		if (rc == 0)
			print_build_sources(w, &s, kept);
		digest_cache_close(kept);
		free(cache);
		build_sources_release(&s);
	}
	for (size_t i = 0; b->origin == BUILD_ELF && i < b->in.n; i++)
		print_source_line(w, &b->in.v[i], 0);
	if (b->out.n)
		puts("made");
	for (size_t i = 0; i < b->out.n; i++)
		print_source_line(w, &b->out.v[i], 0);
	if (w->all && b->tools.n)
		puts("programs");
	for (size_t i = 0; w->all && i < b->tools.n; i++)
		print_source_line(w, &b->tools.v[i], 0);
	return rc;
}

/* ---- JSON ---- */

static void js_words(json_t *o, const char *key, char *const *v)
{
	json_t *list = json_array();
	for (size_t i = 0; v[i]; i++)
		js_add(list, js_string(str_of(v[i])));
	js_put(o, key, list);
}

static json_t *file_json(const struct build_file *f, int match)
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
	if (match >= 0)
		js_text(o, "now", match_words[match]);
	return o;
}

static json_t *files_json(const struct build_files *l)
{
	json_t *list = json_array();
	for (size_t i = 0; i < l->n; i++)
		js_add(list, file_json(&l->v[i], -1));
	return list;
}

static int append_build_json(struct show_build *w, const struct build *b, json_t *list, struct err *err)
{
	json_t *o = json_object(), *sources = json_array();
	struct build_sources s = {0};
	int rc = 0;
	js_text(o, "kind", "build");
	js_text(o, "origin", b->origin == BUILD_ELF ? "elf" : "recorded");
	if (b->origin == BUILD_RECORDED) {
		js_text(o, "id", b->pub);
		js_words(o, "argv", b->argv);
		js_words(o, "arguments", b->args);
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
		js_words(o, "environment", b->env);
		js_words(o, "gaps", b->gaps);
		js_put(o, "programs", files_json(&b->tools));
		rc = build_sources(w->c->store, b, err, &s);
		for (size_t i = 0; rc == 0 && i < s.n; i++) {
			enum build_match m = w->sources ? build_match(NULL, &s.v[i].file) : BUILD_SAME;
			json_t *one = file_json(&s.v[i].file, w->sources ? (int)m : -1);
			js_text(one, "named_by", s.v[i].made_by);
			w->differs |= m != BUILD_SAME;
			js_add(sources, one);
		}
		js_put(o, "from", sources);
		build_sources_release(&s);
	} else {
		json_decref(sources);
		w->differs |= w->sources;
		if (b->package)
			js_text(o, "package", b->package);
	}
	js_str(o, "version", str_of(b->version));
	js_str(o, "target", str_of(b->target));
	js_put(o, "inputs", files_json(&b->in));
	js_put(o, "outputs", files_json(&b->out));
	js_add(list, o);
	return rc;
}

static int show_one_build(struct show_build *w, const struct build *b, json_t *list, struct err *err)
{
	return list ? append_build_json(w, b, list, err) : print_build_text(w, b, err);
}

/* ---- what is asked for ---- */

/* Others that made the same bytes are named, the one that is told of is not from a cache if there is such a one. */
static int show_builds(struct show_build *w, struct build_list *l, json_t *list, struct err *err)
{
	size_t best = 0;
	for (size_t i = 0; i < l->n; i++) {
		bool cached = false;
		for (size_t k = 0; l->v[i].gaps[k]; k++)
			cached |= strcmp(l->v[i].gaps[k], "cached") == 0;
		if (!cached) {
			best = i;
			break;
		}
	}
	int rc = show_one_build(w, &l->v[best], list, err);
	for (size_t i = 0; rc == 0 && i < l->n && !list; i++) {
		struct buf b = {0};
		if (i == best)
			continue;
		buf_printf(&b, "%s ", l->v[i].pub);
		fmt_time(&b, l->v[i].ended, false);
		print_field_if("also by", &b);
		buf_release(&b);
		if (i - (best < i) == 4 && !w->all && l->n > 6) {
			printf("%-12s and %zu more (--all)\n", "", l->n - i - 1);
			break;
		}
	}
	return rc;
}

int show_build_file(struct show_build *w, const char *path, json_t *list, struct err *err)
{
	struct build_list l = {0};
	struct build b;
	int rc = build_find(w->c->store, path, err, &l);
	if (rc == 0 && l.n) {
		rc = show_builds(w, &l, list, err);
		build_list_release(&l);
		return rc < 0 ? rc : 1;
	}
	if (rc < 0)
		return rc == -EINVAL ? 0 : rc;
	rc = build_from_elf(path, err, &b);
	if (rc == 1) {
		int r = show_one_build(w, &b, list, err);
		build_release(&b);
		return r < 0 ? r : 1;
	}
	return rc;
}

int show_build_record(struct show_build *w, const char *pub, json_t *list, struct err *err)
{
	struct build b;
	int rc = build_get(w->c->store, str_of(pub), err, &b);
	if (rc == 1) {
		int r = show_one_build(w, &b, list, err);
		build_release(&b);
		return r < 0 ? r : 1;
	}
	return rc;
}
