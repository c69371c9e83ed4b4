/* exec_words.c - the arguments and the environment of an exec, read from the process that makes it, and redacted. */
#include "capture/supervisor/exec/exec_int.h"
#include "event/env.h"
#include "redact/redact.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#define ARGV_MAX (256u << 10) /* bytes of arguments kept; the rest is said to be missing */

struct vector {
	struct buf bytes; /* strings, each with its NUL */
	size_t count;
	bool cut;
};

/* Bytes of a pointer in a 32-bit (compat) or 64-bit program. */
static size_t pointer_width(bool compat)
{
	return compat ? 4 : 8;
}

/* Bytes of EXEC_STRINGS pointers, or as many as are certain to be there if the first is. */
static size_t pointers_room(uint64_t addr, bool compat)
{
	size_t width = pointer_width(compat), want = EXEC_STRINGS * width, page = 4096 - (addr & 4095);
	if (want > page)
		want = page - page % width; /* the next page may not be there */
	return want ? want : width;
}

/* Pointers of the process's width as 64-bit ones. How many. */
static size_t pointers_of(const char *raw, size_t bytes, bool compat, uint64_t *ret)
{
	size_t n = bytes / pointer_width(compat);
	for (size_t i = 0; i < n; i++) {
		uint32_t v32;
		if (compat) {
			memcpy(&v32, raw + i * 4, 4);
			ret[i] = v32;
		} else {
			memcpy(&ret[i], raw + i * 8, 8);
		}
	}
	return n;
}

/* How many could be read, -errno. compat: they are of 32 bits. */
static ssize_t read_pointers(pid_t tid, uint64_t addr, bool compat, uint64_t ret[EXEC_STRINGS])
{
	char raw[EXEC_STRINGS * 8];
	ssize_t got = remote_read(tid, addr, raw, pointers_room(addr, compat));
	if (got <= 0)
		return got < 0 ? got : -EFAULT;
	return (ssize_t)pointers_of(raw, (size_t)got, compat, ret);
}

/* Appends it with its NUL, cut at `max` bytes. 1: it was cut, 0, -errno. */
static int one_string(pid_t tid, uint64_t addr, struct buf *out, size_t max)
{
	char *tmp = malloc(max + 1);
	if (!tmp)
		return -ENOMEM;
	ssize_t n = remote_string(tid, addr, tmp, max);
	bool cut = n == -ENAMETOOLONG;
	if (cut)
		n = (ssize_t)max;
	if (n >= 0) {
		buf_add(out, tmp, (size_t)n);
		buf_char(out, '\0');
	}
	free(tmp);
	return n < 0 ? (int)n : cut;
}

/* The beginnings of strings, as far as they came with one call. */
struct heads {
	char bytes[2 * EXEC_STRINGS * EXEC_CHUNK];
	const char *text[2 * EXEC_STRINGS];
	size_t len[2 * EXEC_STRINGS];
};

/* Sorts texts in the order of their addresses: nearly in it they are already, so by insertion. */
static void sort_by_place(const uint64_t *at, size_t n, unsigned char order[2 * EXEC_STRINGS])
{
	for (size_t i = 0; i < n; i++) {
		size_t k = i;
		for (; k && at[order[k - 1]] > at[i]; k--)
			order[k] = order[k - 1];
		order[k] = (unsigned char)i;
	}
}

/* Reads the beginnings of texts: at least EXEC_CHUNK bytes of each of n strings, but never past a page that a string
 * begins in. Strings that lie one behind the other are read as one piece, for what costs is each piece (0.3 us): so
 * does an environment, though a shell hands it on in another order. False: not all of them came; n is 2 *
 * EXEC_STRINGS at most. */
static bool read_heads(pid_t tid, const uint64_t *at, size_t n, struct heads *ret)
{
	struct iovec here[2 * EXEC_STRINGS], there[2 * EXEC_STRINGS];
	unsigned char order[2 * EXEC_STRINGS];
	size_t npieces = 0, room = 0, spare = sizeof(ret->bytes) - n * EXEC_CHUNK;
	sort_by_place(at, n, order);
	for (size_t i = 0, next; i < n; i = next) {
		uint64_t first = at[order[i]], last = first;
		for (next = i + 1; next < n; next++) {
			uint64_t gap = at[order[next]] - last;
			size_t more = gap > EXEC_CHUNK ? (size_t)gap - EXEC_CHUNK : 0;
			if (gap > 4096 || more > spare) /* within it no page that no string begins in */
				break;
			spare -= more;
			last = at[order[next]];
		}
		size_t page = 4096 - (last & 4095);
		size_t want = last - first + (page < EXEC_CHUNK ? page : EXEC_CHUNK);
		here[npieces] = (struct iovec){ret->bytes + room, want};
		there[npieces++] = (struct iovec){(void *)(uintptr_t)first, want};
		for (size_t k = i; k < next; k++) {
			ret->text[order[k]] = ret->bytes + room + (at[order[k]] - first);
			ret->len[order[k]] = want - (at[order[k]] - first);
		}
		room += want; /* EXEC_CHUNK a string at most, and what was to spare */
	}
	ssize_t got = npieces ? remote_readv(tid, here, there, npieces) : 0;
	return got >= 0 && (size_t)got == room;
}

/* Adds those of n strings that are wanted, whose heads are `first` and following. 0, -errno, or 1: that is enough. */
static int add_strings(pid_t tid, const uint64_t *at, size_t n, const struct heads *heads, size_t first,
                       bool (*keep)(struct str), struct vector *ret)
{
	for (size_t i = 0; i < n; i++) {
		const char *text = heads->text[first + i], *end = memchr(text, '\0', heads->len[first + i]);
		struct str head = str_n(text, end ? (size_t)(end - text) : heads->len[first + i]);
		if (keep && !keep(head))
			continue;
		if (ret->bytes.n > ARGV_MAX) {
			ret->cut = true;
			return 1;
		}
		if (end) {
			buf_add(&ret->bytes, text, head.n + 1);
		} else {
			int rc = one_string(tid, at[i], &ret->bytes, ARGV_MAX / 2);
			if (rc < 0)
				return rc;
			ret->cut |= rc > 0;
		}
		ret->count++;
	}
	return 0;
}

/* How many pointers stand before the first that is 0. */
static size_t until_null(const uint64_t *at, size_t n)
{
	size_t count = 0;
	while (count < n && at[count])
		count++;
	return count;
}

/* Reads a NULL-terminated vector; keep(string) says which strings are wanted. */
static int read_vector(pid_t tid, uint64_t addr, bool compat, bool (*keep)(struct str), struct vector *ret)
{
	uint64_t at[EXEC_STRINGS];
	struct heads heads;
	while (addr) {
		ssize_t n = read_pointers(tid, addr, compat, at);
		if (n <= 0)
			return n < 0 ? (int)n : -EFAULT;
		size_t count = until_null(at, (size_t)n);
		if (!read_heads(tid, at, count, &heads))
			return -EFAULT;
		int rc = add_strings(tid, at, count, &heads, 0, keep, ret);
		if (rc)
			return rc < 0 ? rc : 0;
		if (count < (size_t)n)
			return 0;
		addr += (uint64_t)n * pointer_width(compat);
	}
	return 0;
}

/* Reads path, arguments and environment in one call, as far as one page each; what is missing is read later.
 * exec_read_ahead: a vector of 0 is none; ret->vectors is false where not all came. */
void exec_read_ahead(const struct trap *t, uint64_t path, const uint64_t vector[2], struct exec_ahead *ret)
{
	char raw[2][EXEC_STRINGS * 8];
	size_t page = 4096 - (path & 4095);
	struct iovec here[4] = {{ret->path, page < EXEC_CHUNK ? page : EXEC_CHUNK}},
	             there[4] = {{(void *)(uintptr_t)path, here[0].iov_len}};
	size_t pieces = 1, want = here[0].iov_len, room[2] = {0};
	for (int i = 0; i < 2; i++) {
		if (!vector[i])
			continue;
		room[i] = pointers_room(vector[i], t->compat);
		here[pieces] = (struct iovec){raw[i], room[i]};
		there[pieces++] = (struct iovec){(void *)(uintptr_t)vector[i], room[i]};
		want += room[i];
	}
	/* An environment often goes on in the next page; where that is not there, this piece alone does not come. */
	size_t most = EXEC_STRINGS * pointer_width(t->compat);
	if (room[1] && room[1] < most && (vector[1] + room[1]) % 4096 == 0) {
		size_t rest = most - room[1];
		here[pieces] = (struct iovec){raw[1] + room[1], rest};
		there[pieces++] = (struct iovec){(void *)(uintptr_t)(vector[1] + room[1]), rest};
	}
	ssize_t got = remote_readv(t->tid, here, there, pieces);
	size_t of_path = got < 0 ? 0 : (size_t)got < here[0].iov_len ? (size_t)got : here[0].iov_len;
	ret->path_whole = memchr(ret->path, '\0', of_path);
	ret->vectors = got >= 0 && (size_t)got >= want;
	if (ret->vectors)
		room[1] += (size_t)got - want;
	for (int i = 0; i < 2; i++)
		ret->n[i] = ret->vectors ? pointers_of(raw[i], room[i], t->compat, ret->at[i]) : 0;
}

/* Is it a variable that may be recorded? */
static bool env_wanted(struct str s)
{
	const char *eq = s.n ? memchr(s.p, '=', s.n) : NULL;
	return eq && env_allowed(str_n(s.p, (size_t)(eq - s.p)));
}

/* The environment that was read last, variable by variable, and what became of it. One shell starts a thousand programs
 * with the same, and to choose and redact 40 variables takes 13 us. */
static _Thread_local struct last_env { /* words are read outside of the lock */
	struct buf raw, said;
	size_t n, kept; /* variables, and those that are recorded */
	struct {
		size_t raw, said; /* where each ends */
	} end[EXEC_STRINGS];
} last_env;

/* A variable of the last environment as it was read: of the last one's variable i the bytes, with the NUL; and as it
 * is recorded, nothing if it is not. */
static struct str last_raw(const struct last_env *l, size_t i)
{
	size_t from = i ? l->end[i - 1].raw : 0;
	return str_n(l->raw.p + from, l->end[i].raw - from);
}

/* A variable of the last environment as it was told: of the last environment that was told of, words as they were
 * told. */
static struct str last_emitted_environment(const struct last_env *l, size_t i)
{
	size_t from = i ? l->end[i - 1].said : 0;
	return str_n(l->said.p + from, l->end[i].said - from);
}

/* Is it the i-th variable that was recorded last, byte for byte? */
static bool is_last(const struct last_env *l, size_t i, const char *text, size_t room)
{
	struct str raw = i < l->n ? last_raw(l, i) : str_n(NULL, 0);
	return raw.n && raw.n <= room && !memcmp(raw.p, text, raw.n);
}

/* Adds one to the new one, which follows the last where they are the same. */
static void add_variable(struct last_env *now, const struct last_env *last, const char *text, size_t room)
{
	const char *nul = memchr(text, '\0', room);
	struct str var = str_n(text, (size_t)(nul - text));
	if (is_last(last, now->n, text, room)) {
		buf_str(&now->said, last_emitted_environment(last, now->n));
	} else if (env_wanted(var)) {
		redact_env(&now->said, var);
		buf_char(&now->said, '\0');
	}
	buf_add(&now->raw, text, var.n + 1);
	size_t from = now->n ? now->end[now->n - 1].said : 0;
	now->kept += now->said.n > from;
	now->end[now->n].raw = now->raw.n;
	now->end[now->n++].said = now->said.n;
}

/* The environment out of the heads of its n strings, from `first` on. False: one of them is longer, or no memory. */
static bool read_env(const struct heads *heads, size_t first, size_t n, struct buf *ret, size_t *ret_count)
{
	struct last_env *l = &last_env;
	bool same = n == l->n;
	for (size_t i = 0; i < n && same; i++)
		same = is_last(l, i, heads->text[first + i], heads->len[first + i]);
	if (!same) {
		struct last_env now = {.n = 0};
		bool whole = true;
		for (size_t i = 0; i < n && whole; i++)
			whole = memchr(heads->text[first + i], '\0', heads->len[first + i]);
		for (size_t i = 0; i < n && whole; i++)
			add_variable(&now, l, heads->text[first + i], heads->len[first + i]);
		if (!whole || now.raw.failed || now.said.failed) {
			buf_release(&now.raw);
			buf_release(&now.said);
			return false;
		}
		buf_release(&l->raw);
		buf_release(&l->said);
		*l = now;
	}
	*ret_count = l->kept;
	buf_str(ret, buf_view(&l->said));
	return !ret->failed;
}

/* Reads the arguments and the environment of an exec from the process. Both vectors, the strings of what came ahead
 * with one call; the environment as it is to be recorded if it fits. False: not all of these can be read so. */
static bool read_exec_vectors(const struct trap *t, const uint64_t vector[2], const struct exec_ahead *ahead,
                              struct vector ret[2], struct exec_pending *e)
{
	bool (*const keep[2])(struct str) = {NULL, env_wanted};
	uint64_t at[2 * EXEC_STRINGS];
	struct heads heads;
	size_t count[2] = {until_null(ahead->at[0], ahead->n[0]), until_null(ahead->at[1], ahead->n[1])};
	memcpy(at, ahead->at[0], count[0] * sizeof(*at));
	memcpy(at + count[0], ahead->at[1], count[1] * sizeof(*at));
	size_t all = count[0] + count[1];
	if (!ahead->vectors || !read_heads(t->tid, at, all, &heads))
		return false;
	for (int i = 0; i < 2; i++) {
		size_t first = i ? count[0] : 0;
		if (i && vector[1] && count[1] < ahead->n[1] && read_env(&heads, first, count[1], &e->env, &e->envc))
			return true;
		buf_release(&e->env);
		int rc = add_strings(t->tid, at + first, count[i], &heads, first, keep[i], &ret[i]);
		if (rc == 0 && count[i] == ahead->n[i] && vector[i])
			rc = read_vector(t->tid, vector[i] + ahead->n[i] * pointer_width(t->compat), t->compat, keep[i], &ret[i]);
		e->cut |= rc < 0;
	}
	e->env = redact_strings(buf_view(&ret[1].bytes), true);
	e->envc = ret[1].count;
	return true;
}

void exec_read_words(const struct trap *t, const uint64_t vector[2], const struct exec_ahead *ahead,
                     struct exec_pending *e)
{
	struct vector v[2] = {{.count = 0}};
	if (!read_exec_vectors(t, vector, ahead, v, e)) {
		e->cut |= read_vector(t->tid, vector[0], t->compat, NULL, &v[0]) < 0;
		e->cut |= read_vector(t->tid, vector[1], t->compat, env_wanted, &v[1]) < 0;
		e->env = redact_strings(buf_view(&v[1].bytes), true);
		e->envc = v[1].count;
	}
	e->cut |= v[0].cut | v[1].cut;
	e->argv = redact_strings(buf_view(&v[0].bytes), false);
	e->argc = v[0].count;
	buf_release(&v[0].bytes);
	buf_release(&v[1].bytes);
	e->jobserver = jobserver_find(&e->env);
}

int exec_words(pid_t tid, uint64_t addr, struct buf *ret, size_t *ret_n)
{
	struct vector v = {0};
	int r = read_vector(tid, addr, false, NULL, &v);
	if (r == 0) {
		*ret = redact_strings(buf_view(&v.bytes), false);
		*ret_n = v.count;
	}
	buf_release(&v.bytes);
	return r;
}
