/* diff_pair.c - pairs the executions of two sides by role: program, arguments, outputs, place in the tree.
 *
 * In passes, from the strictest key to the loosest, each among what is left. Executions stand in start order, so a
 * parent is met before its children: within a pass one walk over side B finds for each execution the first one of side
 * A with the same key whose parent is the partner of its own; a second walk does without the parents. Each walk costs
 * one hash table over what is left. */
#include "query/diff/diff_int.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

/* Those with the rank first: ranks of one program are alike in all else. */
enum key {
	KEY_rank_exact,
	KEY_rank_argv,
	KEY_rank_outputs,
	KEY_rank_program,
	KEY_exact,
	KEY_argv,
	KEY_outputs,
	KEY_place,
	KEY_program,
	KEY_name,
	KEYS
};

/* The key by which an execution is paired with one of the other side. 0: an execution has no such key. */
static uint64_t make_exec_key(const struct dexec *x, enum key key)
{
	uint64_t v[5] = {(uint64_t)key, x->key_program, 0, 0, key < KEY_exact ? x->key_rank : 0};
	if (key < KEY_exact && !x->key_rank)
		return 0;
	switch (key) {
	case KEY_rank_exact:
	case KEY_exact:
		v[2] = x->key_argv;
		v[3] = x->key_outputs ^ hash_str(x->cwd);
		break;
	case KEY_rank_argv:
	case KEY_argv:
		v[2] = x->key_argv;
		break;
	case KEY_rank_outputs:
	case KEY_outputs:
		if (!x->key_outputs)
			return 0;
		v[2] = x->key_outputs;
		break;
	case KEY_place:
		v[2] = x->place + 1;
		break;
	case KEY_rank_program:
	case KEY_program:
		break;
	case KEY_name:
	case KEYS:
		v[1] = 0;
		v[2] = x->key_name;
		break;
	}
	return hash_bytes(v, sizeof(v));
}

/* A key of an execution below that parent; never 0. */
static uint64_t with_parent(uint64_t key, uint32_t parent)
{
	uint64_t v[2] = {key, parent};
	uint64_t h = hash_bytes(v, sizeof(v));
	return h ? h : 1;
}

struct pairing {
	struct side *a, *b;
	uint32_t *next; /* of side A: the next one with the same key, NONE */
	uint32_t *last; /* of side A: at the head of a list, its last */
	size_t paired;
};

/* Makes them partners, and counts the pair. */
static void pair_execs(struct pairing *p, uint32_t a, uint32_t b)
{
	p->a->execs[a].partner = b;
	p->b->execs[b].partner = a;
	p->paired++;
}

/* Side A's executions without a partner, in lists by their keys. 0, -ENOMEM. */
static int list_by_key(struct pairing *p, enum key key, bool parents, struct idmap *heads)
{
	bool new;
	for (uint32_t i = 0; i < p->a->n_execs; i++) {
		const struct dexec *x = &p->a->execs[i];
		uint64_t k = x->partner == NONE ? make_exec_key(x, key) : 0;
		if (!k)
			continue;
		uint32_t *head = idmap_add(heads, with_parent(k, parents ? x->parent : NONE), i, &new);
		if (!head)
			return -ENOMEM;
		p->next[i] = NONE;
		if (new || *head == NONE)
			*head = i;
		else
			p->next[p->last[*head]] = i;
		p->last[*head] = i;
	}
	return 0;
}

/* Takes the first off a list that has one. */
static uint32_t take_first(struct pairing *p, uint32_t *head)
{
	uint32_t first = *head, rest = p->next[first];
	if (rest != NONE)
		p->last[rest] = p->last[first];
	*head = rest;
	return first;
}

/* One walk. Parents count where `parents`: an execution without a parent in its side matches those without one. 0,
 * -ENOMEM. */
static int pair_by_key(struct pairing *p, enum key key, bool parents)
{
	struct idmap heads = {0};
	int r = list_by_key(p, key, parents, &heads);
	for (uint32_t i = 0; r == 0 && i < p->b->n_execs; i++) {
		const struct dexec *x = &p->b->execs[i];
		uint64_t k = x->partner == NONE ? make_exec_key(x, key) : 0;
		uint32_t parent = NONE;
		if (!k)
			continue;
		if (parents && x->parent != NONE && (parent = p->b->execs[x->parent].partner) == NONE)
			continue;
		uint32_t *head = idmap_find(&heads, with_parent(k, parent));
		if (head && *head != NONE)
			pair_execs(p, take_first(p, head), i);
	}
	idmap_release(&heads);
	return r;
}

/* Which of its parent's children with the same program an execution is. 0, -ENOMEM. */
static int number_siblings(struct side *s)
{
	struct idmap counts = {0};
	for (size_t i = 0; i < s->n_execs; i++) {
		struct dexec *x = &s->execs[i];
		bool new;
		uint32_t *n = idmap_add(&counts, with_parent(x->key_program, x->parent), 0, &new);
		if (!n) {
			idmap_release(&counts);
			return -ENOMEM;
		}
		x->place = (*n)++;
	}
	idmap_release(&counts);
	return 0;
}

int diff_pair(struct side side[2], size_t *ret_paired)
{
	struct pairing p = {.a = &side[0], .b = &side[1]};
	int r = -ENOMEM;
	p.next = malloc((side[0].n_execs + 1) * sizeof(*p.next));
	p.last = malloc((side[0].n_execs + 1) * sizeof(*p.last));
	if (!p.next || !p.last || number_siblings(&side[0]) < 0 || number_siblings(&side[1]) < 0)
		goto out;
	/* What was asked to be compared is a pair, whatever it is. */
	if (side[0].info.what == DIFF_EXEC)
		pair_execs(&p, 0, 0);
	r = 0;
	for (int key = 0; r == 0 && key < KEYS; key++) {
		r = pair_by_key(&p, (enum key)key, true);
		/* Without the place in the tree a bare program is too little. */
		if (r == 0 && key <= KEY_outputs)
			r = pair_by_key(&p, (enum key)key, false);
	}
out:
	free(p.next);
	free(p.last);
	*ret_paired = p.paired;
	return r;
}
