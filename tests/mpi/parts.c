/* What the test of files that ranks write together does: each rank reads part.R and writes it into its place of one
 * file, parts INDEPENDENT: by itself, parts TOGETHER: by a collective call. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int rank, together;
	char name[32], text[8] = "";
	MPI_File f;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	together = argc > 1 && strcmp(argv[1], "together") == 0;
	snprintf(name, sizeof(name), "part.%d", rank);
	FILE *in = fopen(name, "r");
	if (!in || !fgets(text, sizeof(text), in))
		MPI_Abort(MPI_COMM_WORLD, 3);
	fclose(in);
	MPI_File_open(MPI_COMM_WORLD, "all.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	if (together)
		MPI_File_write_at_all(f, rank * 8, text, 8, MPI_CHAR, MPI_STATUS_IGNORE);
	else
		MPI_File_write_at(f, rank * 8, text, 8, MPI_CHAR, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
	MPI_Finalize();
	return 0;
}
