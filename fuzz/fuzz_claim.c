/* Claims: what is read can be written and read again, and is the same; what is refused says why. */
#include "fuzz_file.h"
#include "trust/claim.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct claim a, b;
	struct err err = {0};
	struct buf one = {0}, two = {0};
	if (claim_read((const char *)data, size, &err, &a) < 0) {
		must(err.text[0]);
		return 0;
	}
	must(claim_write(&a, &one) == 0);
	must(claim_read(one.p, one.n, &err, &b) == 0);
	must(claim_write(&b, &two) == 0);
	must(str_eq(buf_view(&one), buf_view(&two)));
	/* A claim agrees with itself. */
	struct trust t;
	must(trust_measure(&a.side, &b.side, "1%", &err, &t) == 0);
	must(t.judged && t.t == 1 && t.inputs.differ == 0 && t.results.differ == 0);
	trust_release(&t);
	claim_release(&a);
	claim_release(&b);
	buf_release(&one);
	buf_release(&two);
	return 0;
}
