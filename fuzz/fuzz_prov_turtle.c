/* Documents of any bytes as PROV-O in Turtle. */
#include "fuzz_prov.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_prov(doc_read_rdf, data, size);
	return 0;
}
