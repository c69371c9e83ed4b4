#include "das.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static FILE *did;

void das_fail(const char *what, const char *name)
{
	fprintf(stderr, "rank %d: cannot %s '%s'\n", rank, what, name);
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

void das_start(int *argc, char ***argv)
{
	const char *prefix = getenv("DID"), *program = strrchr((*argv)[0], '/');
	char name[DAS_NAME];
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (prefix) {
		snprintf(name, sizeof(name), "%s.%s.%d", prefix, program ? program + 1 : (*argv)[0], rank);
		did = fopen(name, "a");
		if (!did)
			das_fail("write", name);
	}
}

int das_mine(int i)
{
	return i % ranks == rank;
}

int das_end(double sum)
{
	double all = 0;
	MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%.6g\n", all);
	MPI_Finalize();
	return did && fclose(did);
}

void *das_memory(size_t n)
{
	void *p = calloc(1, n ? n : 1);
	if (!p)
		das_fail("have memory for", "samples");
	return p;
}

void das_did(const char *way, const char *file, const char *object)
{
	if (did)
		fprintf(did, "%s %s%s\n", way, file, object);
}

static void did_object(const struct das_file *f, const char *way, const char *path, const char *attribute)
{
	char object[DAS_NAME];
	snprintf(object, sizeof(object), "/%s%s%s", path[1] ? path : "/", attribute ? "@" : "", attribute ? attribute : "");
	das_did(way, f->name, object);
}

const char *das_name(const char *folder, const char *in, const char *suffix)
{
	static char name[DAS_NAME];
	const char *slash = strrchr(in, '/');
	in = slash ? slash + 1 : in;
	if (snprintf(name, sizeof(name), "%s/%.*s%s", folder, (int)strcspn(in, "."), in, suffix) >= (int)sizeof(name))
		das_fail("name the result of", in);
	return name;
}

static hid_t ok(hid_t id, const char *what, const char *name)
{
	if (id < 0)
		das_fail(what, name);
	return id;
}

void das_open(struct das_file *f, const char *name)
{
	f->id = ok(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT), "open", name);
	f->made = 0;
	snprintf(f->name, sizeof(f->name), "%s", name);
	das_did("read", name, "");
}

void das_create(struct das_file *f, const char *name)
{
	f->id = ok(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "make", name);
	f->made = 1;
	snprintf(f->name, sizeof(f->name), "%s", name);
	did_object(f, "write", "/", NULL);
}

void das_close(struct das_file *f)
{
	ok(H5Fclose(f->id), "close", f->name);
	if (f->made)
		das_did("write", f->name, "");
}

void das_group(struct das_file *f, const char *path)
{
	hid_t g = ok(H5Gcreate2(f->id, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "make", path);
	did_object(f, "write", path, NULL);
	H5Gclose(g);
}

void das_write(struct das_file *f, const char *path, hsize_t rows, hsize_t columns, const float *v)
{
	hsize_t dims[2] = {rows, columns};
	hid_t space = ok(H5Screate_simple(2, dims, NULL), "shape", path), how = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_obj_track_times(how, 0);
	hid_t d = ok(H5Dcreate2(f->id, path, H5T_IEEE_F32LE, space, H5P_DEFAULT, how, H5P_DEFAULT), "make", path);
	ok(H5Dwrite(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), "write", path);
	did_object(f, "write", path, NULL);
	H5Dclose(d);
	H5Pclose(how);
	H5Sclose(space);
}

float *das_read(struct das_file *f, const char *path, hsize_t *rows, hsize_t *columns)
{
	hsize_t dims[2];
	hid_t d = ok(H5Dopen2(f->id, path, H5P_DEFAULT), "open", path), space = H5Dget_space(d);
	if (H5Sget_simple_extent_ndims(space) != 2 || H5Sget_simple_extent_dims(space, dims, NULL) != 2)
		das_fail("find rows and columns of", path);
	float *v = das_memory(dims[0] * dims[1] * sizeof(*v));
	ok(H5Dread(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), "read", path);
	did_object(f, "read", path, NULL);
	H5Sclose(space);
	H5Dclose(d);
	*rows = dims[0];
	*columns = dims[1];
	return v;
}

void das_put(struct das_file *f, const char *path, const char *name, double v)
{
	hid_t o = ok(H5Oopen(f->id, path, H5P_DEFAULT), "open", path), space = H5Screate(H5S_SCALAR);
	hid_t a = ok(H5Acreate2(o, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT), "make", name);
	ok(H5Awrite(a, H5T_NATIVE_DOUBLE, &v), "write", name);
	did_object(f, "write", path, name);
	H5Aclose(a);
	H5Sclose(space);
	H5Oclose(o);
}

double das_get(struct das_file *f, const char *path, const char *name)
{
	double v;
	hid_t a = ok(H5Aopen_by_name(f->id, path, name, H5P_DEFAULT, H5P_DEFAULT), "open", name);
	ok(H5Aread(a, H5T_NATIVE_DOUBLE, &v), "read", name);
	did_object(f, "read", path, name);
	H5Aclose(a);
	return v;
}
