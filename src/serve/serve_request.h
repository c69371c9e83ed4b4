/* serve_request.h - what a request asks for: its target read by the table serve_routes.def.
 *
 * Every request is hostile. Reading is pure: it takes nothing but the text, and the texts that it returns lie in a
 * buffer of the caller's. Refused, with a sentence: an unknown address; a parameter that the address does not take,
 * that is given twice, or that lacks; escapes that are none; a NUL; a number that is none. */
#ifndef STEMMA_SERVE_REQUEST_H
#define STEMMA_SERVE_REQUEST_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	SERVE_TARGET = 16 << 10, /* bytes of a target as it comes: a path of 4,096, each byte as %XX, and more */
	SERVE_QUESTION = 4 << 20 /* ... with a body of 1 MiB in it, each byte as %XX, and more */
};

enum serve_parameter {
#define PARAMETER(symbol, name, type, most, description) SERVE_P_##symbol,
#define ROUTE(symbol, path, kind, summary)
#define TAKES(route, parameter, required)
#include "serve/serve_routes.def"
#undef PARAMETER
#undef ROUTE
#undef TAKES
	SERVE_PARAMETERS
};
enum serve_route {
#define PARAMETER(symbol, name, type, most, description)
#define ROUTE(symbol, path, kind, summary) SERVE_R_##symbol,
#define TAKES(route, parameter, required)
#include "serve/serve_routes.def"
#undef PARAMETER
#undef ROUTE
#undef TAKES
	SERVE_ROUTES
};
enum serve_type { SERVE_text, SERVE_flag, SERVE_number, SERVE_word };
enum serve_kind { SERVE_quick, SERVE_long, SERVE_dataset, SERVE_document, SERVE_stream, SERVE_page, SERVE_shell };

struct serve_parameter_row {
	const char *name;
	enum serve_type type;
	uint64_t most;
	const char *description;
};
struct serve_route_row {
	const char *symbol;
	const char *path;
	enum serve_kind kind;
	const char *summary;
};
struct serve_takes_row {
	enum serve_route route;
	enum serve_parameter parameter;
	bool required;
};
extern const struct serve_parameter_row serve_parameters[SERVE_PARAMETERS];
extern const struct serve_route_row serve_routes[SERVE_ROUTES];
extern const struct serve_takes_row serve_takes[];
extern const size_t serve_n_takes;

struct serve_request {
	enum serve_route route;
	const char *text[SERVE_PARAMETERS]; /* decoded; NULL: not given */
	uint64_t number[SERVE_PARAMETERS];  /* of numbers, and of flags 1 or 0; 0: not given */
	struct buf texts;                   /* what holds them */
};

/* What the path of a target leads to; SERVE_ROUTES: nothing. */
enum serve_route serve_request_route(struct str target);
/* Appends `target` with a body as more parameters: a form as it is, else as the parameter `name`. */
void serve_request_with_body(struct str target, const char *name, struct str body, struct buf *ret);
/* Reads a target: /PATH?NAME=VALUE&..., as it stands in the request line. 0, and *ret is to be released; or with a
 * sentence -ENOENT: there is no such address; -EINVAL: the parameters are wrong; -E2BIG: it is too long; -ENOMEM. */
int serve_request_read(struct str target, struct err *err, struct serve_request *ret);
void serve_request_release(struct serve_request *r);
#endif
