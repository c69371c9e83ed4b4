/* read_ninja.c - a folder where ninja built: .ninja_log says what was made when, build.ninja and .ninja_deps from what,
 * compile_commands.json by which command. And compile_commands.json alone, as CMake writes it for make, too: sources
 * and objects, without times. */
#include "adopt/ninja.h"
#include "adopt/readers.h"
#include "base/hash.h"
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct ninja {
	struct adopt_jobs *l;
	const char *path, *source;
	struct map job_of; /* hash of an output -> its job */
	size_t first;      /* job of this folder */
};

/* The job that made an output; NULL: it is not in the log. */
static struct adopt_job *job_of(const struct ninja *n, struct str output)
{
	uint32_t at = map_get(&n->job_of, hash_str(output));
	return at == VEC_NONE ? NULL : &n->l->v.v[at];
}

/* For ninja_each_entry: a job; of an output that is there twice the later entry counts. */
static int take_entry(void *arg, const struct ninja_entry *e)
{
	struct ninja *n = arg;
	struct adopt_job *j = job_of(n, e->output);
	if (!j) {
		j = adopt_job_new(n->l, ADOPT_ninja, n->source);
		if (!j || !(j->name = adopt_text(n->l, e->output)) || !(j->cwd = adopt_text(n->l, str_of(n->path))) ||
		    !map_set(&n->job_of, hash_str(e->output), (uint32_t)(n->l->v.n - 1)))
			return -ENOMEM;
		int rc = adopt_output(n->l, j, n->path, e->output);
		if (rc < 0)
			return rc;
	}
	j->end = e->mtime;
	j->start = e->mtime == TIME_NONE ? TIME_NONE : e->mtime - (int64_t)(e->end - e->start) * 1000000;
	return 0;
}

/* For ninja_each_edge: the declared inputs. */
static int take_edge(void *arg, const struct ninja_edge *e)
{
	struct ninja *n = arg;
	int rc = 0;
	for (size_t i = 0; i < e->n_outs && rc == 0; i++) {
		struct adopt_job *j = job_of(n, e->outs[i]);
		for (size_t k = 0; j && k < e->n_ins && rc == 0; k++)
			rc = adopt_input(n->l, j, n->path, e->ins[k]);
	}
	return rc;
}

/* For ninja_each_deps: what the compiler said that it read. */
static int take_deps(void *arg, struct str output, const struct str *ins, size_t count)
{
	struct ninja *n = arg;
	struct adopt_job *j = job_of(n, output);
	int rc = 0;
	for (size_t i = 0; j && i < count && rc == 0; i++)
		rc = adopt_input(n->l, j, n->path, ins[i]);
	return rc;
}

/* The word behind -o, where words are told apart by blanks alone; nothing. */
static struct str output_of_command(struct str command)
{
	const char *at = command.n ? memmem(command.p, command.n, " -o ", 4) : NULL;
	if (!at)
		return str_n(NULL, 0);
	at += 4;
	size_t left = (size_t)(command.p + command.n - at);
	const char *end = memchr(at, ' ', left);
	return str_n(at, end ? (size_t)(end - at) : left);
}

/* The output of an entry: as it is told, or by its arguments. */
static struct str output_of(const json_t *o)
{
	struct str output = adopt_member(o, "output"), command = adopt_member(o, "command");
	const json_t *words = json_object_get(o, "arguments");
	for (size_t i = 0; !output.n && i + 1 < json_array_size(words); i++)
		if (json_is_string(json_array_get(words, i)) && !strcmp(json_string_value(json_array_get(words, i)), "-o") &&
		    json_is_string(json_array_get(words, i + 1)))
			output = str_of(json_string_value(json_array_get(words, i + 1)));
	return output.n ? output : output_of_command(command);
}

/* The command of a job: a list of words, or a line for a shell. 0, -ENOMEM. */
static int take_ninja_command(struct ninja *n, struct adopt_job *j, const json_t *o)
{
	const json_t *words = json_object_get(o, "arguments");
	struct str line = adopt_member(o, "command");
	int rc = 0;
	for (size_t i = 0; i < json_array_size(words) && i < ADOPT_WORDS_MOST && rc == 0; i++) {
		const json_t *word = json_array_get(words, i);
		const char *text = json_is_string(word) ? adopt_text(n->l, str_of(json_string_value(word))) : "";
		const char **slot = text ? vec_add(&j->argv) : NULL;
		rc = slot ? 0 : -ENOMEM;
		if (slot)
			*slot = text;
	}
	return rc == 0 && !j->argv.n && line.n ? adopt_shell(n->l, j, line) : rc;
}

/* An entry of compile_commands.json. alone: there is no log, so it is a job of its own. 0, -ENOMEM. */
static int take_entry_command(struct ninja *n, const json_t *o, bool alone)
{
	struct str directory = adopt_member(o, "directory"), file = adopt_member(o, "file"), output = output_of(o);
	struct adopt_job *j = alone ? NULL : job_of(n, output);
	if (!file.n || !output.n || !directory.n || (!j && !alone))
		return 0;
	const char *base = adopt_text(n->l, directory);
	if (alone && base) {
		j = adopt_job_new(n->l, ADOPT_compile_commands, n->source);
		if (!j || !(j->name = adopt_text(n->l, output)))
			return -ENOMEM;
		j->cwd = base;
	}
	if (!base || !j)
		return -ENOMEM;
	int rc = j->argv.n ? 0 : take_ninja_command(n, j, o);
	rc = rc < 0 ? rc : adopt_input(n->l, j, base, file);
	return rc == 0 && alone ? adopt_output(n->l, j, base, output) : rc;
}

/* Adds a job for each entry of the compile_commands.json in the folder. *ret_n grows by the entries. 0, also where
 * there is none; -ENOMEM. */
static int take_compile_commands(struct ninja *n, int folder, bool alone, uint64_t *ret_n)
{
	struct buf text = {0};
	int rc = adopt_file(folder, "compile_commands.json", &text);
	json_t *list = rc == 0 ? json_loadb(text.p ? text.p : "", text.n, 0, NULL) : NULL;
	rc = 0;
	for (size_t i = 0; i < json_array_size(list) && rc == 0; i++) {
		rc = take_entry_command(n, json_array_get(list, i), alone);
		++*ret_n;
	}
	json_decref(list);
	buf_release(&text);
	return rc;
}

/* The log has lengths, and the time at which an output was last modified, which may be a while before its command
 * ended: so when it began is known but roughly. An input was there before the output, and no more is asked of it. 0,
 * -ENOMEM. */
static int set_times(struct ninja *n)
{
	for (size_t i = n->first; i < n->l->v.n; i++) {
		struct adopt_job *j = &n->l->v.v[i];
		for (size_t k = 0; j->end != TIME_NONE && k < j->in.n; k++) {
			int64_t *at = vec_add(&j->in_at);
			if (!at)
				return -ENOMEM;
			*at = j->end - 1;
		}
	}
	return 0;
}

/* name: .ninja_log. 0, -ENOMEM. */
int adopt_read_ninja(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	struct buf log = {0}, build = {0}, deps = {0}, source = {0};
	uint64_t commands = 0;
	buf_printf(&source, "%s/%s", path, name);
	struct ninja n = {.l = l, .path = path, .source = buf_cstr(&source), .first = l->v.n};
	int rc = adopt_file(folder, name, &log);
	rc = rc < 0 ? rc : ninja_each_entry(buf_view(&log), take_entry, &n);
	if (rc == -EINVAL)
		rc = adopt_pass(l, n.source, "it is not a log of ninja in format 5, 6 or 7");
	else if (rc == 0)
		l->sources[ADOPT_ninja]++;
	if (rc == 0 && l->v.n > n.first) {
		if (adopt_file(folder, "build.ninja", &build) == 0)
			rc = ninja_each_edge(buf_view(&build), take_edge, &n);
		if (rc == 0 && adopt_file(folder, ".ninja_deps", &deps) == 0)
			rc = ninja_each_deps(buf_view(&deps), take_deps, &n);
		rc = rc == -ENOMEM ? rc : take_compile_commands(&n, folder, false, &commands);
		rc = rc < 0 ? rc : set_times(&n);
	}
	map_release(&n.job_of);
	buf_release(&log);
	buf_release(&build);
	buf_release(&deps);
	buf_release(&source);
	return rc == -ENOMEM ? rc : 0;
}

/* name: compile_commands.json. One beside .ninja_log was read with that. 0, -ENOMEM. */
int adopt_read_compile_commands(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	struct stat st;
	struct buf source = {0};
	uint64_t commands = 0;
	if (fstatat(folder, ".ninja_log", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	buf_printf(&source, "%s/%s", path, name);
	struct ninja n = {.l = l, .path = path, .source = buf_cstr(&source)};
	int rc = take_compile_commands(&n, folder, true, &commands);
	if (rc == 0 && !commands)
		rc = adopt_pass(l, n.source, "it contains no command");
	l->sources[ADOPT_compile_commands] += rc == 0 && commands > 0;
	buf_release(&source);
	return rc;
}
