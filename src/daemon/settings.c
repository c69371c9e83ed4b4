#include "daemon/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { TYPE_text, TYPE_number, TYPE_size, TYPE_time, TYPE_share, TYPE_list, TYPE_word, TYPE_folder };

static const struct row {
	const char *name, *def;
	enum type type;
	bool again; /* SIGHUP changes it */
} rows[] = {
#define START false
#define AGAIN true
#define SETTING(name, type, def, when, meaning) {#name, def, TYPE_##type, when},
#include "daemon/settings.def"
};

static const struct {
	enum setting key;
	const char *word;
} words[] = {
#define SETTING(name, type, def, when, meaning)
#define WORD(name, word) {SETTING_##name, #word},
#include "daemon/settings.def"
};

/* Is it one of the words that the setting has? If not, ret says which these are. */
static bool is_setting_choice(size_t k, const char *text, char *ret, size_t size)
{
	size_t n = 0;
	ret[0] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words[i].key != (enum setting)k)
			continue;
		if (!strcmp(words[i].word, text))
			return true;
		if (n < size)
			n += (size_t)snprintf(ret + n, size - n, "%s%s", n ? ", " : "", words[i].word);
	}
	return false;
}

/* Reads a number with its unit: bytes of sizes, ns of times. False if it is none. */
static bool parse_figure(enum type type, const char *text, double *ret)
{
	static const struct {
		char letter;
		enum type type;
		double factor;
	} units[] = {{'K', TYPE_size, 1 << 10},   {'M', TYPE_size, 1 << 20}, {'G', TYPE_size, 1 << 30},
	             {'T', TYPE_size, 1ll << 40}, {'s', TYPE_time, 1e9},     {'m', TYPE_time, 60e9},
	             {'h', TYPE_time, 3600e9},    {'d', TYPE_time, 86400e9}};
	char *end;
	errno = 0;
	double v = strtod(text, &end);
	if (end == text || errno || !(v >= 0) || v > 1e18)
		return false;
	if (*end == '%' && type == TYPE_share)
		end++;
	if (type == TYPE_share)
		v /= 100;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (*end && *end == units[i].letter && type == units[i].type) {
			*ret = v * units[i].factor;
			return !end[1] && *ret <= 1e18;
		}
	*ret = type == TYPE_time ? v * 1e9 : v;
	return !*end && *ret <= 1e18;
}

/* malloc'ed, without blanks around it. */
static char *copy_trimmed(const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	size_t n = strlen(text);
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	return strndup(text, n);
}

/* May the setting k have this value? known: what it may be, where only some words are taken. */
static bool is_setting_value(size_t k, const char *value, char *known, size_t size)
{
	double unused;
	switch (rows[k].type) {
	case TYPE_word:
		return is_setting_choice(k, value, known, size);
	case TYPE_folder:
		return value[0] == '/';
	case TYPE_text:
		return true;
	case TYPE_list:
		return value[0] != '\0';
	default:
		return parse_figure(rows[k].type, value, &unused);
	}
}

/* Sets a setting in place of the value before, or behind it in a list. Owns value. 0; -ENOMEM, value is freed in
 * that case, too. */
static int take_value(struct settings *s, size_t k, char *value)
{
	if (rows[k].type == TYPE_list && s->value[k]) {
		char *both = NULL;
		int r = asprintf(&both, "%s\n%s", s->value[k], value);
		free(value);
		if (r < 0)
			return -ENOMEM;
		value = both;
	}
	free(s->value[k]);
	s->value[k] = value;
	return 0;
}

int settings_set(struct settings *s, const char *line, struct err *err)
{
	char key[64], *value = NULL;
	const char *eq = strchr(line, '=');
	size_t n = eq ? (size_t)(eq - line) : 0;
	while (n && isspace((unsigned char)line[n - 1]))
		n--;
	if (!n || n >= sizeof(key))
		return err_set(err, 0, "'%.60s' is not KEY = VALUE", line), -EINVAL;
	memcpy(key, line, n);
	key[n] = '\0';
	size_t k = 0;
	while (k < SETTING_COUNT && strcmp(rows[k].name, key) != 0)
		k++;
	if (k == SETTING_COUNT)
		return err_set(err, 0, "unknown setting '%s'", key), -EINVAL;
	value = copy_trimmed(eq + 1);
	if (!value)
		return -ENOMEM;
	char known[128] = "";
	if (!is_setting_value(k, value, known, sizeof(known))) {
		err_set(err, 0, "'%.60s' is not a valid value of '%s'%s%s", value, key,
		        rows[k].type == TYPE_folder ? ": it must be an absolute path"
		        : known[0]                  ? ", which is one of: "
		                                    : "",
		        known);
		free(value);
		return -EINVAL;
	}
	return take_value(s, k, value);
}

int settings_read(struct settings *s, const char *path, void (*say)(void *arg, const char *line), void *arg,
                  struct err *err)
{
	const char *name = path ? path : SETTINGS_FILE;
	FILE *f = fopen(name, "re");
	char *line = NULL, place[600];
	size_t cap = 0;
	if (!f)
		return !path && errno == ENOENT ? 0 : err_set(err, errno, "cannot read '%s'", name);
	errno = 0;
	ssize_t length;
	for (unsigned n = 1; (length = getline(&line, &cap, f)) > 0; n++) {
		for (ssize_t i = 0; i < length; i++)
			line[i] = line[i] ? line[i] : '?'; /* so that what follows is read too, and the line is found wrong */
		char *at = line + strspn(line, " \t\r\n");
		struct err slip = {0};
		at[strcspn(at, "\r\n")] = '\0';
		if (*at && *at != '#' && settings_set(s, at, &slip) < 0) {
			snprintf(place, sizeof(place), "%s:%u: %s", name, n, slip.text);
			say(arg, place);
		}
		errno = 0;
	}
	/* A folder is opened, too. */
	int r = ferror(f) ? err_set(err, errno ? errno : EIO, "cannot read '%s'", name) : 0;
	free(line);
	fclose(f);
	return r;
}

int settings_keep(struct settings *s, const struct settings *now, void (*say)(void *arg, const char *line), void *arg)
{
	for (size_t k = 0; k < SETTING_COUNT; k++) {
		char line[128];
		if (rows[k].again || !strcmp(settings_text(s, k), settings_text(now, k)))
			continue;
		char *copy = now->value[k] ? strdup(now->value[k]) : NULL;
		if (now->value[k] && !copy)
			return -ENOMEM;
		free(s->value[k]);
		s->value[k] = copy;
		snprintf(line, sizeof(line), "'%s' has changed; it applies at the next start", rows[k].name);
		say(arg, line);
	}
	return 0;
}

/* All have their defaults then. */
void settings_release(struct settings *s)
{
	for (size_t i = 0; i < SETTING_COUNT; i++)
		free(s->value[i]);
	memset(s, 0, sizeof(*s));
}

/* Its default where it was not set. Belongs to s. */
const char *settings_text(const struct settings *s, enum setting k)
{
	return s->value[k] ? s->value[k] : rows[k].def;
}

double settings_figure(const struct settings *s, enum setting k)
{
	double v = 0;
	parse_figure(rows[k].type, settings_text(s, k), &v);
	return v;
}

void settings_list(const struct settings *s, enum setting k, void (*each)(void *arg, const char *item), void *arg)
{
	for (const char *at = s->value[k]; at && *at;) {
		const char *end = strchrnul(at, '\n');
		char *item = strndup(at, (size_t)(end - at));
		if (item && *item)
			each(arg, item);
		free(item);
		at = end + (*end == '\n');
	}
}
