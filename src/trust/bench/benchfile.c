#include "trust/bench/benchfile.h"

#include "base/io.h"
#include "trust/bench/toml.h"
#include "trust/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATTERN_MAX 1000
#define RUNS_MAX 100000

struct reader {
	const char *name;
	struct err *err;
	struct benchfile *out;
};

/* Gives -EINVAL, with file, line and key. */
static int refuse_key(struct reader *r, const struct toml_key *k, const char *what)
{
	return (err_set(r->err, 0, "%s, line %u: %s: %s", r->name, k->line, k->key, what), -EINVAL);
}

/* Reports that there is no memory. -ENOMEM with a sentence. */
static int benchfile_oom(struct reader *r)
{
	return err_set(r->err, ENOMEM, "cannot read '%s'", r->name);
}

/* In place of what *ret has. -EINVAL, -ENOMEM, with a sentence. */
static int read_text_value(struct reader *r, const struct toml_key *k, char **ret)
{
	if (k->list || k->n != 1)
		return refuse_key(r, k, "one value is wanted");
	char *own = strdup(k->value[0]);
	if (!own)
		return benchfile_oom(r);
	free(*ret);
	*ret = own;
	return 0;
}

/* Reads a truth value. 0, negative with a sentence. */
static int flag(struct reader *r, const struct toml_key *k, bool *ret)
{
	if (k->list || k->n != 1 || (strcmp(k->value[0], "true") != 0 && strcmp(k->value[0], "false") != 0))
		return refuse_key(r, k, "true or false is wanted");
	*ret = !strcmp(k->value[0], "true");
	return 0;
}

/* A whole number up to RUNS_MAX. 0, or -EINVAL with a sentence. */
static int read_count(struct reader *r, const struct toml_key *k, uint64_t *ret)
{
	char *end;
	if (k->list || k->n != 1 || k->value[0][0] == '-')
		return refuse_key(r, k, "a whole number is wanted");
	unsigned long long v = strtoull(k->value[0], &end, 10);
	if (*end || v > RUNS_MAX)
		return refuse_key(r, k, "a whole number of at most 100000 is wanted");
	*ret = v;
	return 0;
}

/* Takes A key before all tables. -EINVAL, -ENOMEM, with a sentence. */
static int top(struct reader *r, const struct toml_key *k)
{
	struct benchfile *b = r->out;
	if (!strcmp(k->key, "format"))
		return k->n == 1 && !strcmp(k->value[0], "1") ? 0 : refuse_key(r, k, "this program knows format 1");
	if (!strcmp(k->key, "name"))
		return read_text_value(r, k, &b->name);
	if (!strcmp(k->key, "runs"))
		return read_count(r, k, &b->runs);
	if (!strcmp(k->key, "warmup"))
		return read_count(r, k, &b->warmup);
	if (strcmp(k->key, "command") != 0)
		return refuse_key(r, k, "is none of format, name, command, runs, warmup");
	if (!k->list || !k->n)
		return refuse_key(r, k, "a list of words is wanted: [\"./a.out\", \"-k\", \"5\"]");
	b->command = calloc(k->n + 1, sizeof(*b->command));
	for (size_t i = 0; b->command && i < k->n; i++)
		if (!(b->command[i] = strdup(k->value[i])))
			return benchfile_oom(r);
	return b->command ? 0 : benchfile_oom(r);
}

/* Takes a key of the parameters: where a parameter is found. -EINVAL, -ENOMEM, with a sentence. */
static int parameter(struct reader *r, const struct toml_key *k)
{
	struct benchfile *b = r->out;
	struct bench_parameter *more = realloc(b->parameter, (b->n_parameters + 1) * sizeof(*more));
	if (!more)
		return benchfile_oom(r);
	b->parameter = more;
	b->parameter[b->n_parameters] = (struct bench_parameter){.name = strdup(k->key)};
	if (!b->parameter[b->n_parameters++].name)
		return benchfile_oom(r);
	int rc = read_text_value(r, k, &b->parameter[b->n_parameters - 1].where);
	if (rc < 0)
		return rc;
	const char *w = b->parameter[b->n_parameters - 1].where;
	const char *colon = strrchr(w, ':');
	bool place = w[0] == '@' && w[1] >= '1' && w[1] <= '9' && !w[1 + strspn(w + 1, "0123456789")];
	if ((w[0] == '-' && w[1]) || place || (colon && colon != w && colon[1]))
		return 0;
	return refuse_key(r, k, "is none of \"-k\", \"--k\", \"@2\", \"env:NAME\", \"FILE:KEY\"");
}

/* Takes the pattern by which a result is found. Expressions are tried. -EINVAL, -ENOMEM, with a sentence. */
static int pattern(struct reader *r, const struct toml_key *k, struct extractor *x, enum extract_how how)
{
	if (x->how != EXTRACT_GUESS)
		return refuse_key(r, k, "a result is found in one way only");
	x->how = how;
	int rc = read_text_value(r, k, &x->pattern);
	if (rc == 0 && strlen(x->pattern) > PATTERN_MAX)
		rc = refuse_key(r, k, "is too long");
	if (rc == 0 && how == EXTRACT_POINTER && *x->pattern && *x->pattern != '/')
		rc = refuse_key(r, k, "a JSON pointer begins with '/'");
	if (rc < 0 || how != EXTRACT_REGEX)
		return rc;
	regex_t re;
	char why[200];
	int e = regcomp(&re, x->pattern, REG_EXTENDED | REG_NEWLINE);
	if (e) {
		regerror(e, &re, why, sizeof(why));
		return refuse_key(r, k, why);
	}
	regfree(&re);
	return 0;
}

/* The keys of a result that are read in one way, and where their values go. */
static const struct {
	const char *key;
	size_t at; /* in struct extractor */
} result_texts[] =
    {
        {"name", offsetof(struct extractor, name)},
        {"from", offsetof(struct extractor, from)},
        {"separator", offsetof(struct extractor, separator)},
},
  result_flags[] = {
      {"all", offsetof(struct extractor, all)},
      {"last", offsetof(struct extractor, last)},
      {"unordered", offsetof(struct extractor, unordered)},
};
static const struct {
	const char *key;
	enum extract_how how;
} result_patterns[] = {{"regex", EXTRACT_REGEX}, {"pointer", EXTRACT_POINTER}, {"column", EXTRACT_COLUMN}};

/* Takes a key of a result that is a text or a truth value. 1: it was none of those keys. 0; -EINVAL, -ENOMEM, with a
 * sentence. */
static int read_plain_key(struct reader *r, const struct toml_key *k, struct extractor *x)
{
	for (size_t i = 0; i < sizeof(result_texts) / sizeof(*result_texts); i++)
		if (!strcmp(k->key, result_texts[i].key))
			return read_text_value(r, k, (char **)((char *)x + result_texts[i].at));
	for (size_t i = 0; i < sizeof(result_flags) / sizeof(*result_flags); i++)
		if (!strcmp(k->key, result_flags[i].key))
			return flag(r, k, (bool *)((char *)x + result_flags[i].at));
	for (size_t i = 0; i < sizeof(result_patterns) / sizeof(*result_patterns); i++)
		if (!strcmp(k->key, result_patterns[i].key))
			return pattern(r, k, x, result_patterns[i].how);
	return 1;
}

/* Takes which of a program's own figures is the result. 0, negative with a sentence. */
static int read_figure(struct reader *r, const struct toml_key *k, struct extractor *x)
{
	int rc = pattern(r, k, x, EXTRACT_FIGURE);
	if (rc == 0 && strcmp(x->pattern, "wall_time") != 0 && strcmp(x->pattern, "cpu_time") != 0)
		rc = refuse_key(r, k, "is none of wall_time, cpu_time");
	return rc;
}

/* Takes the tolerance of a result. -EINVAL, -ENOMEM, with a sentence. */
static int read_tolerance(struct reader *r, const struct toml_key *k, struct extractor *x)
{
	double unused;
	int rc = read_text_value(r, k, &x->tolerance);
	if (rc == 0 && !tolerance_read(x->tolerance, &unused, &unused))
		rc = refuse_key(r, k, "a number or a percentage is wanted");
	return rc;
}

/* Takes a key of a result, the k->index-th [[results]] of the file. 0; -EINVAL, -ENOMEM, with a sentence. */
static int result(struct reader *r, const struct toml_key *k)
{
	struct benchfile *b = r->out;
	bool yes = false;
	while (b->n_results < k->index) {
		struct extractor *more = realloc(b->result, (b->n_results + 1) * sizeof(*more));
		if (!more)
			return benchfile_oom(r);
		b->result = more;
		b->result[b->n_results++] = (struct extractor){0};
	}
	struct extractor *x = &b->result[k->index - 1];
	int rc = read_plain_key(r, k, x);
	if (rc <= 0)
		return rc;
	if (!strcmp(k->key, "figure"))
		return read_figure(r, k, x);
	if (!strcmp(k->key, "tolerance"))
		return read_tolerance(r, k, x);
	if (strcmp(k->key, "digest") != 0 && strcmp(k->key, "guess") != 0)
		return refuse_key(
		    r, k,
		    "is none of name, from, regex, pointer, column, digest, figure, guess, separator, all, last, unordered, "
		    "tolerance");
	rc = flag(r, k, &yes);
	if (rc < 0 || !yes || *k->key == 'g')
		return rc;
	if (x->how != EXTRACT_GUESS)
		return refuse_key(r, k, "a result is found in one way only");
	x->how = EXTRACT_DIGEST;
	return 0;
}

/* After all was read: has each result a name, and a way to be found? 0, or -EINVAL with a sentence. */
static int check_results(struct reader *r)
{
	struct benchfile *b = r->out;
	for (size_t i = 0; i < b->n_results; i++) {
		struct extractor *x = &b->result[i];
		if (!x->name && x->how != EXTRACT_GUESS)
			return (err_set(r->err, 0, "%s: result %zu has no name", r->name, i + 1), -EINVAL);
		if (!x->from && !(x->from = strdup("stdout")))
			return benchfile_oom(r);
		for (size_t k = 0; x->name && k < i; k++)
			if (b->result[k].name && !strcmp(b->result[k].name, x->name))
				return (err_set(r->err, 0, "%s: two results are called '%s'", r->name, x->name), -EINVAL);
	}
	return 0;
}

int benchfile_read(const char *bytes, size_t n, const char *name, struct err *err, struct benchfile *ret)
{
	struct reader r = {.name = name, .err = err, .out = ret};
	struct toml t;
	*ret = (struct benchfile){0};
	int rc = toml_read(bytes, n, name, err, &t);
	for (size_t i = 0; rc == 0 && i < t.n; i++) {
		const struct toml_key *k = &t.v[i];
		if (!*k->table)
			rc = top(&r, k);
		else if (!strcmp(k->table, "parameters") && !k->index)
			rc = parameter(&r, k);
		else if (!strcmp(k->table, "result") && k->index)
			rc = result(&r, k);
		else
			rc = (err_set(err, 0, "%s, line %u: there are [parameters] and [[result]], no [%s]", name, k->line,
			              k->table),
			      -EINVAL);
	}
	toml_release(&t);
	return rc == 0 ? check_results(&r) : rc;
}

/* 0; -EBADMSG, -EINVAL with a sentence; -errno. Release ret in any case. */
int benchfile_load(const char *path, struct err *err, struct benchfile *ret)
{
	struct stat st;
	*ret = (struct benchfile){0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return err_set(err, errno, "cannot open '%s'", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > TOML_BYTES) {
		close(fd);
		return (err_set(err, 0, "'%s' is not a benchmark file", path), -EINVAL);
	}
	char *p = malloc((size_t)st.st_size + 1);
	ssize_t k = p ? io_pread(fd, p, (size_t)st.st_size, 0) : -ENOMEM;
	close(fd);
	int rc = k < 0 ? err_set(err, (int)-k, "cannot read '%s'", path) : benchfile_read(p, (size_t)k, path, err, ret);
	free(p);
	return rc;
}

/* b is empty then. */
void benchfile_release(struct benchfile *b)
{
	for (size_t i = 0; b->command && b->command[i]; i++)
		free(b->command[i]);
	for (size_t i = 0; i < b->n_parameters; i++) {
		free(b->parameter[i].name);
		free(b->parameter[i].where);
	}
	for (size_t i = 0; i < b->n_results; i++) {
		struct extractor *x = &b->result[i];
		free(x->name);
		free(x->from);
		free(x->pattern);
		free(x->separator);
		free(x->tolerance);
	}
	free(b->name);
	free(b->command);
	free(b->parameter);
	free(b->result);
	*b = (struct benchfile){0};
}
