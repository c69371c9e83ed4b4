#include "trust/record.h"

#include "base/fileid.h"
#include "base/io.h"
#include "base/vec.h"
#include "cc/build.h"
#include "keep/write.h"
#include "redact/redact.h"
#include "trust/early.h"
#include "trust/kept.h"
#include "trust/lazy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct writing {
	const struct trust_record *t;
	struct log_writer *log;
	struct digest_cache *cache;
	size_t not_kept;       /* inputs */
	struct elements whole; /* invariants of the run as a whole */
};

bool trust_record_pairs(const struct elements *e, bool redacted, struct buf *text, struct str **ret, size_t *ret_n)
{
	size_t n = 0, at = 0;
	for (size_t i = 0; i < e->n; i++)
		n += e->v[i].n;
	struct str *v = calloc(n + 1, sizeof(*v));
	buf_reset(text);
	*ret = v;
	*ret_n = n;
	for (size_t i = 0; v && i < e->n; i++)
		for (size_t k = 0; k < e->v[i].n; k++) {
			size_t from = text->n;
			if (redacted) {
				struct buf pair = {0};
				buf_printf(&pair, "%s=%s", e->v[i].name, e->v[i].value[k]);
				redact_env(text, buf_view(&pair));
				buf_release(&pair);
			} else {
				buf_printf(text, "%s=%s", e->v[i].name, e->v[i].value[k]);
			}
			v[at++].n = text->n - from;
		}
	for (size_t i = 0, from = 0; v && i < n; from += v[i++].n)
		v[i].p = text->p ? text->p + from : "";
	return v && !text->failed;
}

/* Writes what the machine was like. moment: a TERM_moment_. Any set may be NULL. 0, -ENOMEM. */
static int put_machine(struct writing *w, unsigned moment, const struct elements *invariant,
                       const struct elements *variant, const struct elements *parameter)
{
	static const struct elements none;
	const struct elements *set[3] = {invariant ? invariant : &none, variant ? variant : &none,
	                                 parameter ? parameter : &none};
	struct buf text[3] = {{0}, {0}, {0}};
	struct str *items[3] = {NULL, NULL, NULL};
	size_t n[3] = {0};
	bool ok = true;
	for (int i = 0; i < 3; i++)
		ok &= trust_record_pairs(set[i], i == 2, &text[i], &items[i], &n[i]);
	if (ok) {
		struct event ev = {.kind = EVENT_machine,
		                   .time = keep_now(),
		                   .machine = {.run = str_of(w->t->place->run),
		                               .moment = moment,
		                               .invariant = {.items = items[0], .count = n[0]},
		                               .variant = {.items = items[1], .count = n[1]},
		                               .parameter = {.items = items[2], .count = n[2]}}};
		log_writer_add(w->log, &ev);
	}
	for (int i = 0; i < 3; i++) {
		free(items[i]);
		buf_release(&text[i]);
	}
	return ok ? 0 : -ENOMEM;
}

/* Of the second reading only those invariants that the run, or somebody meanwhile, changed. 0, -ENOMEM. */
static int put_after(struct writing *w)
{
	struct elements changed = {0};
	const struct elements *before = &w->t->before->invariant, *after = &w->t->after->invariant;
	for (size_t i = 0; i < after->n; i++) {
		const struct element *was = elements_find(before, str_of(after->v[i].name));
		for (size_t k = 0; k < after->v[i].n; k++)
			if (!was || was->n != after->v[i].n || strcmp(was->value[k], after->v[i].value[k]) != 0)
				elements_add(&changed, str_of(after->v[i].name), str_of(after->v[i].value[k]));
	}
	int rc = changed.failed ? -ENOMEM : put_machine(w, TERM_moment_after, &changed, &w->t->after->variant, NULL);
	elements_release(&changed);
	return rc;
}

/* Of both readings, where there are any. 0, -ENOMEM. */
static int put_machines(struct writing *w)
{
	const struct machine *before = w->t->before;
	int rc = before ? put_machine(w, TERM_moment_before, &before->invariant, &before->variant, NULL) : 0;
	return rc == 0 && before && w->t->after ? put_after(w) : rc;
}

/* Writes an event with the values of one source, and what is missing. Nothing without memory. */
static void put_results(struct writing *w, const struct trust_results *r)
{
	struct buf text[2] = {{0}, {0}};
	struct str *items[2] = {NULL, NULL};
	size_t n[2] = {0};
	if (trust_record_pairs(&r->values, false, &text[0], &items[0], &n[0]) &&
	    trust_record_pairs(&r->missing, false, &text[1], &items[1], &n[1])) {
		struct event ev = {.kind = EVENT_result,
		                   .time = keep_now(),
		                   .result = {.run = str_of(w->t->place->run),
		                              .source = str_of(r->source),
		                              .value = {.items = items[0], .count = n[0]},
		                              .missing = {.items = items[1], .count = n[1]}}};
		log_writer_add(w->log, &ev);
	}
	for (int i = 0; i < 2; i++) {
		free(items[i]);
		buf_release(&text[i]);
	}
}

/* ---- files ---- */

/* Opens the file as the run left it. -ESTALE with *ret_why: it is another one, or not as it was. */
static int open_same(const struct session_file *f, const char **ret_why)
{
	struct fileid id;
	int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	*ret_why = "it cannot be read";
	if (fd < 0) {
		if (errno == ENOENT)
			*ret_why = "it no longer exists";
		return -errno;
	}
	struct statx st;
	if (statx(fd, "", AT_EMPTY_PATH, FILEID_STATX, &st) < 0) {
		close(fd);
		return -errno;
	}
	fileid_of(fd, "", AT_EMPTY_PATH, &st, &id);
	bool same = id.ino == f->ino && id.gen == f->gen && !strcmp(id.domain->name ? id.domain->name : "", f->domain);
	*ret_why = "another file has its name";
	if (same && f->has_state) {
		same = st.stx_size == f->size && fileid_time(&st.stx_mtime) == f->mtime;
		*ret_why = "it has changed";
	}
	if (same)
		return fd;
	close(fd);
	return -ESTALE;
}

/* Adds the event. text: the digest, "" none; st: where it is known, of what was digested; else NULL. */
static void put_digest(struct writing *w, const struct session_file *f, unsigned usage, const char *text,
                       const struct stat *st, const char *why)
{
	struct event ev = {
	    .kind = EVENT_digest,
	    .time = keep_now(),
	    .digest = {.run = str_of(w->t->place->run),
	               .domain = str_of(f->domain),
	               .ino = f->ino,
	               .gen = f->gen,
	               .size = st ? (uint64_t)st->st_size : f->size,
	               .mtime = st ? (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec : f->mtime,
	               .usage = usage,
	               .path = str_of(f->path),
	               .digest = str_of(text),
	               .why = str_of(why)}};
	log_writer_add(w->log, &ev);
}

/* What the file held before the run changed or removed it, if that was copied then: it is kept, and its digest is that
 * of an input. 1; 0: it was not; -EIO: it was to be, and that failed. */
static int record_early(struct writing *w, const struct session_file *f)
{
	char text[DIGEST_TEXT];
	struct digest d;
	struct stat st;
	int fd = w->t->early ? early_open(w->t->early, f->num) : -ENOENT;
	if (fd < 0)
		return fd == -ENOENT ? 0 : -EIO;
	int rc = digest_fd(NULL, fd, &d, &st);
	if (rc == 0)
		rc = early_keep(w->t->early, f->num, w->t->home, &d);
	close(fd);
	if (rc < 0)
		return -EIO;
	digest_text(&d, text);
	put_digest(w, f, TERM_usage_input, text, &st, "");
	return 1;
}

/* Writes the digest of a file. usage: a TERM_usage_. What cannot be read is recorded, with the reason. Outputs
 * without a name are passed over. */
static void record_digest(struct writing *w, const struct session_file *f, unsigned usage)
{
	char text[DIGEST_TEXT] = "";
	if (usage == TERM_usage_output && (f->gone || !*f->path))
		return; /* scratch, and what has no name */
	const char *why = "it no longer has a name";
	struct digest d;
	struct stat st = {0};
	int fd = f->gone ? -ENOENT : open_same(f, &why);
	w->not_kept += fd < 0 && w->t->keep && usage == TERM_usage_input;
	if (fd >= 0) {
		why = "it could not be read to its end, or was changed meanwhile";
		int rc = digest_fd(w->cache, fd, &d, &st);
		if (rc == -EFBIG)
			why = "its holes are too large to be read";
		if (rc == 0) {
			digest_text(&d, text);
			why = "";
			if (w->t->keep && usage == TERM_usage_input && kept_put(w->t->home, fd, &d) < 0)
				w->not_kept++;
		}
		close(fd);
	}
	put_digest(w, f, usage, text, *text ? &st : NULL, why);
}

/* Appends a build-id. n: bytes. */
static void print_build_id(struct buf *b, const unsigned char *id, int n)
{
	buf_str(b, str_of("build-id:"));
	for (int i = 0; i < n; i++)
		buf_printf(b, "%02x", id[i]);
}

/* build-id:..., else sha256:...; of the command's own program the digest too, as `binary`. */
static void record_program(struct writing *w, const struct session_file *f, const char *exe)
{
	unsigned char id[BUILD_ID_MAX];
	char text[DIGEST_TEXT], name[300];
	const char *why, *base = strrchr(f->path, '/');
	struct digest d;
	struct buf value = {0};
	int fd = f->gone ? -ENOENT : open_same(f, &why);
	if (fd < 0)
		return;
	bool own = exe && !strcmp(exe, f->path);
	int n = elfid_build_id(fd, id);
	bool digested = (own || n <= 0) && digest_fd(w->cache, fd, &d, NULL) == 0;
	close(fd);
	if (digested)
		digest_text(&d, text);
	if (own && digested)
		elements_add(&w->whole, str_of("binary"), str_of(text));
	snprintf(name, sizeof(name), "%s.%s", f->program ? "program" : "library", base ? base + 1 : f->path);
	if (n > 0)
		print_build_id(&value, id, n);
	else if (digested)
		buf_str(&value, str_of(text));
	if (value.n)
		elements_add(&w->whole, str_of(name), buf_view(&value));
	buf_release(&value);
}

/* By its last part, within an argument. */
static bool is_named_by_command(const struct session_files *s, const struct session_file *f)
{
	const char *base = strrchr(f->path, '/');
	for (size_t i = 1; i < s->argc; i++)
		if (strstr(s->argv[i], base ? base + 1 : f->path))
			return true;
	return false;
}

/* What is left of a file that could not be digested is said by nothing: nobody asked for it. */
static void record_lazily(struct writing *w, const struct session_files *s)
{
	struct lazy_sum sum = {0};
	for (size_t i = 0; i < s->n; i++) {
		const char *why;
		int fd = lazy_takes(&s->v[i], &sum) ? open_same(&s->v[i], &why) : -ENOENT;
		bool local = fd >= 0 && io_is_local(fd);
		if (fd >= 0)
			close(fd);
		if (local)
			record_digest(w, &s->v[i], TERM_usage_output);
	}
}

/* A file that was read or made. Of an input that the run removed only the earlier copy tells. */
static void record_data(struct writing *w, const struct session_file *f)
{
	int early = record_early(w, f);
	w->not_kept += early < 0 && f->made; /* of what was not made, the digest counts it */
	if (f->made || early <= 0)
		record_digest(w, f, f->made ? TERM_usage_output : TERM_usage_input);
}

/* Records programs and libraries that were used and, if asked for, digests of the files that were read or made. */
static void record_files(struct writing *w, const struct session_files *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct session_file *f = &s->v[i];
		if (f->program || (f->library && f->read && !f->made))
			record_program(w, f, s->exe);
		else if (w->t->digest && (f->read || f->made) && (!f->system || is_named_by_command(s, f)))
			record_data(w, f);
	}
}

bool trust_record_place(const struct log_writer *log, struct run_place *ret)
{
	*ret = (struct run_place){
	    .session = log_writer_session(log), .segment = strdup(log_writer_path(log)), .from = log_writer_size(log)};
	return ret->segment != NULL;
}

int trust_record(const struct trust_record *t, struct err *err)
{
	struct writing w = {.t = t};
	if (!*t->place->run)
		return 0;
	int rc = keep_begin(t->home, err, &w.log);
	if (rc < 0)
		return rc;
	w.cache = t->cache ? digest_cache_open(t->cache) : NULL;
	rc = !t->kept || trust_record_place(w.log, t->kept) ? put_machines(&w) : -ENOMEM;
	if (t->lazy)
		record_lazily(&w, t->files);
	else
		record_files(&w, t->files);
	if (rc == 0 && !t->lazy)
		rc = put_machine(&w, TERM_moment_whole, &w.whole, NULL, t->parameters);
	for (size_t i = 0; i < t->n_results; i++)
		put_results(&w, &t->results[i]);
	int ended = keep_end(w.log, err);
	digest_cache_close(w.cache);
	elements_release(&w.whole);
	if (rc < 0)
		return err_set(err, -rc, "cannot keep what is known of the run");
	if (ended == 0 && w.not_kept)
		return (err_set(err, 0, "%zu input%s could not be kept", w.not_kept, str_plural(w.not_kept)), -EIO);
	return ended;
}
