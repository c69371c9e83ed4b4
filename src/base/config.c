#include "base/config.h"

#include "base/buf.h"
#include "base/io.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (64 * 1024)

enum scope { SCOPE_user, SCOPE_project };
enum type { TYPE_path, TYPE_word, TYPE_words, TYPE_duration, TYPE_text };

static const struct {
	const char *name, *env, *def, *values, *meaning;
	enum type type;
	enum scope scope;
} keys[CONFIG_COUNT] = {
#define CONFIG(key, env, type, def, scope, values, meaning)                                                            \
	{#key, env, def, values, meaning, TYPE_##type, SCOPE_##scope},
#include "base/config.def"
#undef CONFIG
};

/* Static. */
const char *config_name(enum config_key key)
{
	return keys[key].name;
}

/* The variable's name; static. */
const char *config_env(enum config_key key)
{
	return keys[key].env;
}

/* What may be set, in words; static. */
const char *config_values(enum config_key key)
{
	return keys[key].values;
}

/* In a sentence; static. */
const char *config_meaning(enum config_key key)
{
	return keys[key].meaning;
}

int config_find(const char *name, enum config_key *ret)
{
	for (int k = 0; k < CONFIG_COUNT; k++)
		if (strcmp(keys[k].name, name) == 0) {
			*ret = (enum config_key)k;
			return 1;
		}
	return 0;
}

int config_parse_duration(const char *text, int64_t *ret)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	char *end;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	if (errno)
		return -EINVAL;
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].name) == 0) {
			int64_t ns;
			if (__builtin_mul_overflow((int64_t)n, units[i].ns, &ns))
				return -EINVAL;
			*ret = ns;
			return 0;
		}
	return -EINVAL;
}

/* Is value one of the words? words: with blanks between them. */
static bool is_word_of(const char *value, const char *words)
{
	size_t n = strlen(value);
	for (const char *p = words; n && !strchr(value, ' ') && (p = strstr(p, value)); p += n)
		if ((p == words || p[-1] == ' ') && (p[n] == '\0' || p[n] == ' '))
			return true;
	return false;
}

/* One word, or several with commas; `on` and `off` only alone. */
static bool are_words_of(const char *value, const char *words)
{
	char one[64];
	bool list = strchr(value, ',') != NULL;
	for (;; value++) {
		size_t n = strcspn(value, ",");
		if (n >= sizeof(one))
			return false;
		memcpy(one, value, n);
		one[n] = '\0';
		if (!is_word_of(one, words) || (list && (!strcmp(one, "on") || !strcmp(one, "off"))))
			return false;
		value += n;
		if (!*value)
			return true;
	}
}

bool config_allows(enum config_key key, const char *value)
{
	int64_t ns;
	switch (keys[key].type) {
	case TYPE_word:
		return is_word_of(value, keys[key].values);
	case TYPE_words:
		return are_words_of(value, keys[key].values);
	case TYPE_duration:
		return config_parse_duration(value, &ns) == 0;
	default:
		return true;
	}
}

/* Copies value and origin. 0; -EINVAL with a sentence: it is none; -ENOMEM. */
int config_set(struct config *c, enum config_key key, const char *value, const char *origin, struct err *err)
{
	if (!config_allows(key, value)) {
		err_set(err, 0, "%s: '%.100s' is not a valid value of '%s' (%s)", origin, value, keys[key].name,
		        keys[key].values);
		return -EINVAL;
	}
	char *v = strdup(value), *o = strdup(origin);
	if (!v || !o) {
		free(v);
		free(o);
		return err_set(err, ENOMEM, "out of memory");
	}
	free(c->value[key]);
	free(c->origin[key]);
	c->value[key] = v;
	c->origin[key] = o;
	return 0;
}

const char *config_get(const struct config *c, enum config_key key)
{
	return c->value[key] ? c->value[key] : keys[key].def;
}

/* Where the value comes from, "default" if it was not set. It lives until the next config_set. */
const char *config_origin(const struct config *c, enum config_key key)
{
	return c->value[key] ? c->origin[key] : "default";
}

/* In ns; 0 if it is no duration. */
int64_t config_duration(const struct config *c, enum config_key key)
{
	int64_t ns = 0;
	config_parse_duration(config_get(c, key), &ns);
	return ns;
}

/* c is empty then. */
void config_release(struct config *c)
{
	for (int k = 0; k < CONFIG_COUNT; k++) {
		free(c->value[k]);
		free(c->origin[k]);
	}
	*c = (struct config){0};
}

/* ---- files ---- */

struct source {
	struct config *c;
	const char *path, *base;
	config_warn *warn;
	void *arg;
	struct buf *refused; /* names of settings that a project may not make; NULL: this source may make all */
	bool outranked;      /* what is set already stays */
};

/* Gives a line to whoever takes warnings. Nothing if nobody wants to hear of it. */
static void warn_of_line(const struct source *s, const char *line)
{
	if (s->warn)
		s->warn(s->arg, line);
}

/* Cuts blanks off both ends, in place. */
static char *trim_blanks(char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	size_t n = strlen(p);
	while (n && isspace((unsigned char)p[n - 1]))
		n--;
	p[n] = '\0';
	return p;
}

/* A path as written in a file, made absolute. ~/ is HOME; a relative one begins in the folder of the file. As
 * config_set. */
static int set_path(const struct source *s, enum config_key key, const char *value, const char *origin, struct err *err)
{
	const char *home = getenv("HOME");
	struct buf b = {0};
	if (strncmp(value, "~/", 2) == 0 && home)
		buf_printf(&b, "%s%s", home, value + 1);
	else if (*value == '/' || !*value)
		buf_printf(&b, "%s", value);
	else
		buf_printf(&b, "%s/%s", s->base, value);
	int r = b.failed ? -ENOMEM : config_set(s->c, key, buf_cstr(&b), origin, err);
	buf_release(&b);
	return r;
}

/* Changes line. What is wrong, or not to be set here, is told by s->warn, and passed over: 0. -ENOMEM. */
static int take_line(const struct source *s, char *line, unsigned number)
{
	char origin[4200], text[4800];
	snprintf(origin, sizeof(origin), "%.4096s:%u", s->path, number);
	line = trim_blanks(line);
	if (!*line || *line == '#')
		return 0;
	char *eq = strchr(line, '=');
	if (!eq) {
		snprintf(text, sizeof(text), "%s: not 'key = value'", origin);
		warn_of_line(s, text);
		return 0;
	}
	*eq = '\0';
	char *name = trim_blanks(line), *value = trim_blanks(eq + 1);
	enum config_key key;
	if (!config_find(name, &key)) {
		snprintf(text, sizeof(text), "%s: unknown setting '%.100s'", origin, name);
		warn_of_line(s, text);
		return 0;
	}
	if (s->refused && keys[key].scope != SCOPE_project) {
		if (!strstr(s->refused->n ? buf_cstr(s->refused) : "", keys[key].name))
			buf_printf(s->refused, "%s%s", s->refused->n ? ", " : "", keys[key].name);
		return s->refused->failed ? -ENOMEM : 0;
	}
	if (s->outranked && s->c->value[key] && strncmp(s->c->origin[key], s->path, strlen(s->path)) != 0)
		return 0;
	struct err err = {0};
	int r = keys[key].type == TYPE_path ? set_path(s, key, value, origin, &err)
	                                    : config_set(s->c, key, value, origin, &err);
	if (r == -EINVAL)
		warn_of_line(s, err.text);
	return r == -ENOMEM ? r : 0;
}

/* Reads the settings of an open file. As take_line, of each line. A file that is too large, or cannot be read, is
 * passed over with a warning. */
static int load_fd(const struct source *s, int fd)
{
	char *text = malloc(FILE_MAX + 1);
	if (!text)
		return -ENOMEM;
	ssize_t n = io_pread(fd, text, FILE_MAX + 1, 0);
	char line[4800];
	int r = 0;
	if (n < 0 || n > FILE_MAX) {
		if (n < 0)
			snprintf(line, sizeof(line), "cannot read '%.4096s': %s", s->path, strerror((int)-n));
		else
			snprintf(line, sizeof(line), "settings in '%.4096s' are ignored: it is larger than 64 KiB", s->path);
		warn_of_line(s, line);
	} else {
		text[n] = '\0';
		for (char *p = text; p < text + n; p++)
			*p = *p ? *p : '?'; /* so that what follows is read too, and the line is found wrong */
		unsigned number = 1;
		for (char *p = text, *next; r == 0 && p; p = next, number++) {
			next = strchr(p, '\n');
			if (next)
				*next++ = '\0';
			r = take_line(s, p, number);
		}
	}
	free(text);
	return r;
}

/* Whether a file of this owner may configure the program: its own user or root. */
static bool trusts_owner(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

/* Closes fd. owned: the file must be the user's or root's. What it is not is told by a warning: 0; -ENOMEM. */
static int load_open(const struct source *s, int fd, bool owned)
{
	char line[4800];
	struct stat st;
	int r = 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		snprintf(line, sizeof(line), "settings in '%.4096s' are ignored: it is not a file", s->path);
		warn_of_line(s, line);
	} else if (owned && !trusts_owner(&st)) {
		snprintf(line, sizeof(line), "settings in '%.4096s' are ignored: it belongs to another user", s->path);
		warn_of_line(s, line);
	} else {
		r = load_fd(s, fd);
	}
	close(fd);
	return r;
}

/* Opens and reads a file of settings. owned: it must belong to this user. 0, also where there is none, or a warning
 * was given; -ENOMEM. */
static int load_config_file(const struct source *s, bool owned)
{
	char line[4800];
	int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0)
		return load_open(s, fd, owned);
	if (errno != ENOENT && errno != ENOTDIR) {
		snprintf(line, sizeof(line), "cannot open '%.4096s': %s", s->path, strerror(errno));
		warn_of_line(s, line);
	}
	return 0;
}

int config_load_file(struct config *c, const char *path, const char *base, config_warn *warn, void *arg)
{
	return load_config_file(&(struct source){.c = c, .path = path, .base = base, .warn = warn, .arg = arg}, false);
}

/* $XDG_CONFIG_HOME, else ~/.config; relative ones are none. 0, -ENOMEM. */
static int load_user(struct config *c, config_warn *warn, void *arg)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	struct buf dir = {0}, path = {0};
	if (xdg && *xdg == '/')
		buf_printf(&dir, "%s/stemma", xdg);
	else if (home && *home)
		buf_printf(&dir, "%s/.config/stemma", home);
	int r = 0;
	if (dir.n) {
		buf_printf(&path, "%s/config", buf_cstr(&dir));
		r = path.failed ? -ENOMEM
		                : load_config_file(
		                      &(struct source){
		                          .c = c, .path = buf_cstr(&path), .base = buf_cstr(&dir), .warn = warn, .arg = arg},
		                      true);
	}
	buf_release(&dir);
	buf_release(&path);
	return r;
}

/* Has the user named this folder in `projects`? */
static bool is_trusted_project(const struct config *c, const char *dir)
{
	const char *env = getenv(keys[CONFIG_projects].env), *p = env && *env ? env : config_get(c, CONFIG_projects);
	size_t n = strlen(dir);
	while (*p) {
		size_t k = strcspn(p, ":"), bare = k;
		while (bare > 1 && p[bare - 1] == '/')
			bare--;
		if (bare == n && !memcmp(p, dir, n))
			return true;
		p += k + (p[k] == ':');
	}
	return false;
}

/* The configuration of the project in dir, opened so that nobody else can have put it there: neither the folder, nor
 * .stemma, nor the file is another user's, and the last two are no symbolic links. A descriptor; -1 it was said. */
static int open_project(const struct source *s, const char *dir)
{
	char line[4800];
	struct stat st;
	int fds[2] = {-1, -1}, fd = -1;
	bool foreign = false;
	fds[0] = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fds[0] >= 0)
		fds[1] = openat(fds[0], ".stemma", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (int i = 0; i < 2; i++)
		foreign |= fds[i] >= 0 && fstat(fds[i], &st) == 0 && !trusts_owner(&st);
	if (fds[1] >= 0)
		fd = openat(fds[1], "config", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int e = errno;
	if (foreign)
		snprintf(line, sizeof(line), "settings in '%.4096s' are ignored: its folder belongs to another user", s->path);
	else if (fd < 0 && (e == ELOOP || e == ENOTDIR))
		snprintf(line, sizeof(line), "settings in '%.4096s' are ignored: it is a symbolic link or below one", s->path);
	else if (fd < 0)
		snprintf(line, sizeof(line), "cannot open '%.4096s': %s", s->path, strerror(e));
	if (foreign || fd < 0)
		warn_of_line(s, line);
	if (foreign && fd >= 0) {
		close(fd);
		fd = -1;
	}
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return fd;
}

/* A project that the user does not trust sets only what has the scope `project`, and nothing that is set already. 0,
 * -ENOMEM. */
static int load_project_of(struct config *c, const char *dir, const char *path, config_warn *warn, void *arg)
{
	char line[4800];
	struct buf refused = {0};
	struct source s = {.c = c, .path = path, .base = dir, .warn = warn, .arg = arg};
	bool trusted = is_trusted_project(c, dir);
	if (!trusted) {
		s.refused = &refused;
		s.outranked = true;
	}
	int fd = open_project(&s, dir), r = 0;
	char *projects = trusted ? strdup(config_get(c, CONFIG_projects)) : NULL;
	char *origin = trusted ? strdup(config_origin(c, CONFIG_projects)) : NULL;
	if (trusted && (!projects || !origin))
		r = -ENOMEM;
	if (fd >= 0 && r == 0)
		r = load_open(&s, fd, true);
	else if (fd >= 0)
		close(fd);
	if (r == 0 && trusted) /* which projects are trusted, only the user says */
		r = config_set(c, CONFIG_projects, projects, origin, NULL);
	if (r == 0 && refused.n) {
		snprintf(line, sizeof(line), "'%.4096s' sets %.300s: ignored, because a project may not set this", path,
		         buf_cstr(&refused));
		warn_of_line(&s, line);
	}
	buf_release(&refused);
	free(projects);
	free(origin);
	return r;
}

/* The nearest .stemma/config from the working directory upwards. 0, -ENOMEM. */
static int load_project(struct config *c, config_warn *warn, void *arg)
{
	char *dir = getcwd(NULL, 0);
	if (!dir || *dir != '/') {
		free(dir); /* the working directory is gone, or outside the root: there is no project */
		return 0;
	}
	struct buf path = {0};
	int r = 0;
	for (;;) {
		buf_reset(&path);
		buf_printf(&path, "%s/.stemma/config", strcmp(dir, "/") == 0 ? "" : dir);
		if (path.failed) {
			r = -ENOMEM;
			break;
		}
		if (access(buf_cstr(&path), F_OK) == 0) {
			r = load_project_of(c, dir, buf_cstr(&path), warn, arg);
			break;
		}
		char *slash = strrchr(dir, '/');
		if (slash == dir && !dir[1])
			break;
		slash[slash == dir] = '\0';
	}
	buf_release(&path);
	free(dir);
	return r;
}

int config_load(struct config *c, config_warn *warn, void *arg)
{
	int r = config_load_file(c, "/etc/stemma.conf", "/etc", warn, arg);
	if (r == 0)
		r = load_user(c, warn, arg);
	if (r == 0)
		r = load_project(c, warn, arg);
	for (int k = 0; r == 0 && k < CONFIG_COUNT; k++) {
		const char *v = getenv(keys[k].env);
		struct err err = {0};
		if (!v || !*v)
			continue;
		r = config_set(c, (enum config_key)k, v, keys[k].env, &err);
		if (r == -EINVAL) {
			if (warn)
				warn(arg, err.text);
			r = 0;
		}
	}
	return r;
}
