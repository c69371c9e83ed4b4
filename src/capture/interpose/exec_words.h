/* exec_words.h - the relatives of execve that take their arguments one by one, by those that take an array. Included
 * once, in one file of a library, behind its execve and execvpe. */
/* Arguments one by one, as an array. */
#define COLLECT(arg)                                                                                                   \
	va_list ap;                                                                                                        \
	size_t n_args = 1;                                                                                                 \
	va_start(ap, arg);                                                                                                 \
	while (va_arg(ap, const char *))                                                                                   \
		n_args++;                                                                                                      \
	va_end(ap);                                                                                                        \
	char **argv = __builtin_alloca((n_args + 1) * sizeof(*argv));                                                      \
	argv[0] = (char *)arg;                                                                                             \
	va_start(ap, arg);                                                                                                 \
	for (size_t i = 1; i <= n_args; i++)                                                                               \
	argv[i] = va_arg(ap, char *)

EXPORT int execl(const char *path, const char *arg, ...)
{
	COLLECT(arg);
	va_end(ap);
	return execve(path, argv, environ);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	COLLECT(arg);
	va_end(ap);
	return execvpe(file, argv, environ);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	COLLECT(arg);
	char *const *envp = va_arg(ap, char *const *);
	va_end(ap);
	return execve(path, argv, envp);
}
