/* print_build.c - how a file was built. */
#include "cmd/show/show_view.h"

#include "cc/withspec_keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints a field of a build. Nothing for an empty text. */
static void field_text(const char *name, const char *text)
{
	struct buf b = {0};
	fmt_name(&b, str_of(text));
	print_field_if(name, &b);
	buf_release(&b);
}

/* v ends with NULL. Words as a shell reads them. */
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

/* A line for each thing that the record of the build lacks. */
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

/* The macros of the command line; "not" for those that it takes away. */
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

/* A file with its digest (cut without --all), and whether it is still the same where that was looked at. */
static void print_source_line(const struct cmd *c, const struct opts_show *o, const struct build_file *f,
                              enum build_match match)
{
	struct buf b = {0};
	char digest[DIGEST_TEXT];
	fmt_path(&b, str_of(f->path));
	buf_printf(&b, "  %s", term_name(SET_role, f->role));
	if (f->digested) {
		digest_text(&f->digest, digest);
		buf_printf(&b, "  %.*s", o->all ? DIGEST_TEXT : 19, digest);
	} else if (f->detail[0]) {
		buf_printf(&b, "  (%s)", f->detail);
	}
	if (f->nid) {
		buf_printf(&b, "  build-id ");
		build_format_id(f, &b);
	}
	if (match > BUILD_SAME)
		buf_printf(&b, "  %s%s%s", style_on(&c->out, STYLE_WARN), show_match(match), style_off(&c->out));
	printf("  %s\n", buf_cstr(&b));
	buf_release(&b);
}

/* The sources through all records: with --sources each was looked at. */
static void print_build_sources(const struct cmd *c, const struct opts_show *o, const struct show_build *v)
{
	const struct build_sources *s = &v->sources;
	size_t folded = 0;
	puts("from");
	for (size_t i = 0; i < s->n; i++) {
		const struct build_file *f = &s->v[i].file;
		enum build_match m = v->match ? v->match[i] : BUILD_SAME;
		if (!o->all && show_is_usual_role(f) && m == BUILD_SAME)
			folded++;
		else
			print_source_line(c, o, f, m);
	}
	if (folded)
		printf("  + %zu system header%s (--all)\n", folded, str_plural(folded));
	if (s->unknown)
		printf("  %zu of these %s not made by a recorded program\n", s->unknown, s->unknown == 1 ? "was" : "were");
	if (!v->match)
		return;
	if (s->n == 1 && v->matches[BUILD_SAME])
		printf("%-12s 1 file, unchanged\n", "sources");
	else if (v->matches[BUILD_SAME] == s->n)
		printf("%-12s all %zu files unchanged\n", "sources", s->n);
	else
		printf("%-12s %zu changed, %zu missing, %zu unknown, %zu unchanged\n", "sources", v->matches[BUILD_CHANGED],
		       v->matches[BUILD_MISSING], v->matches[BUILD_UNKNOWN], v->matches[BUILD_SAME]);
}

/* Prints the time of a build. When it ended and how long it took, to stdout. */
static void print_build_time(const struct build *b)
{
	struct buf t = {0};
	fmt_time(&t, b->ended, false);
	buf_printf(&t, ", took ");
	fmt_span(&t, b->began, b->ended);
	print_field_if("at", &t);
	buf_release(&t);
}

/* Whether the work tree had changes is unknown where dirty is negative. */
static void print_build_commit(const struct build *b)
{
	if (b->commit[0])
		printf("%-12s %s%s\n", "commit", b->commit,
		       b->dirty > 0    ? ", with changes"
		       : b->dirty == 0 ? ""
		                       : ", uncommitted changes unknown");
}

/* What can be told of a program without a record of its build. */
static void print_elf_build(const struct build *b)
{
	field_text("built by", b->version[0] ? b->version : "an unknown compiler");
	field_text("target", b->target);
	if (b->package)
		field_text("package", b->package);
	puts("no recorded build; from the file itself and its package");
}

/* Prints a build that was recorded while it ran. */
static void print_recorded_build(const struct opts_show *o, const struct build *b)
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
	for (size_t i = 0; o->all && b->env[i]; i++)
		field_text(i ? "" : "environment", b->env[i]);
	print_build_gaps(b);
}

/* Prints files of a build. title may be NULL; without files nothing is printed. */
static void print_build_files(const struct cmd *c, const struct opts_show *o, const char *title,
                              const struct build_files *l)
{
	if (l->n && title)
		puts(title);
	for (size_t i = 0; i < l->n; i++)
		print_source_line(c, o, &l->v[i], BUILD_SAME);
}

/* What the digests of sources are kept in; NULL where there is none. */
static struct digest_cache *open_digests(const struct cmd *c)
{
	char *cache = NULL;
	store_places(cmd_home(c), NULL, NULL, &cache);
	if (cache)
		*strrchr(cache, '/') = '\0';
	struct digest_cache *ret = cache ? digest_cache_open(cache) : NULL;
	free(cache);
	return ret;
}

/* Prints that slices can be made of what the build made. */
static void print_build_slices(const struct cmd *c, const struct build *b)
{
	char *home = NULL;
	struct buf path = {0};
	bool kept = false;
	if (store_places(cmd_home(c), NULL, &home, NULL) < 0)
		return;
	for (size_t i = 0; i < b->out.n && !kept; i++)
		kept = withspec_kept_bitcode(home, b->out.v[i].id, b->out.v[i].nid, &path);
	if (kept)
		printf("%-12s stemma slice shows which inputs can reach which outputs\n", "slices");
	buf_release(&path);
	free(home);
}

/* Prints a build, with the state of its sources if that was asked for. 0; -errno with a sentence. *ret_differs
 * becomes true where sources are not what they were. */
static int print_build(struct cmd *c, const struct opts_show *o, const struct build *b, struct err *err,
                       bool *ret_differs)
{
	struct show_build v;
	struct digest_cache *cache = o->sources && b->origin == BUILD_RECORDED ? open_digests(c) : NULL;
	int r = show_build_load(cmd_source(c), b, o->sources, cache, err, &v);
	digest_cache_close(cache);
	if (r < 0)
		return r;
	if (b->origin == BUILD_ELF) {
		print_elf_build(b);
		print_build_files(c, o, NULL, &b->in);
	} else {
		print_recorded_build(o, b);
		print_build_sources(c, o, &v);
	}
	print_build_files(c, o, "made", &b->out);
	print_build_slices(c, b);
	if (o->all)
		print_build_files(c, o, "programs", &b->tools);
	*ret_differs |= v.differs;
	show_build_release(&v);
	return 0;
}

int show_print_build(struct cmd *c, const struct opts_show *o, const struct build_list *l, size_t chosen,
                     struct err *err, bool *ret_differs)
{
	int r = print_build(c, o, &l->v[chosen], err, ret_differs);
	for (size_t i = 0; r == 0 && i < l->n; i++) {
		struct buf b = {0};
		if (i == chosen)
			continue;
		buf_printf(&b, "%s ", l->v[i].pub);
		fmt_time(&b, l->v[i].ended, false);
		print_field_if("also by", &b);
		buf_release(&b);
		if (i - (chosen < i) == 4 && !o->all && l->n > 6) {
			printf("%-12s and %zu more (--all)\n", "", l->n - i - 1);
			break;
		}
	}
	return r;
}
