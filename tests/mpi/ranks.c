/* What the tests of MPI do: rank R writes (R + 1) blocks of 100 ints each by itself, then all write 8 bytes each
 * together, all read 50 doubles of what is there twice, and rank 0 fails to open a file that is not there. Prints
 * nothing but "rank size". A word is told by each rank, from the library that it may be linked with. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, size, provided;
	int ints[100] = {0};
	double doubles[50] = {1, 2, 3};
	MPI_File f;
	MPI_Status st;
	if (argc > 2)
		MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	else
		MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	for (int i = 0; i <= rank; i++)
		MPI_File_write_at(f, (MPI_Offset)(rank * 10 + i) * 400, ints, 100, MPI_INT, &st);
	MPI_File_write_at_all(f, 100000 + rank * 8, doubles, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_sync(f);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < 2; i++)
		MPI_File_read_at(f, 0, doubles, 50, MPI_DOUBLE, &st);
	MPI_File_close(&f);
	if (rank == 0 && MPI_File_open(MPI_COMM_SELF, "not/there", MPI_MODE_RDONLY, MPI_INFO_NULL, &f) == MPI_SUCCESS)
		return 3;
	printf("%d %d\n", rank, size);
	MPI_Finalize();
	return 0;
}
