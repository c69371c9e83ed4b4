/* Documents of any bytes as PROV-JSONLD: what is no object with a context is PROV-JSON. */
#include "fuzz_prov.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_prov(doc_read_json, data, size);
	return 0;
}
