/* cmd_granularity.c - asks the daemon of this node to look closer at accesses, or less so. */
#include "base/child.h"
#include "cmd/cmd.h"
#include "daemon/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* A status, reported. text: the answer. */
static int ask_daemon(const char *question, struct buf *text)
{
	struct err err = {0};
	int fd = -1, r = request_ask(question, 10000, &err, text, &fd);
	if (fd >= 0)
		close(fd);
	return r < 0 ? report_err(&err, r == -EACCES ? STATUS_NOTHING : STATUS_SELF) : STATUS_OK;
}

/* An id as schedulers give it: nothing in it is anything to a shell on the way. */
static bool is_id(const char *s)
{
	return *s && *s != '-' &&
	       strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-+[]@") == strlen(s);
}

/* The site's command, with the job in place of each %j, and what it is to start on each node behind it. launcher is
 * changed. A status, reported. */
static int launch(char *launcher, const char *level, const char *job)
{
	enum { WORDS = 64 };
	char *words[WORDS + 8], *rest = launcher, *word;
	struct buf expanded[WORDS] = {{0}};
	size_t n = 0;
	while (n < WORDS && (word = strtok_r(rest, " \t", &rest))) {
		for (const char *at = word; *at; at++)
			if (at[0] == '%' && at[1] == 'j')
				buf_printf(&expanded[n], "%s", job), at++;
			else
				buf_char(&expanded[n], *at);
		words[n] = (char *)buf_cstr(&expanded[n]);
		n++;
	}
	/* As it is called here, so that it is found where it is in nobody's PATH: nodes of a job have the same software. */
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	snprintf(self + (length > 0 ? length : 0), sizeof(self) - (size_t)(length > 0 ? length : 0), "%s",
	         length > 0 ? "" : "stemma");
	char *const tail[] = {self, (char *)"granularity", (char *)level, (char *)"--here", (char *)"--job", (char *)job,
	                      NULL};
	memcpy(words + n, tail, sizeof(tail));
	struct child child = {.argv = words, .in = CHILD_SAME, .out = CHILD_SAME, .err = CHILD_SAME};
	int status = n ? child_run(&child) : -ENOENT;
	if (status < 0)
		report("cannot start the launcher '%s' (setting 'launcher' of stemmad.conf): %s", n ? words[0] : "",
		       strerror(-status));
	else if (status)
		report("granularity was not changed on all nodes of job %s: '%s' failed", job, words[0]);
	if (status)
		report_hint("use stemma granularity %s --here --job %s on each node", level, job);
	for (size_t i = 0; i < n; i++)
		buf_release(&expanded[i]);
	return status ? STATUS_SELF : STATUS_OK;
}

/* Gives the exit status. A job on several nodes is changed through the launcher that the daemon names. */
int cmd_granularity(struct cmd *c, const struct opts_granularity *o)
{
	char question[REQUEST_MAX];
	int given = !!o->job + !!o->user + o->node;
	const char *level = c->n_operands == 1 ? c->operands[0] : "";
	if (strcmp(level, "open") != 0 && strcmp(level, "access") != 0)
		return report_usage(c, "granularity is open or access");
	if (given != 1)
		return report_usage(c, "use one of --job, --user and --node");
	if ((o->job && !is_id(o->job)) || (o->user && !is_id(o->user)))
		return report_usage(c, "%s: '%.60s' is not an id", o->job ? "--job" : "--user", o->job ? o->job : o->user);
	if (o->job && !o->here) {
		struct buf launcher = {0};
		int status = ask_daemon("granularity launcher", &launcher);
		bool other = status == STATUS_OK && launcher.n;
		if (other) { /* this node is one of them */
			char *words = strdup(buf_cstr(&launcher));
			status = words ? launch(words, level, o->job) : STATUS_SELF;
			free(words);
		}
		buf_release(&launcher);
		if (other || status != STATUS_OK)
			return status;
	}
	struct buf text = {0};
	snprintf(question, sizeof(question), "granularity %s %s %s", level,
	         o->job    ? "job"
	         : o->user ? "user"
	                   : "node",
	         o->job    ? o->job
	         : o->user ? o->user
	                   : "");
	int status = ask_daemon(question, &text);
	buf_release(&text);
	return status;
}
