/* Documents of any bytes as PROV-N. */
#include "fuzz_prov.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_prov(doc_read_provn, data, size);
	return 0;
}
