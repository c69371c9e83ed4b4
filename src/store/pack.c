/* pack.c - accesses, files and names of paths, packed and unpacked. */
#include "store/pack.h"

/* The lengths of all parts but the last, then their bytes; pack_split reads it. */
void pack_join(struct buf *out, const struct str *part, unsigned parts)
{
	for (unsigned i = 0; i + 1 < parts; i++)
		buf_varint(out, part[i].n);
	for (unsigned i = 0; i < parts; i++)
		buf_str(out, part[i]);
}

/* ---- accesses ---- */

int pacc_section_next(struct cur *c, struct pacc_section *ret)
{
	if (!cur_more(c))
		return c->bad ? PACK_DAMAGED : 0;
	ret->session = cur_u(c);
	ret->n = (uint32_t)cur_u(c);
	ret->count = cur_u(c);
	ret->body = cur_of(cur_str(c));
	return c->bad ? PACK_DAMAGED : 1;
}

/* sec and uses must outlive the reading. */
void pacc_begin(struct pacc_reader *r, struct store *s, const struct pacc_section *sec, struct ids *uses)
{
	*r = (struct pacc_reader){.s = s, .body = sec->body, .start = s->base, .uses = uses};
}

/* A moment near another, or none. TIME_NONE: none. */
static int64_t near_get(struct cur *c, int64_t start)
{
	uint64_t v = cur_u(c);
	return v ? time_add(start, unzigzag(v - 1)) : TIME_NONE;
}

/* One more than the difference to start, 0 for TIME_NONE. Gives the end. */
static unsigned char *near_put(unsigned char *p, int64_t t, int64_t start)
{
	uint64_t d = zigzag(time_sub(t, start));
	/* UINT64_MAX would be none: a difference that no clock gives */
	return p + varint_put(p, t == TIME_NONE || d == UINT64_MAX ? 0 : d + 1);
}

/* Several uses, each to its own version; into r->uses. 0, -ENOTRECOVERABLE, -ENOMEM. */
static int next_uses(struct pacc_reader *r, struct pacc *a)
{
	struct cur *c = &r->body;
	uint64_t n = cur_u(c), v = 0;
	if (n > (uint64_t)(c->end - c->p))
		return PACK_DAMAGED;
	a->use = (uint32_t)r->uses->n;
	a->nuse = (uint32_t)n;
	while (n-- && !c->bad) {
		uint64_t d = cur_u(c);
		v += d >> 3;
		if (ids_add(r->uses, v << 3 | (d & 7)) < 0)
			return -ENOMEM;
	}
	return 0;
}

int pacc_next(struct pacc_reader *r, struct pacc *ret)
{
	struct cur *c = &r->body;
	if (!cur_more(c))
		return c->bad ? PACK_DAMAGED : 0;
	uint64_t bits;
	int known = store_layout(r->s, cur_u(c), &bits);
	if (known <= 0) /* without it nothing that follows can be read */
		return known < 0 ? known : PACK_DAMAGED;
	struct pacc a = {.bits = bits, .count = 1, .first = TIME_NONE, .last = TIME_NONE, .access = VEC_NONE};
	a.seq = r->seq += cur_u(c);
	a.start = r->start = time_add(r->start, cur_z(c));
	a.end = layout_get(bits, LAYOUT_END, 2) == END_NEVER ? TIME_NEVER : time_add(a.start, (int64_t)cur_u(c));
	a.self = a.file = r->self = (uint64_t)time_add((int64_t)r->self, cur_z(c));
	if (layout_get(bits, LAYOUT_OTHER, 1))
		a.file = cur_u(c);
	if (layout_get(bits, LAYOUT_REPORTED, 1)) {
		a.as_session = cur_u(c);
		a.as_seq = cur_u(c);
	}
	a.from = a.start;
	a.to = a.end;
	if (layout_get(bits, LAYOUT_EXACT, 1)) {
		a.first = near_get(c, a.start);
		a.last = near_get(c, a.start);
	}
	if (layout_get(bits, LAYOUT_EARLY, 1))
		a.last = near_get(c, a.start);
	if (layout_get(bits, LAYOUT_PART, 1))
		a.part = (uint32_t)cur_u(c);
	if (layout_get(bits, LAYOUT_SPAN, 1)) {
		a.from = time_add(a.start, (int64_t)cur_u(c));
		a.to = time_add(a.from, (int64_t)cur_u(c));
	}
	if (layout_get(bits, LAYOUT_FPS, 1))
		a.fps = (uint32_t)cur_u(c);
	if (layout_get(bits, LAYOUT_FPE, 1))
		a.fpe = (uint32_t)cur_u(c);
	if (layout_get(bits, LAYOUT_COUNT, 1))
		a.count = cur_u(c);
	if (layout_get(bits, LAYOUT_READ_BYTES, 1))
		a.bytes_read = cur_u(c);
	if (layout_get(bits, LAYOUT_WRITTEN_BYTES, 1))
		a.bytes_written = cur_u(c);
	if (layout_get(bits, LAYOUT_GEN, 1))
		a.gen = (uint32_t)cur_u(c);
	unsigned uses = layout_get(bits, LAYOUT_USES, 2);
	if (uses == 1) {
		a.nuse = 1;
		a.use = (uint32_t)cur_u(c);
	} else if (uses) {
		int rc = next_uses(r, &a);
		if (rc < 0)
			return rc;
	}
	*ret = a;
	return c->bad ? PACK_DAMAGED : 1;
}

/* What stood before an access in its section: numbers are differences to it. */
struct access_before {
	int64_t start;
	uint64_t seq, self;
};

/* Appends one access to b, whose layout has the number shape. before: the one before it, from which it counts. 0,
 * -ENOMEM. */
static int put_access(struct buf *b, const struct pacc *a, uint64_t shape, const struct ids *uses,
                      const struct access_before *before)
{
	if (!buf_room(b, 200))
		return -ENOMEM;
	unsigned char *p = (unsigned char *)b->p + b->n, *from = p;
	p += varint_put(p, shape);
	p += varint_put(p, a->seq - before->seq);
	p += varint_put(p, zigzag(time_sub(a->start, before->start)));
	if (layout_get(a->bits, LAYOUT_END, 2) != END_NEVER)
		p += varint_put(p, (uint64_t)time_sub(a->end, a->start));
	p += varint_put(p, zigzag((int64_t)(a->self - before->self)));
	if (layout_get(a->bits, LAYOUT_OTHER, 1))
		p += varint_put(p, a->file);
	if (layout_get(a->bits, LAYOUT_REPORTED, 1)) {
		p += varint_put(p, a->as_session);
		p += varint_put(p, a->as_seq);
	}
	if (layout_get(a->bits, LAYOUT_EXACT, 1)) {
		p = near_put(p, a->first, a->start);
		p = near_put(p, a->last, a->start);
	}
	if (layout_get(a->bits, LAYOUT_EARLY, 1))
		p = near_put(p, a->last, a->start);
	if (layout_get(a->bits, LAYOUT_PART, 1))
		p += varint_put(p, a->part);
	if (layout_get(a->bits, LAYOUT_SPAN, 1)) {
		p += varint_put(p, (uint64_t)time_sub(a->from, a->start));
		p += varint_put(p, (uint64_t)time_sub(a->to, a->from));
	}
	if (layout_get(a->bits, LAYOUT_FPS, 1))
		p += varint_put(p, a->fps);
	if (layout_get(a->bits, LAYOUT_FPE, 1))
		p += varint_put(p, a->fpe);
	if (layout_get(a->bits, LAYOUT_COUNT, 1))
		p += varint_put(p, a->count);
	if (layout_get(a->bits, LAYOUT_READ_BYTES, 1))
		p += varint_put(p, a->bytes_read);
	if (layout_get(a->bits, LAYOUT_WRITTEN_BYTES, 1))
		p += varint_put(p, a->bytes_written);
	if (layout_get(a->bits, LAYOUT_GEN, 1))
		p += varint_put(p, a->gen);
	unsigned many = layout_get(a->bits, LAYOUT_USES, 2);
	if (many == 1)
		p += varint_put(p, a->use);
	else if (many)
		p += varint_put(p, a->nuse);
	b->n += (size_t)(p - from);
	uint64_t last = 0;
	for (uint32_t k = 0; many == 2 && k < a->nuse; k++) {
		uint64_t u = uses->v[a->use + k];
		buf_varint(b, ((u >> 3) - last) << 3 | (u & 7));
		last = u >> 3;
	}
	return 0;
}

int pacc_put(struct store *s, struct buf *out, uint64_t session, uint32_t n, const struct pacc *v, size_t count,
             const struct ids *uses, struct err *err)
{
	struct buf *b = &s->scratch2;
	struct access_before before = {.start = s->base};
	buf_reset(b);
	for (size_t i = 0; i < count; i++) {
		uint64_t shape;
		int rc = store_layout_id(s, v[i].bits, &shape, err);
		if (rc == 0)
			rc = put_access(b, &v[i], shape, uses, &before);
		if (rc < 0)
			return rc;
		before = (struct access_before){v[i].start, v[i].seq, v[i].self};
	}
	buf_varint(out, session);
	buf_varint(out, n);
	buf_varint(out, count);
	buf_varint(out, b->n);
	buf_str(out, buf_view(b));
	return b->failed || out->failed ? -ENOMEM : 0;
}

/* ---- files ---- */

/* Times count from base. */
static void key_get(struct cur *c, int64_t base, struct pkey *k)
{
	k->time = time_add(base, cur_z(c));
	k->session = cur_u(c);
	k->seq = cur_u(c);
}

/* Times count from base. */
static void key_put(struct buf *b, int64_t base, const struct pkey *k)
{
	buf_zigzag(b, time_sub(k->time, base));
	buf_varint(b, k->session);
	buf_varint(b, k->seq);
}

/* f is empty then. */
void pfile_release(struct pfile *f)
{
	vec_release(&f->paths);
	vec_release(&f->fps);
	buf_release(&f->shown);
	*f = (struct pfile){0};
}

enum { HAS_PATH_KEY = 1, HAS_GROUP = 2, HAS_SHOWN = 4, HAS_NAME = 8, HAS_WITHIN = 16 };

/* gen is often a hash: 9 or 10 bytes as a varint, 8 as it is. */
static void get_identity(struct cur *c, struct pfile *f, uint64_t *ret_has)
{
	uint64_t head = cur_u(c);
	f->kind = head & 31;
	*ret_has = head >> 5 & 31;
	f->flags = head >> 10;
	f->domain = cur_u(c);
	f->ino = f->gen = f->path = 0;
	if (!f->domain) {
		f->path = cur_u(c);
		return;
	}
	uint64_t ino = cur_u(c);
	f->ino = ino >> 1;
	if (ino & 1) {
		if (c->end - c->p < 8) {
			c->bad = true;
			return;
		}
		for (unsigned i = 0; i < 8; i++)
			f->gen |= (uint64_t)c->p[i] << (8 * i);
		c->p += 8;
	} else {
		f->gen = cur_u(c);
	}
	if (f->ino == UINT64_MAX >> 1)
		f->ino = cur_u(c);
}

int pfile_identity(struct str info, struct pfile *ret)
{
	struct cur c = cur_of(info);
	uint64_t has;
	get_identity(&c, ret, &has);
	return c.bad ? PACK_DAMAGED : 0;
}

/* Texts of ret point into info. 0, -ENOTRECOVERABLE. */
int pfile_brief(struct str info, struct pfile_brief *ret)
{
	struct cur c = cur_of(info);
	struct pfile f;
	uint64_t has;
	get_identity(&c, &f, &has);
	/* Over the keys: three numbers each. */
	cur_u(&c), cur_u(&c), cur_u(&c);
	if (has & HAS_PATH_KEY) {
		f.path = cur_u(&c);
		cur_u(&c), cur_u(&c), cur_u(&c);
	}
	if (has & HAS_GROUP)
		cur_u(&c), cur_u(&c), cur_u(&c), cur_u(&c);
	*ret = (struct pfile_brief){.kind = f.kind, .path = f.path, .within = has & HAS_WITHIN ? cur_u(&c) : 0};
	if (has & HAS_SHOWN) {
		ret->shown_dir = cur_u(&c);
		ret->shown = cur_str(&c);
	}
	return c.bad ? PACK_DAMAGED : 0;
}

/* Room for n elements in an array, from the arena if there is one. */
static bool reserve_elements(struct arena *arena, void *pv, size_t *cap, uint64_t n, size_t size)
{
	if (n <= *cap)
		return true;
	if (!arena)
		return vec_grow(pv, cap, n, size);
	void *p = arena_take(arena, n * size);
	if (p) {
		memcpy(pv, &p, sizeof(p));
		*cap = n;
	}
	return p != NULL;
}

/* The rows of its paths, then its fingerprints. 0, -ENOTRECOVERABLE, -ENOMEM. */
static int get_file_lists(struct cur *c, int64_t base, struct pfile *ret, struct arena *arena)
{
	ret->paths.n = ret->fps.n = 0;
	uint64_t n = cur_u(c), v = 0;
	if (n > (uint64_t)(c->end - c->p))
		return PACK_DAMAGED; /* each takes a byte or more */
	if (!reserve_elements(arena, &ret->paths.v, &ret->paths.cap, n, sizeof(*ret->paths.v)))
		return -ENOMEM;
	while (n-- && !c->bad)
		ret->paths.v[ret->paths.n++] = v = (uint64_t)time_add((int64_t)v, cur_z(c));
	n = cur_u(c);
	if (n > (uint64_t)(c->end - c->p))
		return PACK_DAMAGED;
	if (!reserve_elements(arena, &ret->fps.v, &ret->fps.cap, n, sizeof(*ret->fps.v)))
		return -ENOMEM;
	int64_t t = base;
	while (n-- && !c->bad) {
		struct pfp *fp = &ret->fps.v[ret->fps.n++];
		uint64_t known = cur_u(c);
		fp->size = known >> 1 < INT64_MAX ? known >> 1 : cur_u(c);
		fp->mtime = known & 1 ? (t = time_add(t, cur_z(c))) : TIME_NONE;
	}
	return c->bad ? PACK_DAMAGED : 0;
}

int pfile_get(struct store *s, struct str info, struct pfile *ret, struct arena *arena)
{
	struct cur c = cur_of(info);
	uint64_t has;
	get_identity(&c, ret, &has);
	key_get(&c, s->base, &ret->kind_key);
	ret->path_key = ret->group_key = (struct pkey){0};
	ret->group = 0;
	if (has & HAS_PATH_KEY) {
		ret->path = cur_u(&c);
		key_get(&c, s->base, &ret->path_key);
	}
	if (has & HAS_GROUP) {
		ret->group = cur_u(&c);
		key_get(&c, s->base, &ret->group_key);
	}
	ret->within = has & HAS_WITHIN ? cur_u(&c) : 0;
	ret->shown_dir = 0;
	buf_reset(&ret->shown);
	ret->named = has & HAS_NAME;
	if (has & HAS_SHOWN) {
		ret->shown_dir = cur_u(&c);
		struct str shown = cur_str(&c);
		if (!reserve_elements(arena, &ret->shown.p, &ret->shown.cap, shown.n, 1))
			return -ENOMEM;
		if (shown.n)
			memcpy(ret->shown.p, shown.p, shown.n);
		ret->shown.n = shown.n;
	}
	ret->nversion = cur_u(&c);
	return get_file_lists(&c, s->base, ret, arena);
}

/* What get_identity reads, behind kind, flags and domain. */
static void put_identity(struct buf *out, const struct pfile *f)
{
	if (!f->domain) {
		buf_varint(out, f->path);
		return;
	}
	bool raw = f->gen >> 49, big = f->ino >= UINT64_MAX >> 1;
	buf_varint(out, (big ? UINT64_MAX >> 1 : f->ino) << 1 | raw);
	if (raw)
		for (unsigned i = 0; i < 8; i++)
			buf_char(out, (char)(f->gen >> (8 * i)));
	else
		buf_varint(out, f->gen);
	if (big)
		buf_varint(out, f->ino);
}

/* What get_file_lists reads. */
static void put_file_lists(struct buf *out, int64_t base, const struct pfile *f)
{
	buf_varint(out, f->paths.n);
	uint64_t v = 0;
	for (size_t i = 0; i < f->paths.n; i++) {
		buf_zigzag(out, (int64_t)(f->paths.v[i] - v));
		v = f->paths.v[i];
	}
	buf_varint(out, f->fps.n);
	int64_t t = base;
	for (size_t i = 0; i < f->fps.n; i++) {
		const struct pfp *fp = &f->fps.v[i];
		bool known = fp->mtime != TIME_NONE, big = fp->size >= INT64_MAX;
		buf_varint(out, (big ? (uint64_t)INT64_MAX : fp->size) << 1 | known);
		if (big)
			buf_varint(out, fp->size);
		if (known) {
			buf_zigzag(out, time_sub(fp->mtime, t));
			t = fp->mtime;
		}
	}
}

void pfile_put(struct store *s, struct buf *out, const struct pfile *f)
{
	bool shows = f->shown.n || f->shown_dir;
	uint64_t has = (f->domain && f->path ? HAS_PATH_KEY : 0) | (f->group ? HAS_GROUP : 0) | (shows ? HAS_SHOWN : 0) |
	               (f->named ? HAS_NAME : 0) | (f->within ? HAS_WITHIN : 0);
	buf_varint(out, f->kind | has << 5 | f->flags << 10);
	buf_varint(out, f->domain);
	put_identity(out, f);
	key_put(out, s->base, &f->kind_key);
	if (has & HAS_PATH_KEY) {
		buf_varint(out, f->path);
		key_put(out, s->base, &f->path_key);
	}
	if (has & HAS_GROUP) {
		buf_varint(out, f->group);
		key_put(out, s->base, &f->group_key);
	}
	if (has & HAS_WITHIN)
		buf_varint(out, f->within);
	if (shows) {
		buf_varint(out, f->shown_dir);
		buf_varint(out, f->shown.n);
		buf_str(out, buf_view(&f->shown));
	}
	buf_varint(out, f->nversion);
	put_file_lists(out, s->base, f);
}

/* ---- names ---- */

enum { FACT_RENAME_OLD = 7 }; /* in place of the op: this path is the old one */

int pname_fact_next(struct store *s, struct cur *c, struct pname_fact *ret)
{
	if (!cur_more(c))
		return c->bad ? PACK_DAMAGED : 0;
	uint64_t head = cur_u(c);
	*ret = (struct pname_fact){.op = head & 7, .session = head >> 3};
	ret->time = time_add(s->base, cur_z(c));
	ret->seq = cur_u(c);
	ret->file = cur_u(c);
	if (ret->op == FACT_RENAME_OLD) {
		ret->op = TERM_nameop_rename;
		ret->is_old = true;
	}
	if (ret->op == TERM_nameop_rename)
		ret->other = cur_u(c);
	return c->bad ? PACK_DAMAGED : 1;
}

/* Times count from the store's base. other goes only with a rename. */
void pname_fact_put(struct store *s, struct buf *out, const struct pname_fact *f)
{
	buf_varint(out, f->session << 3 | (f->is_old ? FACT_RENAME_OLD : f->op));
	buf_zigzag(out, time_sub(f->time, s->base));
	buf_varint(out, f->seq);
	buf_varint(out, f->file);
	if (f->op == TERM_nameop_rename)
		buf_varint(out, f->other);
}

int pname_next(struct store *s, struct cur *c, struct pname *ret)
{
	if (!cur_more(c))
		return c->bad ? PACK_DAMAGED : 0;
	uint64_t head = cur_u(c);
	ret->host = head >> 1;
	ret->linked = head & 1;
	ret->file = cur_u(c);
	ret->from = time_add(s->base, cur_z(c));
	uint64_t d = cur_u(c);
	ret->to = d ? time_add(ret->from, (int64_t)(d - 1)) : TIME_NEVER;
	return c->bad ? PACK_DAMAGED : 1;
}

/* Times count from the store's base; 0 for an end that never came. */
void pname_put(struct store *s, struct buf *out, const struct pname *n)
{
	buf_varint(out, n->host << 1 | n->linked);
	buf_varint(out, n->file);
	buf_zigzag(out, time_sub(n->from, s->base));
	buf_varint(out, n->to == TIME_NEVER ? 0 : (uint64_t)time_sub(n->to, n->from) + 1);
}

uint64_t path_facts_begin(struct store *s, struct cur *c, int64_t *ret_last)
{
	uint64_t flags = cur_more(c) ? cur_u(c) : 0;
	*ret_last = flags & PPATH_LAST ? time_add(s->base, cur_z(c)) : TIME_NONE;
	return flags;
}

int path_names(struct store *s, struct str facts, struct str names, int (*say)(void *arg, const struct pname *n),
               void *arg)
{
	struct cur c = cur_of(names);
	struct pname n;
	int rc;
	while ((rc = pname_next(s, &c, &n)) == 1) {
		int stop = say(arg, &n);
		if (stop)
			return stop;
	}
	if (rc < 0 || names.n)
		return rc;
	/* A plain path with one fact: the name is that fact. */
	c = cur_of(facts);
	int64_t last;
	uint64_t flags = path_facts_begin(s, &c, &last);
	struct pname_fact f;
	if (c.bad || (flags & (PPATH_PLAIN | PPATH_MUTE)) != PPATH_PLAIN || (rc = pname_fact_next(s, &c, &f)) != 1)
		return rc;
	const struct ssession *session = store_session(s, f.session);
	n = (struct pname){session ? session->host : 0, f.file, f.time, TIME_NEVER, f.op == TERM_nameop_link};
	return say(arg, &n);
}
