#include "cmd/run/run_trust.h"

#include "trust/extract.h"
#include "trust/lazy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void run_trust_begin(struct run_trust *t, const char *home, const char *index)
{
	t->home = home ? strdup(home) : NULL;
	const char *slash = index ? strrchr(index, '/') : NULL;
	t->cache = slash ? strndup(index, (size_t)(slash - index)) : NULL;
	if (t->machine)
		machine_read(&t->before);
	struct err err = {0};
	if (t->keep && t->home && early_begin(t->home, &err, &t->early) < 0 && !t->quiet)
		report("%s", err.text);
}

/* The results that were read from a source, a new list for a new one. NULL: no memory. The pointer holds until the
 * next one is added. */
static struct trust_results *results_of(struct run_trust *t, const char *source)
{
	for (size_t i = 0; i < t->n_results; i++)
		if (!strcmp(t->results[i].source, source))
			return &t->results[i];
	struct trust_results *more = realloc(t->results, (t->n_results + 1) * sizeof(*more));
	char *own = strdup(source);
	if (more)
		t->results = more;
	if (!more || !own) {
		free(own);
		return NULL;
	}
	t->results[t->n_results] = (struct trust_results){.source = own};
	return &t->results[t->n_results++];
}

/* Seconds with nine digits; what is not known is among the missing ones. */
static void append_time_result(const struct extractor *x, const struct session_files *f, struct trust_results *r)
{
	char text[40];
	bool wall = !strcmp(x->pattern, "wall_time");
	if (wall && (f->began == TIME_NONE || f->ended == TIME_NONE)) {
		elements_add(&r->missing, str_of(x->name), str_of("the end of the run was not observed"));
		return;
	}
	uint64_t ns = wall ? (uint64_t)(f->ended - f->began) : f->cpu;
	snprintf(text, sizeof(text), "%llu.%09llu", (unsigned long long)(ns / 1000000000),
	         (unsigned long long)(ns % 1000000000));
	elements_add(&r->values, str_of(x->name), str_of(text));
}

/* Extracts each result that the benchmark file names, of files, of figures, or of out, what the command printed;
 * NULL: it was not kept, and such results are noted as missing. */
static void take_results(struct run_trust *t, const char *out, size_t n_out)
{
	for (size_t i = 0; i < t->file.n_results; i++) {
		const struct extractor *x = &t->file.result[i];
		bool printed = !strcmp(x->from, "stdout"), measured = x->how == EXTRACT_FIGURE;
		struct trust_results *r = results_of(t, measured ? "run" : x->from);
		if (!r)
			continue;
		if (measured)
			append_time_result(x, &t->files, r);
		else if (!printed)
			extract_file(x, x->from, &r->values, &r->missing);
		else if (out)
			extract_text(x, out, n_out, &r->values, &r->missing);
		else
			elements_add(&r->missing, str_of(x->name ? x->name : "stdout"),
			             str_of("its output was not recorded; use stemma bench run"));
	}
}

void run_trust_finish(struct run_trust *t, const char *out, size_t n_out)
{
	struct err err = {0};
	if (t->machine)
		machine_read(&t->after);
	if (session_files(&t->place, t->system_extra, &err, &t->files) < 0 && *t->place.run && !t->quiet)
		report("%s", err.text);
	take_results(t, out, n_out);
	extract_parameters(&t->file, t->argv, &t->parameters);
	struct trust_record record = {.home = t->home,
	                              .place = &t->place,
	                              .files = &t->files,
	                              .before = t->machine ? &t->before : NULL,
	                              .after = t->machine ? &t->after : NULL,
	                              .parameters = t->file.n_parameters ? &t->parameters : NULL,
	                              .digest = t->digest || t->keep,
	                              .keep = t->keep,
	                              .early = t->early.folder,
	                              .cache = t->cache,
	                              .results = t->results,
	                              .n_results = t->n_results,
	                              .kept = &t->kept};
	err = (struct err){0};
	if (t->home && trust_record(&record, &err) < 0 && !t->quiet)
		report("%s", err.text);
}

/* Digests the files that the command wrote, in a process of its own. */
static void digest_outputs(struct run_trust *t)
{
	struct err err = {0};
	struct trust_record record = {
	    .home = t->home, .place = &t->place, .files = &t->files, .lazy = true, .digest = true, .cache = t->cache};
	struct lazy_sum sum = {0};
	if (session_files(&t->place, t->system_extra, &err, &t->files) < 0)
		return;
	for (size_t i = 0; i < t->files.n && !sum.files; i++)
		lazy_takes(&t->files.v[i], &sum);
	if (sum.files)
		trust_record(&record, &err);
}

void run_trust_later(struct run_trust *t)
{
	if (!t->home || !*t->place.run || lazy_in_batch_job())
		return;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		/* A child of nobody who waits: of a shell that waits for all of its own, too. */
		if (fork() == 0 && lazy_withdraw() == 0)
			digest_outputs(t);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void run_trust_release(struct run_trust *t)
{
	for (size_t i = 0; i < t->n_results; i++) {
		elements_release(&t->results[i].values);
		elements_release(&t->results[i].missing);
		free(t->results[i].source);
	}
	free(t->results);
	elements_release(&t->parameters);
	early_end(&t->early);
	session_files_release(&t->files);
	machine_release(&t->before);
	machine_release(&t->after);
	free(t->place.segment);
	free(t->kept.segment);
	free(t->home);
	free(t->cache);
	t->results = NULL;
	t->n_results = 0;
	t->home = t->cache = NULL;
	t->place = t->kept = (struct run_place){0};
}
