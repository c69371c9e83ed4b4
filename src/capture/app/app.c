/* app.c - the functions of include/stemma/app.h. */
#include "stemma/app.h"

#include "capture/app/app_tape.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* What bindings and annotations call. An activity's number for APP_BEGIN, else 0; 0 also where nobody records. */
EXPORT uint64_t stemma_app_say(int kind, const char *name, size_t name_size, const char *value, size_t value_size,
                               const char *version, size_t version_size, double number, int64_t step, uint64_t activity)
{
	if (!app_tape_on() || kind < APP_TYPE || kind > APP_TAG)
		return 0;
	struct app_entry e = {.kind = (uint16_t)kind};
	struct app_words w = {.name = name, .nname = name ? name_size : 0};
	switch (kind) {
	case APP_CONFIG:
		w.version = version;
		w.nversion = version ? version_size : 0;
		/* fall through */
	case APP_TAG:
		w.value = value;
		w.nvalue = value ? value_size : 0;
		break;
	case APP_METRIC:
		memcpy(&e.number, &number, sizeof(number));
		if (step != STEMMA_APP_NO_STEP) {
			e.step = step;
			e.flags = APP_HAS_STEP;
		}
		break;
	case APP_BEGIN:
		e.id = app_tape_begin();
		break;
	case APP_END:
		if (!activity)
			return 0;
		e.id = activity;
		break;
	default:
		break;
	}
	app_tape_put(&e, &w);
	if (kind == APP_BEGIN)
		app_tape_enter(e.id);
	else if (kind == APP_END)
		app_tape_end(e.id);
	return kind == APP_BEGIN ? e.id : 0;
}

/* NULL has length 0. */
static size_t string_length(const char *s)
{
	return s ? strlen(s) : 0;
}

/* 1 while this process is recorded and what it says is taken, else 0. */
EXPORT int stemma_app_present(void)
{
	return app_tape_on();
}

/* The run's ULID; NULL if it is not recorded. It belongs to the library. */
EXPORT const char *stemma_app_run(void)
{
	return app_tape_on() ? app_tape_run : NULL;
}

/* Sets the name under which later entries are written, cut if it is long. NULL changes nothing. */
EXPORT void stemma_app_tool(const char *tool)
{
	if (!app_tape_on() || !tool)
		return;
	size_t n = strnlen(tool, sizeof(app_tape_tool) - 1);
	memcpy(app_tape_tool, tool, n);
	memset(app_tape_tool + n, 0, sizeof(app_tape_tool) - n);
}

/* Each looks first whether there is anybody: strlen of a megabyte is not nothing. */

/* Writes an entry of texts, each of which may be NULL; nothing if this process is not recorded. */
static void write_string_entry(int kind, const char *name, const char *value, const char *version)
{
	if (app_tape_on())
		stemma_app_say(kind, name, string_length(name), value, string_length(value), version, string_length(version), 0,
		               0, 0);
}

/* Nothing if this process is not recorded. */
EXPORT void stemma_app_type(const char *type)
{
	write_string_entry(APP_TYPE, type, NULL, NULL);
}

/* Texts may be NULL. Nothing if this process is not recorded. */
EXPORT void stemma_app_config(const char *name, const char *value, const char *version)
{
	write_string_entry(APP_CONFIG, name, value, version);
}

/* Nothing if this process is not recorded. The name may be NULL. */
EXPORT void stemma_app_metric(const char *name, double value, int64_t step)
{
	if (app_tape_on())
		stemma_app_say(APP_METRIC, name, string_length(name), NULL, 0, NULL, 0, value, step, 0);
}

/* The number of the new activity, for stemma_app_end; 0 if this process is not recorded. */
EXPORT uint64_t stemma_app_begin(const char *name)
{
	return app_tape_on() ? stemma_app_say(APP_BEGIN, name, string_length(name), NULL, 0, NULL, 0, 0, 0, 0) : 0;
}

/* activity: of stemma_app_begin. Nothing if this process is not recorded. */
EXPORT void stemma_app_end(uint64_t activity)
{
	if (app_tape_on())
		stemma_app_say(APP_END, NULL, 0, NULL, 0, NULL, 0, 0, 0, activity);
}

/* Nothing if this process is not recorded. */
EXPORT void stemma_app_used(const char *name)
{
	write_string_entry(APP_USED, name, NULL, NULL);
}

/* Nothing if this process is not recorded. */
EXPORT void stemma_app_generated(const char *name)
{
	write_string_entry(APP_GENERATED, name, NULL, NULL);
}

/* value may be NULL. Nothing if this process is not recorded. */
EXPORT void stemma_app_tag(const char *name, const char *value)
{
	write_string_entry(APP_TAG, name, value, NULL);
}
