#include "summary/summary_redact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX (256u << 10) /* bytes of a command line; as in redact_summary_argv */

/* Puts what out holds in the place of *text. 1: it is another. 0: it is the same; -ENOMEM. */
static int replace_text(char **text, struct buf *out)
{
	const char *now = buf_cstr(out);
	if (out->failed)
		return -ENOMEM;
	if (!strcmp(now, *text))
		return 0;
	char *copy = strdup(now);
	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 1;
}

/* Takes secrets out of a text. 1: it was changed; 0; -ENOMEM. room: a buffer to use. */
static int redact_one(char **text, bool path, const struct redact_watch *watch, struct buf *room)
{
	if (!*text)
		return 0;
	buf_reset(room);
	if (path)
		redact_path_watched(watch, room, str_of(*text));
	else
		redact_text_watched(watch, room, str_of(*text));
	return replace_text(text, room);
}

/* With its key, which says what the value is. 1: it was changed; 0; -ENOMEM. */
static int redact_label(struct summary_pair *label, const struct redact_watch *watch, struct buf *room)
{
	struct buf pair = {0};
	if (!label->key || !label->value)
		return 0;
	size_t key = strlen(label->key) + 1;
	buf_printf(&pair, "%s=%s", label->key, label->value);
	buf_reset(room);
	redact_env_watched(watch, room, buf_view(&pair));
	bool failed = pair.failed || room->failed;
	buf_release(&pair);
	if (failed)
		return -ENOMEM;
	struct buf value = {0};
	buf_add(&value, room->p + key, room->n - key);
	int rc = replace_text(&label->value, &value);
	buf_release(&value);
	return rc;
}

/* Takes secrets out of a command line. 1: something was changed; 0; -ENOMEM. */
static int redact_summary_argv(char **argv, const struct redact_watch *watch, struct buf *room)
{
	struct redact r = {.watch = watch};
	int changed = 0;
	size_t n = 0;
	buf_reset(room);
	/* A word is judged by those before it, so all are judged before the first is replaced. */
	for (; argv[n] && room->n < WORDS_MAX; n++) {
		redact_arg(&r, room, str_of(argv[n]));
		buf_char(room, '\0');
	}
	if (room->failed)
		return -ENOMEM;
	/* Of a very long command the rest is left out. */
	for (size_t i = n; argv[i]; i++) {
		free(argv[i]);
		argv[i] = NULL;
		changed = 1;
	}
	const char *p = buf_cstr(room);
	for (size_t i = 0; i < n; i++, p += strlen(p) + 1) {
		if (!strcmp(p, argv[i]))
			continue;
		char *copy = strdup(p);
		if (!copy)
			return -ENOMEM;
		free(argv[i]);
		argv[i] = copy;
		changed = 1;
	}
	return changed;
}

int summary_redact(struct summary *s, const struct redact_watch *watch)
{
	struct buf room = {0};
	int rc = s->argv ? redact_summary_argv(s->argv, watch, &room) : 0;
	bool changed = rc > 0;
	for (size_t i = 0; rc >= 0 && i < s->nlabel; i++) {
		rc = redact_label(&s->label[i], watch, &room);
		changed |= rc > 0;
	}
	for (size_t i = 0; rc >= 0 && i < s->nescaped; i++) {
		rc = redact_one(&s->escaped[i], false, watch, &room);
		changed |= rc > 0;
	}
	for (size_t i = 0; rc >= 0 && i < s->nfile; i++) {
		rc = redact_one(&s->file[i].path, true, watch, &room);
		changed |= rc > 0;
	}
	if (rc >= 0) {
		rc = redact_one(&s->cwd, true, watch, &room);
		changed |= rc > 0;
	}
	buf_release(&room);
	return rc < 0 ? rc : changed;
}
