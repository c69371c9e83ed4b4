/* Runs and files taken out of logs of any events (fuzz_frames.h): the first run that they tell of, the first file, and
 * a word. What stays is whole, is what was there, and none of it is the run's; doing it again finds nothing more. */
#include "event/log_reader.h"
#include "fuzz_home.h"
#include "keep/cut.h"

#include <errno.h>

/* What goes is the input's own. */
struct wish {
	char run[64];
	size_t run_n;
	char domain[64], word[64];
	uint64_t domain_num, ino, gen;
	bool has_run, has_file, has_word;
};

static void copy(char *to, size_t size, struct str s, size_t *ret_n)
{
	*ret_n = s.n < size ? s.n : size - 1;
	memcpy(to, s.p, *ret_n);
	to[*ret_n] = '\0';
}

static void look(struct wish *w, const struct event *ev)
{
	size_t n;
	if (ev->kind == EVENT_run && !w->has_run) {
		copy(w->run, sizeof(w->run), ev->run.id, &w->run_n);
		w->has_run = w->run_n == 26;
	} else if (ev->kind == EVENT_domain && !w->domain[0]) {
		copy(w->domain, sizeof(w->domain), ev->domain.name, &n);
		w->domain_num = ev->domain.num;
	} else if (ev->kind == EVENT_file && w->domain[0] && ev->file.domain == w->domain_num && !w->has_file) {
		w->ino = ev->file.ino;
		w->gen = ev->file.gen;
		w->has_file = true;
		copy(w->word, sizeof(w->word), ev->file.path, &n);
		w->has_word = n > 1;
	}
}

/* Events that can be read, of both segments. */
static uint64_t events_of(const char *name, struct wish *w)
{
	char path[128];
	struct log_reader *r;
	struct log_frame_info f;
	struct event ev;
	uint64_t n = 0;
	struct err err = {0};
	snprintf(path, sizeof(path), "%s/logs/a/2026-01-01/%s", fuzz_home, name);
	if (access(path, R_OK) < 0)
		return 0;
	must(log_reader_open(path, &err, &r) == 0);
	while (log_reader_frame(r, &f) == 1)
		while (log_reader_event(r, &ev)) {
			n += f.session <= 2 * FRAMES_SESSIONS; /* the others are tombstones */
			if (w)
				look(w, &ev);
		}
	const struct log_damage *d = log_reader_damage(r);
	must(!d->skipped && !d->torn);
	log_reader_close(r);
	return n;
}

static int cut(const struct wish *w, bool dry, struct keep_cut_stats *ret)
{
	struct keep_logs *l;
	struct err err = {0};
	const struct str run = str_n(w->run, w->run_n), word = str_of(w->word);
	const struct keep_file file = {.domain = str_of(w->domain), .ino = w->ino, .gen = w->gen};
	const struct keep_cut_options o = {.runs = &run,
	                                   .n_runs = w->has_run,
	                                   .files = &file,
	                                   .n_files = w->has_file,
	                                   .words = &word,
	                                   .n_words = w->has_word,
	                                   .dry_run = dry};
	must(keep_logs_open(fuzz_home, &err, &l) == 0);
	keep_logs_patience(l, 0);
	int r = keep_cut(l, &o, &err, ret);
	must(r == 0 || err.text[0]);
	keep_logs_close(l);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf in[2] = {0};
	struct wish w = {0};
	struct keep_cut_stats dry, first, again;
	frames_cut(data, size, in);
	fuzz_home_logs(in);
	uint64_t before = events_of("0.stl", &w);
	before += events_of("1.stl", &w);
	if (cut(&w, true, &dry) == 0 && cut(&w, false, &first) == 0) {
		uint64_t after = events_of("0.stl", NULL) + events_of("1.stl", NULL);
		must(first.events == dry.events && first.sessions == dry.sessions && first.changed == dry.changed);
		must(after <= before && (first.sessions || before - after <= first.events)); /* a whole one has others */
		must(cut(&w, false, &again) == 0 && again.events == 0 && again.changed == 0);
	}
	buf_release(&in[0]);
	buf_release(&in[1]);
	return 0;
}
