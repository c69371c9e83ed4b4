#include "adopt/readers.h"
#include "base/io.h"
#include "base/path.h"
#include "import/doc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *name, *title;
} tools[] = {
#define X(name, title) {#name, title},
    ADOPT_TOOLS(X)
#undef X
};

/* As options and JSON have it. Static. */
const char *adopt_tool_name(enum adopt_tool t)
{
	return tools[t].name;
}

/* For people. Static. */
const char *adopt_tool_title(enum adopt_tool t)
{
	return tools[t].title;
}

/* It may not be used afterwards. */
void adopt_release(struct adopt_jobs *jobs)
{
	for (size_t i = 0; i < jobs->v.n; i++) {
		vec_release(&jobs->v.v[i].argv);
		vec_release(&jobs->v.v[i].in);
		vec_release(&jobs->v.v[i].out);
		vec_release(&jobs->v.v[i].in_at);
		vec_release(&jobs->v.v[i].out_at);
	}
	vec_release(&jobs->v);
	vec_release(&jobs->passed);
	arena_release(&jobs->text);
}

const char *adopt_text(struct adopt_jobs *l, struct str s)
{
	char *p = arena_take(&l->text, s.n + 1);
	if (!p)
		return NULL;
	if (s.n)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return p;
}

int adopt_pass(struct adopt_jobs *l, const char *file, const char *why)
{
	struct buf b = {0};
	buf_printf(&b, "%s: %s", file, why);
	const char *text = b.failed ? NULL : adopt_text(l, buf_view(&b));
	buf_release(&b);
	const char **slot = text ? vec_add(&l->passed) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = text;
	return 0;
}

struct adopt_job *adopt_job_new(struct adopt_jobs *l, enum adopt_tool tool, const char *source)
{
	l->full |= l->v.n >= ADOPT_JOBS_MOST;
	if (l->full)
		return NULL;
	const char *text = adopt_text(l, str_of(source));
	struct adopt_job *j = text ? vec_add(&l->v) : NULL;
	if (j)
		*j = (struct adopt_job){
		    .tool = tool, .source = text, .name = "", .cwd = "", .start = TIME_NONE, .end = TIME_NONE};
	return j;
}

/* Adds a word to argv. 0, -ENOMEM. What is past ADOPT_WORDS_MOST is left out. */
static int adopt_word(struct adopt_jobs *l, struct adopt_job *j, struct str word)
{
	if (j->argv.n >= ADOPT_WORDS_MOST)
		return 0;
	const char *text = adopt_text(l, word), **slot = text ? vec_add(&j->argv) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = text;
	return 0;
}

int adopt_shell(struct adopt_jobs *l, struct adopt_job *j, struct str line)
{
	int rc = adopt_word(l, j, str_of("sh"));
	if (rc == 0)
		rc = adopt_word(l, j, str_of("-c"));
	return rc == 0 ? adopt_word(l, j, line) : rc;
}

/* Makes an absolute path of `path` below `base`, without . and .. and double slashes. false: too long. */
static bool adopt_absolute(struct buf *ret, const char *base, struct str path)
{
	buf_reset(ret);
	if (!path.n || *path.p != '/')
		path_append(ret, 0, str_of(base));
	path_append(ret, 0, path);
	return !ret->failed && ret->n && ret->n < PATH_MAX && !memchr(ret->p, '\0', ret->n);
}

/* The path of file:///PATH and file:PATH; nothing of another address. */
static struct str path_of(struct str told)
{
	const struct str file = str_of("file:");
	if (str_starts(told, file)) {
		told = str_n(told.p + file.n, told.n - file.n);
		if (told.n >= 2 && told.p[0] == '/' && told.p[1] == '/')
			told = str_n(told.p + 2, told.n - 2);
		return told;
	}
	for (size_t i = 0; i + 2 < told.n && told.p[i] != '/'; i++)
		if (told.p[i] == ':' && told.p[i + 1] == '/' && told.p[i + 2] == '/')
			return str_of("");
	return told;
}

/* The file's path, absolute from base, in the list's own text; NULL: none was told, and *rc is 0, or no memory. */
static const char *file_text(struct adopt_jobs *l, const char *base, struct str told, int *rc)
{
	struct buf b = {0};
	struct str path = path_of(told);
	bool good = path.n && adopt_absolute(&b, base, path);
	const char *text = good ? adopt_text(l, buf_view(&b)) : NULL;
	*rc = b.failed || (good && !text) ? -ENOMEM : 0;
	buf_release(&b);
	return text;
}

int adopt_input(struct adopt_jobs *l, struct adopt_job *j, const char *base, struct str path)
{
	int rc;
	const char *text = j->in.n < ADOPT_WORDS_MOST ? file_text(l, base, path, &rc) : (rc = 0, NULL);
	const char **slot = text ? vec_add(&j->in) : NULL;
	if (slot)
		*slot = text;
	return text && !slot ? -ENOMEM : rc;
}

/* As adopt_input. 0, also where it is left out; -ENOMEM. */
int adopt_output(struct adopt_jobs *l, struct adopt_job *j, const char *base, struct str path)
{
	int rc;
	const char *text = j->out.n < ADOPT_WORDS_MOST ? file_text(l, base, path, &rc) : (rc = 0, NULL);
	const char **slot = text ? vec_add(&j->out) : NULL;
	if (slot)
		*slot = text;
	return text && !slot ? -ENOMEM : rc;
}

int adopt_edge_at(struct adopt_job *j, bool in, const char *path, int64_t time)
{
	if ((in ? j->in.n : j->out.n) >= ADOPT_WORDS_MOST)
		return 0;
	const char **slot = in ? vec_add(&j->in) : vec_add(&j->out);
	int64_t *at = !slot ? NULL : in ? vec_add(&j->in_at) : vec_add(&j->out_at);
	if (!at)
		return -ENOMEM;
	*slot = path;
	*at = time;
	return 0;
}

/* ---- documents ---- */

int adopt_folder(int fd, const char *path)
{
	char part[NAME_MAX + 1];
	int at = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (at >= 0 && *path) {
		size_t n = strcspn(path, "/");
		if (!n || n > NAME_MAX) {
			close(at);
			return -EINVAL;
		}
		memcpy(part, path, n);
		part[n] = '\0';
		int below = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), error = errno;
		close(at);
		at = below;
		errno = error;
		path += n + (path[n] == '/');
	}
	return at < 0 ? -errno : at;
}

int adopt_file(int folder, const char *name, struct buf *ret)
{
	struct stat st;
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	int rc = fstat(fd, &st) < 0                    ? -errno
	         : !S_ISREG(st.st_mode)                ? -EINVAL
	         : st.st_size > (off_t)ADOPT_FILE_MOST ? -EFBIG
	                                               : 0;
	if (rc == 0 && !buf_room(ret, (size_t)st.st_size + 1))
		rc = -ENOMEM;
	for (size_t left = rc == 0 ? (size_t)st.st_size : 0; left;) {
		ssize_t n = read(fd, ret->p + ret->n, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rc = n < 0 ? -errno : 0;
			break;
		}
		ret->n += (size_t)n;
		left -= (size_t)n;
	}
	close(fd);
	return rc;
}

json_t *adopt_json(struct adopt_jobs *l, int folder, const char *name, const char *path, int *rc)
{
	struct buf b = {0};
	json_error_t where;
	char why[JSON_ERROR_TEXT_LENGTH + 32];
	*rc = adopt_file(folder, name, &b);
	json_t *o = *rc == 0 ? json_loadb(b.p ? b.p : "", b.n, 0, &where) : NULL;
	if (!o && *rc != -ENOMEM) {
		if (*rc < 0)
			snprintf(why, sizeof(why), "%s", strerror(-*rc));
		else
			snprintf(why, sizeof(why), "line %d: %s", where.line, where.text);
		*rc = adopt_pass(l, path, why);
	}
	buf_release(&b);
	return o;
}

struct str adopt_member(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);
	return json_is_string(v) ? str_n(json_string_value(v), json_string_length(v)) : str_of("");
}

int64_t adopt_seconds(const json_t *number)
{
	double s = json_is_real(number)      ? json_real_value(number)
	           : json_is_integer(number) ? (double)json_integer_value(number)
	                                     : -1;
	if (!(s > 0 && s < 9e9))
		return TIME_NONE;
	int64_t whole = (int64_t)s;
	return whole * 1000000000 + (int64_t)((s - (double)whole) * 1e9);
}

int64_t adopt_date(struct str s)
{
	int64_t t;
	return s.n && doc_time(s, &t) ? t : TIME_NONE;
}
