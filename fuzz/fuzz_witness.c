/* Statements of witnesses, from anybody: each lies within the text, with a chain's name, a number and what was signed;
 * what is none is refused with a sentence, and the reading comes to an end. */
#include "fuzz_file.h"
#include "trust/chain/chain_witness.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = str_n((const char *)data, size);
	struct witnessed w;
	struct err err = {0};
	size_t at = 0, before = 0;
	int rc;
	while ((rc = witness_next(text, &at, &err, &w)) == 1) {
		must(at > before && at <= size);
		must(w.chain[0] && w.number && w.time >= 0);
		must(w.text.p >= text.p && w.text.p + w.text.n == w.signature.p &&
		     w.signature.p + w.signature.n <= text.p + at);
		before = at;
	}
	must(rc == 0 || (rc < 0 && err.text[0]));
	return 0;
}
