/* test_resolve.c - reads without a version behind them are counted (src/graph/resolve.h), in graphs made by hand: the
 * rules themselves leave none. */
#include "graph/resolve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A regular file with a read and a write, by executions 0 and 1. */
static struct gfile file;
static struct gaccess accesses[2];
static uint32_t by_file[2] = {0, 1};
static struct graph g = {.by_file = by_file};

static void make(void)
{
	file = (struct gfile){.kind = TERM_kind_regular, .flags = GFILE_DIRTY, .naccess = 2};
	accesses[0] = (struct gaccess){.start = 10, .end = 20, .flags = GACCESS_READS | GACCESS_KEPT};
	accesses[1] = (struct gaccess){
	    .start = 15, .end = 30, .exec = 1, .flags = GACCESS_WRITES | GACCESS_KEPT, .mode = ACCESS_WRITE, .gen = 1};
	g.files.v = &file;
	g.files.n = 1;
	g.accesses.v = accesses;
	g.accesses.n = 2;
}

static void a_read_of_nothing_is_found(void **state)
{
	uint32_t first = 99;
	(void)state;
	make();
	assert_int_equal(graph_count_unbacked(&g, &first), 1);
	assert_int_equal(first, 0);
}

static void what_uses_a_version_is_backed(void **state)
{
	uint32_t first = 99;
	(void)state;
	make();
	accesses[0].nuse = accesses[0].use = 1;
	assert_int_equal(graph_count_unbacked(&g, &first), 0);
}

static void what_reads_its_own_is_backed_while_it_writes(void **state)
{
	uint32_t first = 99;
	(void)state;
	make();
	accesses[1].exec = 0;
	assert_int_equal(graph_count_unbacked(&g, &first), 0);
	accesses[1].start = 20; /* it began to write when the read was over */
	assert_int_equal(graph_count_unbacked(&g, &first), 1);
}

static void what_does_not_count_is_no_matter(void **state)
{
	uint32_t first = 99;
	(void)state;
	make();
	accesses[0].flags = GACCESS_KEPT;
	assert_int_equal(graph_count_unbacked(&g, &first), 0);
	make();
	file.flags = 0; /* not resolved */
	assert_int_equal(graph_count_unbacked(&g, &first), 0);
	make();
	file.kind = TERM_kind_pipe;
	assert_int_equal(graph_count_unbacked(&g, &first), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_read_of_nothing_is_found),
	    cmocka_unit_test(what_uses_a_version_is_backed),
	    cmocka_unit_test(what_reads_its_own_is_backed_while_it_writes),
	    cmocka_unit_test(what_does_not_count_is_no_matter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
