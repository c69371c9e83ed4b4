/* h5bench PATTERN FILE [STEPS [PARTICLES [MILLISECONDS]]] - input and output as simulations of particles do it, in the
 * manner of H5bench: in each of STEPS (3) the ranks compute for some time, and then move eight variables of PARTICLES
 * (4096) each, in four turns of a part each.
 *
 *   write      makes FILE: groups /step-0, /step-1, ... with datasets x y z px py pz id energy
 *   overwrite  writes all of them anew
 *   append     makes each longer by what each rank wrote, and writes that
 *   read       reads x, y and z; and the first sixteenth of /step-0/energy eight times
 *
 * With a parallel HDF5 all ranks share FILE; with a serial one each has its own, FILE.RANK. With DID=PREFIX in the
 * environment each rank writes down in PREFIX.PATTERN.RANK how often it called what, for how many ns in all, and the
 * time (ns since 1970) in the middle of its phases: the record can be held against that. */
#include <hdf5.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VARIABLES = 8, TURNS = 4, NAME = 512 };
static const char *const variables[VARIABLES] = {"x", "y", "z", "px", "py", "pz", "id", "energy"};
enum api { FCREATE, FOPEN, GCREATE, DCREATE, DOPEN, DEXTENT, DWRITE, DREAD, APIS };
static const char *const apis[APIS] = {"H5Fcreate", "H5Fopen",       "H5Gcreate", "H5Dcreate",
                                       "H5Dopen",   "H5Dset_extent", "H5Dwrite",  "H5Dread"};
static struct {
	uint64_t calls, spent;
} count[APIS];
static int rank, ranks;
static FILE *did;

static uint64_t now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int64_t done(enum api api, uint64_t began, int64_t result)
{
	count[api].spent += now(CLOCK_MONOTONIC) - began;
	count[api].calls++;
	if (result < 0) {
		fprintf(stderr, "rank %d: %s failed\n", rank, apis[api]);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return result;
}
#define DO(api, call) (began = now(CLOCK_MONOTONIC), done(api, began, call))

static void moment(const char *phase, int step)
{
	if (did)
		fprintf(did, "at %" PRIu64 " %s %d\n", now(CLOCK_REALTIME), phase, step);
}

/* Computes for so long: nothing of that is input or output. */
static void spend(int ms)
{
	uint64_t from = now(CLOCK_MONOTONIC);
	volatile double v = rank + 1;
	while (now(CLOCK_MONOTONIC) - from < (uint64_t)ms * 1000000)
		for (int k = 0; k < 100; k++)
			v = v * 1.0000001 + 1e-9;
}

static void compute(int step, int ms)
{
	spend(ms / 2);
	moment("compute", step);
	spend(ms / 2);
}

/* The file and how data is moved: with all ranks, or each by itself. */
static hid_t access_of(const char *file, char *room)
{
	hid_t how = H5Pcreate(H5P_FILE_ACCESS);
#ifdef H5_HAVE_PARALLEL
	H5Pset_fapl_mpio(how, MPI_COMM_WORLD, MPI_INFO_NULL);
	snprintf(room, NAME, "%s", file);
#else
	snprintf(room, NAME, ranks > 1 ? "%s.%d" : "%s", file, rank);
#endif
	return how;
}

static hid_t make(hid_t file, const char *path, hsize_t n, hsize_t chunk)
{
	uint64_t began;
	hsize_t most = H5S_UNLIMITED;
	hid_t space = H5Screate_simple(1, &n, &most), how = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_chunk(how, 1, &chunk);
	H5Pset_obj_track_times(how, 0);
	hid_t d = DO(DCREATE, H5Dcreate2(file, path, H5T_IEEE_F64LE, space, H5P_DEFAULT, how, H5P_DEFAULT));
	H5Pclose(how);
	H5Sclose(space);
	return d;
}

static void move(hid_t d, enum api api, hsize_t at, hsize_t n, double *v)
{
	uint64_t began;
	hid_t file = H5Dget_space(d), memory = H5Screate_simple(1, &n, NULL);
	H5Sselect_hyperslab(file, H5S_SELECT_SET, &at, NULL, &n, NULL);
	if (api == DWRITE)
		DO(DWRITE, H5Dwrite(d, H5T_NATIVE_DOUBLE, memory, file, H5P_DEFAULT, v));
	else
		DO(DREAD, H5Dread(d, H5T_NATIVE_DOUBLE, memory, file, H5P_DEFAULT, v));
	H5Sclose(memory);
	H5Sclose(file);
}

/* One step's input or output. Each rank has PARTICLES of each dataset, which with a serial HDF5 are all that it has. */
static double move_step(hid_t file, const char *pattern, int step, hsize_t particles, int ms, double *v)
{
	uint64_t began;
	char path[64];
	hid_t d[VARIABLES];
	hsize_t all = particles, mine = 0, turn = particles / TURNS;
	double sum = 0;
	int n = strcmp(pattern, "read") ? VARIABLES : 3;
#ifdef H5_HAVE_PARALLEL
	all = particles * (hsize_t)ranks;
	mine = particles * (hsize_t)rank;
#endif
	snprintf(path, sizeof(path), "/step-%d", step);
	if (!strcmp(pattern, "write"))
		H5Gclose(DO(GCREATE, H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/step-%d/%s", step, variables[i]);
		d[i] = strcmp(pattern, "write") ? DO(DOPEN, H5Dopen2(file, path, H5P_DEFAULT)) : make(file, path, all, turn);
		if (!strcmp(pattern, "append")) {
			hsize_t longer = 2 * all;
			DO(DEXTENT, H5Dset_extent(d[i], &longer));
		}
	}
	for (hsize_t k = 0; k < TURNS; k++) {
		for (int i = 0; i < n; i++) {
			hsize_t at = mine + k * turn + (strcmp(pattern, "append") ? 0 : all);
			for (hsize_t j = 0; j < turn; j++)
				v[j] = (double)(at + j) + i + step;
			move(d[i], strcmp(pattern, "read") ? DWRITE : DREAD, at, turn, v);
			sum += v[turn - 1];
		}
		if (k == TURNS / 2) { /* packs what comes next */
			spend(ms / 2);
			moment(pattern, step);
			spend(ms / 2);
		}
	}
	for (int i = 0; i < n; i++)
		H5Dclose(d[i]);
	return sum;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	const char *pattern = argc > 2 ? argv[1] : "", *prefix = getenv("DID");
	int steps = argc > 3 ? atoi(argv[3]) : 3, ms = argc > 5 ? atoi(argv[5]) : 20;
	hsize_t particles = argc > 4 ? (hsize_t)atoll(argv[4]) : 4096;
	if (particles < 64 || particles % 64 || steps < 1 || !strstr(" write overwrite append read ", pattern) ||
	    argc < 3) {
		fprintf(stderr,
		        "usage: h5bench write|overwrite|append|read FILE [STEPS [PARTICLES (a multiple of 64) [MS]]]\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	char name[NAME];
	if (prefix) {
		snprintf(name, sizeof(name), "%s.%s.%d", prefix, pattern, rank);
		did = fopen(name, "w");
	}
	uint64_t began;
	double sum = 0, total = 0, *v = calloc(particles, sizeof(*v));
	hid_t how = access_of(argv[2], name), file;
	if (!strcmp(pattern, "write"))
		file = DO(FCREATE, H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, how));
	else
		file = DO(FOPEN, H5Fopen(name, strcmp(pattern, "read") ? H5F_ACC_RDWR : H5F_ACC_RDONLY, how));
	for (int step = 0; step < steps; step++) {
		compute(step, ms);
		sum += move_step(file, pattern, step, particles, ms, v);
	}
	if (!strcmp(pattern, "read")) {
		hid_t d = DO(DOPEN, H5Dopen2(file, "/step-0/energy", H5P_DEFAULT));
		for (int i = 0; i < 8; i++)
			move(d, DREAD, 0, particles / 16, v);
		sum += v[0];
		H5Dclose(d);
	}
	compute(steps, ms);
	H5Fclose(file);
	H5Pclose(how);
	MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%s %.17g\n", pattern, total);
	for (int i = 0; did && i < APIS; i++)
		if (count[i].calls)
			fprintf(did, "did %s %" PRIu64 " %" PRIu64 "\n", apis[i], count[i].calls, count[i].spent);
	free(v);
	MPI_Finalize();
	return did && fclose(did);
}
