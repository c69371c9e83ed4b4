/* sparql_functions.h - the functions by number. Private to sparql. */
#ifndef STEMMA_SPARQL_SPARQL_FUNCTIONS_H
#define STEMMA_SPARQL_SPARQL_FUNCTIONS_H

enum sparql_function {
#define FUNCTION(name, least, most, word) FUNCTION_##name,
#include "sparql/functions.def"
#undef FUNCTION
	FUNCTION_COUNT
};

#endif
