/* call.c - one call of a library that stemma stands before: what is to work from everywhere. 0, or a number that says
 * what did not. Compiled with API_FILES, API_HDF5, API_MPI or API_APP. */
#include "call.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(API_HDF5)
#include <hdf5.h>

int call(void)
{
	char name[64];
	snprintf(name, sizeof(name), "made-%d.h5", (int)getpid());
	hid_t f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), g = H5Gcreate2(f, "group", 0, 0, 0);
	return f < 0 ? 1 : g < 0 ? 2 : H5Gclose(g) < 0 ? 3 : H5Fclose(f) < 0 ? 4 : 0;
}

#elif defined(API_MPI)
/* As any library of MPI's would have them; mpi.c is one. */
int MPI_Init(int *argc, char ***argv);
int MPI_File_open(void *comm, const char *name, int mode, void *info, void **fh);
int MPI_File_close(void **fh);

int call(void)
{
	void *fh = NULL;
	return MPI_Init(NULL, NULL) ? 1 : MPI_File_open(NULL, "file", 0, NULL, &fh) ? 2 : MPI_File_close(&fh) ? 3 : 0;
}

#elif defined(API_APP)
#include <stemma/app.h>

int call(void)
{
	uint64_t a = stemma_app_begin("step");
	stemma_app_metric("value", 1, STEMMA_APP_NO_STEP);
	stemma_app_end(a);
	return 0;
}

#else
/* No stdio, and nothing but what may be called in a signal handler. */
int call(void)
{
	int fd = open("given", O_RDONLY | O_CLOEXEC), other = (int)syscall(SYS_openat, AT_FDCWD, "given", O_RDONLY);
	char c;
	if (fd < 0 || other < 0 || read(fd, &c, 1) != 1 || rename("given", "given2") < 0 || rename("given2", "given") < 0)
		return 1;
	close(fd);
	close(other);
	pid_t pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 7", (char *)0);
		_exit(1);
	}
	int status;
	return pid < 0 || waitpid(pid, &status, 0) != pid || status != 7 << 8 ? 2 : 0;
}
#endif
