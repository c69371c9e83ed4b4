#include "redact/call.h"

#include "redact/quote.h"

#include <string.h>

/* What stands before the parenthesis ends so; the n-th argument, from 1, is a secret. From the manuals of the
 * libraries. */
static const struct {
	const char *call;
	unsigned n;
} calls[] = {
    /* Perl */
    {"DBI->connect", 3},
    {"DBI->connect_cached", 3},
    {"DBI->connect_on_init", 3},
    {"->login", 2},
    /* PHP */
    {"new PDO", 3},
    {"mysqli", 3},
    {"mysqli_connect", 3},
    {"mysqli_real_connect", 4},
    {"mysql_connect", 3},
    {"oci_connect", 2},
    {"ftp_login", 3},
    {"ssh2_auth_password", 3},
    /* Python */
    {"MySQLdb.connect", 3},
    {"pymysql.connect", 3},
    {"cx_Oracle.connect", 2},
    {"oracledb.connect", 2},
    {"ibm_db.connect", 3},
    {"pyodbc.connect", 3},
    {"jaydebeapi.connect", 3},
    {".login", 2},
    {"ftplib.FTP", 3},
    {"HTTPBasicAuth", 2},
    {"HTTPDigestAuth", 2},
    {"auth=", 2},
    /* Java, Ruby */
    {"DriverManager.getConnection", 3},
    {"UsernamePasswordCredentials", 2},
    {"Mysql2.connect", 3},
    {"Mysql.new", 3},
    {"Mysql.connect", 3},
    {"DBI.connect", 3},
    {".basic_auth", 2},
};

/* Is it white space? */
static bool is_blank_char(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* ASCII only. */
static bool is_word_char(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Of the call whose parenthesis stands at place i: which argument is a secret; 0 none. */
static unsigned find_call(struct str s, size_t i)
{
	while (i && is_blank_char(s.p[i - 1]))
		i--;
	for (size_t k = 0; k < sizeof(calls) / sizeof(*calls); k++) {
		size_t n = strlen(calls[k].call);
		if (n > i || memcmp(s.p + i - n, calls[k].call, n) != 0)
			continue;
		/* the name is whole: `mysqli` is not the end of another one */
		if (n == i || !is_word_char(calls[k].call[0]) || !is_word_char(s.p[i - n - 1]))
			return calls[k].n;
	}
	return 0;
}

/* The quote that begins at place i of s: its characters, 0 none. */
static size_t quote_length(struct str s, size_t i)
{
	return quote_is(s.p[i]) ? 1 : quote_escaped(s, i);
}

/* Behind the string that begins at `from` with a quote of n characters. */
static size_t string_end(struct str s, size_t from, size_t n)
{
	if (n > 1)
		return quote_escaped_end(s, from + n, n) + n;
	size_t to = from + 1;
	while (to < s.n && s.p[to] != s.p[from])
		to += s.p[to] == '\\' ? 2 : 1;
	return to + 1;
}

/* Behind the comma that ends the argument at `from`; s.n: it is the last one. */
static size_t next_argument(struct str s, size_t from)
{
	unsigned depth = 0;
	for (size_t i = from; i < s.n;) {
		size_t quote = quote_length(s, i);
		if (quote) {
			i = string_end(s, i, quote);
			continue;
		}
		if (strchr("([{", s.p[i]))
			depth++;
		else if (strchr(")]}", s.p[i]) && !depth--)
			return s.n;
		else if (s.p[i] == ',' && !depth)
			return i + 1;
		i++;
	}
	return s.n;
}

bool call_hides(struct str s, size_t i, size_t *ret_from, size_t *ret_to, size_t *ret_quote)
{
	unsigned n = find_call(s, i);
	if (!n)
		return false;
	struct str in = quote_ahead(s, i);
	size_t at = i + 1;
	for (; n > 1 && at < in.n; n--)
		at = next_argument(in, at);
	while (at < in.n && is_blank_char(in.p[at]))
		at++;
	size_t quote = at < in.n ? quote_length(in, at) : 0, end = quote ? string_end(in, at, quote) : 0;
	if (!quote || end > in.n || end - quote <= at + quote || in.p[at + quote] == '$')
		return false;
	*ret_from = at + quote;
	*ret_to = end - quote;
	*ret_quote = quote;
	return true;
}
