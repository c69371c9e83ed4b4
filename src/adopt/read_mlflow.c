/* read_mlflow.c - runs in MLflow's file store, mlruns/EXPERIMENT/RUN: meta.yaml (name, times in ms, status), the tag
 * mlflow.source.name (the script that ran), and the files below artifacts, which the run logged. Parameters are words
 * of the command behind the script, NAME=VALUE, for nothing else says how it was run. Data sets that a run logged are
 * known by name and digest only, and are not files. */
#include "adopt/readers.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MOST 8
#define VALUE_MOST 4096 /* bytes of a parameter or tag */

/* The value of "KEY: VALUE" at the begin of a line, without quotes. */
static struct str value_of_key(struct str text, const char *key)
{
	size_t n = strlen(key);
	for (size_t at = 0; at < text.n;) {
		const char *end = memchr(text.p + at, '\n', text.n - at);
		size_t line = end ? (size_t)(end - text.p) - at : text.n - at;
		if (line > n + 1 && memcmp(text.p + at, key, n) == 0 && text.p[at + n] == ':') {
			struct str v = str_n(text.p + at + n + 1, line - n - 1);
			while (v.n && (*v.p == ' ' || *v.p == '\'' || *v.p == '"'))
				v = str_n(v.p + 1, v.n - 1);
			while (v.n && strchr(" '\"\r", v.p[v.n - 1]))
				v.n--;
			return v;
		}
		at += line + 1;
	}
	return str_n(NULL, 0);
}

/* Milliseconds since 1970 in ns; TIME_NONE: it is no such number. */
static int64_t time_of_millis(struct str s)
{
	int64_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		if (!isdigit((unsigned char)s.p[i]) || n > 9000000000000)
			return TIME_NONE;
		n = n * 10 + s.p[i] - '0';
	}
	return n > 0 && n < 9000000000000 ? n * 1000000 : TIME_NONE;
}

/* Calls each for the regular files below a folder, with their path from its top. What cannot be read has none. 0,
 * -ENOMEM. */
static int each_file(int folder, const char *name, struct buf *below, unsigned depth,
                     int (*each)(void *arg, int folder, const char *name, struct str below), void *arg)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	size_t n = below->n;
	for (struct dirent *e; rc == 0 && (e = readdir(d));) {
		struct stat st;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		buf_printf(below, "%s%s", n ? "/" : "", e->d_name);
		if (below->failed)
			rc = -ENOMEM;
		else if (S_ISREG(st.st_mode))
			rc = each(arg, dirfd(d), e->d_name, buf_view(below));
		else if (S_ISDIR(st.st_mode) && depth < DEPTH_MOST)
			rc = each_file(dirfd(d), e->d_name, below, depth + 1, each, arg);
		below->n = n;
	}
	closedir(d);
	return rc;
}

struct mlflow {
	struct adopt_jobs *l;
	struct adopt_job *j;
	const char *path;        /* of the run's folder */
	VEC(const char *) words; /* NAME=VALUE */
};

/* For each_file: an artifact. */
static int take_artifact(void *arg, int folder, const char *name, struct str below)
{
	struct mlflow *m = arg;
	struct buf path = {0};
	(void)folder;
	(void)name;
	buf_printf(&path, "artifacts/");
	buf_str(&path, below);
	int rc = path.failed ? -ENOMEM : adopt_output(m->l, m->j, m->path, buf_view(&path));
	buf_release(&path);
	return rc;
}

/* For each_file: a parameter, whose value is the file's content. */
static int take_parameter(void *arg, int folder, const char *name, struct str below)
{
	struct mlflow *m = arg;
	struct buf value = {0}, word = {0};
	int rc = 0;
	if (m->words.n < ADOPT_WORDS_MOST && adopt_file(folder, name, &value) == 0 && value.n <= VALUE_MOST) {
		buf_str(&word, below);
		buf_char(&word, '=');
		buf_str(&word, buf_view(&value));
		const char *text = word.failed ? NULL : adopt_text(m->l, buf_view(&word));
		const char **slot = text ? vec_add(&m->words) : NULL;
		rc = slot ? 0 : -ENOMEM;
		if (slot)
			*slot = text;
	}
	buf_release(&value);
	buf_release(&word);
	return rc;
}

/* Order of qsort. */
static int compare_words(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The script, then the parameters by name. 0, -ENOMEM. */
static int take_mlflow_command(struct mlflow *m, int folder)
{
	struct buf script = {0}, below = {0};
	int tags = adopt_folder(folder, "tags"), rc = 0;
	const char *first = NULL;
	if (tags >= 0 && adopt_file(tags, "mlflow.source.name", &script) == 0 && script.n && script.n <= VALUE_MOST) {
		first = adopt_text(m->l, buf_view(&script));
		rc = first ? adopt_input(m->l, m->j, m->path, *first == '/' ? buf_view(&script) : str_n(NULL, 0)) : -ENOMEM;
	}
	if (tags >= 0)
		close(tags);
	if (rc == 0)
		rc = each_file(folder, "params", &below, 0, take_parameter, m);
	if (m->words.n)
		qsort(m->words.v, m->words.n, sizeof(*m->words.v), compare_words);
	for (size_t i = 0; first && rc == 0 && i <= m->words.n; i++) {
		const char **slot = vec_add(&m->j->argv);
		if (slot)
			*slot = i ? m->words.v[i - 1] : first;
		rc = slot ? 0 : -ENOMEM;
	}
	buf_release(&script);
	buf_release(&below);
	return rc;
}

/* name: meta.yaml, of a run, or of an experiment, which is passed over. 0, -ENOMEM. */
int adopt_read_mlflow(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	struct buf text = {0}, source = {0}, below = {0};
	int rc = adopt_file(folder, name, &text);
	struct str meta = buf_view(&text), id = rc == 0 ? value_of_key(meta, "run_id") : str_n(NULL, 0);
	buf_printf(&source, "%s/%s", path, name);
	if (rc == 0 && id.n && memmem(meta.p, meta.n, "artifact_uri:", 13)) {
		struct str title = value_of_key(meta, "run_name"), status = value_of_key(meta, "status");
		struct mlflow m = {.l = l, .j = adopt_job_new(l, ADOPT_mlflow, buf_cstr(&source)), .path = path};
		rc = m.j ? 0 : -ENOMEM;
		if (m.j) {
			m.j->name = adopt_text(l, title.n ? title : id);
			m.j->start = time_of_millis(value_of_key(meta, "start_time"));
			m.j->end = time_of_millis(value_of_key(meta, "end_time"));
			m.j->ended =
			    str_is(status, "3") || str_is(status, "4") || str_is(status, "FINISHED") || str_is(status, "FAILED");
			m.j->code = str_is(status, "4") || str_is(status, "FAILED");
			rc = m.j->name ? take_mlflow_command(&m, folder) : -ENOMEM;
		}
		if (rc == 0)
			rc = each_file(folder, "artifacts", &below, 0, take_artifact, &m);
		l->sources[ADOPT_mlflow] += rc == 0;
		vec_release(&m.words);
	}
	buf_release(&text);
	buf_release(&source);
	buf_release(&below);
	return rc == -ENOMEM ? rc : 0;
}
