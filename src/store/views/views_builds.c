/* views_builds.c - the tables of builds and their files. */
#include "store/views/views_line.h"

#include "base/digest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static int build_line(void *arg, const struct store_build *b)
{
	struct cursor *c = arg;
	struct line *l = add_line(c);
	char session[20];
	if (!l)
		return -ENOMEM;
	snprintf(session, sizeof(session), "%016" PRIx64, b->session);
	put_id(l, C_build_id, b->id);
	put_word(c, l, C_build_pub, b->pub.text);
	put_word(c, l, C_build_session, session);
	put_id(l, C_build_seq, b->seq);
	put_text_if(c, l, C_build_execution, str_of(b->exec.text));
	put_text_if(c, l, C_build_compiler, b->compiler);
	put_text_if(c, l, C_build_version, b->version);
	put_text_if(c, l, C_build_target, b->target);
	put_list(c, l, C_build_argv, &b->argv);
	put_list(c, l, C_build_args, b->args.count ? &b->args : &b->argv);
	put_text_if(c, l, C_build_cwd, b->cwd);
	put_list(c, l, C_build_environment, &b->env);
	put_text_if(c, l, C_build_user, b->user);
	put_text_if(c, l, C_build_host, b->host);
	put_text_if(c, l, C_build_git_commit, b->commit);
	if (b->tree != TERM_tree_unknown)
		put_word(c, l, C_build_git_state, term_name(SET_tree, b->tree));
	put_time(l, C_build_began, b->began);
	put_time(l, C_build_ended, b->time);
	put_word(c, l, C_build_ending, term_name(SET_ending, b->ending));
	put_int(l, C_build_code, (int64_t)b->code);
	put_list(c, l, C_build_gaps, &b->gaps);
	return 0;
}

void views_builds(struct cursor *c)
{
	c->failed |= store_build(c->s, c->unit, build_line, c) < 0;
}

static void put_digest(struct cursor *c, struct line *l, unsigned column, struct str bytes)
{
	struct digest d;
	char text[DIGEST_TEXT];
	if (bytes.n != DIGEST_BYTES)
		return;
	memcpy(d.b, bytes.p, DIGEST_BYTES);
	digest_text(&d, text);
	put_word(c, l, column, text);
}

static void put_hex(struct cursor *c, struct line *l, unsigned column, struct str bytes)
{
	size_t at = c->text.n;
	for (size_t i = 0; i < bytes.n; i++)
		buf_printf(&c->text, "%02x", (unsigned char)bytes.p[i]);
	if (bytes.n)
		l->v[column] = (struct cell){CELL_TEXT, (int64_t)at, c->text.n - at};
}

static int input_lines(void *arg, const struct store_build *b)
{
	struct cursor *c = arg;
	for (size_t i = 0, n = 0; i < b->nfiles; i++) {
		const struct store_build_file *f = &b->files[i];
		struct line *l = f->role == TERM_role_output ? NULL : add_line(c);
		if (!l && f->role != TERM_role_output)
			return -ENOMEM;
		if (!l)
			continue;
		put_id(l, C_build_input_build, b->id);
		put_int(l, C_build_input_n, (int64_t)++n);
		put_word(c, l, C_build_input_role, term_name(SET_role, f->role));
		put_text(c, l, C_build_input_path, f->path);
		if (f->digest.n)
			put_int(l, C_build_input_size, (int64_t)f->size);
		put_time(l, C_build_input_mtime, f->mtime);
		put_digest(c, l, C_build_input_digest, f->digest);
		put_hex(c, l, C_build_input_build_id, f->build_id);
		put_text_if(c, l, C_build_input_detail, f->detail);
	}
	return 0;
}

void views_build_inputs(struct cursor *c)
{
	c->failed |= store_build(c->s, c->unit, input_lines, c) < 0;
}

static int output_lines(void *arg, const struct store_build *b)
{
	struct cursor *c = arg;
	for (size_t i = 0, n = 0; i < b->nfiles; i++) {
		const struct store_build_file *f = &b->files[i];
		struct line *l = f->role == TERM_role_output ? add_line(c) : NULL;
		if (!l && f->role == TERM_role_output)
			return -ENOMEM;
		if (!l)
			continue;
		put_id(l, C_build_output_build, b->id);
		put_int(l, C_build_output_n, (int64_t)++n);
		put_text(c, l, C_build_output_path, f->path);
		if (f->digest.n)
			put_int(l, C_build_output_size, (int64_t)f->size);
		put_time(l, C_build_output_mtime, f->mtime);
		put_digest(c, l, C_build_output_digest, f->digest);
		put_hex(c, l, C_build_output_build_id, f->build_id);
	}
	return 0;
}

void views_build_outputs(struct cursor *c)
{
	c->failed |= store_build(c->s, c->unit, output_lines, c) < 0;
}
