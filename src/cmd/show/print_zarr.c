/* print_zarr.c - stemma show of a Zarr array or group: which arrays lie there, and how many of their chunks. */
#include "cmd/show/show_view.h"

#include "answer/zarr/zarr.h"
#include "cmd/ui/columns.h"

#include <errno.h>
#include <stdlib.h>

/* "10x20"; of an array without dimensions "1". */
static void fmt_extents(struct buf *b, const uint64_t *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		buf_printf(b, "%s%llu", i ? "x" : "", (unsigned long long)v[i]);
	if (!n)
		buf_char(b, '1');
}

/* The array's path below the folder that was asked for. */
static struct str name_below(const struct zarr *z, uint32_t top, uint32_t node)
{
	const struct str path = zarr_node_path(z, node), above = zarr_node_path(z, top);
	return path.n > above.n ? str_n(path.p + above.n + 1, path.n - above.n - 1) : str_of(".");
}

/* name, shape, chunk, type, and how many chunks there are on disk. */
static void print_zarr_row(struct table *t, const struct zarr *z, uint32_t top, const struct zarr_on_disk *a)
{
	const struct zarr_meta *m = zarr_node_meta(z, a->node);
	struct buf b = {0};
	fmt_name(&b, name_below(z, top, a->node));
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	fmt_extents(&b, m->shape, m->rank);
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	fmt_extents(&b, m->chunk, m->rank);
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	fmt_name(&b, str_of(m->type));
	table_cell(t, buf_view(&b));
	table_cellf(t, "%llu of %llu", (unsigned long long)a->chunks, (unsigned long long)zarr_meta_chunks(m));
	buf_release(&b);
}

/* Prints the arrays of a Zarr store. v: the arrays below top. Prints what top is and a row for each of them. */
static void print_zarr_text(struct cmd *c, const struct zarr *z, uint32_t top, const struct zarr_on_disk *v, size_t n)
{
	static const char *const heads[] = {"array", "shape", "chunk", "type", "chunks on disk"};
	struct table t = {.heads = heads, .align = "lllll", .n_columns = 5};
	struct buf b = {0};
	fmt_name(&b, zarr_node_path(z, top));
	print_field(zarr_node_meta(z, top)->kind == ZARR_ARRAY ? "array" : "group", &b);
	buf_reset(&b);
	buf_printf(&b, "Zarr, version %u", zarr_node_meta(z, top)->version);
	print_field("format", &b);
	buf_release(&b);
	for (size_t i = 0; i < n; i++)
		print_zarr_row(&t, z, top, &v[i]);
	if (n)
		table_print(&t, &c->out, c->out.tty ? c->out.width : 0);
}

/* The caller owns it. */
static json_t *numbers_json(const uint64_t *v, unsigned n)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < n; i++)
		js_add(list, json_integer((json_int_t)v[i]));
	return list;
}

/* The caller owns it. */
static json_t *zarr_json(const struct zarr *z, uint32_t top, const struct zarr_on_disk *v, size_t n)
{
	json_t *o = json_object(), *arrays = json_array();
	js_text(o, "kind", zarr_node_meta(z, top)->kind == ZARR_ARRAY ? "zarr_array" : "zarr_group");
	js_str(o, "path", zarr_node_path(z, top));
	js_num(o, "zarr_format", zarr_node_meta(z, top)->version);
	for (size_t i = 0; i < n; i++) {
		const struct zarr_meta *m = zarr_node_meta(z, v[i].node);
		json_t *one = json_object();
		js_str(one, "array", name_below(z, top, v[i].node));
		js_put(one, "shape", numbers_json(m->shape, m->rank));
		js_put(one, "chunk", numbers_json(m->chunk, m->rank));
		js_str(one, "type", str_of(m->type));
		js_num(one, "chunks", zarr_meta_chunks(m));
		js_num(one, "chunks_on_disk", v[i].chunks);
		js_add(arrays, one);
	}
	js_put(o, "arrays", arrays);
	return o;
}

int show_print_zarr(struct cmd *c, const char *text, json_t *list)
{
	struct zarr *z = NULL;
	struct zarr_box box;
	struct zarr_on_disk *v = NULL;
	struct err err = {0};
	size_t n = 0, left = 0;
	uint32_t node;
	int status = -1, r = zarr_new(c->store, &z);
	if (r == 0)
		r = zarr_target(z, text, &err, &node, &box);
	if (r > 0) {
		status = STATUS_OK;
		r = zarr_arrays(z, node, &v, &n, &left);
		if (r == 0 && list)
			js_add(list, zarr_json(z, node, v, n));
		else if (r == 0)
			print_zarr_text(c, z, node, v, n);
		if (left)
			report("'%s' has more than %d files: %zu of them were skipped", text, ZARR_FILES, left);
	}
	if (r == -EINVAL)
		status = report_err(&err, STATUS_USAGE);
	else if (r < 0)
		report("cannot show '%s': %s", text, strerror(-r)), status = STATUS_SELF;
	free(v);
	zarr_free(z);
	return status;
}
