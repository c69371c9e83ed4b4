/* HDF5: values, attributes, links, fill values, extents, selections, functions that it calls. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
static int links, errors;
static herr_t link_seen(hid_t group, const char *name, const H5L_info_t *info, void *p)
{
	(void)group;
	(void)name;
	(void)info;
	*(int *)p += 1;
	return 0;
}
static herr_t error_seen(hid_t stack, void *p)
{
	(void)stack;
	(void)p;
	errors++;
	return 0;
}
int main(int argc, char **argv)
{
	hsize_t four = 4, unlimited = H5S_UNLIMITED, start, one = 1, size;
	int v[4] = {1, 2, 3, 4}, w[4] = {0}, n, fill, back = 0;
	hid_t p, filled;
	(void)argc;
	hid_t f = H5Fcreate("planted.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t s = H5Screate_simple(1, &four, NULL);
	hid_t d = H5Dcreate2(f, "d", H5T_NATIVE_INT, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	v[1] = atoi(argv[1]);
	H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v); /* OUT write */
	/* -- */
	hid_t e = H5Dopen2(f, "d", H5P_DEFAULT);
	H5Dread(e, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, w);
	printf("%d\n", w[1]); /* OUT read */
	/* -- */
	H5Lcreate_soft("/d", f, "alias", H5P_DEFAULT, H5P_DEFAULT);
	hid_t again = H5Dopen2(f, "alias", H5P_DEFAULT);
	H5Dread(again, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, w);
	printf("%d\n", w[1]); /* OUT alias */
	/* -- */
	hid_t scalar = H5Screate(H5S_SCALAR);
	hid_t a = H5Acreate2(d, "a", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
	n = atoi(argv[2]);
	H5Awrite(a, H5T_NATIVE_INT, &n);
	H5Aread(a, H5T_NATIVE_INT, &back);
	printf("%d\n", back); /* OUT attribute */
	/* -- */
	if (atoi(argv[3]))
		H5Gcreate2(f, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	H5Literate(f, H5_INDEX_NAME, H5_ITER_INC, NULL, link_seen, &links);
	printf("%d\n", links); /* OUT links */
	/* -- */
	p = H5Pcreate(H5P_DATASET_CREATE);
	fill = atoi(argv[4]);
	H5Pset_fill_value(p, H5T_NATIVE_INT, &fill);
	H5Pset_chunk(p, 1, &four);
	s = H5Screate_simple(1, &four, &unlimited);
	filled = H5Dcreate2(f, "filled", H5T_NATIVE_INT, s, H5P_DEFAULT, p, H5P_DEFAULT);
	H5Dread(filled, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, w);
	printf("%d\n", w[0]); /* OUT fill */
	/* -- */
	p = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_chunk(p, 1, &four);
	s = H5Screate_simple(1, &four, &unlimited);
	filled = H5Dcreate2(f, "extended", H5T_NATIVE_INT, s, H5P_DEFAULT, p, H5P_DEFAULT);
	size = (hsize_t)atoi(argv[5]);
	H5Dset_extent(filled, &size);
	hid_t extent = H5Dget_space(filled);
	H5Sget_simple_extent_dims(extent, &size, NULL);
	printf("%d\n", (int)size); /* OUT extent */
	/* -- */
	start = (hsize_t)atoi(argv[6]);
	hid_t part = H5Dget_space(d), single = H5Screate_simple(1, &one, NULL);
	H5Sselect_hyperslab(part, H5S_SELECT_SET, &start, NULL, &one, NULL);
	H5Dread(d, H5T_NATIVE_INT, single, part, H5P_DEFAULT, &n);
	printf("%d\n", n); /* OUT selected */
	/* -- */
	H5Eset_auto2(H5E_DEFAULT, error_seen, NULL);
	H5Dopen2(f, argv[7], H5P_DEFAULT);
	printf("%d\n", errors); /* OUT errors */
	H5Fclose(f);
	return 0;
}
