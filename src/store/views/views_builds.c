/* views_builds.c - the tables of builds and their files. */
#include "store/views/views_line.h"

#include "base/digest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* A store_build callback: a row of the view. 0, -ENOMEM. */
static int build_line(void *arg, const struct store_build *b)
{
	struct cursor *c = arg;
	struct line *l = lines_append(c);
	char session[20];
	if (!l)
		return -ENOMEM;
	snprintf(session, sizeof(session), "%016" PRIx64, b->session);
	line_set_id(l, C_build_id, b->id);
	line_set_cstr(c, l, C_build_pub, b->pub.text);
	line_set_cstr(c, l, C_build_session, session);
	line_set_id(l, C_build_seq, b->seq);
	line_set_text_if(c, l, C_build_execution, str_of(b->exec.text));
	line_set_text_if(c, l, C_build_compiler, b->compiler);
	line_set_text_if(c, l, C_build_version, b->version);
	line_set_text_if(c, l, C_build_target, b->target);
	line_set_list(c, l, C_build_argv, &b->argv);
	line_set_list(c, l, C_build_args, b->args.count ? &b->args : &b->argv);
	line_set_text_if(c, l, C_build_cwd, b->cwd);
	line_set_list(c, l, C_build_environment, &b->env);
	line_set_text_if(c, l, C_build_user, b->user);
	line_set_text_if(c, l, C_build_host, b->host);
	line_set_text_if(c, l, C_build_git_commit, b->commit);
	if (b->tree != TERM_tree_unknown)
		line_set_cstr(c, l, C_build_git_state, term_name(SET_tree, b->tree));
	line_set_time(l, C_build_began, b->began);
	line_set_time(l, C_build_ended, b->time);
	line_set_cstr(c, l, C_build_ending, term_name(SET_ending, b->ending));
	line_set_int(l, C_build_code, (int64_t)b->code);
	line_set_list(c, l, C_build_gaps, &b->gaps);
	return 0;
}

/* The line of one build. A failure is noted in c->failed. */
void views_builds(struct cursor *c)
{
	c->failed |= store_build(c->s, c->unit, build_line, c) < 0;
}

/* Sets a column to a digest as text. Nothing if it is no digest. */
static void line_set_digest(struct cursor *c, struct line *l, unsigned column, struct str bytes)
{
	struct digest d;
	char text[DIGEST_TEXT];
	if (bytes.n != DIGEST_BYTES)
		return;
	memcpy(d.b, bytes.p, DIGEST_BYTES);
	digest_text(&d, text);
	line_set_cstr(c, l, column, text);
}

/* Sets a column to bytes in hexadecimal. Nothing for no bytes. */
static void line_set_hex(struct cursor *c, struct line *l, unsigned column, struct str bytes)
{
	size_t at = c->text.n;
	buf_hex(&c->text, bytes.p, bytes.n);
	if (bytes.n)
		l->v[column] = (struct cell){CELL_TEXT, (int64_t)at, c->text.n - at};
}

/* A store_build callback: a row for each file that it read. 0, -ENOMEM. */
static int input_lines(void *arg, const struct store_build *b)
{
	struct cursor *c = arg;
	for (size_t i = 0, n = 0; i < b->nfiles; i++) {
		const struct store_build_file *f = &b->files[i];
		struct line *l = f->role == TERM_role_output ? NULL : lines_append(c);
		if (!l && f->role != TERM_role_output)
			return -ENOMEM;
		if (!l)
			continue;
		line_set_id(l, C_build_input_build, b->id);
		line_set_int(l, C_build_input_n, (int64_t)++n);
		line_set_cstr(c, l, C_build_input_role, term_name(SET_role, f->role));
		line_set_text(c, l, C_build_input_path, f->path);
		if (f->digest.n)
			line_set_int(l, C_build_input_size, (int64_t)f->size);
		line_set_time(l, C_build_input_mtime, f->mtime);
		line_set_digest(c, l, C_build_input_digest, f->digest);
		line_set_hex(c, l, C_build_input_build_id, f->build_id);
		line_set_text_if(c, l, C_build_input_detail, f->detail);
	}
	return 0;
}

/* A line for each input of one build. */
void views_build_inputs(struct cursor *c)
{
	c->failed |= store_build(c->s, c->unit, input_lines, c) < 0;
}

/* A store_build callback: a row for each file that it made. 0, -ENOMEM. */
static int output_lines(void *arg, const struct store_build *b)
{
	struct cursor *c = arg;
	for (size_t i = 0, n = 0; i < b->nfiles; i++) {
		const struct store_build_file *f = &b->files[i];
		struct line *l = f->role == TERM_role_output ? lines_append(c) : NULL;
		if (!l && f->role == TERM_role_output)
			return -ENOMEM;
		if (!l)
			continue;
		line_set_id(l, C_build_output_build, b->id);
		line_set_int(l, C_build_output_n, (int64_t)++n);
		line_set_text(c, l, C_build_output_path, f->path);
		if (f->digest.n)
			line_set_int(l, C_build_output_size, (int64_t)f->size);
		line_set_time(l, C_build_output_mtime, f->mtime);
		line_set_digest(c, l, C_build_output_digest, f->digest);
		line_set_hex(c, l, C_build_output_build_id, f->build_id);
	}
	return 0;
}

/* A line for each output of one build. */
void views_build_outputs(struct cursor *c)
{
	c->failed |= store_build(c->s, c->unit, output_lines, c) < 0;
}
