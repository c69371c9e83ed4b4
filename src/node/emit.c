/* Telling: each user's log has numbers of its own for files, processes and domains. */
#include "base/hash.h"
#include "event/access_ending.h"
#include "node/node_int.h"

#include <stdlib.h>

/* What was told to the user's log; made at the first use. NULL without memory, which is counted as lost. */
struct book *book_of(struct node *n, uint32_t uid)
{
	for (struct book *b = n->books; b; b = b->next)
		if (b->uid == uid)
			return b;
	struct book *b = calloc(1, sizeof(*b));
	if (!b) {
		n->stats.lost++;
		return NULL;
	}
	b->uid = uid;
	b->session = 1;
	b->next = n->books;
	n->books = b;
	return b;
}

struct book *book_paying(struct node *n, struct nproc *p)
{
	if (p->payer && p->payer->uid == p->uid)
		return p->payer;
	struct book *b = book_of(n, p->uid);
	book_unpay(p);
	p->payer = b;
	if (b) {
		b->processes++;
		b->accesses += p->n_accesses;
	}
	return b;
}

void book_unpay(struct nproc *p)
{
	if (p->payer) {
		p->payer->processes--;
		p->payer->accesses -= p->n_accesses;
	}
	p->payer = NULL;
}

void book_short(struct node *n, uint32_t uid)
{
	struct book *b = book_of(n, uid);
	n->stats.lost++;
	if (b)
		b->short_of_room++;
}

/* Gives the event's seq in the user's log; 0: it is lost. */
uint64_t node_emit(struct node *n, struct book *b, uint64_t proc, uint64_t kind, int64_t time, struct event *ev)
{
	ev->kind = kind;
	ev->time = time;
	ev->proc = proc;
	n->stats.told++;
	return n->world.add(n->world.arg, b->uid, ev);
}

/* d NULL: not known, which is domain 255, as are those beyond it. */
static uint64_t node_emit_domain(struct node *n, struct book *b, const struct fs_domain *d)
{
	enum { UNKNOWN = 255 };
	unsigned num = d && d->index && d->index < UNKNOWN ? d->index : UNKNOWN;
	if (!(b->domains[num / 64] >> num % 64 & 1)) {
		struct event ev = {.domain = {.num = num,
		                              .name = str_of(d ? d->name : "unknown"),
		                              .type = str_of(d ? d->type : ""),
		                              .network = d && d->network}};
		b->domains[num / 64] |= 1ull << num % 64;
		node_emit(n, b, 0, EVENT_domain, n->now, &ev);
	}
	return num;
}

/* What was told of a file in a user's log. NULL: nothing of the file was told to that book. */
static struct emitted *find_emitted(struct nfile *f, const struct book *b)
{
	for (struct emitted *t = f->emitted; t; t = t->next)
		if (t->book == b)
			return t;
	return NULL;
}

uint64_t node_emit_file(struct node *n, struct book *b, struct nfile *f)
{
	struct emitted *t = find_emitted(f, b);
	uint64_t path = f->path ? hash_str(str_of(f->path)) : 0;
	if (t && t->session == b->session && t->path == path)
		return t->num;
	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t) {
			n->stats.lost++;
			return 0;
		}
		*t = (struct emitted){.next = f->emitted, .book = b};
		f->emitted = t;
	}
	if (t->session != b->session) {
		t->num = ++b->next_file;
		t->stated = false;
	}
	t->session = b->session;
	t->path = path;
	uint64_t domain = f->kind == TERM_kind_absent ? 0 : node_emit_domain(n, b, f->domain);
	struct event ev = {.file = {.num = t->num,
	                            .kind = f->kind,
	                            .domain = domain,
	                            .ino = f->channel ? f->channel : f->ino,
	                            .gen = f->gen,
	                            .path = str_of(f->path)}};
	n->stats.files_told++;
	node_emit(n, b, 0, EVENT_file, f->path ? f->path_time : n->now, &ev);
	return t->num;
}

void node_emit_state(struct node *n, struct book *b, struct nfile *f, uint64_t size, int64_t mtime)
{
	uint64_t num = node_emit_file(n, b, f);
	struct emitted *t = find_emitted(f, b);
	if (!num || !t || (t->stated && t->size == size && t->mtime == mtime))
		return;
	t->stated = true;
	t->size = size;
	t->mtime = mtime;
	t->written = f->written;
	struct event ev = {.state = {.file = num, .size = size, .mtime = mtime}};
	node_emit(n, b, 0, EVENT_state, n->now, &ev);
}

/* Everybody who had the file open since it was made was seen, nobody has written it since that or does so now (as the
 * caller knows), and its length is the same: of its content nothing has changed. */
static bool is_set_only(const struct node *n, const struct nfile *f, const struct emitted *t, uint64_t size,
                        int64_t mtime)
{
	return t->stated && t->size == size && t->mtime != mtime && f->kind == TERM_kind_regular &&
	       f->born == 1 + n->losses && f->written == t->written && access_ending_has_clock(f->domain);
}

void node_emit_found(struct node *n, struct book *b, struct nfile *f, uint64_t num, int64_t time, uint64_t size,
                     int64_t mtime)
{
	const struct emitted *t = find_emitted(f, b);
	if (!t || t->session != b->session || !is_set_only(n, f, t, size, mtime)) {
		node_emit_state(n, b, f, size, mtime);
		return;
	}
	/* An access that neither reads nor writes; whose it was is not known. */
	struct event ev = {.access = {.file = t->num, .mode = ACCESS_STATE, .via = TERM_via_data}};
	uint64_t seq = node_emit(n, b, num, EVENT_access, time, &ev);
	node_emit_state(n, b, f, size, mtime);
	struct event end = {.access_end = {.access = seq, .until = time, .evidence = TERM_evidence_none, .state = 1}};
	node_emit(n, b, num, EVENT_access_end, n->now, &end);
}

/* In ns since the boot, as /proc tells it. */
static int64_t started_as_proc(uint64_t start)
{
	/* /proc has it in ticks of 10 ms, and that is what a process is known by. */
	const uint64_t tick = 10000000;
	return (int64_t)(start - start % tick);
}

/* The process counts to that user's log from now on. */
static void nproc_set_book(struct nproc *p, struct book *b)
{
	if (p->book == b)
		return;
	if (p->book && p->alive)
		p->book->procs--;
	b->procs += p->alive;
	p->book = b;
}

static uint64_t emit_nproc_at(struct node *n, struct nproc *p, unsigned depth);

/* The number of whom p would count to, told first if need be: it is in the same log, or in none that its user may see.
 * 0: in none. */
static uint64_t emit_parent(struct node *n, const struct nproc *p, unsigned depth)
{
	enum { ABOVE_MAX = 64 };
	struct nproc *a = p->above;
	if (a->state == OWN && a->uid == p->uid && a->session != p->book->session && depth < ABOVE_MAX)
		emit_nproc_at(n, a, depth + 1);
	return a->book == p->book && a->session == p->book->session ? a->num : 0;
}

/* The process's number in its user's log, which is told of it first if need be. 0: it cannot be told. */
static uint64_t emit_nproc_at(struct node *n, struct nproc *p, unsigned depth)
{
	struct book *b = book_of(n, p->uid);
	if (!b)
		return 0;
	if (p->book == b && p->session == b->session)
		return p->num;
	bool first = !p->book;
	nproc_set_book(p, b);
	p->session = b->session;
	p->num = ++b->next_proc;
	uint64_t parent = first && p->above ? emit_parent(n, p, depth) : 0;
	struct event ev = {
	    .process = {
	        .pid = (uint64_t)p->pid, .started = started_as_proc(p->start), .parent = parent, .forked = p->forked}};
	node_emit(n, b, p->num, EVENT_process, p->forked_hi, &ev);
	n->stats.representative += first;
	if (first && p->above) {
		nproc_unref(n, p->above);
		p->above = NULL;
	}
	if (p->execn && p->now && p->now->n == p->execn)
		node_emit_exec(n, p, p->exec_time);
	return p->num;
}

uint64_t node_emit_proc(struct node *n, struct nproc *p)
{
	return emit_nproc_at(n, p, 0);
}

struct str *node_unpack_words(const char *packed, size_t size, size_t *ret_n)
{
	size_t n = 0;
	for (size_t i = 0; i < size; i++)
		n += !packed[i];
	struct str *words = malloc((n + 1) * sizeof(*words));
	*ret_n = words ? n : 0;
	for (size_t i = 0, at = 0; words && i < n; at += words[i++].n + 1)
		words[i] = str_of(packed + at);
	return words;
}

void node_emit_exec(struct node *n, struct nproc *p, int64_t time)
{
	size_t argc, envc;
	static const struct nprogram none;
	const struct nprogram *now = p->now ? p->now : &none;
	struct str *argv = node_unpack_words(now->argv, now->argv_n, &argc),
	           *env = node_unpack_words(now->env, now->env_n, &envc);
	struct event ev = {.exec = {.n = p->execn,
	                            .exe = now->exe ? node_emit_file(n, p->book, now->exe) : 0,
	                            .script = now->script ? node_emit_file(n, p->book, now->script) : 0,
	                            .argv = {.items = argv, .count = argc},
	                            .cwd = str_of(now->cwd),
	                            .env = {.items = env, .count = envc},
	                            .uid = p->uid,
	                            .gid = p->gid,
	                            .run = str_of(p->run)}};
	n->stats.lost += !argv || !env;
	node_emit(n, p->book, p->num, EVENT_exec, time, &ev);
	free(argv);
	free(env);
}

uint64_t node_emit_alias(struct node *n, struct nproc *p, uint64_t execn, uint32_t uid, struct book **ret)
{
	uint64_t num = node_emit_proc(n, p);
	*ret = p->book;
	if (!num || execn == p->execn)
		return num;
	struct book *b = book_of(n, uid);
	if (!b)
		return 0;
	*ret = b;
	if (p->alias.book == b && p->alias.session == b->session && p->alias.execn == execn)
		return p->alias.num;
	num = ++b->next_proc;
	struct event ev = {.process = {.pid = (uint64_t)p->pid, .started = started_as_proc(p->start), .forked = p->forked}};
	node_emit(n, b, num, EVENT_process, p->forked_hi + 1, &ev);
	if (execn) {
		ev = (struct event){.exec = {.n = execn, .uid = b->uid, .run = str_of(p->run)}};
		node_emit(n, b, num, EVENT_exec, p->exec_time - 1, &ev);
	}
	p->alias.book = b;
	p->alias.session = b->session;
	p->alias.execn = execn;
	p->alias.num = num;
	return num;
}

void node_emit_gap(struct node *n, struct nproc *p, unsigned reason, uint64_t count, int64_t from, int64_t until,
                   const char *text)
{
	uint64_t num = node_emit_proc(n, p);
	struct event ev = {.gap = {.reason = reason, .count = count, .from = from, .text = str_of(text)}};
	if (num)
		node_emit(n, p->book, num, EVENT_gap, until, &ev);
}

void node_emit_name(struct node *n, struct nproc *p, unsigned op, struct nfile *f, const char *path, const char *old,
                    int64_t time)
{
	struct nproc *owner = p ? owner_of(p) : NULL;
	struct book *own = owner && node_emit_proc(n, owner) ? owner->book : p ? book_of(n, p->uid) : NULL;
	for (struct book *b = n->books; b; b = b->next) {
		const struct emitted *t = find_emitted(f, b);
		if (b != own && (!t || t->session != b->session))
			continue;
		struct event ev = {
		    .name = {.op = op, .file = node_emit_file(n, b, f), .path = str_of(path), .old = str_of(old)}};
		node_emit(n, b, b == own && owner ? owner->num : 0, EVENT_name, time, &ev);
	}
}
