#include "site/segment_list.h"

#include "import/segments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Adds a segment to the list. 0, -ENOMEM. arg: a struct segment_list, which gets a copy. */
static int add_path(void *arg, const char *path)
{
	struct segment_list *l = arg;
	char *copy = strdup(path), **slot = copy ? vec_add(&l->paths) : NULL;
	if (slot)
		*slot = copy;
	else
		free(copy);
	return slot ? 0 : -ENOMEM;
}

/* N.stl and N.M.stl as N and M; other names come first. */
static void parse_slot(const char *name, unsigned long *ret_slot, unsigned long *ret_roll)
{
	char *end;
	*ret_slot = *ret_roll = 0;
	if (name[0] < '0' || name[0] > '9')
		return;
	*ret_slot = strtoul(name, &end, 10);
	if (end[0] == '.' && end[1] >= '0' && end[1] <= '9')
		*ret_roll = strtoul(end + 1, &end, 10);
}

/* Order of qsort: by folder, then by the numbers in the names, not by their text. */
static int compare_segments(const void *pa, const void *pb)
{
	const char *a = *(char *const *)pa, *b = *(char *const *)pb;
	const char *na = strrchr(a, '/'), *nb = strrchr(b, '/');
	const size_t da = na ? (size_t)(na - a) : 0, db = nb ? (size_t)(nb - b) : 0;
	const int c = strncmp(a, b, da > db ? da : db);
	if (da != db || (c && memcmp(a, b, da) != 0))
		return c ? c : (da > db) - (da < db);
	unsigned long sa, ra, sb, rb;
	parse_slot(na ? na + 1 : a, &sa, &ra);
	parse_slot(nb ? nb + 1 : b, &sb, &rb);
	return sa != sb ? (sa > sb) - (sa < sb) : ra != rb ? (ra > rb) - (ra < rb) : strcmp(a, b);
}

int segment_list_read(const char *dir, struct err *err, struct segment_list *ret)
{
	struct stat st;
	uint64_t passed = 0;
	*ret = (struct segment_list){0};
	if (stat(dir, &st) < 0 && errno == ENOENT)
		return 0;
	int rc = segments_walk(dir, add_path, ret, &passed, err);
	if (rc == -ENOMEM)
		err_set(err, ENOMEM, "cannot list the segments in '%s'", dir);
	if (rc == 0 && ret->paths.n)
		qsort(ret->paths.v, ret->paths.n, sizeof(*ret->paths.v), compare_segments);
	if (rc < 0)
		segment_list_release(ret);
	return rc;
}

/* l itself may not be used afterwards. */
void segment_list_release(struct segment_list *l)
{
	for (size_t i = 0; i < l->paths.n; i++)
		free(l->paths.v[i]);
	vec_release(&l->paths);
}
