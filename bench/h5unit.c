/* h5unit WHAT FILE N - N calls of one kind on an HDF5 file, and the processor time of one, in ns: aread, dread, dwrite
 * (1,024 doubles of 65,536), aopen, dopen, fopen (each with its close), acreate, dcreate (names that are new each
 * time). */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	const char *what = argv[1];
	long n = atol(argv[3]);
	static double v[1024];
	char name[32];
	hsize_t all = 65536, part = 1024;
	hid_t f = H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), one = H5Screate(H5S_SCALAR);
	hid_t space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &part, NULL);
	hid_t d = H5Dcreate2(f, "d", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	hid_t a = H5Acreate2(d, "a", H5T_NATIVE_DOUBLE, one, H5P_DEFAULT, H5P_DEFAULT);
	H5Awrite(a, H5T_NATIVE_DOUBLE, v);
	hsize_t at = 0;
	H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &part, NULL);
	H5Dwrite(d, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, v);
	if (!strcmp(what, "fopen"))
		H5Aclose(a), H5Dclose(d), H5Fclose(f);
	int bad = 0;
	double from = now();
	for (long i = 0; i < n; i++) {
		if (!strcmp(what, "aread")) {
			bad |= H5Aread(a, H5T_NATIVE_DOUBLE, v);
		} else if (!strcmp(what, "dread")) {
			bad |= H5Dread(d, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, v);
		} else if (!strcmp(what, "dwrite")) {
			bad |= H5Dwrite(d, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, v);
		} else if (!strcmp(what, "aopen")) {
			bad |= H5Aclose(H5Aopen(d, "a", H5P_DEFAULT));
		} else if (!strcmp(what, "dopen")) {
			bad |= H5Dclose(H5Dopen2(f, "d", H5P_DEFAULT));
		} else if (!strcmp(what, "fopen")) {
			bad |= H5Fclose(H5Fopen(argv[2], H5F_ACC_RDONLY, H5P_DEFAULT));
		} else if (!strcmp(what, "acreate")) {
			snprintf(name, sizeof(name), "g%ld", i / 8);
			hid_t g =
			    i % 8 ? H5Gopen2(f, name, H5P_DEFAULT) : H5Gcreate2(f, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
			snprintf(name, sizeof(name), "a%ld", i);
			bad |= H5Aclose(H5Acreate2(g, name, H5T_NATIVE_DOUBLE, one, H5P_DEFAULT, H5P_DEFAULT)) | H5Gclose(g);
		} else if (!strcmp(what, "dcreate")) {
			snprintf(name, sizeof(name), "d%ld", i);
			bad |= H5Dclose(H5Dcreate2(f, name, H5T_NATIVE_DOUBLE, memory, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
		} else {
			return 2;
		}
	}
	printf("%.1f\n", (now() - from) / (double)n);
	return bad < 0;
}
