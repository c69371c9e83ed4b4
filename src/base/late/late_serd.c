/* The functions of serd that are used, as late.h has it. One that is used and not here is not found by the linker. */
#include "base/late/late.h"

#include <serd/serd.h>

LATE(late_serd, SerdStatus, serd_env_expand, (const SerdEnv *a, const SerdNode *b, SerdChunk *c, SerdChunk *d),
     (a, b, c, d))
LATE(late_serd, SerdNode, serd_env_expand_node, (const SerdEnv *a, const SerdNode *b), (a, b))
LATE(late_serd, void, serd_env_free, (SerdEnv * a), (a))
LATE(late_serd, SerdEnv *, serd_env_new, (const SerdNode *a), (a))
LATE(late_serd, SerdStatus, serd_env_set_base_uri, (SerdEnv * a, const SerdNode *b), (a, b))
LATE(late_serd, SerdStatus, serd_env_set_prefix, (SerdEnv * a, const SerdNode *b, const SerdNode *c), (a, b, c))
LATE(late_serd, void, serd_node_free, (SerdNode * a), (a))
LATE(late_serd, void, serd_reader_add_blank_prefix, (SerdReader * a, const uint8_t *b), (a, b))
LATE(late_serd, SerdStatus, serd_reader_end_stream, (SerdReader * a), (a))
LATE(late_serd, void, serd_reader_free, (SerdReader * a), (a))
LATE(late_serd, SerdReader *, serd_reader_new,
     (SerdSyntax a, void *b, void (*c)(void *), SerdBaseSink d, SerdPrefixSink e, SerdStatementSink f, SerdEndSink g),
     (a, b, c, d, e, f, g))
LATE(late_serd, SerdStatus, serd_reader_read_chunk, (SerdReader * a), (a))
LATE(late_serd, void, serd_reader_set_error_sink, (SerdReader * a, SerdErrorSink b, void *c), (a, b, c))
LATE(late_serd, void, serd_reader_set_strict, (SerdReader * a, bool b), (a, b))
LATE(late_serd, SerdStatus, serd_reader_start_source_stream,
     (SerdReader * a, SerdSource b, SerdStreamErrorFunc c, void *d, const uint8_t *e, size_t f), (a, b, c, d, e, f))
LATE(late_serd, bool, serd_uri_string_has_scheme, (const uint8_t *a), (a))
