/* Chains of seals in logs of any events (fuzz_frames.h), with anybody's seals and tombstones among them: they are
 * verified without harm, what is over is sealed, and what was just sealed matches and is not sealed again. */
#include "fuzz_home.h"
#include "trust/chain/chain.h"

static void say(void *arg, const char *line)
{
	must(line[0] != '\0');
	++*(uint64_t *)arg;
}

static int each(void *arg, const char *name, const char *hash, const char *signature)
{
	must(name && signature && strlen(hash) == 64);
	++*(uint64_t *)arg;
	return 0;
}

static struct chain_report verify(struct chain *c, const char *expect)
{
	struct chain_report r;
	struct err err = {0};
	uint64_t said = 0, seals = 0;
	must(chain_verify(c, expect, say, &said, &err, &r) == 0);
	chain_report_release(&r);
	must(said == r.problems && chain_each(c, each, &seals) == 0 && seals == r.seals);
	return r;
}

static struct chain *opened(void)
{
	struct chain *c;
	struct err err = {0};
	must(chain_open(fuzz_home, false, &err, &c) == 0);
	return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf in[2] = {0};
	struct err err = {0};
	struct chain_seal_result sealed, again;
	uint64_t *matched = NULL;
	size_t n = 0;
	frames_cut(data, size, in);
	fuzz_home_logs(in);
	fuzz_home_folder("seals");
	struct chain *c = opened();
	struct chain_report before = verify(c, "00");
	must(!before.expected && chain_matching(c, &err, &matched, &n) == 0 && n <= before.sessions);
	must(chain_cut(c, matched, n, &err) == 0); /* nothing was taken out: nothing is sealed again */
	int r = chain_seal(c, NULL, NULL, &err, &sealed);
	must(r == 0 || err.text[0]);
	chain_close(c);
	if (r == 0) {
		c = opened();
		struct chain_report after = verify(c, sealed.head[0] ? sealed.head : NULL);
		must(after.seals == before.seals + sealed.seals);
		must(after.expected || !sealed.seals);
		must(after.sessions >= before.sessions);
		must(chain_seal(c, NULL, NULL, &err, &again) == 0 && !again.seals && again.waiting == sealed.waiting);
		chain_close(c);
	}
	free(matched);
	buf_release(&in[0]);
	buf_release(&in[1]);
	return 0;
}
