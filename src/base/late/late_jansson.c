/* The functions of jansson that are used, as late.h has it. One that is used and not here is not found by the linker.
 */
#include "base/late/late.h"

#include <jansson.h>
#include <stdarg.h>

LATE(late_jansson, json_t *, json_array, (void), ())
LATE(late_jansson, int, json_array_append_new, (json_t * a, json_t *b), (a, b))
LATE(late_jansson, int, json_array_remove, (json_t * a, size_t b), (a, b))
LATE(late_jansson, json_t *, json_array_get, (const json_t *a, size_t b), (a, b))
LATE(late_jansson, size_t, json_array_size, (const json_t *a), (a))
LATE(late_jansson, void, json_delete, (json_t * a), (a))
LATE(late_jansson, int, json_dumpf, (const json_t *a, FILE *b, size_t c), (a, b, c))
LATE(late_jansson, char *, json_dumps, (const json_t *a, size_t b), (a, b))
LATE(late_jansson, size_t, json_dumpb, (const json_t *a, char *b, size_t c, size_t d), (a, b, c, d))
LATE(late_jansson, json_t *, json_false, (void), ())
LATE(late_jansson, json_t *, json_integer, (json_int_t a), (a))
LATE(late_jansson, json_int_t, json_integer_value, (const json_t *a), (a))
LATE(late_jansson, json_t *, json_loadb, (const char *a, size_t b, size_t c, json_error_t *d), (a, b, c, d))
LATE(late_jansson, json_t *, json_null, (void), ())
LATE(late_jansson, json_t *, json_object, (void), ())
LATE(late_jansson, int, json_object_del, (json_t * a, const char *b), (a, b))
LATE(late_jansson, json_t *, json_object_get, (const json_t *a, const char *b), (a, b))
LATE(late_jansson, json_t *, json_object_getn, (const json_t *a, const char *b, size_t c), (a, b, c))
LATE(late_jansson, void *, json_object_iter, (json_t * a), (a))
LATE(late_jansson, const char *, json_object_iter_key, (void *a), (a))
LATE(late_jansson, void *, json_object_iter_next, (json_t * a, void *b), (a, b))
LATE(late_jansson, json_t *, json_object_iter_value, (void *a), (a))
LATE(late_jansson, void *, json_object_key_to_iter, (const char *a), (a))
LATE(late_jansson, int, json_object_set_new, (json_t * a, const char *b, json_t *c), (a, b, c))
LATE(late_jansson, size_t, json_object_size, (const json_t *a), (a))
LATE(late_jansson, json_t *, json_real, (double a), (a))
LATE(late_jansson, double, json_real_value, (const json_t *a), (a))
LATE(late_jansson, json_t *, json_string, (const char *a), (a))
LATE(late_jansson, size_t, json_string_length, (const json_t *a), (a))
LATE(late_jansson, const char *, json_string_value, (const json_t *a), (a))
LATE(late_jansson, json_t *, json_stringn, (const char *a, size_t b), (a, b))
LATE(late_jansson, json_t *, json_true, (void), ())
LATE(late_jansson, json_t *, json_vpack_ex, (json_error_t * a, size_t b, const char *c, va_list d), (a, b, c, d))
LATE(late_jansson, void, json_set_alloc_funcs, (json_malloc_t a, json_free_t b), (a, b))

json_t *json_pack(const char *f, ...)
{
	va_list ap;
	va_start(ap, f);
	json_t *ret = json_vpack_ex(NULL, 0, f, ap);
	va_end(ap);
	return ret;
}
