/* h5steps STEP FILE...: one step of a small workflow on HDF5 files, for the tests of `stemma run --hdf5`. Each step
 * prints what it did to which object, one a line, as `read FILE//PATH` or `write FILE//PATH`: the truth that the record
 * is held against.
 *
 *   make OUT          groups /raw and /calib; /raw/trace (8 x 100 double), /raw/time, /calib/gain; @rate, @unit, @name
 *   scale IN OUT      OUT//scaled/trace from IN//raw/trace and IN//calib/gain, attribute rate copied
 *   columns IN OUT    OUT//cut from columns 10 to 19 of IN//raw/trace
 *   named IN OUT      OUT//copy@rate from IN//raw/trace@rate, both by the name of the object
 *   over FILE         all of FILE//raw/time written anew
 *   some FILE         one element of FILE//raw/time
 *   move FILE         FILE//raw/time becomes FILE//raw/clock
 *   regroup FILE      FILE//raw becomes FILE//deep/cooked while raw/trace is open, which gets an attribute then;
 *                     FILE//calib/gain becomes FILE//deep/gain
 *   soft FILE         FILE//latest, a soft link to FILE//raw/trace, and FILE//gone, one that leads nowhere
 *   through IN OUT    OUT//sum from IN//latest, opened by that name; IN//calib/gain is opened by its own
 *   retarget FILE     FILE//latest leads to FILE//calib/gain
 *   fail FILE         opens what is not there, reads what it cannot, and looks at the error stack
 *   handler FILE      calls that fail while a function of its own is told of errors, of both kinds
 *   killed FILE       writes FILE//a, and ends by SIGKILL
 *   many OUT N        N datasets
 *   kinds OUT         one object of each kind, and a link; the truth with a word of the kind before it. No time is kept
 *                     in OUT: it is the same each time
 *   grow OUT          OUT//grow, of four elements in a chunk, that can become longer
 *   longer FILE       FILE//grow is made twice as long
 *   chunk IN OUT      OUT//chunk from the first chunk of IN//grow, as it is in the file
 *   multi IN OUT      OUT//two from the second element of IN//grow, by the calls for several datasets (1.14)
 *   again OUT         OUT//a of 10 x 10, deleted by H5Ldelete, and OUT//b of 3, which HDF5 puts at the same address;
 *                     then the same by H5Gunlink with OUT//c and OUT//d, which stays
 *   copy IN OUT       OUT//old of 10 x 10, deleted, and OUT//new, a copy of IN//b by H5Ocopy, at the same address, and
 *                     written again
 *   reshape OUT       OUT//@a of three elements, deleted, and another one of one element
 *   numbered OUT      OUT//g/a and OUT//g/b, and OUT//g/z, a link to the first; the third and then the second of these
 *                     links deleted by its number
 *   virtual IN OUT    OUT//view, a virtual dataset that shows IN//b, and OUT//seen from it
 *   rate FILE         FILE//raw/trace@rate written anew
 *   attr FILE N       reads one attribute N times, opened once; prints ns a read
 *   fork IN OUT       a forked child reads IN//raw/time, which its parent had open, and writes OUT//child */
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 8, COLUMNS = 100 };
static double trace[ROWS][COLUMNS];

static void did(const char *what, const char *file, const char *path)
{
	printf("%s %s//%s\n", what, file, path);
}

static void attribute(hid_t at, const char *name, double v)
{
	hid_t s = H5Screate(H5S_SCALAR), a = H5Acreate2(at, name, H5T_NATIVE_DOUBLE, s, H5P_DEFAULT, H5P_DEFAULT);
	H5Awrite(a, H5T_NATIVE_DOUBLE, &v);
	H5Aclose(a);
	H5Sclose(s);
}

static hid_t dataset(hid_t at, const char *name, int rank, const hsize_t *dims)
{
	hid_t s = H5Screate_simple(rank, dims, NULL);
	hid_t d = H5Dcreate2(at, name, H5T_NATIVE_DOUBLE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	H5Sclose(s);
	return d;
}

static int make(const char *out)
{
	hsize_t dims[2] = {ROWS, COLUMNS};
	for (int i = 0; i < ROWS * COLUMNS; i++)
		trace[i / COLUMNS][i % COLUMNS] = i;
	hid_t f = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t raw = H5Gcreate2(f, "raw", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	hid_t calib = H5Gcreate2(f, "/calib", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	hid_t t = dataset(raw, "trace", 2, dims), time = dataset(raw, "time", 1, dims + 1),
	      gain = dataset(f, "calib/gain", 1, dims);
	H5Dwrite(t, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	H5Dwrite(time, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	H5Dwrite(gain, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	attribute(t, "rate", 500);
	attribute(raw, "unit", 1);
	attribute(f, "name", 2);
	const char *const made[] = {"",         "raw",  "calib", "raw/trace", "raw/time", "calib/gain", "raw/trace@rate",
	                            "raw@unit", "@name"};
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		did("write", out, made[i]);
	return H5Dclose(t) | H5Dclose(time) | H5Dclose(gain) | H5Gclose(raw) | H5Gclose(calib) | H5Fclose(f);
}

static int scale(const char *in, const char *out)
{
	hsize_t dims[2] = {ROWS, COLUMNS};
	double gain[ROWS], rate;
	hid_t a = H5Fopen(in, H5F_ACC_RDONLY, H5P_DEFAULT), b = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t t = H5Dopen2(a, "/raw/trace", H5P_DEFAULT), g = H5Dopen2(a, "calib/gain", H5P_DEFAULT);
	hid_t unused = H5Dopen2(a, "/raw/time", H5P_DEFAULT);
	H5Dread(t, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	H5Dread(g, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, gain);
	hid_t r = H5Aopen(t, "rate", H5P_DEFAULT);
	H5Aread(r, H5T_NATIVE_DOUBLE, &rate);
	for (int i = 0; i < ROWS; i++)
		for (int k = 0; k < COLUMNS; k++)
			trace[i][k] *= gain[i];
	hid_t to = H5Gcreate2(b, "scaled", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), d = dataset(to, "trace", 2, dims);
	H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	attribute(d, "rate", rate);
	did("read", in, "raw/trace"), did("read", in, "calib/gain"), did("read", in, "raw/trace@rate");
	did("write", out, ""), did("write", out, "scaled"), did("write", out, "scaled/trace"),
	    did("write", out, "scaled/trace@rate");
	return H5Aclose(r) | H5Dclose(unused) | H5Dclose(t) | H5Dclose(g) | H5Dclose(d) | H5Gclose(to) | H5Fclose(a) |
	       H5Fclose(b);
}

static int columns(const char *in, const char *out)
{
	hsize_t from[2] = {0, 10}, count[2] = {ROWS, 10}, n = ROWS * 10;
	hid_t a = H5Fopen(in, H5F_ACC_RDONLY, H5P_DEFAULT), b = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t t = H5Dopen2(a, "/raw/trace", H5P_DEFAULT), s = H5Dget_space(t), m = H5Screate_simple(1, &n, NULL);
	H5Sselect_hyperslab(s, H5S_SELECT_SET, from, NULL, count, NULL);
	H5Dread(t, H5T_NATIVE_DOUBLE, m, s, H5P_DEFAULT, trace);
	hid_t d = dataset(b, "cut", 1, &n);
	H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	did("read", in, "raw/trace"), did("write", out, ""), did("write", out, "cut");
	return H5Sclose(s) | H5Sclose(m) | H5Dclose(t) | H5Dclose(d) | H5Fclose(a) | H5Fclose(b);
}

static int named(const char *in, const char *out)
{
	double rate = 0;
	hid_t a = H5Fopen(in, H5F_ACC_RDONLY, H5P_DEFAULT), b = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t raw = H5Gopen2(a, "raw", H5P_DEFAULT), g = H5Gcreate2(b, "copy", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	hid_t r = H5Aopen_by_name(raw, "trace", "rate", H5P_DEFAULT, H5P_DEFAULT), s = H5Screate(H5S_SCALAR);
	H5Aread(r, H5T_NATIVE_DOUBLE, &rate);
	hid_t w = H5Acreate_by_name(b, "copy", "rate", H5T_NATIVE_DOUBLE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	H5Awrite(w, H5T_NATIVE_DOUBLE, &rate);
	did("read", in, "raw/trace@rate"), did("write", out, ""), did("write", out, "copy"), did("write", out, "copy@rate");
	return H5Aclose(r) | H5Aclose(w) | H5Sclose(s) | H5Gclose(raw) | H5Gclose(g) | H5Fclose(a) | H5Fclose(b);
}

static int rewrite(const char *file, int all)
{
	hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT), d = H5Dopen2(f, "raw/time", H5P_DEFAULT), s = H5Dget_space(d);
	hsize_t at = 3, one = 1;
	hid_t m = H5Screate_simple(1, &one, NULL);
	H5Sselect_hyperslab(s, H5S_SELECT_SET, &at, NULL, &one, NULL);
	trace[0][0] = -1;
	if (all)
		H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	else
		H5Dwrite(d, H5T_NATIVE_DOUBLE, m, s, H5P_DEFAULT, trace);
	did("write", file, "raw/time");
	return H5Sclose(m) | H5Sclose(s) | H5Dclose(d) | H5Fclose(f);
}

static int move(const char *file)
{
	hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT);
	return H5Lmove(f, "raw/time", f, "/raw/clock", H5P_DEFAULT, H5P_DEFAULT) | H5Fclose(f);
}

static int regroup(const char *file)
{
	hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT), t = H5Dopen2(f, "raw/trace", H5P_DEFAULT);
	hid_t deep = H5Gcreate2(f, "deep", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), raw = H5Gopen2(f, "raw", H5P_DEFAULT);
	int r = H5Lmove(f, "raw", deep, "cooked", H5P_DEFAULT, H5P_DEFAULT);
	r |= H5Lmove(f, "calib/gain", f, "/deep/gain", H5P_DEFAULT, H5P_DEFAULT);
	hsize_t n = 2;
	hid_t later = dataset(raw, "later", 1, &n);
	attribute(t, "late", 3);
	attribute(later, "late", 4);
	return r | H5Dclose(later) | H5Gclose(raw) | H5Gclose(deep) | H5Dclose(t) | H5Fclose(f);
}

static int soft(const char *file, const char *target)
{
	hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT);
	int r = 0;
	if (H5Lexists(f, "latest", H5P_DEFAULT) > 0)
		r = H5Ldelete(f, "latest", H5P_DEFAULT);
	else
		r = H5Lcreate_soft("/nowhere", f, "gone", H5P_DEFAULT, H5P_DEFAULT);
	return r | H5Lcreate_soft(target, f, "latest", H5P_DEFAULT, H5P_DEFAULT) | H5Fclose(f);
}

static int through(const char *in, const char *out)
{
	hsize_t n = 1;
	hid_t a = H5Fopen(in, H5F_ACC_RDONLY, H5P_DEFAULT), b = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t unused = H5Dopen2(a, "calib/gain", H5P_DEFAULT), from = H5Dopen2(a, "latest", H5P_DEFAULT),
	      to = dataset(b, "sum", 1, &n);
	H5Dread(from, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	H5Dwrite(to, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	return H5Dclose(unused) | H5Dclose(from) | H5Dclose(to) | H5Fclose(a) | H5Fclose(b);
}

static herr_t say_error(unsigned n, const H5E_error2_t *e, void *arg)
{
	printf("error %u %s %d\n", n, e->func_name, (int)(e->maj_num > 0 && e->min_num > 0));
	(void)arg;
	return 0;
}

static int fails(const char *file)
{
	double v;
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	hid_t f = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(f, "nowhere", H5P_DEFAULT);
	printf("open %d, %zd errors\n", d < 0, H5Eget_num(H5E_DEFAULT));
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, say_error, NULL);
	d = H5Dopen2(f, "raw/trace", H5P_DEFAULT);
	printf("then %zd errors\n", H5Eget_num(H5E_DEFAULT));
	int r = H5Dread(d, H5T_NATIVE_DOUBLE, f, H5S_ALL, H5P_DEFAULT, &v);
	printf("read %d, %zd errors\n", r < 0, H5Eget_num(H5E_DEFAULT));
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, say_error, NULL);
	r = H5Dread(12345, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v);
	printf("read %d, %zd errors\n", r < 0, H5Eget_num(H5E_DEFAULT));
	printf("not there %d\n", H5Fopen("/nowhere/x.h5", H5F_ACC_RDONLY, H5P_DEFAULT) < 0);
	return 0;
}

static int told;
static herr_t new_handler(hid_t stack, void *data)
{
	told++;
	return data == (void *)&told && stack == H5E_DEFAULT ? 0 : -1;
}

static herr_t old_handler(void *data)
{
	told++;
	return data == (void *)&told ? 0 : -1;
}

static herr_t within(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
	hid_t d = H5Dopen2(group, "nothing", H5P_DEFAULT);
	printf("at %s told %d\n", name, told);
	(void)info, (void)data;
	return d >= 0;
}

/* What fails, and how often it was told of up to then. */
static void failing(const char *file)
{
	hsize_t n = 1000;
	double v = 0;
	hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT), t = H5Dopen2(f, "raw/trace", H5P_DEFAULT),
	      m = H5Screate_simple(1, &n, NULL);
	told = 0;
	printf("no dataset %d", H5Dopen2(f, "nowhere", H5P_DEFAULT) < 0), printf(" told %d\n", told);
	printf("no attribute %d", H5Aopen(t, "none", H5P_DEFAULT) < 0), printf(" told %d\n", told);
	printf("no group %d", H5Gopen2(f, "none", H5P_DEFAULT) < 0), printf(" told %d\n", told);
	printf("twice %d", H5Gcreate2(f, "raw", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) < 0), printf(" told %d\n", told);
	printf("no link %d", H5Ldelete(f, "none", H5P_DEFAULT) < 0), printf(" told %d\n", told);
	printf("moved %d", H5Lmove(f, "none", f, "b", H5P_DEFAULT, H5P_DEFAULT) < 0), printf(" told %d\n", told);
	printf("too much %d", H5Dread(t, H5T_NATIVE_DOUBLE, m, H5S_ALL, H5P_DEFAULT, &v) < 0), printf(" told %d\n", told);
	printf("no number %d", H5Dread(t, H5T_C_S1, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v) < 0), printf(" told %d\n", told);
	printf("no extent %d", H5Dset_extent(t, &n) < 0), printf(" told %d\n", told);
	printf("no file %d", H5Fopen("/nowhere/x.h5", H5F_ACC_RDONLY, H5P_DEFAULT) < 0), printf(" told %d\n", told);
	H5Literate(f, H5_INDEX_NAME, H5_ITER_INC, NULL, within, NULL);
	H5Sclose(m), H5Dclose(t), H5Fclose(f);
}

static int handler(const char *file)
{
	H5E_auto2_t new = NULL;
	H5E_auto1_t old = NULL;
	void *data = NULL;
	H5Eset_auto2(H5E_DEFAULT, new_handler, &told);
	failing(file);
	H5Eget_auto2(H5E_DEFAULT, &new, &data);
	printf("new kind %d %d\n", new == new_handler, data == (void *)&told);
	H5Eset_auto1(old_handler, &told);
	failing(file);
	H5Eget_auto1(&old, &data);
	printf("old kind %d %d\n", old == old_handler, data == (void *)&told);
	return 0;
}

static int killed(const char *file)
{
	hsize_t n = 10;
	hid_t f = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), d = dataset(f, "a", 1, &n);
	H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	H5Fflush(f, H5F_SCOPE_GLOBAL);
	did("write", file, ""), did("write", file, "a");
	fflush(stdout);
	return kill(getpid(), SIGKILL);
}

static int many(const char *out, int n)
{
	char name[32];
	hid_t f = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	for (int i = 0; i < n; i++) {
		hsize_t one = 1;
		snprintf(name, sizeof(name), "d%d", i);
		hid_t d = dataset(f, name, 1, &one);
		H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
		H5Dclose(d);
	}
	return H5Fclose(f);
}

static int kinds(const char *out)
{
	hsize_t n = 10;
	hid_t f = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), timeless = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_obj_track_times(timeless, 0);
	hid_t g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), s = H5Screate_simple(1, &n, NULL);
	hid_t d = H5Dcreate2(g, "d", H5T_NATIVE_DOUBLE, s, H5P_DEFAULT, timeless, H5P_DEFAULT);
	H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	attribute(d, "a", 5);
	hid_t list = H5Pcreate(H5P_DATATYPE_CREATE), t = H5Tcopy(H5T_NATIVE_DOUBLE);
	H5Pset_obj_track_times(list, 0);
	H5Tcommit2(f, "t", t, H5P_DEFAULT, list, H5P_DEFAULT);
	H5Lcreate_hard(g, "d", f, "link", H5P_DEFAULT, H5P_DEFAULT);
	did("file", out, ""), did("group", out, "g"), did("dataset", out, "g/d"), did("attribute", out, "g/d@a");
	did("datatype", out, "t"), did("link", out, "link");
	return H5Tclose(t) | H5Dclose(d) | H5Sclose(s) | H5Gclose(g) | H5Pclose(timeless) | H5Pclose(list) | H5Fclose(f);
}

static int grow(const char *out)
{
	hsize_t n = 4, most = H5S_UNLIMITED;
	hid_t f = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), list = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_chunk(list, 1, &n);
	hid_t s = H5Screate_simple(1, &n, &most);
	hid_t d = H5Dcreate2(f, "grow", H5T_NATIVE_DOUBLE, s, H5P_DEFAULT, list, H5P_DEFAULT);
	trace[0][0] = 1;
	H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	did("write", out, ""), did("write", out, "grow");
	return H5Pclose(list) | H5Sclose(s) | H5Dclose(d) | H5Fclose(f);
}

static int longer(const char *file)
{
	hsize_t n = 8;
	hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT), d = H5Dopen2(f, "grow", H5P_DEFAULT);
	int r = H5Dset_extent(d, &n);
	did("write", file, "grow");
	return r | H5Dclose(d) | H5Fclose(f);
}

static int chunk(const char *in, const char *out)
{
	hsize_t n = 4, zero = 0;
	uint32_t filters = 0;
	hid_t a = H5Fopen(in, H5F_ACC_RDONLY, H5P_DEFAULT), from = H5Dopen2(a, "grow", H5P_DEFAULT),
	      b = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), to = dataset(b, "chunk", 1, &n);
	int r = H5Dread_chunk(from, H5P_DEFAULT, &zero, &filters, trace);
	H5Dwrite(to, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	did("read", in, "grow"), did("write", out, ""), did("write", out, "chunk");
	return r | H5Dclose(from) | H5Dclose(to) | H5Fclose(a) | H5Fclose(b);
}

#if H5_VERSION_GE(1, 14, 0)
static int multi(const char *in, const char *out)
{
	hsize_t at = 1, one = 1;
	hid_t a = H5Fopen(in, H5F_ACC_RDONLY, H5P_DEFAULT), from = H5Dopen2(a, "grow", H5P_DEFAULT),
	      b = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), to = dataset(b, "two", 1, &one);
	hid_t m = H5Screate_simple(1, &one, NULL), s = H5Dget_space(from), type = H5T_NATIVE_DOUBLE;
	void *buf = trace;
	const void *cbuf = trace;
	H5Sselect_hyperslab(s, H5S_SELECT_SET, &at, NULL, &one, NULL);
	int r = H5Dread_multi(1, &from, &type, &m, &s, H5P_DEFAULT, &buf);
	r |= H5Dwrite_multi(1, &to, &type, &m, &m, H5P_DEFAULT, &cbuf);
	did("read", in, "grow"), did("write", out, ""), did("write", out, "two");
	return r | H5Sclose(m) | H5Sclose(s) | H5Dclose(from) | H5Dclose(to) | H5Fclose(a) | H5Fclose(b);
}
#else
static int multi(const char *in, const char *out)
{
	printf("none %s %s\n", in, out);
	return 0;
}
#endif

static hid_t written(hid_t f, const char *name, int rank, const hsize_t *dims)
{
	hid_t d = dataset(f, name, rank, dims);
	H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	return H5Dclose(d);
}

static int again(const char *out)
{
	const hsize_t large[] = {10, 10}, small = 3;
	hid_t f = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t r = written(f, "a", 2, large) | H5Ldelete(f, "a", H5P_DEFAULT) | written(f, "b", 1, &small);
	r |= written(f, "c", 2, large) | H5Gunlink(f, "c") | written(f, "d", 1, &small);
	did("write", out, "");
	did("write", out, "b");
	did("write", out, "d");
	return r < 0 || H5Fclose(f) < 0 ? -1 : 0;
}

static int copy(const char *in, const char *out)
{
	const hsize_t large[] = {10, 10};
	hid_t a = H5Fopen(in, H5F_ACC_RDONLY, H5P_DEFAULT), f = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t r = written(f, "old", 2, large) | H5Ldelete(f, "old", H5P_DEFAULT) |
	          H5Ocopy(a, "b", f, "new", H5P_DEFAULT, H5P_DEFAULT);
	hid_t d = H5Dopen2(f, "new", H5P_DEFAULT);
	r |= H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	did("read", in, "b"), did("write", out, ""), did("write", out, "new");
	return r | H5Dclose(d) | H5Fclose(a) | H5Fclose(f);
}

static int reshape(const char *out)
{
	hsize_t n = 3;
	double v[3] = {1, 2, 3};
	hid_t f = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), s = H5Screate_simple(1, &n, NULL),
	      a = H5Acreate2(f, "a", H5T_NATIVE_DOUBLE, s, H5P_DEFAULT, H5P_DEFAULT);
	hid_t r = H5Awrite(a, H5T_NATIVE_DOUBLE, v) | H5Aclose(a) | H5Sclose(s) | H5Adelete(f, "a");
	attribute(f, "a", 4);
	did("write", out, ""), did("write", out, "@a");
	return r < 0 ? -1 : H5Fclose(f);
}

static int numbered(const char *out)
{
	hsize_t n = 3;
	hid_t f = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
	      g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	hid_t r =
	    written(g, "a", 1, &n) | written(g, "b", 1, &n) | H5Lcreate_hard(g, "a", g, "z", H5P_DEFAULT, H5P_DEFAULT);
	r |= H5Ldelete_by_idx(f, "g", H5_INDEX_NAME, H5_ITER_INC, 2, H5P_DEFAULT);
	r |= H5Ldelete_by_idx(g, ".", H5_INDEX_NAME, H5_ITER_DEC, 0, H5P_DEFAULT);
	did("write", out, ""), did("write", out, "g"), did("write", out, "g/a"), did("write", out, "g/b");
	return r < 0 ? -1 : H5Gclose(g) | H5Fclose(f);
}

static int view(const char *in, const char *out)
{
	hsize_t n = 3;
	hid_t f = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), s = H5Screate_simple(1, &n, NULL),
	      list = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_virtual(list, s, in, "b", s);
	hid_t v = H5Dcreate2(f, "view", H5T_NATIVE_DOUBLE, s, H5P_DEFAULT, list, H5P_DEFAULT),
	      d = dataset(f, "seen", 1, &n);
	int r = H5Dread(v, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	r |= H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	did("write", out, ""), did("write", out, "view"), did("read", out, "view"), did("write", out, "seen");
	return r | H5Pclose(list) | H5Sclose(s) | H5Dclose(v) | H5Dclose(d) | H5Fclose(f);
}

static int rate(const char *file)
{
	double v = 250;
	hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT),
	      a = H5Aopen_by_name(f, "raw/trace", "rate", H5P_DEFAULT, H5P_DEFAULT);
	H5Awrite(a, H5T_NATIVE_DOUBLE, &v);
	did("write", file, "raw/trace@rate");
	return H5Aclose(a) | H5Fclose(f);
}

static int attr(const char *file, long n)
{
	struct timespec a, b;
	double v, sum = 0;
	hid_t f = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT),
	      at = H5Aopen_by_name(f, "raw/trace", "rate", H5P_DEFAULT, H5P_DEFAULT);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	for (long i = 0; i < n; i++) {
		H5Aread(at, H5T_NATIVE_DOUBLE, &v);
		sum += v;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	printf("%.1f ns a read, sum %g\n",
	       ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)n, sum);
	return H5Aclose(at) | H5Fclose(f);
}

static int forks(const char *in, const char *out)
{
	hsize_t n = COLUMNS;
	int status;
	hid_t a = H5Fopen(in, H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(a, "raw/time", H5P_DEFAULT);
	H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
	pid_t pid = fork();
	if (pid == 0) {
		H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
		hid_t f = H5Fcreate(out, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), c = dataset(f, "child", 1, &n);
		H5Dwrite(c, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, trace);
		_exit(H5Dclose(c) | H5Fclose(f));
	}
	waitpid(pid, &status, 0);
	return H5Dclose(d) | H5Fclose(a) | status;
}

int main(int argc, char **argv)
{
	const char *step = argc > 2 ? argv[1] : "", *a = argc > 2 ? argv[2] : "", *b = argc > 3 ? argv[3] : "";
	if (!strcmp(step, "make"))
		return make(a) < 0;
	if (!strcmp(step, "scale"))
		return scale(a, b) < 0;
	if (!strcmp(step, "columns"))
		return columns(a, b) < 0;
	if (!strcmp(step, "named"))
		return named(a, b) < 0;
	if (!strcmp(step, "over") || !strcmp(step, "some"))
		return rewrite(a, !strcmp(step, "over")) < 0;
	if (!strcmp(step, "move"))
		return move(a) < 0;
	if (!strcmp(step, "regroup"))
		return regroup(a) < 0;
	if (!strcmp(step, "soft"))
		return soft(a, "/raw/trace") < 0;
	if (!strcmp(step, "retarget"))
		return soft(a, "/calib/gain") < 0;
	if (!strcmp(step, "through"))
		return through(a, b) < 0;
	if (!strcmp(step, "fail"))
		return fails(a) < 0;
	if (!strcmp(step, "handler"))
		return handler(a) < 0;
	if (!strcmp(step, "killed"))
		return killed(a) < 0;
	if (!strcmp(step, "many"))
		return many(a, atoi(b)) < 0;
	if (!strcmp(step, "kinds"))
		return kinds(a) < 0;
	if (!strcmp(step, "grow"))
		return grow(a) < 0;
	if (!strcmp(step, "longer"))
		return longer(a) < 0;
	if (!strcmp(step, "chunk"))
		return chunk(a, b) < 0;
	if (!strcmp(step, "multi"))
		return multi(a, b) < 0;
	if (!strcmp(step, "again"))
		return again(a) < 0;
	if (!strcmp(step, "copy"))
		return copy(a, b) < 0;
	if (!strcmp(step, "reshape"))
		return reshape(a) < 0;
	if (!strcmp(step, "numbered"))
		return numbered(a) < 0;
	if (!strcmp(step, "virtual"))
		return view(a, b) < 0;
	if (!strcmp(step, "rate"))
		return rate(a) < 0;
	if (!strcmp(step, "attr"))
		return attr(a, atol(b)) < 0;
	if (!strcmp(step, "fork"))
		return forks(a, b) != 0;
	return 2;
}
