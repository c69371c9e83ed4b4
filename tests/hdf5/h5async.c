/* h5async HOW OUT [UNDER]: asynchronous calls of HDF5 1.14 on OUT, for the tests of the connector. It prints what it
 * did as h5steps does, and what the event set said.
 *
 *   plain   by whatever connector HDF5 was told to use
 *   later   by connector "later" of this program's, under UNDER, a connector and what it is told
 *   top     by connector "later" over UNDER: its name, and what it is told
 *   fails   as later; the last of the writes fails after its call came back
 *
 * Connector "later" is HDF5's own pass-through, but that it only keeps what is to be written or read of datasets, and
 * does that when it is waited for: what comes back from a call tells nothing of how it ended. */
#include <hdf5.h>

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 6, LATER = 402 };

/* It begins as the pass-through's objects do, which HDF5 takes a request for when it asks how to wrap what comes of it.
 */
struct job {
	hid_t under;
	void *under_object;
	int write, done, failed;
	size_t n;
	void *dset;
	hid_t type, mem, space, list;
	void *buf;
};
static H5VL_class_t later;       /* ours */
static const H5VL_class_t *base; /* HDF5's */
static int kept, waited, freed, fail_last;

static void *keep(int write, void *dset, hid_t type, hid_t mem, hid_t space, hid_t list, void *buf)
{
	struct job *j = calloc(1, sizeof(*j));
	*j = (struct job){.under = ((struct job *)dset)->under,
	                  .under_object = ((struct job *)dset)->under_object,

	                  .write = write,
	                  .n = 1,
	                  .dset = dset,
	                  .type = type,
	                  .mem = mem,
	                  .space = space,
	                  .list = list,
	                  .buf = buf};
	H5Iinc_ref(type);
	if (mem > 0)
		H5Iinc_ref(mem);
	if (space > 0)
		H5Iinc_ref(space);
	kept++;
	return j;
}

/* A request is a job. */
static herr_t work(struct job *j)
{
	void *rbuf = j->buf;
	const void *wbuf = j->buf;
	herr_t r = -1;
	if (j->write && !(fail_last && kept == waited + 1))
		r = base->dataset_cls.write(1, &j->dset, &j->type, &j->mem, &j->space, j->list, &wbuf, NULL);
	else if (!j->write)
		r = base->dataset_cls.read(1, &j->dset, &j->type, &j->mem, &j->space, j->list, &rbuf, NULL);
	j->done = 1;
	j->failed = r < 0;
	waited++;
	H5Idec_ref(j->type);
	if (j->mem > 0)
		H5Idec_ref(j->mem);
	if (j->space > 0)
		H5Idec_ref(j->space);
	return r;
}

static herr_t later_write(size_t n, void *dset[], hid_t type[], hid_t mem[], hid_t space[], hid_t list,
                          const void *buf[], void **req)
{
	if (!req || n != 1)
		return base->dataset_cls.write(n, dset, type, mem, space, list, buf, req);
	*req = keep(1, dset[0], type[0], mem[0], space[0], list, (void *)(size_t)buf[0]);
	return 0;
}

static herr_t later_read(size_t n, void *dset[], hid_t type[], hid_t mem[], hid_t space[], hid_t list, void *buf[],
                         void **req)
{
	if (!req || n != 1)
		return base->dataset_cls.read(n, dset, type, mem, space, list, buf, req);
	*req = keep(0, dset[0], type[0], mem[0], space[0], list, buf[0]);
	return 0;
}

static herr_t later_wait(void *req, uint64_t timeout, H5VL_request_status_t *status)
{
	struct job *j = req;
	if (!j->done && timeout)
		work(j);
	*status = !j->done    ? H5VL_REQUEST_STATUS_IN_PROGRESS
	          : j->failed ? H5VL_REQUEST_STATUS_FAIL
	                      : H5VL_REQUEST_STATUS_SUCCEED;
	return 0;
}

static herr_t later_specific(void *req, H5VL_request_specific_args_t *args)
{
	(void)req;
	if (args->op_type == H5VL_REQUEST_GET_ERR_STACK)
		args->args.get_err_stack.err_stack_id = H5Ecreate_stack();
	return 0;
}

static herr_t later_free(void *req)
{
	freed++;
	free(req);
	return 0;
}

/* HDF5's class of pass_through, from a file that is opened by it. */
static hid_t make_later(const char *out)
{
	char scratch[4096];
	H5VL_pass_through_info_t info = {.under_vol_id = H5VLregister_connector_by_value(0, H5P_DEFAULT)};
	hid_t pass = H5VL_pass_through_register(), list = H5Pcreate(H5P_FILE_ACCESS);
	snprintf(scratch, sizeof(scratch), "%s.scratch", out);
	H5Pset_vol(list, pass, &info);
	hid_t f = H5Fcreate(scratch, H5F_ACC_TRUNC, H5P_DEFAULT, list);
	if (H5VLintrospect_get_conn_cls(H5VLobject(f), pass, H5VL_GET_CONN_LVL_CURR, &base) < 0)
		return -1;
	later = *base;
	later.name = "later";
	later.value = LATER;
	later.dataset_cls.write = later_write;
	later.dataset_cls.read = later_read;
	later.request_cls.wait = later_wait;
	later.request_cls.specific = later_specific;
	later.request_cls.free = later_free;
	H5Fclose(f);
	H5Pclose(list);
	remove(scratch);
	return H5VLregister_connector(&later, H5P_DEFAULT);
}

/* A list of file access by a connector, which is told something. */
static hid_t access_by(const char *name, const char *words)
{
	void *info = NULL;
	hid_t list = H5Pcreate(H5P_FILE_ACCESS), id = H5VLregister_connector_by_name(name, H5P_DEFAULT);
	if (id < 0 || H5VLconnector_str_to_info(words, id, &info) < 0 || H5Pset_vol(list, id, info) < 0)
		return -1;
	H5VLfree_connector_info(id, info);
	H5VLclose(id);
	return list;
}

static int use(const char *out, hid_t list)
{
	static double data[N][100], back[100];
	char name[16];
	hsize_t n = 100;
	size_t left = 0;
	hbool_t failed = 0;
	for (int i = 0; i < N * 100; i++)
		data[i / 100][i % 100] = i;
	hid_t es = H5EScreate(), s = H5Screate_simple(1, &n, NULL), one = H5Screate(H5S_SCALAR), d[N],
	      timeless = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_obj_track_times(timeless, 0);
	hid_t f = H5Fcreate_async(out, H5F_ACC_TRUNC, H5P_DEFAULT, list, es);
	hid_t g = H5Gcreate_async(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, es);
	printf("write %s//\nwrite %s//g\n", out, out);
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		d[i] = H5Dcreate_async(g, name, H5T_NATIVE_DOUBLE, s, H5P_DEFAULT, timeless, H5P_DEFAULT, es);
		H5Dwrite_async(d[i], H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data[i], es);
		printf("write %s//g/d%d\n", out, i);
	}
	hid_t a = H5Acreate_async(d[0], "rate", H5T_NATIVE_DOUBLE, one, H5P_DEFAULT, H5P_DEFAULT, es);
	H5Awrite_async(a, H5T_NATIVE_DOUBLE, data[1], es);
	H5Aclose_async(a, es);
	printf("write %s//g/d0@rate\n", out);
	printf("kept %d, done %d\n", kept, waited);
	H5ESwait(es, H5ES_WAIT_FOREVER, &left, &failed);
	printf("left %zu, failed %d, kept %d, done %d\n", left, (int)failed, kept, waited);
	if (failed) { /* such a set waits for nothing more */
		H5ES_err_info_t info;
		size_t n_errors = 0;
		H5ESget_err_info(es, 1, &info, &n_errors);
		printf("errors %zu in %s\n", n_errors, n_errors ? info.api_name : "");
		if (n_errors) {
			H5free_memory(info.api_name), H5free_memory(info.api_args);
			H5free_memory(info.app_file_name), H5free_memory(info.app_func_name);
			H5Eclose_stack(info.err_stack_id);
		}
	} else {
		H5Dread_async(d[2], H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, back, es);
		printf("read %s//g/d2\n", out);
		H5ESwait(es, H5ES_WAIT_FOREVER, &left, &failed);
		printf("left %zu, failed %d, kept %d, done %d, same %d\n", left, (int)failed, kept, waited,
		       !memcmp(back, data[2], sizeof(back)));
	}
	for (int i = 0; i < N; i++)
		H5Dclose(d[i]);
	H5Gclose(g), H5Fclose(f), H5Sclose(s), H5Sclose(one), H5Pclose(timeless);
	H5ESclose(es);
	printf("freed %d\n", freed);
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	char words[1024];
	if (!strcmp(how, "plain"))
		return use(argv[2], H5P_DEFAULT);
	if (argc < 4)
		return 2;
	fail_last = !strcmp(how, "fails");
	if (make_later(argv[2]) < 0)
		return 3;
	if (!strcmp(how, "top")) {
		char *space = strchr(argv[3], ' ');
		snprintf(words, sizeof(words), "under_vol=%d;under_info={%s}", argc > 4 ? atoi(argv[4]) : 0,
		         space ? space + 1 : "");
		hid_t list = access_by("later", words);
		return list < 0 ? 4 : use(argv[2], list);
	}
	snprintf(words, sizeof(words), "under_vol=%d;under_info={under_vol=0;under_info={}}", LATER);
	hid_t list = strcmp(argv[3], "none") ? access_by(argv[3], words) : access_by("later", "under_vol=0;under_info={}");
	return list < 0 ? 4 : use(argv[2], list);
}
