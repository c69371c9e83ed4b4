#include "cc/withspec_keep.h"

#include "base/io.h"
#include "spec/objects.h"
#include "spec/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Writes the bytes to path, whole or not at all. 0, -errno. */
static int write_whole(const char *path, const void *p, size_t n)
{
	struct buf part = {0};
	buf_printf(&part, "%s.%d", path, (int)getpid());
	int fd = open(buf_cstr(&part), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : io_write(fd, p, n, NULL);
	if (fd >= 0 && close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(buf_cstr(&part), path) < 0)
		rc = -errno;
	if (rc < 0)
		unlink(buf_cstr(&part));
	buf_release(&part);
	return rc;
}

/* Writes to `to` the specification of `from` with the build-id put in: n bytes at id, SPEC_BUILD_ID_MAX at most. 0,
 * -errno with a sentence. */
static int keep_spec(const char *from, const unsigned char *id, size_t n, const char *to, struct err *err)
{
	struct buf bytes = {0};
	struct spec *s = NULL;
	uint64_t hash;
	int rc = spec_load(from, err, &s);
	if (rc < 0)
		return rc;
	memcpy(s->build_id, id, n);
	s->n_build_id = (uint32_t)n;
	rc = spec_write(s, &bytes, &hash);
	if (rc == 0)
		rc = write_whole(to, bytes.p, bytes.n);
	if (rc < 0)
		err_set(err, -rc, "cannot keep the specification in '%s'", to);
	buf_release(&bytes);
	spec_free(s);
	return rc;
}

/* Copies the bitcode for slices. 0; -EFBIG: it is larger than WITHSPEC_BITCODE_MOST; -errno, with a sentence. */
static int keep_bitcode(const char *from, const char *to, struct err *err)
{
	struct objects_bytes file;
	int rc = objects_map(from, err, &file);
	if (rc < 0)
		return rc;
	if (file.n > WITHSPEC_BITCODE_MOST) {
		err_set(err, 0, "the bitcode for slices is larger than %u MiB and is not kept (%zu MiB)",
		        WITHSPEC_BITCODE_MOST >> 20, file.n >> 20);
		rc = -EFBIG;
	} else if ((rc = write_whole(to, file.p, file.n)) < 0)
		err_set(err, -rc, "cannot keep the bitcode in '%s'", to);
	objects_unmap(&file);
	return rc;
}

int withspec_keep(const char *program, const char *spec, const char *bitcode, const char *home, struct err *err)
{
	unsigned char id[SPEC_BUILD_ID_MAX];
	struct objects_bytes file;
	struct buf path = {0};
	int rc = objects_map(program, err, &file);
	if (rc < 0)
		return rc;
	int n = objects_build_id(str_n(file.p, file.n), id);
	objects_unmap(&file);
	if (n <= 0)
		return 0; /* the linker was told to make none */
	buf_printf(&path, "%s/spec", home);
	rc = io_mkdirs(buf_cstr(&path), 0700);
	if (rc < 0)
		err_set(err, -rc, "cannot keep the specification in '%s'", buf_cstr(&path));
	buf_char(&path, '/');
	buf_hex(&path, id, (size_t)n);
	size_t length = path.n;
	buf_str(&path, str_of(".spec"));
	if (rc == 0)
		rc = keep_spec(spec, id, (size_t)n, buf_cstr(&path), err);
	path.n = length;
	buf_str(&path, str_of(".bc"));
	if (rc == 0 && bitcode)
		rc = keep_bitcode(bitcode, buf_cstr(&path), err);
	buf_release(&path);
	return rc;
}

bool withspec_kept_bitcode(const char *home, const unsigned char *id, size_t n, struct buf *ret)
{
	struct buf path = {0};
	buf_printf(&path, "%s/spec/", home);
	buf_hex(&path, id, n);
	buf_str(&path, str_of(".bc"));
	bool there = n > 0 && !path.failed && access(buf_cstr(&path), R_OK) == 0;
	if (there)
		buf_str(ret, buf_view(&path));
	buf_release(&path);
	return there;
}
