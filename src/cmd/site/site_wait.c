#include "cmd/site/site_wait.h"

#include "base/config.h"
#include "cmd/ui/amount.h"

#include <signal.h>
#include <time.h>

enum { SHORTEST_NS = 10000000 };

/* The signals that end it. */
static sigset_t ending_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

void site_wait_begin(void)
{
	const sigset_t set = ending_signals();
	sigprocmask(SIG_BLOCK, &set, NULL);
}

bool site_wait(int64_t ns)
{
	const sigset_t set = ending_signals();
	const struct timespec t = {ns / 1000000000, ns % 1000000000};
	return sigtimedwait(&set, NULL, &t) < 0;
}

int site_interval(const struct cmd *c, const char *option, const char *text, int64_t otherwise, int64_t *ret)
{
	*ret = otherwise;
	if (text && (config_parse_duration(text, ret) < 0 || *ret < SHORTEST_NS))
		return report_usage(c, "%s needs a time of at least 10ms, such as 500ms or 2s, not '%s'", option, text);
	return STATUS_OK;
}

int site_size(const struct cmd *c, const char *option, const char *text, uint64_t *ret)
{
	if (text && amount_parse_size(text, ret) < 0)
		return report_usage(c, "%s: '%s' is not a size such as 500M, 2G or a number of bytes", option, text);
	return STATUS_OK;
}
