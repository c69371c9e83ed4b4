#include "site/nodes.h"

#include "base/buf.h"
#include "base/hex.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { NODES_MAX = 16 << 20 }; /* bytes of the file */

bool nodes_name_is(const char *name)
{
	const size_t n = strlen(name);
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	return n && n <= COLLECTOR_NAME && name[0] != '.' && strspn(name, plain) == n;
}

/* To be freed; NULL: no memory. */
static char *nodes_path(const char *home, const char *name)
{
	char *path = NULL;
	return asprintf(&path, "%s/collect/%s", home, name) < 0 ? NULL : path;
}

/* n can be filled again. */
static void release_list(struct nodes *n)
{
	for (size_t i = 0; i < n->list.n; i++) {
		free((char *)(uintptr_t)n->list.v[i].sender.name);
		free((char *)(uintptr_t)n->list.v[i].sender.host);
	}
	vec_release(&n->list);
}

/* n is empty then. */
void nodes_release(struct nodes *n)
{
	release_list(n);
	free(n->home);
	*n = (struct nodes){0};
}

/* One line. False: it is none of ours. */
static bool parse_node(char *line, struct node *ret)
{
	char *save = NULL, *word[5], *end;
	for (unsigned i = 0; i < 5; i++)
		if (!(word[i] = strtok_r(i ? NULL : line, " ", &save)))
			return false;
	*ret = (struct node){.sender = {.any_user = !strcmp(word[2], "*")}};
	if (!nodes_name_is(word[0]) || !digest_parse(str_of(word[4]), &ret->token))
		return false;
	if (!ret->sender.any_user) {
		ret->sender.uid = strtoull(word[2], &end, 10);
		if (*end || end == word[2])
			return false;
	}
	ret->sender.share = strtoull(word[3], &end, 10);
	if (*end || end == word[3])
		return false;
	ret->sender.name = strdup(word[0]);
	ret->sender.host = strcmp(word[1], "*") ? strdup(word[1]) : NULL;
	return true;
}

/* Comments begin with #; text is cut up. 0; -EBADMSG, -ENOMEM, reported. */
static int parse_nodes(struct nodes *n, char *text, const char *path, struct err *err)
{
	char *save = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct node one;
		if (line[0] == '#')
			continue;
		if (!parse_node(line, &one)) {
			err_set(err, 0, "'%s' has a line that does not describe a node", path);
			err_hint(err, "remove the line, or remove the file and add all nodes again");
			return -EBADMSG;
		}
		struct node *slot = vec_add(&n->list);
		if (!slot)
			return err_set(err, ENOMEM, "cannot read '%s'", path);
		*slot = one;
	}
	return 0;
}

int nodes_read(struct nodes *n, const char *home, struct err *err)
{
	struct buf text = {0};
	struct stat st = {0};
	if (!n->home && !(n->home = strdup(home)))
		return err_set(err, ENOMEM, "cannot collect");
	char *path = nodes_path(home, "nodes");
	if (!path)
		return err_set(err, ENOMEM, "cannot collect");
	int rc = 0;
	if (stat(path, &st) < 0) {
		if (errno != ENOENT)
			rc = err_set(err, errno, "cannot read '%s'", path);
		release_list(n);
		n->inode = 0;
	} else if (n->inode != st.st_ino || n->size != (uint64_t)st.st_size ||
	           memcmp(&n->changed, &st.st_mtim, sizeof(st.st_mtim)) != 0) {
		release_list(n);
		if ((rc = io_read_file(path, NODES_MAX, &text)) < 0)
			err_set(err, -rc, "cannot read '%s'", path);
		else if (text.n)
			rc = buf_cstr(&text) && !text.failed ? parse_nodes(n, text.p, path, err) : -ENOMEM;
		n->inode = rc < 0 ? 0 : st.st_ino;
		n->size = (uint64_t)st.st_size;
		n->changed = st.st_mtim;
	}
	buf_release(&text);
	free(path);
	return rc;
}

const struct collector_sender *nodes_find(const struct nodes *n, struct str token)
{
	struct digest d;
	const struct collector_sender *found = NULL;
	if (token.n != NODE_TOKEN)
		return NULL;
	digest_bytes(token.p, token.n, &d);
	/* Of a digest nobody can choose a part, so where a comparison ends tells nothing. */
	for (size_t i = 0; i < n->list.n; i++)
		if (digest_eq(&n->list.v[i].token, &d))
			found = &n->list.v[i].sender;
	return found;
}

/* ---- changing the list ---- */

/* In one step: the old one stays on an error. -errno, reported. */
static int write_list(const char *home, const struct nodes *n, struct err *err)
{
	struct buf out = {0};
	char *path = nodes_path(home, "nodes"), *temporary = nodes_path(home, "nodes.new");
	for (size_t i = 0; i < n->list.n; i++) {
		const struct collector_sender *s = &n->list.v[i].sender;
		char digest[DIGEST_TEXT];
		digest_text(&n->list.v[i].token, digest);
		buf_printf(&out, "%s %s ", s->name, s->host ? s->host : "*");
		if (s->any_user)
			buf_printf(&out, "* ");
		else
			buf_printf(&out, "%llu ", (unsigned long long)s->uid);
		buf_printf(&out, "%llu %s\n", (unsigned long long)s->share, digest);
	}
	int rc = path && temporary && !out.failed ? 0 : -ENOMEM, fd = -1;
	if (rc == 0 && (fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)) < 0)
		rc = -errno;
	rc = rc < 0 ? rc : io_write(fd, out.p, out.n, NULL);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (rc == 0 && rename(temporary, path) < 0)
		rc = -errno;
	if (rc < 0)
		err_set(err, -rc, "cannot write '%s/collect/nodes'", home);
	buf_release(&out);
	free(path);
	free(temporary);
	return rc;
}

/* Where collected nodes are listed. 0, -errno with a sentence. */
static int make_folder(const char *home, struct err *err)
{
	char *dir = nodes_path(home, "");
	int rc = dir ? io_mkdirs(dir, 0700) : -ENOMEM;
	free(dir);
	return rc < 0 ? err_set(err, -rc, "cannot make the folder '%s/collect'", home) : 0;
}

/* Another one takes its place. */
static void remove_from_list(struct nodes *n, size_t i)
{
	free((char *)(uintptr_t)n->list.v[i].sender.name);
	free((char *)(uintptr_t)n->list.v[i].sender.host);
	n->list.v[i] = n->list.v[--n->list.n];
}

/* n->list.n: none of that name. */
static size_t index_of(const struct nodes *n, const char *name)
{
	size_t i = 0;
	while (i < n->list.n && strcmp(n->list.v[i].sender.name, name) != 0)
		i++;
	return i;
}

int nodes_add(const char *home, const struct collector_sender *s, struct err *err, char ret[NODE_TOKEN + 1])
{
	struct nodes n = {0};
	unsigned char bytes[NODE_TOKEN / 2];
	if (!nodes_name_is(s->name))
		return (err_set(err, 0, "'%s' cannot be a sender's name: use letters, digits, '-', '_' and '.'", s->name),
		        -EINVAL);
	if (s->host && (!s->host[0] || strchr(s->host, ' ') || strchr(s->host, '\n') || !strcmp(s->host, "*")))
		return (err_set(err, 0, "'%s' cannot be the name of a host", s->host), -EINVAL);
	int rc = make_folder(home, err);
	rc = rc < 0 ? rc : nodes_read(&n, home, err);
	if (rc == 0 && getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		rc = err_set(err, EIO, "the kernel gives no random bytes");
	if (rc == 0) {
		const size_t old = index_of(&n, s->name);
		if (old < n.list.n)
			remove_from_list(&n, old);
		struct node *slot = vec_add(&n.list);
		if (slot) {
			*slot = (struct node){.sender = *s};
			slot->sender.name = strdup(s->name);
			slot->sender.host = s->host ? strdup(s->host) : NULL;
			hex_text(bytes, sizeof(bytes), ret);
			digest_bytes(ret, NODE_TOKEN, &slot->token);
		}
		rc = !slot || !slot->sender.name || (s->host && !slot->sender.host) ? err_set(err, ENOMEM, "cannot add a node")
		                                                                    : write_list(home, &n, err);
	}
	nodes_release(&n);
	return rc;
}

int nodes_remove(const char *home, const char *name, struct err *err)
{
	struct nodes n = {0};
	int rc = nodes_read(&n, home, err);
	const size_t i = index_of(&n, name);
	if (rc == 0 && i < n.list.n) {
		remove_from_list(&n, i);
		rc = write_list(home, &n, err);
		rc = rc < 0 ? rc : 1;
	}
	nodes_release(&n);
	return rc;
}
