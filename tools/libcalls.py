#!/usr/bin/env python3
"""libcalls.py SPEC FOLDER - of tools/libcalls: the table, from musl's specification and its bitcode."""

import os
import re
import subprocess
import sys


def kept(path):
    """The names of the functions in a specification."""
    data = open(path, 'rb').read()[24 + 4 + 64:]
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    size = number()
    strings = data[at:at + size]
    at += size

    def string():
        start = number()
        return strings[start:strings.index(b'\0', start)].decode()

    string()
    number()
    for _ in range(2):
        for _ in range(number()):
            string()
    names = set()
    for _ in range(number()):
        names.add(string())
        for _ in range(4):
            number()
    return names


# Through the functions of a stream that is no file: they reach nothing.
FALSE = re.compile(r'^(v?sn?w?printf|v?sw?scanf|wcsto.*|strto.*|ato.*|(v?f)?wprintf_core)$|^(v?asprintf|strftime.*|wcsftime.*|strptime|'
                   r'atexit|malloc|calloc|realloc|free|memalign|aligned_alloc|posix_memalign|reallocarray|setlocale|newlocale|'
                   r'strerror.*|strsignal|gettext|dcngettext|.*gettext|nl_langinfo.*|iconv.*|pthread_create|thrd_create)$')
# What ends a process, or a frame, is an event though no data flows.
ENDS = {'abort', 'longjmp', '_longjmp', 'siglongjmp', 'exit', '_exit', '_Exit', 'quick_exit', 'raise', 'kill', 'pthread_create',
        'pthread_exit', 'thrd_create', 'thrd_exit', 'mmap', 'mmap64', '__assert_fail'}
# glibc's own, and the compiler's; after the functions of musl that they stand for, or their manual.
SHUT = '''vsnprintf vswprintf vsscanf vswscanf vasprintf strtod strtof strtold strtol strtoul strtoll strtoull strtoimax strtoumax
wcstod wcstof wcstold wcstol wcstoul wcstoll wcstoull wcstoimax wcstoumax __strtol_internal'''
REACHES = '''__assert __fprintf_chk __printf_chk __vfprintf_chk __vprintf_chk __dprintf_chk __vdprintf_chk __fgets_chk __gets_chk
__fread_chk __fread_unlocked_chk __fgets_unlocked_chk __read_chk __pread_chk __pread64_chk __recv_chk __recvfrom_chk
__readlink_chk __getcwd_chk __realpath_chk __open_2 __open64_2 __openat_2 __openat64_2 __fwprintf_chk __wprintf_chk
__fortify_fail __stack_chk_fail __chk_fail __fdelt_warn error error_at_line _IO_getc _IO_putc __overflow __uflow __underflow
__longjmp_chk obstack_vprintf obstack_printf __libc_start_main fopen64 freopen64 tmpfile64 open64 openat64 creat64 lseek64
pread64 pwrite64 preadv64 pwritev64 truncate64 ftruncate64 fallocate64 posix_fallocate64 sendfile64 fseeko64 ftello64
fgetpos64 fsetpos64 mkstemp64 mkostemp64 mkstemps64 mkostemps64 readdir64 readdir64_r scandir64 versionsort64 glob64
nftw64 ftw64 fts_open fts_read fts_close fts_children fts_set fts64_open fts64_read fts64_close copy_file_range posix_spawn
posix_spawnp system popen pclose fputs_unlocked fputc_unlocked putc_unlocked fwrite_unlocked fread_unlocked getc_unlocked
fgetc_unlocked fgets_unlocked fflush_unlocked putchar_unlocked getchar_unlocked fputws_unlocked statx getrandom renameat2
argp_parse argp_help argp_usage argp_error argp_failure psiginfo _obstack_newchunk syscall io_uring_setup io_uring_enter
fcloseall preadv2 pwritev2 openat2 execveat memfd_create __xmknod __xmknodat _Fork __fork __vfork clone clone3 getdents64
secure_path _flushlbf mq_open mq_send mq_receive shm_open shm_unlink process_vm_readv process_vm_writev'''
HARMLESS = '''__sprintf_chk __snprintf_chk __vsprintf_chk __vsnprintf_chk __asprintf_chk __vasprintf_chk __swprintf_chk
__memcpy_chk __memmove_chk __memset_chk __mempcpy_chk __memccpy_chk __strcpy_chk __strncpy_chk __stpcpy_chk __stpncpy_chk
__strcat_chk __strncat_chk __strlcpy_chk __wcscpy_chk __wmemcpy_chk __explicit_bzero_chk __mbstowcs_chk __wcstombs_chk
__wcrtomb_chk __mbsrtowcs_chk __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __ctype_get_mb_cur_max
__errno_location __h_errno_location __cxa_atexit __cxa_finalize __gmon_start__ __isoc99_sscanf __isoc99_vsscanf
__isoc99_swscanf __isoc23_strtol __isoc23_strtoul __isoc23_strtoll __isoc23_strtoull __isoc23_sscanf rawmemchr
__rawmemchr obstack_free _obstack_begin _obstack_begin_1 _obstack_free _obstack_memory_used mallinfo mallinfo2 mallopt malloc_trim
malloc_usable_size malloc_stats strverscmp strdupa strfry memfrob error_print_progname canonicalize_path __fpending __freading
__fwriting __freadable __fwritable __flbf __fbufsize __fpurge __fsetlocking _setjmp __sigsetjmp sigsetjmp setjmp bcmp
__memcpy memcpy memmove memset memcmp memchr strlen strcmp strncmp strcpy strchr strrchr sqrt sqrtf sqrtl __sqrt_finite
__log_finite __exp_finite __pow_finite __xpg_basename __xpg_strerror_r strerrordesc_np strerrorname_np sigabbrev_np
sigdescr_np gnu_get_libc_version gnu_get_libc_release sched_getcpu getcpu feenableexcept fedisableexcept fegetexcept
__signbit __signbitf __signbitl __isinf __isinff __isinfl __isnan __isnanf __isnanl __finite __finitef __finitel __fpclassify
__fpclassifyf __fpclassifyl __isnan __tolower_l __toupper_l __strtod_internal __strtol_internal __strtoul_internal
random_r srandom_r initstate_r setstate_r drand48_r lrand48_r srand48_r qecvt qfcvt qgcvt roundeven roundevenf fmaxmag
llogb canonicalize getpayload setpayload pow10f exp10 exp10f exp10l __sysv_signal sysv_signal bsd_signal sigset sigignore
sighold sigrelse gsignal mcheck backtrace dlinfo getauxval secure_getenv __secure_getenv clock_gettime clock_getres gettimeofday time
sysconf pthread_atfork __register_atfork __pthread_key_create __tls_get_addr pthread_setaffinity_np pthread_getaffinity_np sched_setaffinity
pthread_yield __sched_cpucount __sched_cpualloc __sched_cpufree fmal strcasestr argz_create parse_printf_format _dl_find_object
__libc_current_sigrtmin __libc_current_sigrtmax _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t __cxa_begin_catch
__cxa_end_catch __cxa_allocate_exception __cxa_free_exception __cxa_guard_acquire __cxa_guard_release __cxa_guard_abort
__sys_other __cxa_get_exception_ptr __gxx_personality_v0 __dynamic_cast _Unwind_GetIP __cxa_bad_cast __cxa_pure_virtual'''
CALLS = 'qsort bsearch lfind lsearch tsearch tfind tdelete twalk signal call_once tss_create qsort_r __qsort_r obstack_begin tdestroy on_exit at_quick_exit'
THROWS = '''__cxa_throw __cxa_rethrow _Unwind_Resume __cxa_throw_bad_array_new_length _ZSt17__throw_bad_allocv
_ZSt20__throw_length_errorPKc _ZSt20__throw_out_of_rangePKc _ZSt24__throw_out_of_range_fmtPKcz _ZSt9terminatev'''


def main():
    spec, folder = sys.argv[1:]
    reach = kept(spec)
    rows = {}
    for file in sorted(os.listdir(folder)):
        if not file.endswith('.bc'):
            continue
        text = subprocess.run(['llvm-dis', '-o', '-', os.path.join(folder, file)], stdout=subprocess.PIPE, check=True).stdout
        for line in text.decode('utf-8', 'replace').splitlines():
            alias = re.match(r'@(\w+) = .*\balias\b.*@(\w+)', line)
            if alias:
                rows.setdefault(alias.group(1), (alias.group(2), False))
                continue
            if not line.startswith('define ') or ' internal ' in line or ' hidden ' in line:
                continue
            name = re.search(r'@(\w+)\((.*)\)', line)
            if name:
                arguments = name.group(2)
                calls = re.search(r'\([^()]*\)\*', arguments) is not None
                rows[name.group(1)] = (name.group(1), calls)
    table = {}
    for name, (target, calls) in rows.items():
        if name.startswith('__') and name not in ENDS:
            continue
        calls = calls or rows.get(target, (target, False))[1]
        table[name] = ((name in reach or target in reach) and not FALSE.match(name), calls)
    for names, what in ((HARMLESS, (False, False)), (SHUT, (False, False)), (REACHES, (True, False)), (THROWS, (True, False)), (CALLS, (False, True))):
        for name in names.split():
            table[name] = what
    for name in ENDS:
        table[name] = (True, table.get(name, (0, False))[1] or name in ('pthread_create', 'thrd_create'))
    print('/* libcalls.def - functions of the C library: which can reach a system call through which data flows, or that ends\n'
          ' * or starts something (REACHES), and which call functions that they are given (CALLS). Sorted by bytes. Made by\n'
          " * tools/libcalls from musl's source, with glibc's further names; a function that is not here is taken to reach one.\n"
          ' * Not edited by hand: change tools/libcalls.py. */')
    for name in sorted(table):
        reaches, calls = table[name]
        print(('REACHES_CALLS' if reaches and calls else 'REACHES' if reaches else 'CALLS' if calls else 'HARMLESS') + f'({name})')


main()
