/* mpi.c - a library with functions of MPI's names. */
#include <string.h>

#define BOTH(name, args)                                                                                               \
	int MPI_##name args __attribute__((alias(#name "_of_both")));                                                      \
	int PMPI_##name args __attribute__((alias(#name "_of_both")));                                                     \
	int name##_of_both args;                                                                                           \
	int name##_of_both args

static int file;
BOTH(Init, (int *argc, char ***argv))
{
	(void)argc, (void)argv;
	return 0;
}
BOTH(Get_library_version, (char *to, int *n))
{
	strcpy(to, "a test");
	*n = 6;
	return 0;
}
BOTH(File_open, (void *comm, const char *name, int mode, void *info, void **fh))
{
	(void)comm, (void)name, (void)mode, (void)info;
	*fh = &file;
	return 0;
}
BOTH(File_close, (void **fh))
{
	*fh = 0;
	return 0;
}
