/* trace_json.c - where two traces part, as JSON. */
#include "answer/trace/trace_calls_words.h"

#include "answer/trace/demangle.h"
#include "answer/trace/trace_noise.h"
#include "answer/trace/trace_proof.h"
#include "answer/trace/trace_set.h"
#include "spec/trace/trace_format.h"

/* The name that C++ has for it; nothing of others. */
static void js_demangled(json_t *o, const char *key, const char *name)
{
	struct buf b = {0};
	if (demangle(&b, name))
		js_str(o, key, buf_view(&b));
	buf_release(&b);
}

/* {"function","file","line","column" or "address","kind","name","node"}, as the side has them; null where there is
 * none. */
static json_t *step_place_json(const struct trace_pair *p, int side, uint32_t function, uint32_t node)
{
	const struct spec_function *f = atlas_function(p->atlas, side, function);
	const struct spec_node *n = node == SPEC_NONE ? NULL : atlas_node(p->atlas, side, function, node);
	if (function == SPEC_NONE)
		return json_null();
	json_t *o = json_object();
	const char *name = trace_function_name(p, side, function);
	if (name) {
		js_str(o, "function", str_of(name));
		js_demangled(o, "function_demangled", name);
	} else
		js_num(o, "function_number", function);
	if (node != SPEC_NONE)
		js_num(o, "node", node);
	if (n) {
		js_str(o, "kind", str_of(spec_kind_name(n->kind)));
		js_str_if(o, "name", str_of(n->name));
		js_demangled(o, "name_demangled", n->name);
		js_str_if(o, "condition", str_of(n->condition));
		js_str_if(o, "source", str_of(n->words));
	}
	uint32_t file = n ? n->file : f ? f->file : SPEC_NONE, line = n ? n->line : f ? f->line : 0;
	if (f && line) {
		js_str(o, "file", str_of(spec_file(trace_pair_spec(p, side), file)));
		js_num(o, "line", line);
		if (n && n->column)
			js_num(o, "column", n->column);
	} else if (f && p->calls) { /* of stacks: what stands for a line */
		js_str_if(o, "address", str_of(spec_file(trace_pair_spec(p, side), file)));
	}
	return o;
}

/* null where there are none, and for an infinity and NaN. What does not fit into 63 bits is a string. */
static json_t *operand_json(enum trace_type type, int64_t i, uint64_t u, double d)
{
	json_t *real;
	switch (type) {
	case TRACE_SIGNED:
		return json_integer(i);
	case TRACE_UNSIGNED:
	case TRACE_POINTER:
		if (u > INT64_MAX) { /* passes what JSON's integers are read as */
			char text[24];
			snprintf(text, sizeof(text), "%llu", (unsigned long long)u);
			return json_string(text);
		}
		return json_integer((json_int_t)u);
	case TRACE_REAL:
		real = json_real(d);
		return real ? real : json_null(); /* JSON has no infinity and no NaN */
	case TRACE_NO_OPERANDS:
		break;
	}
	return json_null();
}

/* One place of a trace: what happened, where, which way it went and with which operands. The caller's. */
static json_t *spot(const struct trace_pair *p, int side, const struct spot *s)
{
	static const char *const kinds[] = {"enter", "leave", "at", "silent", "mark"};
	json_t *o = json_object();
	bool end = s->kind == STEP_MARK && s->step >= p->side[side].steps;
	if (s->step == ALIGN_START)
		js_text(o, "event", "start");
	else
		js_text(o, "event", end ? "end" : kinds[s->kind]);
	if (s->step != ALIGN_START)
		js_num(o, "step", s->step);
	js_put(o, "place", step_place_json(p, side, s->function, s->node));
	if (p->calls && s->kind == STEP_AT)
		js_put(o, "call", call_json(p, side, s->step));
	if (s->chooses) {
		js_num(o, "way", s->outcome);
		if (s->kind == STEP_AT)
			js_str_if(o, "outcome", str_of(trace_outcome_label(p, side, s)));
	}
	if (s->type) {
		json_t *operands = json_array();
		js_add(operands, operand_json(s->type, s->a.i, s->a.u, s->a.d));
		js_add(operands, operand_json(s->type, s->b.i, s->b.u, s->b.d));
		js_put(o, "operands", operands);
	}
	return o;
}

/* Where the sides part, and how: with the stacks of both, and the loop, if they differ in how often it ran. The
 * caller's. */
static json_t *divergence(const struct trace_pair *p, const struct difference *d)
{
	static const char *const sides[] = {"a", "b"};
	json_t *o = json_object();
	struct buf b = {0};
	trace_words_divergence(p, d, &b);
	js_str(o, "text", buf_view(&b));
	buf_release(&b);
	js_text(o, "kind",
	        trace_is_silent(d)                  ? "silent"
	        : d->d.loop_function != LAYOUT_NONE ? "turns"
	        : d->d.decision                     ? "decision"
	                                            : "order");
	uint32_t function = d->at[0].kind == STEP_AT ? d->at[0].function
	                    : d->depth[0]            ? d->stack[0][0].function
	                                             : SPEC_NONE;
	uint32_t node = d->at[0].kind == STEP_AT ? d->at[0].node : d->depth[0] ? d->stack[0][0].node : SPEC_NONE;
	js_put(o, "place", step_place_json(p, atlas_function(p->atlas, 0, function) ? 0 : 1, function, node));
	for (int s = 0; s < 2; s++) {
		json_t *side = json_object(), *stack = json_array();
		js_put(side, "at", spot(p, s, &d->at[s]));
		js_put(side, "next", spot(p, s, &d->next[s]));
		js_put(side, "meet", spot(p, s, &d->meet[s]));
		js_num(side, "alone", d->d.end[s] - (d->d.at[s] == ALIGN_START ? 0 : d->d.at[s] + 1));
		for (unsigned i = 0; i < d->depth[s] && i < COMPARED_STACK; i++)
			js_add(stack, step_place_json(p, s, d->stack[s][i].function, d->stack[s][i].node));
		js_put(side, "stack", stack);
		js_num(side, "depth", d->depth[s]);
		js_put(o, sides[s], side);
	}
	function = d->d.loop_function;
	if (function != LAYOUT_NONE && function < p->atlas->n && p->atlas->layouts[function] &&
	    d->d.loop < p->atlas->layouts[function]->n_loops) {
		json_t *loop = json_object();
		js_put(loop, "place",
		       step_place_json(p, atlas_function(p->atlas, 0, function) ? 0 : 1, function,
		                       p->atlas->layouts[function]->loops[d->d.loop].head));
		js_num(loop, "a", d->d.iterations[0]);
		js_num(loop, "b", d->d.iterations[1]);
		js_put(o, "turns", loop);
	}
	return o;
}

/* What a side got or sent; null: nothing, where the other one did. */
static json_t *message(const struct trace_pair *p, int side)
{
	const struct reported_message *t = &p->c.messages[side];
	const struct trace_message *m = &t->message;
	json_t *o = json_object();
	if (!t->there) {
		json_decref(o);
		return json_null();
	}
	js_text(o, "kind", trace_message_name(m->kind));
	js_put(o, "rank", json_integer(m->rank));
	js_put(o, "size", json_integer(m->size));
	js_put(o, "peer", m->peer < 0 ? json_null() : json_integer(m->peer));
	js_put(o, "tag", m->tag < 0 ? json_null() : json_integer(m->tag));
	js_put(o, "bytes", m->flags & TRACE_MESSAGE_BYTES ? json_integer((json_int_t)m->bytes) : json_null());
	js_bool(o, "any_source", m->flags & TRACE_MESSAGE_ANY_SOURCE);
	js_bool(o, "any_tag", m->flags & TRACE_MESSAGE_ANY_TAG);
	js_bool(o, "cancelled", m->flags & TRACE_MESSAGE_CANCELLED);
	js_put(o, "place", step_place_json(p, side, t->at.function, t->at.node));
	return o;
}

/* What identifies a trace: its file, program, thread and where it begins. t: NULL where the trace was compared with
 * none. Then it only says whose it is. The caller's. */
static json_t *trace_side_json(const struct trace_side *s, const struct thread_steps *t)
{
	static const char *const ends[] = {"cut", "exit", "thread", "stopped"};
	json_t *o = json_object();
	js_str(o, "trace", str_of(s->name));
	js_str(o, "exe", str_of(s->exe));
	js_str(o, "thread", str_of(s->thread));
	if (s->first)
		js_str(o, "begins_in", str_of(s->first));
	if (s->exit_status && s->exit_status->kind != EXIT_STATUS_UNKNOWN) {
		bool coded = s->exit_status->kind == EXIT_STATUS_SIGNALED || s->exit_status->has_code;
		js_ending(o, "exit",
		          !coded                                         ? TERM_ending_unknown
		          : s->exit_status->kind == EXIT_STATUS_SIGNALED ? TERM_ending_signaled
		                                                         : TERM_ending_exited,
		          s->exit_status->code);
		if (s->exit_status->kind == EXIT_STATUS_EXEC)
			js_str(o, "became", str_of(s->exit_status->program));
	}
	if (!t)
		return o;
	js_num(o, "steps", s->steps);
	if (t->info.ranks) {
		js_num(o, "rank", t->info.rank);
		js_num(o, "ranks", t->info.ranks);
	}
	js_num(o, "messages", t->messages);
	js_text(o, "end", ends[t->info.end]);
	js_num(o, "gaps", t->gaps);
	js_bool(o, "damaged", t->damaged);
	return o;
}

/* Is it certain that they belong together, or that it belongs to none? */
static void uncertain_json(json_t *o, const struct trace_side *s)
{
	struct buf b = {0};
	js_bool(o, "pairing_certain", !s->uncertain);
	trace_words_uncertain(s, &b);
	js_str_if(o, "pairing", buf_view(&b));
	buf_release(&b);
}

/* The caller owns it. Both sides' messages and a sentence on how they differ. */
static json_t *message_pair_json(const struct trace_pair *p)
{
	struct buf b = {0};
	json_t *m = json_object();
	trace_words_message(p, &b);
	js_str(m, "text", buf_view(&b));
	js_put(m, "a", message(p, 0));
	js_put(m, "b", message(p, 1));
	buf_release(&b);
	return m;
}

/* Of a message that differs: who sent it. Only where p->sender is set. The caller owns it. */
static json_t *sender_json(const struct trace_pair *p)
{
	struct buf b = {0};
	json_t *from = json_object();
	js_num(from, "rank", p->sender->c.thread[0].info.rank);
	js_bool(from, "message_differs", p->c.message);
	trace_words_sender(p, &b);
	js_str(from, "text", buf_view(&b));
	buf_release(&b);
	return from;
}

/* A string for each line of the text, which may be NULL. */
static json_t *lines_json(const char *text)
{
	json_t *list = json_array();
	for (const char *q = text ? text : ""; *q;) {
		size_t n = strcspn(q, "\n");
		js_add(list, js_string(str_n(q, n)));
		q += n + (q[n] == '\n');
	}
	return list;
}

/* A list of lines. The caller owns it. */
static json_t *notes_of_pair_json(const struct trace_pair *p)
{
	struct buf b = {0};
	trace_words_notes(p, &b);
	json_t *notes = lines_json(buf_cstr(&b));
	buf_release(&b);
	return notes;
}

/* What no trace of the program tells. */
static json_t *unexamined_json(const struct trace_pair *p)
{
	const struct spec *s = p->calls ? NULL : trace_pair_spec(p, 0);
	json_t *o = json_object(), *names = json_array(), *libraries = json_array();
	for (uint32_t i = 0; s && i < s->n_unexamined; i++)
		js_add(names, js_string(str_of(s->unexamined[i])));
	for (size_t i = 0; i < p->outputs.n_libraries; i++)
		js_add(libraries, js_string(str_of(p->outputs.libraries[i])));
	if (s) {
		js_num(o, "functions", trace_unexamined_functions(s));
		js_num(o, "of_functions", trace_unexamined_functions(s) + s->stats.functions_kept);
		js_num(o, "branches", trace_unexamined_branches(s));
	}
	js_put(o, "names", names);
	js_put(o, "libraries", libraries);
	return o;
}

/* "bytes" is null where it is not known. The caller owns it. */
static json_t *outputs_json(const struct trace_outputs *x)
{
	json_t *o = json_object();
	js_bool(o, "known", x->known);
	js_bool(o, "differ", x->differ);
	js_put(o, "bytes", x->bytes_known ? json_integer((json_int_t)x->bytes) : json_null());
	js_num(o, "files_open", x->n_open);
	js_put(o, "differences", lines_json(x->words));
	return o;
}

/* All that is said of a pair of traces, as JSON. The caller owns it.
 */
static json_t *pair_json(const struct trace_pair *p)
{
	json_t *o = json_object(), *list = json_array(), *changed = json_array();
	struct buf b = {0};
	js_put(o, "a", trace_side_json(&p->side[0], &p->c.thread[0]));
	js_put(o, "b", trace_side_json(&p->side[1], &p->c.thread[1]));
	js_text(o, "verdict", trace_verdict_word(trace_verdict(p)));
	if (p->calls)
		js_text(o, "of", call_has_functions(p) ? "stacks" : "calls");
	uncertain_json(o, &p->side[0]);
	trace_words_ends(p, &b);
	js_str_if(o, "ended", buf_view(&b));
	buf_reset(&b);
	js_bool(o, "build_differs", p->atlas->built_otherwise);
	for (uint32_t i = 0; i < p->atlas->n_changed; i++) {
		uint32_t f = p->atlas->changed[i];
		js_add(changed, step_place_json(p, atlas_function(p->atlas, 0, f) ? 0 : 1, f, SPEC_NONE));
	}
	js_put(o, "functions_changed", changed);
	js_bool(o, "partial", p->c.partial);
	js_num(o, "aligned", p->c.result.common);
	js_num(o, "divergences_total", p->c.result.total + trace_differences(p) - p->c.n);
	for (size_t i = 0; i < trace_differences(p); i++) {
		const struct difference *d;
		const struct trace_pair *q = trace_difference(p, i, &d);
		json_t *one = divergence(q, d);
		if (q != p)
			js_bool(one, "closer", true);
		js_add(list, one);
	}
	js_put(o, "divergences", list);
	js_bool(o, "operands", p->c.operands);
	if (p->c.data) {
		json_t *data = json_object();
		const struct trace_pair *q = trace_of_datum(p);
		js_put(data, "a", spot(q, 0, &q->c.datum[0]));
		js_put(data, "b", spot(q, 1, &q->c.datum[1]));
		js_put(o, "data", data);
	}
	if (p->c.message)
		js_put(o, "message", message_pair_json(p));
	js_num(o, "messages_same", p->c.n_messages);
	if (p->sender)
		js_put(o, "sender", sender_json(p));
	js_put(o, "notes", notes_of_pair_json(p));
	if (trace_built_anew(p))
		js_bool(o, "build_ids_differ", true);
	js_put(o, "unexamined", unexamined_json(p));
	js_put(o, "outputs", outputs_json(&p->outputs));
	js_put(o, "process_threads",
	       json_pack("[I,I]", (json_int_t)p->side[0].n_threads, (json_int_t)p->side[1].n_threads));
	trace_words_noise(p, &b);
	if (b.n)
		js_put(o, "noise", lines_json(buf_cstr(&b)));
	buf_release(&b);
	return o;
}

/* What was found of noise, in whatever thread. */
static json_t *noise_json(const struct trace_noise *n)
{
	json_t *o = json_object(), *places = json_array(), *files = json_array();
	js_num(o, "recorded", n->recorded);
	js_num(o, "run_again", n->again);
	js_bool(o, "settled", !n->unsettled && !n->strayed);
	for (size_t i = 0; i < n->n; i++)
		js_add(places, js_string(str_of(n->v[i].words)));
	for (size_t i = 0; i < n->n_files; i++)
		js_add(files, js_string(str_of(n->files[i])));
	js_put(o, "places", places);
	js_put(o, "files", files);
	return o;
}

json_t *trace_json(const struct trace_view *v)
{
	json_t *o = json_object(), *threads = json_array(), *only = json_array();
	js_num(o, "format", 1);
	js_str(o, "a", str_of(v->what[0]));
	js_str(o, "b", str_of(v->what[1]));
	js_text(o, "algorithm", v->greedy ? "greedy" : "exact");
	for (size_t i = 0; i < v->n; i++)
		js_add(threads, pair_json(&v->v[i]));
	js_put(o, "threads", threads);
	for (size_t i = 0; i < v->n_only; i++) {
		json_t *one = trace_side_json(&v->only[i], NULL);
		uncertain_json(one, &v->only[i]);
		js_text(one, "side", v->only_side[i] ? "b" : "a");
		js_add(only, one);
	}
	js_put(o, "only", only);
	js_put(o, "outputs", outputs_json(&v->outputs));
	if (v->noise)
		js_put(o, "noise", noise_json(v->noise));
	if (v->proof)
		js_put(o, "proof", trace_proof_json(v->proof));
	if (v->again) {
		json_t *again = json_object(), *ran = json_array(), *notes = json_array();
		for (size_t i = 0; i < v->n_ran; i++)
			js_add(ran, js_string(str_of(v->ran[i])));
		for (size_t i = 0; i < v->n_notes; i++)
			js_add(notes, js_string(str_of(v->note[i])));
		js_put(again, "ran", ran);
		js_put(again, "notes", notes);
		js_put(o, "rerun", again);
	}
	return o;
}
