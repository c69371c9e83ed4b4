/* Specifications, and the sections and archives that they and bitcode lie in. What is accepted is in range, and is
 * written and read again as the same. */
#include "spec/objects.h"
#include "spec/spec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void walk(const struct spec *s)
{
	uint64_t sum = 0;
	for (uint32_t f = 0; f < s->n_functions; f++)
		for (uint32_t k = 0; k < s->functions[f].n_nodes; k++) {
			const struct spec_node *node = spec_node(s, f, k);
			sum += strlen(node->name) + strlen(node->condition) + strlen(spec_file(s, node->file));
			for (uint32_t i = 0; i < node->n_edges; i++) {
				assert(spec_edge(s, node, i)->to < s->functions[f].n_nodes);
				sum += strlen(spec_edge(s, node, i)->label);
			}
			for (uint32_t i = 0; i < node->n_targets; i++)
				assert(s->targets[node->first_target + i] < s->n_functions);
			(void)spec_outcome(s, node, 1);
		}
	assert(s->main == SPEC_NONE || s->main < s->n_functions);
	(void)sum;
}

static void objects(struct str file)
{
	struct str name, data, section;
	unsigned char id[SPEC_BUILD_ID_MAX];
	size_t pos = 0;
	char producer[32];
	if (objects_bitcode_producer(file, producer, sizeof(producer)))
		assert(*producer && strlen(producer) < sizeof(producer));
	if (objects_section(file, SPEC_SECTION, &section) == 0)
		assert(section.p >= file.p && section.n <= file.n && section.p + section.n <= file.p + file.n);
	assert(objects_build_id(file, id) <= SPEC_BUILD_ID_MAX);
	while (objects_is_archive(file) && objects_member(file, &pos, &name, &data) == 1) {
		assert(name.n <= file.n && (!data.p || (data.p >= file.p && data.p + data.n <= file.p + file.n)));
		objects_section(data, SPEC_BITCODE, &section);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct spec *s = NULL, *again = NULL;
	struct buf b = {0};
	uint64_t id;
	objects(str_n((const char *)data, n));
	/* A fuzzer does not find hashes: it is made right. */
	unsigned char *copy = malloc(n ? n : 1);
	memcpy(copy, data, n);
	if (n > 92 && memcmp(copy, "STMSPEC1", 8) == 0) {
		uint64_t size = n - 92, hash = hash_bytes(copy + 92, n - 92);
		memcpy(copy + 8, &size, 8);
		memcpy(copy + 16, &hash, 8);
	}
	if (spec_read(copy, n, NULL, &s) == 0) {
		walk(s);
		assert(spec_write(s, &b, &id) == 0);
		assert(spec_read(b.p, b.n, NULL, &again) == 0);
		assert(again->n_nodes == s->n_nodes && again->n_edges == s->n_edges && again->id == id);
		walk(again);
	}
	spec_free(s);
	spec_free(again);
	buf_release(&b);
	free(copy);
	return 0;
}
