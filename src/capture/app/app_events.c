/* What programs said through stemma/app.h, and the ranks' library of MPI, as events. */
#include "capture/app/channel.h"
#include "capture/supervisor/super.h"
#include "redact/redact.h"

#include <stdlib.h>

#define ACTIVITIES_MAX (1u << 20) /* of an image; those beyond are counted with what was dropped */
#define LIBRARY_MAX 256

struct activity {
	const char *name; /* in the window; NULL: it did not begin */
	size_t nname;
	int64_t begin, end; /* as said; end 0: not */
	uint64_t parent;
	uint32_t tid;
};

struct teller {
	struct sup *s;
	const struct channel_image *image;
	uint64_t app; /* seq */
	int64_t now;
	struct activity *v; /* by n */
	size_t n;
	uint64_t dropped;
	struct buf room[3]; /* what goes into one event */
};

/* A program's clock is ours, but its memory is its own affair. ns; a time outside of what can be is put to its end. */
static int64_t app_time_within(const struct teller *t, int64_t said)
{
	int64_t boot = t->now - t->s->clock_offset;
	return (said < 0 ? 0 : said > boot ? boot : said) + t->s->clock_offset;
}

/* Activities are known by their number in the image; another image's (a parent's, before the fork) are none of its. */
static uint64_t activity_of(const struct teller *t, uint64_t id)
{
	return id >> 32 == (uint32_t)t->image->head.image ? (uint32_t)id : 0;
}

/* Puts the text without secrets into b, which it empties first. The result is b's until b changes. */
static struct str redact_into(struct buf *b, struct str text)
{
	buf_reset(b);
	redact_text(b, text);
	return buf_view(b);
}

/* A value, which is a secret where its name says so. */
static struct str kept_value(struct buf *b, struct str name, struct str value)
{
	struct buf pair = {0};
	buf_reset(b);
	buf_str(&pair, name);
	buf_char(&pair, '=');
	buf_str(&pair, value);
	redact_env(b, buf_view(&pair));
	bool failed = pair.failed || b->failed;
	buf_release(&pair);
	return failed || b->n < name.n + 1 ? str_of("") : str_n(b->p + name.n + 1, b->n - name.n - 1);
}

/* ---- activities ---- */

/* Number n, made where it is new. NULL: no memory, 0 or above ACTIVITIES_MAX. */
static struct activity *activity_at(struct teller *t, uint64_t n)
{
	if (!n || n > ACTIVITIES_MAX)
		return NULL;
	if (n > t->n) {
		size_t want = n < 64 ? 64 : (size_t)n * 2;
		struct activity *more = realloc(t->v, want * sizeof(*more));
		if (!more)
			return NULL;
		memset(more + t->n, 0, (want - t->n) * sizeof(*more));
		t->v = more;
		t->n = want;
	}
	return &t->v[n - 1];
}

/* Called for each entry of a tape; takes where activities begin and end. What cannot be kept counts as dropped. Always
 * 0. */
static int take_activity(void *arg, const struct app_said *said)
{
	struct teller *t = arg;
	bool begins = said->kind == APP_BEGIN;
	if (!begins && said->kind != APP_END)
		return 0;
	uint64_t n = activity_of(t, said->id);
	struct activity *a = activity_at(t, n);
	if (!a) {
		t->dropped += n != 0;
		return 0;
	}
	if (begins && !a->name) {
		a->name = said->name.p;
		a->nname = said->name.n;
		a->begin = said->time;
		a->parent = activity_of(t, said->activity);
		a->tid = said->tid;
	} else if (!begins) {
		a->end = said->time;
	}
	return 0;
}

/* One event for each that was named. `until` is TIME_NONE where its end was not told. */
static void emit_app_activities(struct teller *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct activity *a = &t->v[i];
		if (!a->name)
			continue;
		struct event ev = {.app_activity = {.app = t->app,
		                                    .thread = a->tid,
		                                    .activity = a->parent,
		                                    .n = i + 1,
		                                    .name = redact_into(&t->room[0], str_n(a->name, a->nname)),
		                                    .until = a->end ? app_time_within(t, a->end) : TIME_NONE}};
		sup_event(t->s, EVENT_app_activity, app_time_within(t, a->begin), NULL, &ev);
	}
}

/* ---- the rest ---- */

/* What a program said of itself, redacted; `whole` is how long the value was where it was cut. */
static void emit_app_string(struct teller *t, const struct app_said *said)
{
	static const unsigned char terms[APP_KINDS] = {[APP_TYPE] = TERM_said_type,
	                                               [APP_CONFIG] = TERM_said_config,
	                                               [APP_USED] = TERM_said_used,
	                                               [APP_GENERATED] = TERM_said_generated,
	                                               [APP_TAG] = TERM_said_tag};
	struct event ev = {.app_word = {.app = t->app,
	                                .thread = said->tid,
	                                .activity = activity_of(t, said->activity),
	                                .said = terms[said->kind],
	                                .name = redact_into(&t->room[0], said->name),
	                                .version = redact_into(&t->room[1], said->version),
	                                .whole = said->whole > said->value.n ? said->whole : 0}};
	if (said->value.n)
		ev.app_word.value = kept_value(&t->room[2], said->name, said->value);
	sup_event(t->s, EVENT_app_word, app_time_within(t, said->time), NULL, &ev);
}

/* Emits a metric. Without APP_HAS_STEP it has no step. */
static void emit_app_metric(struct teller *t, const struct app_said *said)
{
	bool stepped = said->flags & APP_HAS_STEP;
	struct event ev = {.app_metric = {.app = t->app,
	                                  .thread = said->tid,
	                                  .activity = activity_of(t, said->activity),
	                                  .name = redact_into(&t->room[0], said->name),
	                                  .number = said->number,
	                                  .stepped = stepped,
	                                  .step = stepped ? said->step : 0}};
	sup_event(t->s, EVENT_app_metric, app_time_within(t, said->time), NULL, &ev);
}

/* A rank of an MPI program, or a gap where its library is not known. Only the first line of the library's name. */
static void emit_app_rank(struct teller *t, const struct app_said *said)
{
	struct str library = said->value;
	if (library.n > LIBRARY_MAX)
		library.n = LIBRARY_MAX;
	const char *line = library.n ? memchr(library.p, '\n', library.n) : NULL;
	if (line)
		library.n = (size_t)(line - library.p);
	if (said->flags & APP_RANK_UNKNOWN) {
		struct buf text = {0};
		buf_printf(&text, "ranks and files of an unknown MPI library: ");
		buf_str(&text, redact_into(&t->room[0], library));
		sup_gap(t->s, NULL, TERM_gap_lost, 0, buf_cstr(&text));
		buf_release(&text);
		return;
	}
	struct event ev = {.mpi_rank = {.app = t->app,
	                                .rank = said->number,
	                                .size = (uint64_t)said->step,
	                                .level = said->id & 3,
	                                .library = redact_into(&t->room[0], library)}};
	sup_event(t->s, EVENT_mpi_rank, app_time_within(t, said->time), NULL, &ev);
}

/* MPI-IO on one file. An entry that makes no sense is passed over: the program may have written anything. */
static void emit_app_mpiio(struct teller *t, const struct app_said *said)
{
	struct app_mpiio io;
	if (said->value.n < sizeof(io) + 1)
		return;
	memcpy(&io, said->value.p, sizeof(io));
	struct str path = str_n(said->value.p + sizeof(io), said->value.n - sizeof(io));
	const char *end = memchr(path.p, '\0', path.n);
	path.n = end ? (size_t)(end - path.p) : path.n;
	if (!(io.calls | io.failed) || !*term_meaning(SET_mpiop, io.op) || !path.n)
		return;
	struct event ev = {.mpi_io = {.app = t->app,
	                              .path = redact_into(&t->room[0], path),
	                              .op = io.op,
	                              .collective = io.collective != 0,
	                              .ranks = io.ranks,
	                              .calls = io.calls,
	                              .failed = io.failed,
	                              .bytes = io.bytes,
	                              .spent = io.spent,
	                              .first = app_time_within(t, io.first),
	                              .last = app_time_within(t, io.last)}};
	sup_event(t->s, EVENT_mpi_io, app_time_within(t, said->time), NULL, &ev);
}

/* Called for each entry of a tape; arg is a struct teller. Always 0. */
static int emit_app_entry(void *arg, const struct app_said *said)
{
	struct teller *t = arg;
	switch (said->kind) {
	case APP_METRIC:
		emit_app_metric(t, said);
		break;
	case APP_TYPE:
	case APP_CONFIG:
	case APP_USED:
	case APP_GENERATED:
	case APP_TAG:
		emit_app_string(t, said);
		break;
	case APP_RANK:
		emit_app_rank(t, said);
		break;
	case APP_MPIIO:
		emit_app_mpiio(t, said);
		break;
	default: /* activities were taken before */
		break;
	}
	return 0;
}

void channel_emit_app(struct sup *s, const struct channel_image *image)
{
	const struct app_told *h = &image->head;
	struct teller t = {.s = s, .image = image, .now = sup_now(s)};
	for (size_t i = 0; i < image->n; i++)
		app_read_entries(image->windows[i].p, image->windows[i].n, take_activity, &t);
	t.dropped += h->dropped;
	struct event ev = {.app = {.run = str_of(h->run),
	                           .pid = h->pid,
	                           .started = h->pid ? h->started : 0,
	                           .image = h->image,
	                           .tool = redact_into(&t.room[0], str_of(h->tool)),
	                           .dropped = t.dropped}};
	t.app = sup_event(s, EVENT_app, app_time_within(&t, h->born), NULL, &ev);
	for (size_t i = 0; i < image->n; i++)
		app_read_entries(image->windows[i].p, image->windows[i].n, emit_app_entry, &t);
	emit_app_activities(&t);
	app_emit_messages(s, image);
	if (t.dropped)
		sup_gap(s, h->pid ? proc_by_pid(s, (pid_t)h->pid) : NULL, TERM_gap_limit, t.dropped,
		        "annotations of a program were lost for lack of space");
	for (size_t i = 0; i < sizeof(t.room) / sizeof(t.room[0]); i++)
		buf_release(&t.room[i]);
	free(t.v);
}
