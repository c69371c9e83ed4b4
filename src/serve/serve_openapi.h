/* serve_openapi.h - the OpenAPI 3.1 document of what is served, from the table serve_routes.def. */
#ifndef STEMMA_SERVE_SERVE_OPENAPI_H
#define STEMMA_SERVE_SERVE_OPENAPI_H

#include "base/buf.h"

/* Appends the document, JSON. */
void serve_openapi(struct buf *ret);

#endif
