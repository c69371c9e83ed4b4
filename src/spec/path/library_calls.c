#include "spec/path/library_calls.h"

#include <string.h>

/* Names as they are without __, 64, _chk, _unlocked. LIBRARY_ONE: exactly one of these calls, whether it succeeds or
 * not; else any number of any of them. From glibc's source and its manual; what is not here may make any. */
static const struct library_calls table[] = {
    {"open openat", "open openat openat2", LIBRARY_ONE},
    {"creat", "creat open openat", LIBRARY_ONE},
    {"read write close readv writev lseek dup fsync fdatasync fchdir chdir chroot shutdown connect bind socket "
     "socketpair "
     "sendfile splice tee vmsplice copy_file_range truncate ftruncate fallocate getdents sendmsg recvmsg sendmmsg "
     "recvmmsg "
     "sendto recvfrom memfd_create waitid fchmod fchown execve clone3 preadv pwritev preadv2 pwritev2 chown lchown",
     NULL, LIBRARY_ONE},
    {"pread", "pread64", LIBRARY_ONE},
    {"pwrite", "pwrite64", LIBRARY_ONE},
    {"dup2 dup3", "dup2 dup3", LIBRARY_ONE},
    {"pipe pipe2", "pipe pipe2", LIBRARY_ONE},
    {"accept accept4", "accept accept4", LIBRARY_ONE},
    {"send", "sendto", LIBRARY_ONE},
    {"recv", "recvfrom", LIBRARY_ONE},
    {"rename renameat renameat2", "rename renameat renameat2", LIBRARY_ONE},
    {"link linkat", "link linkat", LIBRARY_ONE},
    {"symlink symlinkat", "symlink symlinkat", LIBRARY_ONE},
    {"unlink unlinkat", "unlink unlinkat", LIBRARY_ONE},
    {"rmdir", "rmdir unlinkat", LIBRARY_ONE},
    {"mkdir mkdirat", "mkdir mkdirat", LIBRARY_ONE},
    {"mknod mknodat mkfifo mkfifoat", "mknod mknodat", LIBRARY_ONE},
    {"chmod", "chmod fchmodat", LIBRARY_ONE},
    {"stat lstat", "stat lstat newfstatat statx", LIBRARY_ONE},
    {"access", "access faccessat faccessat2", LIBRARY_ONE},
    {"readlink readlinkat", "readlink readlinkat", LIBRARY_ONE},
    {"wait waitpid wait3 wait4", "wait4", LIBRARY_ONE},
    {"fork vfork", "fork vfork clone clone3", LIBRARY_ONE},
    {"_exit _Exit", "exit_group", LIBRARY_ONE},
    {"opendir", "open openat", LIBRARY_ONE},
    {"closedir", "close", LIBRARY_ONE},
    {"readdir rewinddir seekdir", "getdents64 lseek", 0},
    {"fstatat statx faccessat fchmodat fchownat", "newfstatat statx faccessat faccessat2 fchmodat fchmod fchownat", 0},
    {"mmap", "mmap", 0},
    {"ioctl isatty tcgetattr tcsetattr ttyname ttyname_r", "ioctl readlink newfstatat", 0},
    {"exit quick_exit", "write lseek close exit_group", 0},
    {"execv execl execle execlp execvp execvpe", "execve", 0},
    {"fopen", "open openat", 0},
    {"fdopen setvbuf setbuf setlinebuf fileno feof ferror clearerr fstat getcwd munmap msync kill raise sigaction "
     "sleep usleep "
     "nanosleep pthread_join pthread_exit sigprocmask _IO_feof _IO_ferror feof ferror fileno_unlocked",
     "", 0},
    {"freopen", "open openat close write lseek dup3", 0},
    {"fclose", "write lseek close", 0},
    {"fwrite fputs fputc putc putchar puts printf fprintf vfprintf vprintf fflush dprintf vdprintf perror fputwc putwc "
     "fputws "
     "_IO_putc overflow",
     "write lseek ioctl", 0},
    {"fread fgets fgetc getc getchar getline getdelim gets scanf fscanf vscanf vfscanf isoc99_scanf isoc99_fscanf "
     "fgetwc "
     "_IO_getc uflow underflow ungetc",
     "read lseek ioctl write", 0},
    {"fseek fseeko ftell ftello rewind fsetpos fgetpos", "lseek read write", 0},
    {"remove", "unlink rmdir unlinkat", 0},
    {"mkstemp mkostemp tmpfile", "open openat unlink", 0},
    {"mkdtemp", "mkdir", 0},
    {"realpath canonicalize_file_name", "readlink readlinkat newfstatat lstat", 0},
    {"pthread_create thrd_create", "clone clone3", LIBRARY_THREAD},
};

bool library_in_list(const char *list, const char *word, size_t n)
{
	for (const char *p = list; *p; p += strspn(p, " ")) {
		size_t k = strcspn(p, " ");
		if (k == n && !memcmp(p, word, n))
			return true;
		p += k;
	}
	return false;
}

const struct library_calls *library_calls(const char *name, char base[64])
{
	static const char *const ends[] = {"64", "_chk", "_unlocked", "_2"};
	if (!strncmp(name, "__", 2))
		name += 2;
	size_t n = strlen(name);
	for (int again = 0; again < 3 && n < 64; again++) {
		memcpy(base, name, n);
		base[n] = '\0';
		for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
			if (library_in_list(table[i].names, base, n))
				return &table[i];
		for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
			if (n > strlen(ends[i]) && !strcmp(base + n - strlen(ends[i]), ends[i])) {
				n -= strlen(ends[i]);
				break;
			}
	}
	return NULL;
}
