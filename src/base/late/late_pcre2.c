/* The functions of PCRE2 that are used, as late.h has it. One that is used and not here is not found by the linker. */
#include "base/late/late.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

LATE(late_pcre2, pcre2_code_8 *, pcre2_compile_8,
     (PCRE2_SPTR8 a, PCRE2_SIZE b, uint32_t c, int *d, PCRE2_SIZE *e, pcre2_compile_context_8 *f), (a, b, c, d, e, f))
LATE(late_pcre2, void, pcre2_code_free_8, (pcre2_code_8 * a), (a))
LATE(late_pcre2, pcre2_match_data_8 *, pcre2_match_data_create_from_pattern_8,
     (const pcre2_code_8 *a, pcre2_general_context_8 *b), (a, b))
LATE(late_pcre2, void, pcre2_match_data_free_8, (pcre2_match_data_8 * a), (a))
LATE(late_pcre2, pcre2_match_context_8 *, pcre2_match_context_create_8, (pcre2_general_context_8 * a), (a))
LATE(late_pcre2, void, pcre2_match_context_free_8, (pcre2_match_context_8 * a), (a))
LATE(late_pcre2, int, pcre2_set_match_limit_8, (pcre2_match_context_8 * a, uint32_t b), (a, b))
LATE(late_pcre2, int, pcre2_match_8,
     (const pcre2_code_8 *a, PCRE2_SPTR8 b, PCRE2_SIZE c, PCRE2_SIZE d, uint32_t e, pcre2_match_data_8 *f,
      pcre2_match_context_8 *g),
     (a, b, c, d, e, f, g))
LATE(late_pcre2, PCRE2_SIZE *, pcre2_get_ovector_pointer_8, (pcre2_match_data_8 * a), (a))
