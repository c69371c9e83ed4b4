/* read_snakemake.c - .snakemake/metadata: a file for each output, named by the base64 of its path, with the rule, the
 * command, the inputs and the times of the job. Outputs of one job are joined by its number, command and inputs. Long
 * names lie in folders that begin with @. As Snakemake 5.6 to 7 write it; 8 and later have the same fields. */
#include "adopt/readers.h"
#include "base/base64.h"
#include "base/hash.h"
#include "base/map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct metadata {
	struct adopt_jobs *l;
	const char *folder; /* that the paths are relative to */
	struct buf path;    /* of the file at hand */
	struct map jobs;    /* hash of what a job is -> its number */
};

/* The outputs of one job have it in common: rule, command, job_hash and inputs. */
static uint64_t job_key(const json_t *o)
{
	struct str rule = adopt_member(o, "rule"), command = adopt_member(o, "shellcmd");
	const json_t *number = json_object_get(o, "job_hash"), *in = json_object_get(o, "input");
	uint64_t h = hash_more(hash_str(rule), command.p, command.n);
	int64_t n = json_is_integer(number) ? json_integer_value(number) : 0;
	h = hash_more(h, &n, sizeof(n));
	for (size_t i = 0; json_is_array(in) && i < json_array_size(in); i++) {
		const json_t *one = json_array_get(in, i);
		if (json_is_string(one))
			h = hash_more(h, json_string_value(one), json_string_length(one) + 1);
	}
	return h;
}

/* Adds the job's inputs. 0, -ENOMEM; what is no string is passed over. */
static int take_inputs(struct metadata *m, struct adopt_job *j, const json_t *o)
{
	const json_t *in = json_object_get(o, "input");
	int rc = 0;
	for (size_t i = 0; json_is_array(in) && i < json_array_size(in) && rc == 0; i++) {
		const json_t *one = json_array_get(in, i);
		if (json_is_string(one))
			rc = adopt_input(m->l, j, m->folder, str_n(json_string_value(one), json_string_length(one)));
	}
	return rc;
}

/* Fills in the job from the metadata of one of its outputs; not its times. 0, -ENOMEM. */
static int take_job(struct metadata *m, struct adopt_job *j, const json_t *o)
{
	struct str rule = adopt_member(o, "rule"), command = adopt_member(o, "shellcmd");
	j->name = adopt_text(m->l, rule);
	j->cwd = adopt_text(m->l, str_of(m->folder));
	if (!j->name || !j->cwd)
		return -ENOMEM;
	j->ended = json_is_false(json_object_get(o, "incomplete")); /* it is written when the job has succeeded */
	int rc = command.n ? adopt_shell(m->l, j, command) : 0;
	return rc == 0 ? take_inputs(m, j, o) : rc;
}

/* Takes when a job began and ended: each output has times of its own: a start that is told a moment later, and when
 * it was last modified. */
static void take_times(struct adopt_job *j, const json_t *o)
{
	int64_t start = adopt_seconds(json_object_get(o, "starttime")), end = adopt_seconds(json_object_get(o, "endtime"));
	if (start != TIME_NONE && (j->start == TIME_NONE || start < j->start))
		j->start = start;
	if (end != TIME_NONE && (j->end == TIME_NONE || end > j->end))
		j->end = end;
}

/* Reads the metadata of one output, and adds the output to its job. name: the output's, as base64. One output; its
 * job is made if it is the first of that job. A file that cannot be understood is passed over with a sentence. 0,
 * -ENOMEM. */
static int take_file(struct metadata *m, int folder, const char *name, struct str encoded)
{
	struct buf output = {0};
	int rc = 0;
	ssize_t n = buf_room(&output, encoded.n + 1) ? base64_decode(encoded, output.p) : 0;
	if (n <= 0) {
		bool oom = output.failed;
		buf_release(&output);
		return oom ? -ENOMEM : adopt_pass(m->l, buf_cstr(&m->path), "the file's name is not base64");
	}
	output.n = (size_t)n;
	json_t *o = adopt_json(m->l, folder, name, buf_cstr(&m->path), &rc);
	if (!json_is_object(o)) {
		if (o)
			rc = adopt_pass(m->l, buf_cstr(&m->path), "it is not a JSON object");
		json_decref(o);
		buf_release(&output);
		return rc;
	}
	uint64_t key = job_key(o);
	uint32_t at = map_get(&m->jobs, key);
	if (at == VEC_NONE) {
		struct adopt_job *j = adopt_job_new(m->l, ADOPT_snakemake, buf_cstr(&m->path));
		at = (uint32_t)(m->l->v.n - 1);
		rc = !j || !map_set(&m->jobs, key, at) ? -ENOMEM : take_job(m, j, o);
	}
	if (rc == 0) {
		take_times(&m->l->v.v[at], o);
		rc = adopt_output(m->l, &m->l->v.v[at], m->folder, buf_view(&output));
	}
	m->l->sources[ADOPT_snakemake]++;
	json_decref(o);
	buf_release(&output);
	return rc;
}

/* The files of a folder; of those below it, whose names begin with @, the name goes on. Takes fd, which it closes. name
 * and m->path are as before at the end. 0, -ENOMEM. */
static int take_folder(struct metadata *m, int fd, struct buf *name, unsigned depth)
{
	DIR *d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	int rc = 0;
	const size_t path = m->path.n, before = name->n;
	for (struct dirent *e; rc == 0 && (e = readdir(d));) {
		if (e->d_name[0] == '.' || e->d_type == DT_LNK)
			continue;
		m->path.n = path;
		name->n = before;
		buf_printf(&m->path, "/%s", e->d_name);
		bool more = e->d_name[0] == '@';
		buf_str(name, str_of(e->d_name + more));
		if (more && depth < 32) {
			int below = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (below >= 0)
				rc = take_folder(m, below, name, depth + 1);
		} else if (!more) {
			rc = take_file(m, dirfd(d), e->d_name, buf_view(name));
		}
		if (m->path.failed || name->failed)
			rc = -ENOMEM;
	}
	closedir(d);
	m->path.n = path;
	name->n = before;
	return rc;
}

int adopt_read_snakemake(struct adopt_jobs *l, int folder, const char *path)
{
	int at = openat(folder, ".snakemake", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = at < 0 ? -1 : openat(at, "metadata", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at >= 0)
		close(at);
	if (fd < 0)
		return 0;
	struct metadata m = {.l = l, .folder = path};
	struct buf name = {0};
	buf_printf(&m.path, "%s/.snakemake/metadata", path);
	int rc = take_folder(&m, fd, &name, 0);
	buf_release(&name);
	buf_release(&m.path);
	map_release(&m.jobs);
	return rc;
}
