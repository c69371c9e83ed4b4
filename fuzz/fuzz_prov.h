/* fuzz_prov.h - what the fuzzers of PROV documents have in common. */
#include "import/doc.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void use_document(const struct doc *d)
{
	struct buf b = {0};
	size_t attrs = 0;
	for (size_t i = 0; i < d->st.n; i++) {
		const struct doc_statement *st = &d->st.v[i];
		must(st->kind < DOC_KINDS && st->id < d->words.list.n && st->first_attr == attrs);
		attrs += st->n_attr;
		for (unsigned k = 0; k < DOC_ARGS; k++)
			must(st->arg[k] < d->words.list.n && (k >= doc_kinds[st->kind].need || st->arg[k]));
		buf_reset(&b);
		doc_print(d, st, &b);
		must(b.n > 2);
		doc_place(d, st, &b);
	}
	must(attrs == d->attrs.n);
	buf_release(&b);
}

static void fuzz_prov(int (*read)(struct doc *, const char *, const void *, size_t, struct err *), const uint8_t *data,
                      size_t size)
{
	struct doc d;
	struct err err = {0};
	doc_init(&d);
	int rc = read(&d, "it", data, size, &err);
	if (rc == 0)
		use_document(&d);
	else
		must(err.text[0]);
	doc_release(&d);
}
