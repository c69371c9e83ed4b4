/* pack_process.c - what sessions told of a process, and lists of words, packed and unpacked. */
#include "store/pack.h"

/* 0, PACK_DAMAGED. */
int pproc_get(struct store *s, struct cur *c, struct pproc *ret)
{
	ret->boot = cur_u(c);
	ret->pidns = cur_u(c);
	ret->pid = cur_u(c);
	ret->started = time_add(s->base, cur_z(c));
	return c->bad ? PACK_DAMAGED : 0;
}

/* Times count from the store's base. */
void pproc_put(struct store *s, struct buf *out, const struct pproc *p)
{
	buf_varint(out, p->boot);
	buf_varint(out, p->pidns);
	buf_varint(out, p->pid);
	buf_zigzag(out, time_sub(p->started, s->base));
}

/* 1; 0 at the end; PACK_DAMAGED. */
int pproc_section_next(struct cur *c, struct pproc_section *ret)
{
	if (!cur_more(c))
		return c->bad ? PACK_DAMAGED : 0;
	ret->session = cur_u(c);
	ret->body = cur_str(c);
	return c->bad ? PACK_DAMAGED : 1;
}

int pproc_fact_next(struct cur *c, int64_t *t, struct pproc_fact *ret)
{
	if (!cur_more(c))
		return c->bad ? PACK_DAMAGED : 0;
	uint64_t head = cur_u(c);
	ret->kind = head & 7;
	int64_t at = *t = time_add(*t, cur_z(c));
	uint64_t seq = cur_u(c);
	switch (ret->kind) {
	case PPROC_FORK:
		ret->fork = (struct pproc_fork){.time = at, .seq = seq, .forked = TIME_NONE};
		ret->fork.parent = cur_u(c);
		ret->fork.run = cur_u(c);
		if (head >> 3 & 1)
			ret->fork.forked = time_sub(at, cur_z(c));
		break;
	case PPROC_EXEC:
		ret->exec = (struct pproc_exec){.time = at, .seq = seq, .n = head >> 3};
		ret->exec.exe = cur_u(c);
		ret->exec.script = cur_u(c);
		ret->exec.cwd = cur_u(c);
		ret->exec.env = cur_u(c);
		ret->exec.uid = cur_u(c);
		ret->exec.gid = cur_u(c);
		ret->exec.run = cur_u(c);
		ret->exec.argv = cur_str(c);
		break;
	case PPROC_EXIT:
		ret->exit = (struct pproc_exit){.time = at, .seq = seq, .ending = head >> 3};
		ret->exit.code = cur_u(c);
		ret->exit.known = cur_u(c);
		for (unsigned i = 0; i < 8; i++)
			if (ret->exit.known >> (i + 1) & 1)
				ret->exit.figure[i] = cur_u(c);
		/* cpu is nearly always user + system: the difference is stored */
		ret->exit.figure[0] += ret->exit.known >> 1 & 1 ? ret->exit.figure[1] + ret->exit.figure[2] : 0;
		break;
	case PPROC_LINK:
		ret->link = (struct pproc_link){.time = at, .seq = seq, .sure = head >> 3 & 1, .via = head >> 4 & 7};
		ret->link.n = cur_u(c);
		ret->link.other = cur_u(c);
		break;
	case PPROC_GAP:
		ret->gap = (struct pproc_gap){.time = at, .seq = seq, .from = TIME_NONE};
		ret->gap.n = cur_u(c);
		ret->gap.reason = cur_u(c);
		ret->gap.count = cur_u(c);
		ret->gap.text = cur_u(c);
		if (head >> 3 & 1)
			ret->gap.from = time_sub(at, cur_z(c));
		break;
	default:
		return PACK_DAMAGED;
	}
	return c->bad ? PACK_DAMAGED : 1;
}

void pproc_fact_put(struct buf *out, int64_t *t, const struct pproc_fact *f)
{
	uint64_t head = f->kind, seq = 0;
	int64_t at = 0;
	switch (f->kind) {
	case PPROC_FORK:
		head |= (uint64_t)(f->fork.forked != TIME_NONE) << 3;
		at = f->fork.time;
		seq = f->fork.seq;
		break;
	case PPROC_EXEC:
		head |= f->exec.n << 3;
		at = f->exec.time;
		seq = f->exec.seq;
		break;
	case PPROC_EXIT:
		head |= f->exit.ending << 3;
		at = f->exit.time;
		seq = f->exit.seq;
		break;
	case PPROC_LINK:
		head |= f->link.sure << 3 | f->link.via << 4;
		at = f->link.time;
		seq = f->link.seq;
		break;
	case PPROC_GAP:
		head |= (uint64_t)(f->gap.from != TIME_NONE) << 3;
		at = f->gap.time;
		seq = f->gap.seq;
		break;
	}
	buf_varint(out, head);
	buf_zigzag(out, time_sub(at, *t));
	*t = at;
	buf_varint(out, seq);
	switch (f->kind) {
	case PPROC_FORK:
		buf_varint(out, f->fork.parent);
		buf_varint(out, f->fork.run);
		if (f->fork.forked != TIME_NONE)
			buf_zigzag(out, time_sub(at, f->fork.forked));
		break;
	case PPROC_EXEC:
		buf_varint(out, f->exec.exe);
		buf_varint(out, f->exec.script);
		buf_varint(out, f->exec.cwd);
		buf_varint(out, f->exec.env);
		buf_varint(out, f->exec.uid);
		buf_varint(out, f->exec.gid);
		buf_varint(out, f->exec.run);
		buf_varint(out, f->exec.argv.n);
		buf_str(out, f->exec.argv);
		break;
	case PPROC_EXIT:
		buf_varint(out, f->exit.code);
		buf_varint(out, f->exit.known);
		for (unsigned i = 0; i < 8; i++)
			if (f->exit.known >> (i + 1) & 1)
				buf_varint(out, i ? f->exit.figure[i] : f->exit.figure[0] - f->exit.figure[1] - f->exit.figure[2]);
		break;
	case PPROC_LINK:
		buf_varint(out, f->link.n);
		buf_varint(out, f->link.other);
		break;
	case PPROC_GAP:
		buf_varint(out, f->gap.n);
		buf_varint(out, f->gap.reason);
		buf_varint(out, f->gap.count);
		buf_varint(out, f->gap.text);
		if (f->gap.from != TIME_NONE)
			buf_zigzag(out, time_sub(at, f->gap.from));
		break;
	}
}

int plist_first(struct str packed, uint64_t *ret_number, struct str *ret_text)
{
	struct cur c = cur_of(packed);
	uint64_t n = packed.n ? cur_u(&c) : 0, d = n ? cur_u(&c) : 0;
	bool itself = (d & 3) == 0;
	if (c.bad || (itself && d >> 2 > (uint64_t)(c.end - c.p)))
		return PACK_DAMAGED;
	*ret_number = itself ? 0 : d;
	*ret_text = itself ? str_n((const char *)c.p, (size_t)(d >> 2)) : str_of("");
	return 0;
}

int plist_expand(struct store *s, struct str packed, struct buf *out, size_t *ret_count)
{
	struct cur c = cur_of(packed);
	uint64_t n = packed.n ? cur_u(&c) : 0;
	size_t count = 0;
	for (; n && !c.bad; n--) {
		uint64_t d = cur_u(&c);
		if ((d & 3) == 0) { /* itself */
			if (d >> 2 > (uint64_t)(c.end - c.p))
				return PACK_DAMAGED;
			buf_varint(out, d >> 2);
			buf_add(out, c.p, (size_t)(d >> 2));
			c.p += d >> 2;
		} else if ((d & 3) == 1) {
			struct str w = store_interned(s, d >> 2);
			buf_varint(out, w.n);
			buf_str(out, w);
		} else {
			struct buf path = {0};
			store_path(s, d >> 2, &path);
			buf_varint(out, path.n);
			buf_str(out, buf_view(&path));
			buf_release(&path);
		}
		count++;
	}
	*ret_count = count;
	return c.bad ? PACK_DAMAGED : out->failed ? -ENOMEM : 0;
}
