/* read_dvc.c - dvc.lock: of each stage its command, dependencies and outputs. YAML as DVC writes it: maps and lists by
 * indentation, scalars plain or quoted, over several lines too. Of a folder that DVC tracks, the files in it are read
 * from DVC's cache where that lies beside the document (the list MD5.dir); else the folder stands for them.
 *
 * There are no times in it. */
#include "adopt/readers.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define NAME_MOST 4096
#define LISTS_MOST 64         /* lists of folders that are kept while a document is read */
#define ENTRIES_MOST 10000000 /* of lists, of one document: a folder behind these stands for itself */

struct line {
	size_t indent;
	struct str text; /* without indentation; of a list's item without its "- ", which counts as indentation */
	bool item;       /* it begins an item of a list */
};
/* The list of the files in a folder. */
struct folder_list {
	char digest[64];
	json_t *files; /* NULL: there is none */
};
struct dvc {
	struct adopt_jobs *l;
	int folder;
	const char *path, *source;
	struct str rest; /* of the document */
	struct line at;  /* the line at hand */
	bool more;
	struct buf scalar;
	struct buf name; /* of a dependency or output, until its digest has come */
	struct folder_list lists[LISTS_MOST];
	size_t n_lists, entries; /* entries: how many were gone through */
};

/* ---- YAML ---- */

/* Reads the next line that is not empty and no comment into y->at. */
static void next_yaml_line(struct dvc *y)
{
	for (y->more = false; y->rest.n && !y->more;) {
		const char *end = memchr(y->rest.p, '\n', y->rest.n);
		struct str line = str_n(y->rest.p, end ? (size_t)(end - y->rest.p) : y->rest.n);
		y->rest = str_n(y->rest.p + line.n + (end != NULL), y->rest.n - line.n - (end != NULL));
		size_t indent = 0;
		while (indent < line.n && line.p[indent] == ' ')
			indent++;
		y->at = (struct line){indent, str_n(line.p + indent, line.n - indent), false};
		while (y->at.text.n >= 2 && y->at.text.p[0] == '-' && y->at.text.p[1] == ' ') {
			y->at.indent += 2;
			y->at.text = str_n(y->at.text.p + 2, y->at.text.n - 2);
			y->at.item = true;
		}
		y->more = y->at.text.n && *y->at.text.p != '#' && !str_is(y->at.text, "---");
	}
}

/* "KEY:" or "KEY: VALUE" at the line at hand. False: it is no such line. A quoted key is taken without its quotes. */
static bool split_key(struct str text, struct str *ret_key, struct str *ret_value)
{
	char quote = text.n && (*text.p == '\'' || *text.p == '"') ? *text.p : 0;
	size_t i = quote ? 1 : 0;
	for (; i < text.n; i++) {
		if (quote ? text.p[i] == quote : text.p[i] == ':' && (i + 1 == text.n || text.p[i + 1] == ' '))
			break;
	}
	if (i >= text.n)
		return false;
	*ret_key = quote ? str_n(text.p + 1, i - 1) : str_n(text.p, i);
	i += quote ? 1 : 0;
	if (i >= text.n || text.p[i] != ':')
		return false;
	for (i++; i < text.n && text.p[i] == ' '; i++)
		;
	*ret_value = str_n(text.p + i, text.n - i);
	return true;
}

/* Appends a character of a quoted scalar and moves *i past it. False: it was the quote that ends it. */
static bool put_quoted(struct buf *b, struct str s, size_t *i, char quote)
{
	char c = s.p[(*i)++];
	if (c == quote && quote == '\'' && *i < s.n && s.p[*i] == quote) {
		++*i;
	} else if (c == quote) {
		return false;
	} else if (c == '\\' && quote == '"' && *i < s.n) {
		static const char names[] = "nrt0", bytes[] = "\n\r\t ";
		const char *at = memchr(names, s.p[*i], sizeof(names) - 1);
		c = at ? bytes[at - names] : s.p[*i];
		++*i;
	}
	buf_char(b, c);
	return true;
}

/* A scalar that begins with value and goes on in deeper lines, which are taken: into y->scalar. Ends of lines become
 * blanks. */
static void take_scalar(struct dvc *y, struct str value, size_t indent)
{
	char quote = value.n && (*value.p == '\'' || *value.p == '"') ? *value.p : 0;
	bool block = value.n && (*value.p == '|' || *value.p == '>'), open = true;
	size_t i = quote ? 1 : block ? value.n : 0;
	buf_reset(&y->scalar);
	next_yaml_line(y);
	for (;;) {
		while (open && i < value.n) {
			if (quote)
				open = put_quoted(&y->scalar, value, &i, quote);
			else
				buf_char(&y->scalar, value.p[i++]);
		}
		if (!y->more || !open || y->at.indent <= indent || y->at.item)
			return;
		value = y->at.text;
		i = 0;
		if (y->scalar.n)
			buf_char(&y->scalar, block ? '\n' : ' ');
		next_yaml_line(y);
	}
}

/* ---- stages ---- */

/* A file of a dependency or output. 0, -ENOMEM. */
static int add_dvc_file(struct dvc *y, struct adopt_job *j, bool out, struct str path)
{
	return out ? adopt_output(y->l, j, y->path, path) : adopt_input(y->l, j, y->path, path);
}

/* The list of a folder's files in the cache, by its digest of 8 to 63 bytes; the caller releases it. NULL: it is not
 * there. */
static json_t *read_folder_list(const struct dvc *y, struct str digest)
{
	static const char *const caches[] = {".dvc/cache/files/md5", ".dvc/cache"};
	json_t *list = NULL;
	char name[64];
	for (size_t i = 0; i < 2 && !list; i++) {
		struct buf folder = {0}, text = {0};
		buf_printf(&folder, "%s/%.2s", caches[i], digest.p);
		snprintf(name, sizeof(name), "%.*s", (int)digest.n - 2, digest.p + 2);
		int fd = adopt_folder(y->folder, buf_cstr(&folder));
		if (fd >= 0 && adopt_file(fd, name, &text) == 0)
			list = json_loadb(text.p ? text.p : "", text.n, 0, NULL);
		if (fd >= 0)
			close(fd);
		buf_release(&folder);
		buf_release(&text);
	}
	return list;
}

/* The files that DVC's cache lists for a folder of that digest, read once for many dependencies. Released with y;
 * NULL: the cache has no such list. */
static const json_t *folder_list(struct dvc *y, struct str digest)
{
	if (digest.n < 8 || digest.n >= sizeof(y->lists->digest) || memchr(digest.p, '/', digest.n) || *digest.p == '.')
		return NULL;
	for (size_t i = 0; i < y->n_lists; i++)
		if (str_is(digest, y->lists[i].digest))
			return y->lists[i].files;
	if (y->n_lists == LISTS_MOST)
		json_decref(y->lists[--y->n_lists].files);
	struct folder_list *one = &y->lists[y->n_lists++];
	memcpy(one->digest, digest.p, digest.n);
	one->digest[digest.n] = '\0';
	return one->files = read_folder_list(y, digest);
}

/* What was gathered of one dependency or output: its path, or the files in it. digest: nothing where it has none. 0,
 * -ENOMEM. */
static int end_file(struct dvc *y, struct adopt_job *j, bool out, struct str digest)
{
	int rc = 0;
	if (!y->name.n || !j)
		return 0;
	const json_t *list = str_ends(digest, str_of(".dir")) ? folder_list(y, digest) : NULL, *one;
	size_t i, n = json_array_size(list);
	list = n <= ENTRIES_MOST - y->entries ? list : NULL;
	y->entries += list ? n : 0;
	json_array_foreach(list, i, one)
	{
		struct buf path = {0};
		struct str below = adopt_member(one, "relpath");
		if (!below.n || rc < 0)
			continue;
		buf_str(&path, buf_view(&y->name));
		buf_char(&path, '/');
		buf_str(&path, below);
		rc = path.failed ? -ENOMEM : add_dvc_file(y, j, out, buf_view(&path));
		buf_release(&path);
	}
	if (rc == 0 && (!json_is_array(list) || !json_array_size(list)))
		rc = add_dvc_file(y, j, out, buf_view(&y->name));
	buf_reset(&y->name);
	return rc;
}

/* Adds the files of a list to what the job read, or wrote (out). deps: or outs:, behind whose line y->at stands;
 * until a line that is not deeper, or no item of the same depth. 0, -ENOMEM. */
static int take_files(struct dvc *y, struct adopt_job *j, bool out, size_t indent)
{
	struct buf digest = {0};
	int rc = 0;
	buf_reset(&y->name);
	while (y->more && rc == 0 && (y->at.indent > indent || (y->at.item && y->at.indent >= indent))) {
		struct str key, value;
		size_t depth = y->at.indent;
		if (y->at.item) {
			rc = end_file(y, j, out, buf_view(&digest));
			buf_reset(&digest);
		}
		if (!split_key(y->at.text, &key, &value)) {
			next_yaml_line(y);
			continue;
		}
		bool path = str_is(key, "path"), md5 = str_is(key, "md5");
		take_scalar(y, value, depth);
		if (path || md5) {
			buf_reset(path ? &y->name : &digest);
			buf_str(path ? &y->name : &digest, buf_view(&y->scalar));
		}
	}
	rc = rc < 0 ? rc : end_file(y, j, out, buf_view(&digest));
	buf_release(&digest);
	return rc;
}

/* Takes the job's command from a stage. cmd:, one, or a list of them. 0, -ENOMEM. */
static int take_dvc_command(struct dvc *y, struct adopt_job *j, struct str value, size_t indent)
{
	struct buf all = {0};
	if (value.n) {
		take_scalar(y, value, indent);
		buf_str(&all, buf_view(&y->scalar));
	} else {
		next_yaml_line(y);
		while (y->more && y->at.item && y->at.indent > indent) {
			size_t depth = y->at.indent;
			take_scalar(y, y->at.text, depth - 1);
			if (all.n)
				buf_printf(&all, " && ");
			buf_str(&all, buf_view(&y->scalar));
		}
	}
	int rc = all.failed ? -ENOMEM : all.n && !j->argv.n ? adopt_shell(y->l, j, buf_view(&all)) : 0;
	buf_release(&all);
	return rc;
}

/* A stage, at whose line y->at stands. 0, -ENOMEM. */
static int take_stage(struct dvc *y, struct str name)
{
	size_t indent = y->at.indent;
	struct adopt_job *j = adopt_job_new(y->l, ADOPT_dvc, y->source);
	int rc = 0;
	if (!j || !(j->name = adopt_text(y->l, name)))
		return -ENOMEM;
	j->cwd = adopt_text(y->l, str_of(y->path));
	if (!j->cwd)
		return -ENOMEM;
	next_yaml_line(y);
	while (y->more && y->at.indent > indent && rc == 0) {
		struct str key, value;
		size_t depth = y->at.indent;
		if (!split_key(y->at.text, &key, &value)) {
			next_yaml_line(y);
		} else if (str_is(key, "cmd")) {
			rc = take_dvc_command(y, j, value, depth);
		} else if ((str_is(key, "deps") || str_is(key, "outs")) && !value.n) {
			bool out = str_is(key, "outs");
			next_yaml_line(y);
			rc = take_files(y, j, out, depth);
		} else {
			take_scalar(y, value, depth);
		}
	}
	return rc;
}

/* The stages: below "stages:", or in documents of the first form at the left. 0, -ENOMEM. */
static int take_stages(struct dvc *y, uint64_t *ret_n)
{
	int rc = 0;
	size_t indent = 0;
	bool within = false;
	next_yaml_line(y);
	while (y->more && rc == 0) {
		struct str key, value;
		bool good = split_key(y->at.text, &key, &value);
		if (good && y->at.indent == 0 && str_is(key, "stages")) {
			within = true;
			next_yaml_line(y);
			indent = y->more ? y->at.indent : 0;
		} else if (good && !value.n && y->at.indent == indent && (within ? indent > 0 : true)) {
			struct buf name = {0};
			buf_str(&name, str_n(key.p, key.n < NAME_MOST ? key.n : NAME_MOST));
			rc = name.failed ? -ENOMEM : take_stage(y, buf_view(&name));
			++*ret_n;
			buf_release(&name);
		} else {
			next_yaml_line(y);
		}
	}
	return rc;
}

int adopt_read_dvc(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	struct buf text = {0}, source = {0};
	uint64_t stages = 0;
	buf_printf(&source, "%s/%s", path, name);
	int rc = adopt_file(folder, name, &text);
	if (rc == 0) {
		struct dvc y = {.l = l, .folder = folder, .path = path, .source = buf_cstr(&source), .rest = buf_view(&text)};
		rc = take_stages(&y, &stages);
		if (rc == 0 && !stages)
			rc = adopt_pass(l, buf_cstr(&source), "it contains no stage");
		l->sources[ADOPT_dvc] += stages > 0;
		buf_release(&y.scalar);
		buf_release(&y.name);
		for (size_t i = 0; i < y.n_lists; i++)
			json_decref(y.lists[i].files);
	}
	buf_release(&text);
	buf_release(&source);
	return rc == -ENOMEM ? rc : 0;
}
