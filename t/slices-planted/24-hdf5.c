/* HDF5: whether something was made, how a type was changed, what is computed from a handle. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	hsize_t four = 4, dims = 0;
	int v[4] = {1, 2, 3, 4};
	(void)argc;
	hid_t f = H5Fcreate("more.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t s = H5Screate_simple(1, &four, NULL), d;
	/* -- */
	if (atoi(argv[1]))
		H5Gcreate2(f, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	printf("%d\n", (int)H5Lexists(f, "group", H5P_DEFAULT)); /* OUT exists */
	/* -- */
	hid_t t = H5Tcopy(H5T_C_S1);
	H5Tset_size(t, (size_t)atoi(argv[2]));
	d = H5Dcreate2(f, "typed", t, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	hid_t back = H5Dget_type(d);
	printf("%d\n", (int)H5Tget_size(back)); /* OUT size */
	/* -- */
	hsize_t n = (hsize_t)atoi(argv[3]);
	hid_t shape = H5Screate_simple(1, &n, NULL);
	d = H5Dcreate2(f, "shaped", H5T_NATIVE_INT, shape, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	hid_t again = H5Dopen2(f, "/shaped", H5P_DEFAULT), space = H5Dget_space(again);
	H5Sget_simple_extent_dims(space, &dims, NULL);
	printf("%d\n", (int)dims); /* OUT shape */
	/* -- */
	if (atoi(argv[4])) {
		hid_t one = H5Screate(H5S_SCALAR);
		H5Acreate2(f, "noted", H5T_NATIVE_INT, one, H5P_DEFAULT, H5P_DEFAULT);
	}
	printf("%d\n", (int)H5Aexists(f, "noted")); /* OUT attribute */
	/* -- */
	d = H5Dcreate2(f, "kept", H5T_NATIVE_INT, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	v[0] = atoi(argv[5]);
	H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
	H5Fclose(f);
	FILE *raw = fopen("more.h5", "r");
	int c, sum = 0;
	while ((c = fgetc(raw)) != EOF)
		sum += c;
	printf("%d\n", sum); /* OUT raw */
	/* -- */
	if (atoi(argv[6]))
		H5Gcreate2(f, "way", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	hid_t within = H5Dcreate2(f, "way/in", H5T_NATIVE_INT, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	puts(within < 0 ? "not made" : "made"); /* OUT within */
	/* -- */
	H5Fclose(f);
	hid_t opened = H5Fopen(argv[7], H5F_ACC_RDONLY, H5P_DEFAULT);
	d = H5Dopen2(opened, "d", H5P_DEFAULT);
	H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
	printf("%d\n", v[0]); /* OUT file */
	return 0;
}
