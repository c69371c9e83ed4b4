/* Documents of any bytes as PROV-JSON: what is read can be printed and its places named; what is not has a sentence. */
#include "fuzz_prov.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_prov(doc_read_json, data, size);
	return 0;
}
