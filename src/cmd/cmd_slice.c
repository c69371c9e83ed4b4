/* stemma slice: which inputs of a program can reach which of its outputs. */
#include "answer/fmt.h"
#include "cc/withspec_keep.h"
#include "cmd/cmd.h"
#include "cmd/ui/js_print.h"
#include "spec/make.h"
#include "spec/objects.h"
#include "spec/spec.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- text ---- */

/* The text of a member; "": it has none. */
static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? s : "";
}

/* " (sim.c:12)"; nothing where it has no line. */
static void append_place(const json_t *o, struct buf *b, const char *before, const char *behind)
{
	json_int_t line = json_integer_value(json_object_get(o, "line"));
	if (!line)
		return;
	buf_str(b, str_of(before));
	fmt_path(b, str_of(text_of(o, "file")));
	buf_printf(b, ":%lld%s", (long long)line, behind);
}

/* "environment HOME (sim.c:12)". */
static void append_input(const json_t *in, struct buf *b)
{
	const char *name = text_of(in, "name");
	fmt_name(b, str_of(text_of(in, "kind")));
	if (*name) {
		buf_char(b, ' ');
		fmt_name(b, str_of(name));
	}
	append_place(in, b, " (", ")");
}

/* The input of the slice with that id, NULL: none. */
static const json_t *input_of(const json_t *slice, json_int_t id)
{
	size_t i;
	json_t *in;
	json_array_foreach(json_object_get(slice, "inputs"), i, in)
	{
		if (json_integer_value(json_object_get(in, "id")) == id)
			return in;
	}
	return NULL;
}

/* Has it one of the texts in it? Without texts, all have. */
static bool is_asked(const struct texts *asked, const char *text)
{
	for (size_t i = 0; i < asked->n; i++)
		if (strstr(text, asked->v[i]))
			return true;
	return asked->n == 0;
}

/* A line with the inputs of that list, "may" or "cannot"; none where it is empty. */
static void print_inputs(const json_t *slice, const struct opts_slice *o, const json_t *output, const char *key)
{
	struct buf line = {0}, one = {0};
	size_t i;
	json_t *id;
	json_array_foreach(json_object_get(output, key), i, id)
	{
		const json_t *in = input_of(slice, json_integer_value(id));
		buf_reset(&one);
		if (in)
			append_input(in, &one);
		if (!one.n || !is_asked(&o->input, buf_cstr(&one)))
			continue;
		buf_str(&line, str_of(line.n ? "; " : ""));
		buf_str(&line, buf_view(&one));
	}
	if (line.n)
		printf("  %-7s %s\n", key, buf_cstr(&line));
	buf_release(&line);
	buf_release(&one);
}

/* "sim.c:40 fprintf in main". */
static void append_output(const json_t *out, struct buf *b)
{
	append_place(out, b, "", " ");
	fmt_name(b, str_of(text_of(out, "call")));
	if (*text_of(out, "function")) {
		buf_str(b, str_of(" in "));
		fmt_name(b, str_of(text_of(out, "function")));
	} else if (!json_object_get(out, "line"))
		buf_str(b, str_of(", called through a pointer"));
}

/* Prints which inputs can reach the outputs. STATUS_NOTHING where no output is asked for. */
static int print_slice_text(const json_t *slice, const struct opts_slice *o)
{
	const json_t *forbids = json_object_get(slice, "forbids");
	bool any = false;
	size_t i;
	json_t *one;
	if (json_array_size(forbids))
		puts("nothing is proved to be impossible, because of");
	json_array_foreach(forbids, i, one)
	{
		struct buf b = {0};
		fmt_name(&b, str_of(text_of(one, "what")));
		append_place(one, &b, " (", ")");
		printf("  %s\n", buf_cstr(&b));
		buf_release(&b);
	}
	json_array_foreach(json_object_get(slice, "outputs"), i, one)
	{
		struct buf b = {0};
		append_output(one, &b);
		if (is_asked(&o->output, buf_cstr(&b))) {
			any = true;
			puts(buf_cstr(&b));
			print_inputs(slice, o, one, "may");
			print_inputs(slice, o, one, "cannot");
		}
		buf_release(&b);
	}
	if (!any && o->output.n) {
		report("the program has no such output: nothing matches --output");
		return STATUS_NOTHING;
	}
	if (!any)
		puts("no output of the program can be reached");
	else if (!json_array_size(forbids))
		puts("cannot: proved, under the conditions that stemma-slice(1) lists");
	return STATUS_OK;
}

/* ---- where it comes from ---- */

/* The bitcode that stemma cc --slice kept of a program, by its build-id; malloc'ed. NULL: it is none, or none is kept.
 */
static char *kept_bitcode(struct cmd *c, const char *program)
{
	unsigned char id[SPEC_BUILD_ID_MAX];
	struct objects_bytes file;
	struct buf path = {0};
	char *home = NULL;
	if (objects_map(program, NULL, &file) < 0)
		return NULL;
	int n = objects_build_id(str_n(file.p, file.n), id);
	objects_unmap(&file);
	if (n <= 0 || store_places(cmd_home(c), NULL, &home, NULL) < 0)
		return NULL;
	withspec_kept_bitcode(home, id, (size_t)n, &path);
	free(home);
	if (path.n && *buf_cstr(&path))
		return path.p;
	buf_release(&path);
	return NULL;
}

/* Makes it, in a file that is gone at once. 0; -errno with a sentence. */
static int load_slice(char **files, struct err *err, json_t **ret)
{
	char path[] = "/tmp/stemma-slice-XXXXXX";
	json_error_t why;
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno, "cannot create '%s'", path);
	close(fd);
	struct objects_bytes bytes;
	int rc = make_slice(files, path, err);
	if (rc == 0)
		rc = objects_map(path, err, &bytes);
	unlink(path);
	if (rc < 0)
		return rc;
	*ret = json_loadb(bytes.p, bytes.n, 0, &why);
	objects_unmap(&bytes);
	return *ret ? 0 : err_set(err, EBADMSG, "cannot read the slice of '%s': %s", files[0], why.text);
}

/* Gives the exit status: STATUS_NOTHING if there is no bitcode. */
int cmd_slice(struct cmd *c, const struct opts_slice *o)
{
	struct err err = {0};
	json_t *slice = NULL;
	if (c->n_operands == 0)
		return report_usage(c, "slice needs a program, objects or bitcode");
	char *kept = c->n_operands == 1 ? kept_bitcode(c, c->operands[0]) : NULL, *one[] = {kept, NULL};
	int rc = load_slice(kept ? one : c->operands, &err, &slice);
	free(kept);
	if (rc == -ENODATA) {
		err = (struct err){0};
		err_set(&err, 0, "cannot make a slice of '%s': neither the file nor the record has its bitcode",
		        c->operands[0]);
		err_hint(&err, "link it with stemma cc --slice, which keeps the bitcode");
	}
	if (rc < 0)
		return report_err(&err, STATUS_NOTHING);
	if (o->json)
		return js_print(slice, false);
	rc = print_slice_text(slice, o);
	json_decref(slice);
	return rc;
}
