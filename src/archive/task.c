#include "archive/task.h"

#include "archive/inputs.h"
#include "archive/where.h"
#include "summary/summary.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[TASK_KEYS] = {
#define KEY(name, meaning) #name,
#include "archive/keys.def"
};

/* Static. */
const char *task_key_name(enum task_key k)
{
	return names[k];
}

int task_key_parse(struct str name, struct key *ret)
{
	char word[128];
	if (!name.n || name.n >= sizeof(word))
		return -ENOENT;
	memcpy(word, name.p, name.n);
	word[name.n] = '\0';
	if (strncmp(word, "label:", 6) == 0 && word[6]) {
		*ret = (struct key){.key = TASK_KEYS};
		snprintf(ret->label, sizeof(ret->label), "%s", word + 6);
		return 0;
	}
	for (char *p = word; *p; p++)
		*p = *p == '-' ? '_' : *p;
	for (int i = 0; i < TASK_KEYS; i++)
		if (strcmp(word, names[i]) == 0) {
			*ret = (struct key){.key = (enum task_key)i};
			return 0;
		}
	return -ENOENT;
}

/* ---- commands ---- */

/* The whole path where nothing follows its last slash. */
static struct str path_base_name(struct str path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	return slash && slash + 1 < path.p + path.n ? str_n(slash + 1, (size_t)(path.p + path.n - slash - 1)) : path;
}

/* Programs that say little: what they were given to run is the program. Versions may stand behind the name. */
static bool is_interpreter(struct str name)
{
	static const char *const list[] = {"sh",     "bash", "dash", "zsh",  "ksh",   "python",  "pypy",
	                                   "perl",   "ruby", "lua",  "node", "julia", "Rscript", "R",
	                                   "octave", "java", "env",  "nice", "time",  "timeout"};
	size_t n = name.n;
	while (n && (isdigit((unsigned char)name.p[n - 1]) || name.p[n - 1] == '.'))
		n--;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (str_eq(str_n(name.p, n), str_of(list[i])))
			return true;
	return false;
}

/* A word that names what to do, as in `samtools sort`: letters, perhaps with digits and dashes behind the first. */
static bool is_subcommand(struct str s)
{
	if (!s.n || s.n > 40 || !islower((unsigned char)s.p[0]))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!isalnum((unsigned char)s.p[i]) && s.p[i] != '-' && s.p[i] != '_')
			return false;
	return true;
}

/* The program; *pos is left behind the words that named it. */
static void write_task_program(const struct strlist *argv, size_t *pos, struct buf *ret)
{
	struct str s, name;
	*pos = 0;
	if (!strlist_next(argv, pos, &s))
		return;
	name = path_base_name(s);
	buf_str(ret, name);
	if (!is_interpreter(name))
		return;
	/* Its script is the first word that is no option; a command in the arguments (-c TEXT, -e TEXT) is none. */
	for (size_t at = *pos; strlist_next(argv, &at, &s);) {
		bool option = s.n && s.p[0] == '-';
		if (option && s.n == 2 && (s.p[1] == 'c' || s.p[1] == 'e'))
			return;
		if (option || memchr(s.p, '=', s.n))
			continue;
		if (isdigit((unsigned char)s.p[0])) /* timeout 10 CMD */
			continue;
		buf_char(ret, ' ');
		buf_str(ret, path_base_name(s));
		*pos = at;
		return;
	}
}

void task_program(const struct strlist *argv, struct buf *ret)
{
	size_t pos;
	write_task_program(argv, &pos, ret);
}

/* Appends the program and, if it has one, its subcommand. */
void task_command(const struct strlist *argv, struct buf *ret)
{
	size_t pos;
	struct str s;
	write_task_program(argv, &pos, ret);
	if (strlist_next(argv, &pos, &s) && is_subcommand(s)) {
		buf_char(ret, ' ');
		buf_str(ret, s);
	}
}

/* An option without its value: up to `=`, and a short one's letter where digits or a path follow it (-j4, -o/x). */
static struct str option_of(struct str s)
{
	const char *eq = memchr(s.p, '=', s.n);
	size_t n = eq ? (size_t)(eq - s.p) : s.n;
	if (n > 2 && s.p[1] != '-' && (!isalpha((unsigned char)s.p[2]) || memchr(s.p, '/', n) || memchr(s.p, '.', n)))
		n = 2;
	return str_n(s.p, n);
}

/* Appends the program, its subcommand and the names of its options; other words between become one star. */
void task_layout(const struct strlist *argv, struct buf *ret)
{
	size_t pos;
	struct str s;
	bool first = true, star = false;
	write_task_program(argv, &pos, ret);
	for (; strlist_next(argv, &pos, &s); first = false) {
		bool option = s.n > 1 && s.p[0] == '-' && !isdigit((unsigned char)s.p[1]);
		bool word = first && is_subcommand(s);
		if (!option && !word && star)
			continue; /* one file or several */
		star = !option && !word;
		buf_char(ret, ' ');
		if (star)
			buf_char(ret, '*');
		else
			buf_str(ret, option ? option_of(s) : s);
	}
}

/* ---- values ---- */

/* The value of the first of the pairs key=value with that key; "" none. */
static struct str task_pair(const struct strlist *pairs, const char *key)
{
	size_t n = strlen(key);
	struct str s;
	for (size_t pos = 0; strlist_next(pairs, &pos, &s);)
		if (s.n > n && memcmp(s.p, key, n) == 0 && s.p[n] == '=')
			return str_n(s.p + n + 1, s.n - n - 1);
	return str_of("");
}

/* The value of the first of the keys, a list that NULL ends, which has one; empty: none. */
static struct str first_of(const struct strlist *pairs, const char *const *keys)
{
	struct str s = str_of("");
	for (; !s.n && *keys; keys++)
		s = task_pair(pairs, *keys);
	return s;
}

/* Appends the arguments with blanks between, not quoted. */
static void put_args(const struct strlist *argv, struct buf *ret)
{
	struct str s;
	for (size_t pos = 0, n = 0; strlist_next(argv, &pos, &s); n++) {
		if (n)
			buf_char(ret, ' ');
		buf_str(ret, s);
	}
}

/* The number that the text begins with, or 0; no more than 31 bytes of it count. */
static uint64_t parse_label_number(struct str s)
{
	char text[32] = "";
	memcpy(text, s.p ? s.p : "", s.n < sizeof(text) - 1 ? s.n : sizeof(text) - 1);
	return strtoull(text, NULL, 10);
}

/* "AMD EPYC 7763, 64 cores, 252 GiB": memory to whole GiB, for machines of one kind differ by some MiB. */
static void host_class(const struct summary_info *m, struct buf *ret)
{
	struct str cpu = first_of(&m->host, (const char *const[]){"cpu", "cpu_model", "machine", NULL});
	struct str cores = first_of(&m->host, (const char *const[]){"cores", "cpus", NULL});
	struct str memory = first_of(&m->host, (const char *const[]){"memory", "ram_total", NULL});
	buf_str(ret, cpu);
	if (cores.n)
		buf_printf(ret, "%s%.*s core%s", cpu.n ? ", " : "", (int)cores.n, cores.p, str_is(cores, "1") ? "" : "s");
	if (parse_label_number(memory) > 0)
		buf_printf(ret, "%s%llu GiB", cpu.n || cores.n ? ", " : "",
		           (unsigned long long)(((parse_label_number(memory) >> 29) + 1) >> 1));
}

/* "oom", "limit", "SIGNAME" or the exit status; nothing where that is not known. */
static void how_it_ended(const struct summary_info *m, struct buf *ret)
{
	const char *name = m->signal > 0 ? sigabbrev_np(m->signal) : NULL;
	if (m->oom)
		buf_printf(ret, "oom");
	else if (m->exit_type == EXIT_TYPE_LIMIT)
		buf_printf(ret, "limit");
	else if (m->signal > 0 && name)
		buf_printf(ret, "SIG%s", name);
	else if (m->signal > 0)
		buf_printf(ret, "signal %d", m->signal);
	else if (m->status >= 0)
		buf_printf(ret, "%d", m->status);
}

/* Job and step are of the run's first execution, where it was recorded. Else as the monitor had it. 0, also where
 * nothing is known and nothing appended; -errno. */
static int write_job_role(struct store *s, const struct summary_info *m, bool step, struct buf *ret)
{
	store_id *execs = NULL;
	size_t n = 0;
	struct exec_info x;
	int rc = m->run ? store_run_execs(s, m->run, &execs, &n) : 0;
	size_t had = ret->n;
	for (size_t i = 0; rc >= 0 && i < n && ret->n == had; i++)
		if ((rc = store_exec(s, execs[i], &x)) == 1)
			buf_str(ret, step ? x.step : x.job);
	free(execs);
	if (rc >= 0 && ret->n == had)
		buf_str(ret, task_pair(&m->host, step ? "step" : "job"));
	return rc < 0 ? rc : 0;
}

double task_label_input(const struct summary_info *m)
{
	int64_t v;
	struct str label = task_pair(&m->labels, "input_bytes");
	return label.n && where_value(label, "B", 0, &v) == 0 && v >= 0 ? (double)v : -1;
}

/* "256KiB-1MiB": from a power of four on, below the next. */
static int input_size(struct store *s, const struct summary_info *m, struct buf *ret)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	double input = task_label_input(m), named;
	int rc = 0;
	if (input < 0 && m->run) {
		struct input_cache *c = input_cache_new(NULL);
		rc = c ? input_of_run(s, c, m->run, &input, &named) : -ENOMEM;
		input_cache_free(c);
	}
	if (rc < 0 || input < 0)
		return rc;
	if (input < 1) {
		buf_printf(ret, "0B");
		return 0;
	}
	unsigned step = 0;
	for (double v = input; v >= 4 && step < 24; v /= 4)
		step++;
	for (unsigned k = step; k <= step + 1; k++)
		buf_printf(ret, "%s%u%s", k > step ? "-" : "", 1u << (2 * k) % 10, units[2 * k / 10]);
	return 0;
}

int task_value(struct store *s, const struct summary_info *m, const struct key *k, struct buf *ret)
{
	int rc = 0;
	switch (k->key) {
	case TASK_program:
		task_program(&m->argv, ret);
		break;
	case TASK_command:
		task_command(&m->argv, ret);
		break;
	case TASK_shape:
		task_layout(&m->argv, ret);
		break;
	case TASK_arguments:
		put_args(&m->argv, ret);
		break;
	case TASK_user:
		buf_str(ret, m->user);
		break;
	case TASK_host: {
		struct str host = first_of(&m->host, (const char *const[]){"name", "hostname", "host", NULL});
		buf_str(ret, host.n ? host : m->node);
		break;
	}
	case TASK_host_class:
		host_class(m, ret);
		break;
	case TASK_cwd:
		buf_str(ret, m->cwd);
		break;
	case TASK_set:
		buf_str(ret, m->set);
		break;
	case TASK_source:
		buf_str(ret, m->source.n ? m->source : str_of("stemma"));
		break;
	case TASK_exit:
		how_it_ended(m, ret);
		break;
	case TASK_job:
	case TASK_step:
		rc = write_job_role(s, m, k->key == TASK_step, ret);
		break;
	case TASK_run:
		buf_str(ret, m->ulid);
		break;
	case TASK_input_size:
		rc = input_size(s, m, ret);
		break;
	case TASK_KEYS:
		buf_str(ret, task_pair(&m->labels, k->label));
		break;
	}
	return ret->failed ? -ENOMEM : rc;
}

/* TASK_CUT: a limit or signal ended it, so that it may have needed more. */
enum task_end task_end(const struct summary_info *m)
{
	if (m->oom || m->exit_type == EXIT_TYPE_LIMIT || m->exit_type == EXIT_TYPE_SIGNAL || m->signal > 0)
		return TASK_CUT;
	if (m->status < 0)
		return TASK_UNKNOWN;
	return m->status == 0 ? TASK_WHOLE : TASK_FAILED;
}
