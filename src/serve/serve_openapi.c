#include "serve/serve_openapi.h"

#include "serve/serve_request.h"

#include <string.h>

/* Texts of the tables are plain ASCII. */
static void put_text(struct buf *b, const char *text)
{
	buf_char(b, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_char(b, '\\');
		buf_char(b, *text);
	}
	buf_char(b, '"');
}

/* Writes a parameter, as OpenAPI has it. */
static void put_parameter(struct buf *b, const struct serve_takes_row *t)
{
	const struct serve_parameter_row *p = &serve_parameters[t->parameter];
	buf_str(b, str_of("{\"name\":"));
	put_text(b, p->name);
	buf_printf(b, ",\"in\":\"%s\",\"required\":%s,\"schema\":{\"type\":\"%s\"",
	           p->type == SERVE_word ? "path" : "query", t->required ? "true" : "false",
	           p->type == SERVE_flag     ? "boolean"
	           : p->type == SERVE_number ? "integer"
	                                     : "string");
	if (p->type == SERVE_number)
		buf_printf(b, ",\"minimum\":0,\"maximum\":%llu", (unsigned long long)p->most);
	buf_str(b, str_of("},\"description\":"));
	put_text(b, p->description);
	buf_char(b, '}');
}

/* Those that the route takes. */
static void put_parameters(struct buf *b, enum serve_route route)
{
	bool comma = false;
	buf_str(b, str_of("\"parameters\":["));
	for (size_t i = 0; i < serve_n_takes; i++) {
		if (serve_takes[i].route != route)
			continue;
		buf_str(b, str_of(comma ? ",\n" : "\n"));
		put_parameter(b, &serve_takes[i]);
		comma = true;
	}
	buf_char(b, ']');
}

/* What all routes can answer, and what only those that ask the record can. */
static void put_responses(struct buf *b, const struct serve_route_row *r)
{
	static const struct {
		const char *status, *what;
		bool answers; /* only of what asks the record */
	} errors[] = {
	    {"400", "A parameter is wrong.", false},
	    {"401", "The request carries no valid token, or is not from here.", false},
	    {"404", "Nothing is recorded of it.", true},
	    {"410", "The cursor is of a row that is gone. Begin with the first page.", true},
	    {"503", "The server has too much to do, or the index is being made again. Retry-After says when to try again.",
	     false},
	    {"504", "The answer took too long.", true},
	    {"507", "The answer needs more memory than a request may have.", true},
	};
	buf_printf(b,
	           "\"responses\":{\"200\":{\"description\":\"The answer.\",\"headers\":{\"ETag\":{\"schema\":{\"type\":"
	           "\"string\"}}},\"content\":{%s}},\n"
	           "\"304\":{\"description\":\"The answer is still that of If-None-Match.\"}",
	           r->kind == SERVE_stream ? "\"text/event-stream\":{\"schema\":{\"type\":\"string\"}}"
	           : r->kind == SERVE_dataset
	               ? "\"application/sparql-results+json\":{},\"application/sparql-results+xml\":{},\"text/csv\":{},"
	                 "\"text/tab-separated-values\":{},\"text/turtle\":{},\"application/n-triples\":{}"
	               : "\"application/json\":{\"schema\":{\"type\":\"object\"}}");
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (!errors[i].answers || r->kind != SERVE_document)
			buf_printf(
			    b,
			    ",\n\"%s\":{\"description\":\"%s\",\"content\":{\"application/problem+json\":{\"schema\":{\"$ref\":"
			    "\"#/components/schemas/problem\"}}}}",
			    errors[i].status, errors[i].what);
	buf_char(b, '}');
}

/* One method of a route. post: the query comes in the body. */
static void put_operation(struct buf *b, enum serve_route route, bool post)
{
	const struct serve_route_row *r = &serve_routes[route];
	buf_printf(b, "\"%s\":{\"operationId\":\"%s%s\",\"summary\":", post ? "post" : "get", r->symbol,
	           post ? "_post" : "");
	put_text(b, r->summary);
	buf_str(b, str_of(",\n"));
	if (post)
		buf_str(b,
		        str_of("\"requestBody\":{\"required\":true,\"content\":{\"application/sparql-query\":{\"schema\":{"
		               "\"type\":\"string\"}},\"application/x-www-form-urlencoded\":{\"schema\":{\"type\":\"object\","
		               "\"properties\":{\"query\":{\"type\":\"string\"}}}}}}"));
	else
		put_parameters(b, route);
	buf_str(b, str_of(",\n"));
	put_responses(b, r);
	buf_char(b, '}');
}

void serve_openapi(struct buf *ret)
{
	buf_str(ret,
	        str_of("{\"openapi\":\"3.1.0\",\n\"info\":{\"title\":\"stemma\",\"version\":\"" STEMMA_VERSION "\","
	               "\"description\":\"Where files came from, read from a record of stemma. Answers are those of the "
	               "commands with --json; the manual page of each command documents the fields.\"},\n"
	               "\"servers\":[{\"url\":\"../..\"}],\n\"security\":[{\"token\":[]}],\n\"paths\":{"));
	for (size_t k = 0; k < SERVE_ROUTES; k++) {
		const struct serve_route_row *r = &serve_routes[k];
		const size_t n = strlen(r->path);
		if (r->kind == SERVE_page || r->kind == SERVE_shell)
			continue; /* for people */
		buf_printf(ret, "%s\n\"%s%s\":{", k ? "," : "", r->path, r->path[n - 1] == '/' ? "{id}" : "");
		put_operation(ret, (enum serve_route)k, false);
		if (r->kind == SERVE_dataset) {
			buf_str(ret, str_of(",\n"));
			put_operation(ret, (enum serve_route)k, true);
		}
		buf_char(ret, '}');
	}
	buf_str(ret,
	        str_of("},\n\"components\":{\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}},\n"
	               "\"schemas\":{\"problem\":{\"type\":\"object\",\"required\":[\"status\",\"title\",\"detail\"],"
	               "\"properties\":{\"status\":{\"type\":\"integer\"},\"title\":{\"type\":\"string\"},"
	               "\"detail\":{\"type\":\"string\"},\"hint\":{\"type\":\"string\"}}}}}}\n"));
}
