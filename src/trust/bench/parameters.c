/* parameters.c - the parameters of a run: those that a benchmark file names, or a guess from the command line. */
#include "trust/extract.h"

#include "base/buf.h"
#include "summary/jin.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The value of an option in a command line: -k 5, -k5 (one dash, one letter), --k=5, --k 5; a flag alone is `true`.
 * NULL: it is not there. */
static const char *option(char *const *argv, const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 1; argv[i]; i++) {
		if (!strcmp(argv[i], "--"))
			break;
		if (!strcmp(argv[i], name))
			return argv[i + 1] && (argv[i + 1][0] != '-' || isdigit((unsigned char)argv[i + 1][1])) ? argv[i + 1]
			                                                                                        : "true";
		if (!strncmp(argv[i], name, n) && argv[i][n] == '=')
			return argv[i] + n + 1;
		if (n == 2 && name[1] != '-' && !strncmp(argv[i], name, 2))
			return argv[i] + 2;
	}
	return NULL;
}

/* `key = value`, `key: value` or `key value` in a file of settings, or a key of a JSON object. */
static bool find_in_file(const char *path, const char *key, struct elements *values, struct str name)
{
	struct extractor x = {.name = (char *)"", .from = (char *)path, .how = EXTRACT_REGEX, .last = true};
	struct elements found = {0}, missing = {0};
	struct buf pattern = {0};
	size_t n = strlen(path);
	bool ok;
	if (n > 5 && !strcmp(path + n - 5, ".json")) {
		x.how = EXTRACT_POINTER;
		buf_printf(&pattern, "/%s", key);
	} else {
		buf_str(&pattern, str_of("^[ \t]*\"?"));
		for (const char *p = key; *p; p++) {
			if (!isalnum((unsigned char)*p) && *p != '_')
				buf_char(&pattern, '\\');
			buf_char(&pattern, *p);
		}
		buf_str(&pattern, str_of("\"?[ \t]*[=: \t][ \t]*([^#;]*)"));
	}
	x.pattern = (char *)buf_cstr(&pattern);
	extract_file(&x, path, &found, &missing);
	ok = found.n == 1 && found.v[0].n == 1;
	if (ok)
		elements_add(values, name, str_of(found.v[0].value[0]));
	buf_release(&pattern);
	elements_release(&found);
	elements_release(&missing);
	return ok;
}

void extract_parameters(const struct benchfile *b, char *const *argv, struct elements *values)
{
	size_t argc = 0;
	while (argv[argc])
		argc++;
	for (size_t i = 0; i < b->n_parameters; i++) {
		const char *where = b->parameter[i].where, *v = NULL;
		struct str name = str_of(b->parameter[i].name);
		const char *colon = strrchr(where, ':');
		if (where[0] == '-') {
			v = option(argv, where);
		} else if (where[0] == '@') {
			size_t at = strtoul(where + 1, NULL, 10);
			v = at < argc ? argv[at] : NULL;
		} else if (!strncmp(where, "env:", 4)) {
			v = getenv(where + 4);
		} else if (colon) {
			char *path = strndup(where, (size_t)(colon - where));
			if (path)
				find_in_file(path, colon + 1, values, name);
			free(path);
			continue;
		}
		if (v)
			elements_add(values, name, str_of(v));
	}
}

/* Without "./" before it. */
static bool is_input_file(const struct elements *files, const char *word)
{
	while (word[0] == '.' && word[1] == '/')
		word += 2;
	return files && elements_find(files, str_of(word));
}

/* "-5" and "-.5" are numbers, "-" alone a stream. */
static bool is_parameter_option(const char *word)
{
	return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]) && word[1] != '.';
}

/* An option, and what belongs to it of the word that follows (NULL: none). Did it take that word? */
static bool add_option(const char *word, const char *next, const struct elements *files, struct elements *values)
{
	const char *name = word + strspn(word, "-"), *eq = strchr(word, '=');
	struct str key = str_n(name, eq ? (size_t)(eq - name) : strlen(name));
	if (eq) {
		elements_add(values, key, str_of(eq + 1));
		return false;
	}
	/* What follows an option belongs to it unless it is one. An input is told elsewhere, by its name. */
	bool own = next && (next[0] != '-' || isdigit((unsigned char)next[1]) || next[1] == '.');
	bool file = next && is_input_file(files, next);
	if (own && !file) {
		elements_add(values, key, str_of(next));
		return true;
	}
	if (file && next[0] != '-') {
		elements_add(values, key, str_of("(file)"));
		return true;
	}
	elements_add(values, key, str_of("true"));
	return false;
}

void guess_parameters(char *const *argv, size_t argc, const struct elements *files, struct elements *values)
{
	char place[32];
	unsigned other = 0;
	bool options = true;
	for (size_t i = 1; i < argc; i++) {
		const char *w = argv[i], *eq = strchr(w, '=');
		if (options && !strcmp(w, "--")) {
			options = false;
			continue;
		}
		if (options && is_parameter_option(w)) {
			i += add_option(w, i + 1 < argc ? argv[i + 1] : NULL, files, values);
		} else if (is_input_file(files, w)) {
			continue;
		} else if (eq && eq != w && (isalpha((unsigned char)w[0]) || w[0] == '_')) {
			elements_add(values, str_n(w, (size_t)(eq - w)), str_of(eq + 1));
		} else {
			snprintf(place, sizeof(place), "arg%u", ++other);
			elements_add(values, str_of(place), str_of(w));
		}
	}
}

/* The word of an option that has the value: `-k 4`, `--k=4`; 0: none. */
static size_t option_argument(char *const *argv, size_t argc, size_t i, const char *name, const char *value)
{
	const char *key = argv[i] + strspn(argv[i], "-"), *eq = strchr(argv[i], '=');
	size_t n = eq ? (size_t)(eq - key) : strlen(key);
	if (strlen(name) != n || strncmp(key, name, n) != 0)
		return 0;
	if (eq)
		return strcmp(eq + 1, value) == 0 ? i : 0;
	return i + 1 < argc && strcmp(argv[i + 1], value) == 0 ? i + 1 : 0;
}

size_t extract_find_argument(char *const *argv, size_t argc, const char *name, const char *value)
{
	bool other = strncmp(name, "arg", 3) == 0 && name[3] && name[3 + strspn(name + 3, "0123456789")] == '\0';
	size_t n = strlen(name), ret = 0, found = 0;
	for (size_t i = 1; i < argc; i++) {
		size_t at = 0;
		if (is_parameter_option(argv[i]))
			at = option_argument(argv, argc, i, name, value);
		else if (!strncmp(argv[i], name, n) && argv[i][n] == '=' && !strcmp(argv[i] + n + 1, value))
			at = i;
		else if (other && !strcmp(argv[i], value))
			at = i;
		if (at && at != ret) {
			ret = at;
			found++;
		}
	}
	return found == 1 ? ret : 0;
}
