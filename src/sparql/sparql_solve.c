/* sparql_solve.c - grouping, aggregates, order, projection; the four forms. */
#include "sparql/sparql_eval_int.h"

#include "base/map.h"
#include "sparql/sparql_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- groups ---- */

struct group_run {
	const size_t *members; /* rows of one group */
	size_t n;
};

/* The distinct values of an aggregate's argument; an error among them is counted. */
struct argument_values {
	VEC(rdf_id) v;
	size_t errors;
};

/* The values of the aggregate's argument in the group; errors are counted. */
static void collect_values(struct evaluation *e, const struct sparql_expr *a, const struct rows *in, struct group_run g,
                           rdf_id graph, struct argument_values *ret)
{
	struct map seen = {0};
	for (size_t i = 0; i < g.n && !e->rc; i++) {
		const rdf_id id = eval_expr(e, a->args[0], rows_at(e, in, g.members[i]), graph);
		if (!id) {
			ret->errors++;
			continue;
		}
		if (a->distinct && map_get(&seen, id) != VEC_NONE)
			continue;
		rdf_id *slot = vec_add(&ret->v);
		if (!slot || (a->distinct && !map_set(&seen, id, 1))) {
			evaluation_fail(e, -ENOMEM, "out of memory");
			break;
		}
		*slot = id;
	}
	map_release(&seen);
}

/* SUM of a group. 0 (an error) if one had an error or is no number; of no values the number 0. */
static rdf_id sum_of(struct evaluation *e, const struct argument_values *a)
{
	rdf_id sum = sparql_integer(e->r, 0);
	for (size_t i = 0; i < a->v.n && sum; i++)
		sum = sparql_calculate(e->r, ARITHMETIC_ADD, sum, a->v.v[i]);
	return a->errors ? 0 : sum;
}

/* MIN or MAX (most) of a group. 0: there is none, or an error. */
static rdf_id extreme_of(struct evaluation *e, const struct argument_values *a, bool most)
{
	rdf_id best = a->v.n ? a->v.v[0] : 0;
	for (size_t i = 1; i < a->v.n; i++) {
		const int c = sparql_order(e->r, a->v.v[i], best);
		if (most ? c > 0 : c < 0)
			best = a->v.v[i];
	}
	return a->errors ? 0 : best;
}

/* GROUP_CONCAT of a group. 0: an error in one of them, or no memory. */
static rdf_id concat_of(struct evaluation *e, const struct sparql_expr *x, const struct argument_values *a)
{
	struct buf b = {0};
	for (size_t i = 0; i < a->v.n; i++) {
		const struct rdf_term *t = rdf_term(e->r, a->v.v[i]);
		if (i)
			buf_str(&b, x->separator);
		buf_str(&b, t->text);
	}
	const rdf_id id = a->errors || b.failed ? 0 : rdf_literal(e->r, buf_view(&b), 0, str_n("", 0));
	buf_release(&b);
	return id;
}

/* Of none it is 0 as a number. 0 (no term): an error. */
static rdf_id mean_of(struct evaluation *e, const struct argument_values *a)
{
	if (!a->v.n)
		return a->errors ? 0 : sparql_integer(e->r, 0);
	const rdf_id sum = sum_of(e, a);
	return sum ? sparql_calculate(e->r, ARITHMETIC_DIV, sum, sparql_integer(e->r, (int64_t)a->v.n)) : 0;
}

/* All, or with DISTINCT all that differ. */
static int64_t count_rows(struct evaluation *e, const struct sparql_expr *a, const struct rows *in, struct group_run g)
{
	struct rows some = {0};
	uint32_t *all = calloc(e->n_vars + 1, sizeof(uint32_t));
	if (!a->distinct || !all) {
		free(all);
		return (int64_t)g.n;
	}
	for (size_t i = 0; i < e->n_vars; i++)
		all[i] = (uint32_t)i;
	for (size_t i = 0; i < g.n; i++)
		rows_add(e, &some, rows_at(e, in, g.members[i]));
	rows_distinct(e, &some, all, e->n_vars);
	const int64_t n = (int64_t)some.n;
	rows_release(e, &some);
	free(all);
	return n;
}

/* The value of an aggregate for a group. 0: an error of the expression. */
static rdf_id aggregate(struct evaluation *e, const struct sparql_expr *a, const struct rows *in, struct group_run g,
                        rdf_id graph)
{
	struct argument_values values = {0};
	rdf_id id = 0;
	if (!a->n)
		return sparql_integer(e->r, count_rows(e, a, in, g));
	collect_values(e, a, in, g, graph, &values);
	switch (a->function) {
	case AGG_COUNT:
		id = sparql_integer(e->r, (int64_t)values.v.n);
		break;
	case AGG_SUM:
		id = sum_of(e, &values);
		break;
	case AGG_MIN:
	case AGG_MAX:
		id = extreme_of(e, &values, a->function == AGG_MAX);
		break;
	case AGG_AVG:
		id = mean_of(e, &values);
		break;
	case AGG_SAMPLE:
		id = values.v.n ? values.v.v[0] : 0;
		break;
	case AGG_CONCAT:
		id = concat_of(e, a, &values);
		break;
	}
	vec_release(&values.v);
	return id;
}

struct group_sort {
	const struct evaluation *e;
	const struct rows *keys;
	const struct sparql_query *q;
};

/* By what they are grouped by, in the terms' numbers: as strcmp. */
static int compare_keys(const struct group_sort *s, size_t a, size_t b)
{
	for (size_t i = 0; i < s->q->n_groups; i++) {
		const uint32_t var = s->q->groups[i].var;
		const rdf_id x = rows_at(s->e, s->keys, a)[var], y = rows_at(s->e, s->keys, b)[var];
		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

/* Order of qsort_r: groups next to each other, each in the order of the rows. */
static int compare_members(const void *pa, const void *pb, void *arg)
{
	const size_t a = *(const size_t *)pa, b = *(const size_t *)pb;
	const int c = compare_keys(arg, a, b);
	return c ? c : (a > b) - (a < b);
}

/* Adds the row of a group: what it was grouped by, and the aggregates. */
static void add_group(struct evaluation *e, const struct sparql_query *q, const struct rows *in, struct group_run g,
                      rdf_id graph, struct rows *out)
{
	rdf_id *row = rows_add(e, out, NULL);
	for (size_t i = 0; row && g.n && i < q->n_groups; i++)
		row[q->groups[i].var] = rows_at(e, in, g.members[0])[q->groups[i].var];
	for (size_t i = 0; row && i < q->n_aggregates; i++) {
		const rdf_id id = aggregate(e, q->aggregates[i], in, g, graph);
		rows_at(e, out, out->n - 1)[q->aggregates[i]->var] = id;
	}
}

/* Rows with the groups' variables and the aggregates' values, in the place of r. */
static void group_rows(struct evaluation *e, const struct sparql_query *q, rdf_id graph, struct rows *r)
{
	struct rows out = {0};
	size_t *members = malloc((r->n + 1) * sizeof(size_t));
	struct group_sort s = {e, r, q};
	if (!members) {
		evaluation_fail(e, -ENOMEM, "out of memory");
		return;
	}
	for (size_t i = 0; i < r->n; i++) {
		members[i] = i;
		for (size_t k = 0; k < q->n_groups; k++)
			if (q->groups[k].expr) {
				const rdf_id id = eval_expr(e, q->groups[k].expr, rows_at(e, r, i), graph);
				rows_at(e, r, i)[q->groups[k].var] = id;
			}
	}
	qsort_r(members, r->n, sizeof(size_t), compare_members, &s);
	if (!q->n_groups)
		add_group(e, q, r, (struct group_run){members, r->n}, graph, &out);
	for (size_t i = 0, k; q->n_groups && i < r->n && !e->rc; i = k) {
		for (k = i; k < r->n && compare_keys(&s, members[i], members[k]) == 0;)
			k++;
		add_group(e, q, r, (struct group_run){members + i, k - i}, graph, &out);
	}
	free(members);
	rows_release(e, r);
	*r = out;
}

/* ---- modifiers ---- */

/* In place. Keeps the rows for which all of HAVING holds. */
static void keep_having(struct evaluation *e, const struct sparql_query *q, rdf_id g, struct rows *r)
{
	size_t kept = 0;
	for (size_t i = 0; i < r->n; i++) {
		bool holds = true;
		for (size_t k = 0; k < q->n_having; k++)
			holds = holds && eval_holds(e, q->having[k], rows_at(e, r, i), g);
		if (holds)
			memmove(rows_at(e, r, kept++), rows_at(e, r, i), e->width * sizeof(rdf_id));
	}
	r->n = kept;
}

struct order_sort {
	struct evaluation *e;
	const struct sparql_query *q;
	const rdf_id *keys;
};

/* Order of qsort_r: as ORDER BY says; equal ones keep their order. */
static int compare_order(const void *pa, const void *pb, void *arg)
{
	const struct order_sort *s = arg;
	const size_t a = *(const size_t *)pa, b = *(const size_t *)pb, n = s->q->n_orders;
	for (size_t i = 0; i < n; i++) {
		const int c = sparql_order(s->e->r, s->keys[a * n + i], s->keys[b * n + i]);
		if (c)
			return s->q->orders[i].descending ? -c : c;
	}
	return (a > b) - (a < b);
}

/* r is replaced. Fails e without memory. */
static void order_rows(struct evaluation *e, const struct sparql_query *q, rdf_id g, struct rows *r)
{
	rdf_id *keys = calloc(r->n * q->n_orders + 1, sizeof(rdf_id));
	size_t *places = calloc(r->n + 1, sizeof(size_t));
	struct rows out = {0};
	if (!keys || !places)
		evaluation_fail(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < r->n && !e->rc; i++) {
		places[i] = i;
		for (size_t k = 0; k < q->n_orders; k++)
			keys[i * q->n_orders + k] = eval_expr(e, q->orders[k].expr, rows_at(e, r, i), g);
	}
	struct order_sort s = {e, q, keys};
	if (!e->rc)
		qsort_r(places, r->n, sizeof(size_t), compare_order, &s);
	for (size_t i = 0; i < r->n && !e->rc; i++)
		rows_add(e, &out, rows_at(e, r, places[i]));
	free(keys);
	free(places);
	rows_release(e, r);
	*r = out;
}

/* Sets the computed variables of each row; an error leaves one unbound. */
static void extend_items(struct evaluation *e, const struct sparql_query *q, rdf_id g, struct rows *r)
{
	for (size_t i = 0; i < r->n && !e->rc; i++) {
		e->blanks.n = 0;
		for (size_t k = 0; k < q->n_items; k++)
			if (q->items[k].expr) {
				const rdf_id id = eval_expr(e, q->items[k].expr, rows_at(e, r, i), g);
				rows_at(e, r, i)[q->items[k].var] = id;
			}
	}
}

/* Keeps the variables that the query names: what the query does not name is gone. */
static void project(struct evaluation *e, const struct sparql_query *q, struct rows *r)
{
	bool *stays = calloc(e->width + 1, sizeof(bool));
	uint32_t *columns = calloc(q->n_items + 1, sizeof(uint32_t));
	if (!stays || !columns)
		evaluation_fail(e, -ENOMEM, "out of memory");
	for (size_t k = 0; !e->rc && k < q->n_items; k++) {
		stays[q->items[k].var] = true;
		columns[k] = q->items[k].var;
	}
	for (size_t i = 0; i < r->n && !e->rc; i++)
		for (size_t k = 0; k < e->width; k++)
			if (!stays[k])
				rows_at(e, r, i)[k] = 0;
	if (!e->rc && q->distinct)
		rows_distinct(e, r, columns, q->n_items);
	free(stays);
	free(columns);
}

/* Keeps only the rows of OFFSET and LIMIT. */
static void slice(struct evaluation *e, const struct sparql_query *q, struct rows *r)
{
	const size_t from = q->offset < r->n ? (size_t)q->offset : r->n;
	if (from)
		memmove(r->v, rows_at(e, r, from), (r->n - from) * e->width * sizeof(rdf_id));
	r->n -= from;
	r->n = q->limit < r->n ? (size_t)q->limit : r->n;
}

/* All rows that the pattern gives, grouped, extended and ordered; not sliced, nor projected. */
static void solve(struct evaluation *e, const struct sparql_query *q, rdf_id g, struct rows *out)
{
	struct rows unit = {0};
	rows_add(e, &unit, NULL);
	eval_pattern(e, q->where, g, &unit, out);
	rows_release(e, &unit);
	if (q->grouped && !e->rc)
		group_rows(e, q, g, out);
	extend_items(e, q, g, out);
	if (q->n_having)
		keep_having(e, q, g, out);
	if (q->n_orders && !e->rc)
		order_rows(e, q, g, out);
}

void eval_query(struct evaluation *e, const struct sparql_query *q, rdf_id g, struct rows *out)
{
	solve(e, q, g, out);
	project(e, q, out);
	slice(e, q, out);
}

/* ---- forms ---- */

struct quad_list {
	VEC(struct rdf_quad) v;
};

/* Without memory the evaluation fails. */
static void add_quad(struct evaluation *e, struct quad_list *l, struct rdf_quad q)
{
	struct rdf_quad *slot = vec_add(&l->v);
	if (slot)
		*slot = q;
	else
		evaluation_fail(e, -ENOMEM, "out of memory");
}

/* A place of a template: nameless variables are blank nodes, new ones for each solution. */
static rdf_id fill(struct evaluation *e, const struct sparql_slot *s, rdf_id *row)
{
	if (!s->is_var)
		return s->term;
	if (!row[s->var] && !e->q->vars.v[s->var].n)
		row[s->var] = rdf_new_blank(e->r);
	return row[s->var];
}

/* The triples of CONSTRUCT. A triple that is none, since something in it is unbound, say, is left out. */
static void construct(struct evaluation *e, const struct sparql_query *q, struct rows *r, struct quad_list *out)
{
	for (size_t i = 0; i < r->n && evaluation_goes_on(e); i++) {
		rdf_id *row = rows_at(e, r, i);
		for (size_t k = 0; k < q->n_template; k++) {
			const struct sparql_triple *t = &q->template[k];
			const struct rdf_quad x = {0, fill(e, &t->s, row), fill(e, &t->p, row), fill(e, &t->o, row)};
			if (x.s && x.p && x.o && rdf_term(e->r, x.s)->kind != RDF_LITERAL && rdf_term(e->r, x.p)->kind == RDF_IRI)
				add_quad(e, out, x);
		}
	}
}

/* What is said of a thing, and of the blank nodes that this leads to. */
static void describe_one(struct evaluation *e, rdf_id id, struct map *seen, struct quad_list *out)
{
	VEC(rdf_id) todo = {0};
	rdf_id *slot = map_get(seen, id) == VEC_NONE ? vec_add(&todo) : NULL;
	if (slot)
		*slot = id;
	for (size_t i = 0; i < todo.n && evaluation_goes_on(e); i++) {
		const rdf_id at = todo.v[i];
		if (map_get(seen, at) != VEC_NONE || !map_set(seen, at, 1))
			continue;
		struct rdf_match m = rdf_find(e->r, 0, at, 0, 0);
		for (const struct rdf_quad *q; (q = rdf_next(&m));) {
			add_quad(e, out, *q);
			if (rdf_term(e->r, q->o)->kind == RDF_BLANK && (slot = vec_add(&todo)))
				*slot = q->o;
		}
	}
	vec_release(&todo);
}

struct describing {
	struct evaluation *e;
	const struct rows *r;
	struct map seen;
	struct quad_list *out;
};

/* Describes what the variable has in all rows; literals are passed over. */
static void describe_var(void *arg, uint32_t var)
{
	struct describing *d = arg;
	for (size_t i = 0; i < d->r->n; i++) {
		const rdf_id id = rows_at(d->e, d->r, i)[var];
		if (id && rdf_term(d->e->r, id)->kind != RDF_LITERAL)
			describe_one(d->e, id, &d->seen, d->out);
	}
}

/* The triples of DESCRIBE. Each term once. */
static void describe(struct evaluation *e, const struct sparql_query *q, const struct rows *r, struct quad_list *out)
{
	struct describing d = {.e = e, .r = r, .out = out};
	if (q->star)
		sparql_scope(q->where, describe_var, &d);
	for (size_t i = 0; i < q->n_described; i++)
		if (q->described[i].is_var)
			describe_var(&d, q->described[i].var);
		else
			describe_one(e, q->described[i].term, &d.seen, out);
	map_release(&d.seen);
}

/* In the order of their bytes: only for finding equal ones. */
static int compare_result(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct rdf_quad));
}

/* Each triple once. */
static void keep_quads(struct quad_list *l, struct sparql_result *ret)
{
	size_t n = 0;
	if (l->v.n)
		qsort(l->v.v, l->v.n, sizeof(*l->v.v), compare_result);
	for (size_t i = 0; i < l->v.n; i++) {
		l->v.v[i].g = 0;
		if (!n || compare_result(&l->v.v[n - 1], &l->v.v[i]) != 0)
			l->v.v[n++] = l->v.v[i];
	}
	ret->quads = l->v.v;
	ret->n_quads = n;
}

/* ret gets the items of each row. Fails e without memory. */
static void keep_rows(struct evaluation *e, const struct sparql_query *q, const struct rows *r,
                      struct sparql_result *ret)
{
	uint32_t *vars = arena_take(&e->q->arena, (q->n_items + 1) * sizeof(uint32_t));
	ret->terms = malloc((r->n * q->n_items + 1) * sizeof(rdf_id));
	if (!vars || !ret->terms) {
		evaluation_fail(e, -ENOMEM, "out of memory");
		return;
	}
	for (size_t k = 0; k < q->n_items; k++)
		vars[k] = q->items[k].var;
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; k < q->n_items; k++)
			ret->terms[i * q->n_items + k] = rows_at(e, r, i)[vars[k]];
	ret->vars = vars;
	ret->n_vars = q->n_items;
	ret->n_rows = r->n;
}

/* Optional parts whose rows are numbered get a column each. */
static void number_optionals(struct sparql_pattern *p, size_t *width);

/* Numbers the OPTIONALs in an expression. Also in patterns within it. NULL: nothing. */
static void number_in_expr(struct sparql_expr *x, size_t *width)
{
	if (!x)
		return;
	number_optionals(x->pattern, width);
	for (size_t i = 0; i < x->n; i++)
		number_in_expr(x->args[i], width);
}

/* Also in the query's expressions. Numbers its OPTIONALs; raises *width. */
static void number_in_query(struct sparql_query *q, size_t *width)
{
	number_optionals(q->where, width);
	for (size_t i = 0; i < q->n_items; i++)
		number_in_expr(q->items[i].expr, width);
	for (size_t i = 0; i < q->n_groups; i++)
		number_in_expr(q->groups[i].expr, width);
	for (size_t i = 0; i < q->n_having; i++)
		number_in_expr(q->having[i], width);
	for (size_t i = 0; i < q->n_orders; i++)
		number_in_expr(q->orders[i].expr, width);
	for (size_t i = 0; i < q->n_aggregates; i++)
		number_in_expr(q->aggregates[i], width);
}

/* Gives each OPTIONAL a column of its own behind the variables, in which its rows are marked. */
static void number_optionals(struct sparql_pattern *p, size_t *width)
{
	for (; p; p = p->a) {
		if (p->kind == PATTERN_OPTIONAL)
			p->var = (uint32_t)(*width)++;
		number_in_expr(p->expr, width);
		number_optionals(p->b, width);
		if (p->kind == PATTERN_SELECT)
			number_in_query(p->query, width);
	}
}

/* Answers by the form of the query: rows, yes or no, or triples. Errors are in e->rc. */
static void run_form(struct evaluation *e, struct sparql_query *q, struct sparql_result *ret)
{
	struct rows r = {0};
	struct quad_list quads = {0};
	if (q->form == FORM_SELECT) {
		eval_query(e, q, 0, &r);
		if (!e->rc)
			keep_rows(e, q, &r, ret);
	} else {
		solve(e, q, 0, &r);
		slice(e, q, &r);
		ret->answer = r.n != 0;
		if (q->form == FORM_CONSTRUCT && !e->rc)
			construct(e, q, &r, &quads);
		if (q->form == FORM_DESCRIBE && !e->rc)
			describe(e, q, &r, &quads);
		keep_quads(&quads, ret);
	}
	rows_release(e, &r);
}

/* The dataset that FROM and FROM NAMED describe: out of the graphs that are here. 0; what rdf_ready gives. ret's terms
 * are r's. */
static int choose_dataset(const struct rdf *r, const struct sparql_query *q, struct rdf *ret)
{
	*ret = *r;
	memset(&ret->quads, 0, sizeof(ret->quads));
	memset(&ret->graphs, 0, sizeof(ret->graphs));
	memset(ret->order, 0, sizeof(ret->order));
	for (size_t i = 0; i < r->quads.n; i++) {
		struct rdf_quad x = r->quads.v[i];
		const rdf_id g = x.g;
		for (size_t k = 0; g && k < q->n_from; k++)
			if (q->from[k] == g) {
				x.g = 0;
				rdf_add(ret, x);
			}
		x.g = g;
		for (size_t k = 0; g && k < q->n_from_named; k++)
			if (q->from_named[k] == g)
				rdf_add(ret, x);
	}
	return rdf_ready(ret);
}

int sparql_run(struct rdf *r, struct sparql *q, const struct sparql_bounds *b, struct err *err,
               struct sparql_result *ret)
{
	struct evaluation e = {.r = r, .q = q, .err = err, .n_vars = q->vars.n, .width = q->vars.n, .bounds = *b};
	struct timespec t;
	struct rdf chosen = {0};
	*ret = (struct sparql_result){.form = q->query->form};
	const bool choose = q->query->n_from || q->query->n_from_named;
	if (choose && choose_dataset(r, q->query, &chosen) < 0)
		evaluation_fail(&e, -ENOMEM, "out of memory");
	if (choose)
		e.r = &chosen;
	clock_gettime(CLOCK_MONOTONIC, &t);
	clock_gettime(CLOCK_REALTIME, &e.now);
	e.deadline = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + b->ns;
	e.bounds.bytes += r->bytes;
	number_in_query(q->query, &e.width);
	e.width += !e.width;
	e.yes = rdf_literal(e.r, str_of("true"), e.r->xsd_boolean, str_n("", 0));
	e.no = rdf_literal(e.r, str_of("false"), e.r->xsd_boolean, str_n("", 0));
	if (!e.rc)
		run_form(&e, q->query, ret);
	if (!e.rc && e.r->failed)
		evaluation_fail(&e, -ENOMEM, "out of memory");
	vec_release(&e.blanks);
	if (choose) { /* the terms, which may have moved, are r's again */
		for (unsigned i = 0; i < 3; i++)
			free(chosen.order[i]);
		vec_release(&chosen.quads);
		vec_release(&chosen.graphs);
		struct rdf back = chosen;
		memcpy(&back.quads, &r->quads, sizeof(r->quads));
		memcpy(&back.graphs, &r->graphs, sizeof(r->graphs));
		memcpy(back.order, r->order, sizeof(r->order));
		*r = back;
	}
	if (e.rc)
		sparql_result_release(ret);
	return e.rc;
}

/* It may be released twice. */
void sparql_result_release(struct sparql_result *r)
{
	free(r->terms);
	free(r->quads);
	r->terms = NULL;
	r->quads = NULL;
}
