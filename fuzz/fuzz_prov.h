/* fuzz_prov.h - what the fuzzers of PROV documents have in common: what is read can be printed, checked and told as
 * events, and those can be read. */
#include "event/log_reader.h"
#include "import/constraints.h"
#include "import/imported.h"

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

static void note(void *arg, const struct violation *v)
{
	const struct doc *d = arg;
	must(v->number >= 22 && v->number <= 56);
	for (size_t i = 0; i < v->n; i++)
		must(v->statements[i] < d->st.n);
}

static void tell(const struct doc *d)
{
	struct err err = {0};
	const struct forgotten none = {.keepers = {0}};
	struct imported t = {.d = d, .name = "it", .err = &err, .now = 1000, .gone = &none};
	struct buf segment = {0};
	struct str host;
	int rc = imported_collect(&t);
	if (rc == 0)
		rc = imported_events(&t, 1, &segment, &host);
	must(rc == 0 || err.text[0]);
	struct log_reader *r;
	if (rc == 0 && log_reader_memopen(segment.p ? segment.p : "", segment.n, &r) == 0) {
		struct log_frame_info f;
		struct event ev;
		while (log_reader_frame(r, &f) == 1)
			while (log_reader_event(r, &ev))
				;
		const struct log_damage *damage = log_reader_damage(r);
		must(!damage->skipped && !damage->torn && !damage->newer && !damage->bad_events);
		log_reader_close(r);
	}
	imported_release(&t);
	buf_release(&segment);
}

static void fuzz_prov(int (*read)(struct doc *, const char *, const void *, size_t, struct err *), const uint8_t *data,
                      size_t size)
{
	struct doc d;
	struct err err = {0};
	doc_init(&d);
	int rc = read(&d, "it", data, size, &err);
	if (rc == 0) {
		use_document(&d);
		must(doc_check(&d, note, &d) >= 0);
		tell(&d);
	} else {
		must(err.text[0]);
	}
	doc_release(&d);
}
