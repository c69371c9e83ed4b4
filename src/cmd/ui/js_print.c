#include "cmd/ui/js_print.h"

#include "base/unsafe_char.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool damaged;

void js_damaged(bool is)
{
	damaged = is;
}

uint64_t js_record_gaps(void)
{
	return damaged ? 1u << TERM_gap_damaged : 0;
}

/* Are all eight bytes printable ASCII? Ends of lines are not. */
static bool is_plain_word(const char *p)
{
	const uint64_t low = 0x0101010101010101u, high = low << 7;
	uint64_t w;
	memcpy(&w, p, sizeof(w));
	/* A high bit where a byte is above 0x7e, or below 0x20; a carry comes from such a byte only. */
	return !(((w | (w + low)) | ((w - low * 0x20) & ~w)) & high);
}

/* JSON may hold any character as it is. What a terminal acts on is escaped all the same; it stands in strings only, but
 * for the ends of lines that are layout. Always 0. */
int js_print_piece(void *arg, struct str piece)
{
	const char *p = piece.p, *run = piece.p, *end = piece.p + piece.n;
	(void)arg;
	while (p < end) {
		uint32_t c;
		while (end - p >= 8 && is_plain_word(p))
			p += 8;
		if (p == end)
			break;
		if ((*p >= ' ' && *p < 0x7f) || *p == '\n') { /* nearly all */
			p++;
			continue;
		}
		size_t n = utf8_char(p, (size_t)(end - p), &c);
		if (n && unsafe_char(c)) {
			fwrite(run, 1, (size_t)(p - run), stdout);
			printf("\\u%04x", (unsigned)c);
			run = p + n;
		}
		p += n ? n : 1;
	}
	fwrite(run, 1, (size_t)(end - run), stdout);
	return 0;
}

int js_print(json_t *o, bool line)
{
	if (damaged && o && json_is_object(o))
		js_gaps(o, "record", 1u << TERM_gap_damaged);
	char *text = NULL;
	size_t length = 0;
	FILE *f = o ? open_memstream(&text, &length) : NULL;
	int r = f ? json_dumpf(o, f, line ? JSON_COMPACT : JSON_INDENT(1)) : -1;
	/* Where memory lacks at its end it closes well, and gives no text. */
	if (f && (fclose(f) != 0 || !text))
		r = -1;
	if (r == 0)
		js_print_piece(NULL, str_n(text, length));
	free(text);
	json_decref(o);
	putchar('\n');
	/* A full disk is seen by main, when it looks at the stream. */
	if (r == 0 || ferror(stdout))
		return STATUS_OK;
	report("out of memory");
	return STATUS_SELF;
}
