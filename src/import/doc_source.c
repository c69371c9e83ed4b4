/* doc_source.c - documents from elsewhere than bytes in memory: a file, or what would be exported. */
#include "base/io.h"
#include "export/export.h"
#include "import/doc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int doc_load(struct doc *d, const char *path, struct buf *ret, struct err *err)
{
	bool input = strcmp(path, "-") == 0;
	const char *name = input ? "standard input" : path;
	struct stat st;
	int fd = input ? STDIN_FILENO : io_above_std(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
	if (fd < 0)
		return err_set(err, errno, "cannot open '%s'", path);
	int rc = 0;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		rc = err_set(err, EISDIR, "cannot read '%s'", path);
	else if ((rc = io_read_rest(fd, d->limits.bytes, ret)) == -EFBIG)
		err_set(err, 0, "%s: the document is too large", name);
	else if (rc < 0)
		err_set(err, -rc, "cannot read '%s'", name);
	if (!input)
		close(fd);
	return rc == 0 ? doc_read(d, name, ret->p ? ret->p : "", ret->n, err) : rc;
}

struct taker {
	struct doc *d;
	struct buf iri;
	bool failed;
};

/* The number of the IRI in stemma's own namespace; 0 of the empty name, and if t failed. */
static uint32_t intern_local_name(struct taker *t, struct str local)
{
	if (!local.n)
		return 0;
	buf_reset(&t->iri);
	buf_str(&t->iri, str_of(STEMMA_ID));
	buf_str(&t->iri, local);
	uint32_t w = t->iri.failed ? VEC_NONE : doc_intern(t->d, buf_view(&t->iri));
	t->failed |= w == VEC_NONE;
	return w == VEC_NONE ? 0 : w;
}

/* Copies a statement of the record into a document. arg: a struct taker. 0, -ENOMEM. */
static int copy_prov_statement(void *arg, const struct prov_statement *st)
{
	struct taker *t = arg;
	unsigned kind = 0;
	while (kind < DOC_KINDS && strcmp(doc_kinds[kind].name, prov_kind_name[st->kind]) != 0)
		kind++;
	struct doc_statement *s = kind < DOC_KINDS ? doc_add(t->d, kind, 0) : NULL;
	if (!s)
		return -ENOMEM;
	size_t at = t->d->st.n - 1;
	s->id = intern_local_name(t, st->id);
	s->arg[0] = intern_local_name(t, st->subject);
	s->arg[1] = intern_local_name(t, st->object);
	s->arg[2] = intern_local_name(t, st->third);
	t->d->st.v[at].start = st->start;
	t->d->st.v[at].end = st->end;
	return t->failed ? -ENOMEM : 0;
}

/* 0, -errno with a sentence. */
int doc_from_source(struct doc *d, struct prov_source *p, struct err *err)
{
	struct taker t = {.d = d};
	int rc = prov_walk(p, PROV_ALL | PROV_BUILDS, copy_prov_statement, &t);
	buf_release(&t.iri);
	return rc < 0 ? err_set(err, -rc, "cannot read the record") : 0;
}
