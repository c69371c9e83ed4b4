/* runtime.c - the library in a program that is traced: libstemma-trace.a.
 *
 * A program and the libraries that it loads may each have a copy. Nothing of it is seen from outside; the copies find
 * each other by a note, and the first one's, which owns, writes what all of them do: one trace a thread.
 *
 * Code inside user programs: no malloc, stdio or locale; no descriptor is kept; errno is kept; what fails ends the
 * trace and never the program. Where nothing is asked for (no STEMMA_TRACE), the words go round in a piece of memory.
 *
 * STEMMA_TRACE          the folder that traces are made in
 * STEMMA_TRACE_MODE     lazy (default), or full: nothing is taken back
 * STEMMA_TRACE_PROGRAMS last parts of the paths of the programs that are traced, with colons between; all
 * STEMMA_TRACE_BYTES    the most of one thread (1 GiB)
 * STEMMA_TRACE_ZOOM     THREAD:FROM:WORDS:COARSE:END, of a lazy trace: from the time on at which the thread has written
 * FROM words, those that were taken back included, nothing is taken back (COARSE 0), or nothing of more than COARSE
 * words; after WORDS words the trace ends
 * STEMMA_TRACE_TURN     THREAD:FROM:NODE:OUTCOME: the first decision behind FROM words of the thread, which is to be
 * that node, gets that outcome instead of its own. The program does something else then than it would: only stemma diff
 * --prove sets it, for a program that it confines */
#include "spec/runtime/process.h"
#include "spec/runtime/state.h"
#include "spec/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BYTES_DEFAULT (1ull << 30)
#define BYTES_LEAST (1ull << 20)
#define CHUNK_FIRST (256u << 10)
#define CHUNK_MOST (16u << 20)
#define SLACK (STATE_SLACK_WORDS * sizeof(uint32_t))
#define SINK_BYTES (16384 + SLACK)
#define SIZE_OF_STATE offsetof(struct state, header)
#define HEAD offsetof(struct state, words)

HIDDEN extern const uint64_t __stemma_trace_spec;
HIDDEN extern const uint32_t __stemma_trace_library; /* this is a library */
/* Which versions of functions run: those that trace (versions.c). Decided at the start, and the same from then on. */
HIDDEN extern uint32_t __stemma_trace_on;
uint32_t __stemma_trace_on;
/* Of a library, what its functions' numbers begin with. */
HIDDEN extern uint32_t __stemma_trace_base;
uint32_t __stemma_trace_base = TRACE_LIBRARY_FIRST + TRACE_LIBRARIES * TRACE_LIBRARY_FUNCTIONS;

/* Where a thread begins that has no state: the first look at its limit gives it one. */
static struct {
	struct state s;
	uint32_t room[STATE_SLACK_WORDS];
} none __attribute__((aligned(STATE_PAGE)));

HIDDEN __thread struct state *__stemma_trace __attribute__((tls_model("initial-exec"))) = &none.s;
/* The thread's name, as pthread_create of its creator made it; "" none. */
static __thread char thread_name[64] __attribute__((tls_model("initial-exec")));

static pid_t holder; /* whose thread has the lists; 0: nobody's */
static struct state *all, *spare;
static pthread_key_t key;
static int have_key, asked, lazy = 1, unnamed;
static uint64_t most = BYTES_DEFAULT;
static char folder[PATH_MAX];
static pid_t lists_owner; /* whose lists these are */
static uint32_t numbered; /* libraries */
static struct {
	char thread[64];
	uint64_t from, words, coarse, ends;
} zoom;

/* Held for some instructions, with signals blocked or by a thread that ends. In a child of fork the holder may be a
 * thread that is not there: then it is the parent's, and is taken. */
static void lists_hold(void)
{
	const pid_t self = getpid();
	for (pid_t is = 0; !__atomic_compare_exchange_n(&holder, &is, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);) {
		if (is == self) {
			nanosleep(&(struct timespec){0, 1000}, NULL);
			is = 0;
		}
	}
}

/* Lets go of the lock that holder is. */
static void lists_release(void)
{
	__atomic_store_n(&holder, 0, __ATOMIC_RELEASE);
}

/* ---- asking, once ---- */

/* Is the program one that is to be traced? list: names or paths, separated by colons; NULL or an empty one names
 * every program. */
static int is_program_listed(const char *exe, const char *list)
{
	const char *slash = strrchr(exe, '/'), *name = slash ? slash + 1 : exe;
	if (!list || !*list)
		return 1;
	for (const char *p = list; *p; p += strcspn(p, ":"), p += *p == ':') {
		size_t n = strcspn(p, ":");
		if (n == strlen(name) && memcmp(p, name, n) == 0)
			return 1;
		if (n == strlen(exe) && memcmp(p, exe, n) == 0)
			return 1;
	}
	return 0;
}

static void on_thread_end(void *p);

/* Reads which part of the trace is to be recorded more closely. text: THREAD:FROM:WORDS[:COARSE[:ENDS]]; NULL, or
 * malformed: there is no zoom. */
static void read_zoom(const char *text)
{
	size_t n = text ? strcspn(text, ":") : 0;
	char *end;
	if (!n || n >= sizeof(zoom.thread))
		return;
	zoom.from = strtoull(text + n + (text[n] == ':'), &end, 10);
	zoom.words = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
	zoom.coarse = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
	zoom.ends = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
	if (zoom.words && !*end)
		memcpy(zoom.thread, text, n);
}

/* $STEMMA_TRACE and the like, once; nothing is traced where the program is not listed. */
static void read_trace_settings(void)
{
	char exe[PATH_MAX];
	const char *dir = secure_getenv("STEMMA_TRACE"), *mode = secure_getenv("STEMMA_TRACE_MODE"),
	           *bytes = secure_getenv("STEMMA_TRACE_BYTES");
	asked = 1;
	__stemma_trace_exe_path(exe, sizeof(exe));
	if (dir && strlen(dir) < sizeof(folder) - 64 && is_program_listed(exe, secure_getenv("STEMMA_TRACE_PROGRAMS")))
		memcpy(folder, dir, strlen(dir) + 1);
	lazy = !mode || strcmp(mode, "full") != 0;
	if (bytes) {
		most = strtoull(bytes, NULL, 10);
		if (most < BYTES_LEAST)
			most = BYTES_LEAST;
		if (most > BYTES_DEFAULT * 64)
			most = BYTES_DEFAULT * 64;
	}
	if (lazy)
		read_zoom(secure_getenv("STEMMA_TRACE_ZOOM"));
	if (*folder)
		__stemma_trace_read_turn(secure_getenv("STEMMA_TRACE_TURN"));
	have_key = pthread_key_create(&key, on_thread_end) == 0;
}

/* ---- what a header says ---- */

/* Ends with NUL. The end. */
static char *append_decimal(char *p, uint64_t v)
{
	char text[24];
	int n = 0;
	do
		text[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*p++ = text[--n];
	*p = '\0';
	return p;
}

/* All but what is known only at the end: who it is, of which program, and when it began. */
static void fill_trace_header(struct trace_header *h)
{
	struct timespec t;
	memcpy(h->magic, TRACE_MAGIC, sizeof(h->magic));
	h->spec = __stemma_trace_library ? 0 : __stemma_trace_spec;
	h->pid = (uint32_t)getpid();
	h->tid = (uint32_t)syscall(SYS_gettid);
	h->started = __stemma_trace_process_start();
	clock_gettime(CLOCK_REALTIME, &t);
	h->began = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	h->flags = lazy ? TRACE_LAZY : 0;
	__stemma_trace_build_id(h);
	__stemma_trace_exe_path(h->exe, sizeof(h->exe));
	if (h->pid == h->tid)
		memcpy(h->thread, "0", 2);
	else if (thread_name[0])
		memcpy(h->thread, thread_name, sizeof(h->thread));
	else {
		h->thread[0] = '?';
		append_decimal(h->thread + 1, (uint64_t)__atomic_fetch_add(&unnamed, 1, __ATOMIC_RELAXED));
	}
	memcpy(thread_name, h->thread, sizeof(thread_name));
}

/* ---- the program and its libraries ---- */

HIDDEN struct state **__stemma_trace_slot(void);
/* Where this module keeps the thread's state. */
struct state **__stemma_trace_slot(void)
{
	return &__stemma_trace;
}

/* Belongs to the thread. */
static char *own_thread_name(void)
{
	return thread_name;
}

/* Numbers from which the functions of a library are counted; the last ones share one. */
static uint32_t number_library(void)
{
	uint32_t i = __atomic_fetch_add(&numbered, 1, __ATOMIC_RELAXED);
	return TRACE_LIBRARY_FIRST + (i < TRACE_LIBRARIES ? i : TRACE_LIBRARIES) * TRACE_LIBRARY_FUNCTIONS;
}

/* Libraries ask before the program's own beginning. */
static uint32_t is_anything_traced(void)
{
	if (!asked && secure_getenv("STEMMA_TRACE"))
		read_trace_settings();
	return *folder != 0;
}

static struct state *make_more(struct state *s, struct module *m);
HIDDEN extern struct module __stemma_trace_module;
struct module __stemma_trace_module = {.abi = STATE_ABI,
                                       .none = &none.s,
                                       .slot = __stemma_trace_slot,
                                       .more = make_more,
                                       .thread_name = own_thread_name,
                                       .number = number_library,
                                       .is_on = is_anything_traced};
static struct module *owner; /* whose runtime writes */

/* By this note the copies find each other, whatever their symbols are: what it holds is how far away the module is. */
__asm__(".pushsection .note.stemma.trace,\"a\",@note\n"
        "	.balign 4\n"
        "	.long 7, 4, 2\n"
        "	.asciz \"stemma\"\n"
        "	.balign 4\n"
        "	.long __stemma_trace_module - .\n"
        "	.popsection\n");

/* The module of a loaded file; NULL: it has none. */
static struct module *module_of_notes(const char *p, const char *end)
{
	while (end - p >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)p;
		const char *name = p + sizeof(*note), *desc = name + ((note->n_namesz + 3) & ~3u);
		p = desc + ((note->n_descsz + 3) & ~3u);
		if (p > end)
			break;
		if (note->n_type == 2 && note->n_namesz == 7 && note->n_descsz == 4 && memcmp(name, "stemma", 7) == 0) {
			int32_t away;
			memcpy(&away, desc, sizeof(away));
			return (struct module *)((uintptr_t)desc + (uintptr_t)(intptr_t)away);
		}
	}
	return NULL;
}

/* Files come in the order in which they were loaded, the program first. */
static int look_at_file(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct module *m = NULL, **first = arg;
	struct trace_library *mine = &__stemma_trace_module.told;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum && !m; i++) {
		const char *p = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			m = module_of_notes(p, p + info->dlpi_phdr[i].p_memsz);
	}
	if (m && !*first && m->abi == STATE_ABI)
		*first = m;
	if (m != &__stemma_trace_module)
		return 0;
	for (int i = 0; i < info->dlpi_phnum && !mine->build_id_bytes; i++) {
		const char *p = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			mine->build_id_bytes =
			    __stemma_trace_build_id_note(p, p + info->dlpi_phdr[i].p_memsz, mine->build_id, sizeof(mine->build_id));
	}
	size_t n = info->dlpi_name ? strlen(info->dlpi_name) : 0;
	if (n < sizeof(mine->path))
		memcpy(mine->path, info->dlpi_name, n);
	return 1; /* what comes later does not own */
}

/* Before all that the program or library does, but for what is loaded before it. */
__attribute__((constructor(101))) static void find_owner(void)
{
	struct module *m = &__stemma_trace_module, *first = NULL;
	if (owner)
		return;
	m->library = __stemma_trace_library;
	m->told.spec = __stemma_trace_spec;
	dl_iterate_phdr(look_at_file, &first);
	owner = first ? first : m;
	__stemma_trace_on = owner->is_on();
	if (m->library)
		m->told.base = __stemma_trace_base = owner->number();
}

/* ---- room ---- */

/* Bytes that a thread may have at most, of address space and of the file. */
static uint64_t allowed_bytes(void)
{
	struct rlimit r;
	uint64_t n = most;
	if (getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_cur != RLIM_INFINITY && r.rlim_cur < n)
		n = r.rlim_cur;
	/* Where address space is counted, it is the program's. */
	if (getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY && r.rlim_cur / 64 < n)
		n = r.rlim_cur / 64;
	return n & ~(uint64_t)(STATE_PAGE - 1);
}

/* The file, with one page of header: -errno, or a descriptor. */
static int make_file(uint64_t bytes)
{
	char path[PATH_MAX], *p;
	size_t n = strlen(folder);
	memcpy(path, folder, n);
	p = path + n;
	*p++ = '/';
	p = append_decimal(p, (uint64_t)getpid());
	*p++ = '-';
	p = append_decimal(p, (uint64_t)syscall(SYS_gettid));
	char *end = p;
	for (unsigned turn = 0; turn < 100000; turn++) {
		p = end;
		if (turn) { /* another execution of the same process, or a thread's number that came again */
			*p++ = '.';
			p = append_decimal(p, turn);
		}
		memcpy(p, ".trace", 7);
		int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400);
		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd < 0)
			return -errno;
		if (ftruncate(fd, (off_t)bytes) < 0) {
			int e = errno;
			close(fd);
			unlink(path);
			return -e;
		}
		return fd;
	}
	return -EEXIST;
}

/* Takes so many bytes more of the file into use: space is found on the disk now, where it can fail without ending the
 * program. 0, -errno. */
static int commit_pages(void *at, uint64_t bytes)
{
	if (mprotect(at, bytes, PROT_READ | PROT_WRITE) < 0)
		return -errno;
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
	if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0)
		return 0;
	return -errno; /* EINVAL: before Linux 5.14 nothing finds the space without a descriptor kept open */
}

/* Says in the trace why it ends early. There is room for it. */
static void write_stop_gap(struct state *s, enum trace_why why)
{
	uint32_t *p = (uint32_t *)(uintptr_t)s->header.next;
	*p++ = TRACE_WORD(TRACE_W_MORE, TRACE_MORE_GAP << 16 | 1);
	*p++ = (uint32_t)why;
	s->header.next = (uint64_t)(uintptr_t)p;
	s->header.end = TRACE_STOPPED;
}

/* From now on its words go round in memory, and the file stays as it is. The frames that are open hold the address, so
 * it is the same. */
static void to_sink(struct state *s)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	if (mmap(&s->header, STATE_PAGE + SINK_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
		abort(); /* there is nothing else that could be done with a full one; mapping over oneself takes nothing new */
	s->sink = 1;
	s->turn = 0;
	s->zoom = ZOOM_NONE;
	s->keep = UINTPTR_MAX;
	s->mark = (uint32_t *)UINTPTR_MAX;
	s->silent_end = NULL;
	s->header.next = s->header.first = (uint64_t)(uintptr_t)s->words;
	s->limit = (uint32_t *)((char *)s->words + SINK_BYTES - SLACK);
}

/* Maps a new file behind the state. -errno: the state goes on as it was. */
static int to_file(struct state *s)
{
	uint64_t bytes = (uint64_t)((char *)s->end - (char *)&s->header);
	/* The program has signals that a limit would send. */
	int fd = make_file(bytes), rc = 0;
	if (fd < 0)
		return fd;
	void *m = mmap(&s->header, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);
	if (m == MAP_FAILED)
		rc = -errno;
	close(fd);
	if (rc == 0)
		rc = commit_pages(&s->header, CHUNK_FIRST);
	if (rc < 0)
		return rc;
	s->sink = 0;
	s->chunk = CHUNK_FIRST;
	s->silent_end = NULL;
	s->header.next = s->header.first = (uint64_t)(uintptr_t)s->words;
	fill_trace_header(&s->header);
	for (uint32_t i = 0; i < s->n_modules; i++)
		s->header.libraries[s->header.n_libraries++] = s->modules[i]->told;
	if (__stemma_trace_library && s->header.n_libraries < TRACE_LIBRARIES_TOLD)
		s->header.libraries[s->header.n_libraries++] = __stemma_trace_module.told;
	s->keep = lazy ? 0 : UINTPTR_MAX;
	s->mark = lazy ? NULL : (uint32_t *)UINTPTR_MAX;
	s->zoom = zoom.thread[0] && strcmp(zoom.thread, s->header.thread) == 0 ? ZOOM_AHEAD : ZOOM_NONE;
	s->coarse = s->clock = 0;
	s->clock_at = s->words;
	s->clock_next = zoom.from;
	__stemma_trace_set_turn(s);
	s->room_end = (uint32_t *)((char *)&s->header + CHUNK_FIRST - SLACK);
	state_set_limit(s);
	return 0;
}

/* Only the state's own page may be touched yet. NULL: no memory. */
static struct state *reserve_state(void)
{
	uint64_t bytes = *folder ? allowed_bytes() : 0;
	if (bytes < BYTES_LEAST)
		bytes = 0;
	uint64_t size = HEAD + (bytes > SINK_BYTES ? bytes : SINK_BYTES);
	char *m = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m == MAP_FAILED)
		return NULL;
	if (mprotect(m, SIZE_OF_STATE, PROT_READ | PROT_WRITE) < 0) {
		munmap(m, size);
		return NULL;
	}
	madvise(m, STATE_PAGE, MADV_WIPEONFORK);
	struct state *s = (struct state *)m;
	s->end = (uint32_t *)(m + size);
	s->sink = !bytes;
	return s;
}

/* ---- threads ---- */

/* The thread ends: its trace is closed as whole, and its memory kept for another one. */
static void on_thread_end(void *p)
{
	struct state *s = p;
	if (s->sink == 0 && s->ready) {
		s->header.end = TRACE_THREAD;
		/* What is not used of the file: a sparse tail costs nothing, and readers go by the header. */
	}
	sigset_t mask, before;
	sigfillset(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, &before);
	__stemma_trace = &none.s;
	for (uint32_t i = 0; i < s->n_modules; i++)
		*s->modules[i]->slot() = s->modules[i]->none;
	s->n_modules = 0;
	lists_hold();
	s->in_use = 0;
	s->next = spare;
	spare = s;
	lists_release();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* A child of fork: frames are open that its trace has not seen begin. */
static void write_open_frames(struct state *s, uint32_t depth)
{
	uint32_t *p = (uint32_t *)(uintptr_t)s->header.next;
	for (uint32_t i = 0; i < depth && i < STATE_STACK; i++)
		*p++ = TRACE_WORD(TRACE_W_ENTER, s->stack[i]);
	*p++ = TRACE_WORD(TRACE_W_BACK, depth < STATE_STACK ? depth : STATE_STACK);
	s->header.next = (uint64_t)(uintptr_t)p;
}

/* Into a file, or nowhere if that cannot be. */
static void begin_thread_trace(struct state *s)
{
	if (!*folder || (char *)s->end - (char *)&s->header < (ptrdiff_t)BYTES_LEAST || to_file(s) < 0)
		to_sink(s);
	s->ready = 1;
}

/* This thread's, one that another has left, or a new one; async-signal-safe. NULL: no memory. */
static struct state *make_first_state(void)
{
	struct state *s;
	sigset_t mask, before;
	sigfillset(&mask);
	/* A handler that comes in between would find half of it. */
	pthread_sigmask(SIG_SETMASK, &mask, &before);
	lists_hold();
	if (lists_owner != getpid()) {
		all = spare = NULL; /* in a child of fork the other threads are gone; their memory is not worth the risk */
		lists_owner = getpid();
	}
	if (!asked)
		read_trace_settings();
	s = spare;
	if (s)
		spare = s->next;
	lists_release();
	if (!s)
		s = reserve_state();
	if (s) {
		s->depth = 0;
		s->children = 0;
		s->in_use = 1;
		begin_thread_trace(s);
		__stemma_trace = s;
		if (have_key)
			pthread_setspecific(key, s);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return s;
}

/* The clock has come to where something is to be done, or there is no more room. False: the latter. */
static bool turn_zoom(struct state *s)
{
	const uint32_t *p = (const uint32_t *)(uintptr_t)s->header.next;
	const uint64_t now = s->clock + (uint64_t)(p - s->clock_at);
	if (s->zoom == ZOOM_AHEAD && now >= s->clock_next) {
		s->zoom = ZOOM_WITHIN;
		s->clock_next = zoom.words < UINT64_MAX - now ? now + zoom.words : UINT64_MAX;
		s->coarse = zoom.coarse;
		if (!zoom.coarse) {
			s->keep = UINTPTR_MAX;
			s->mark = (uint32_t *)UINTPTR_MAX;
		}
		state_set_limit(s);
	} else if (s->zoom == ZOOM_WITHIN && now >= s->clock_next) {
		write_stop_gap(s, TRACE_WHY_FULL);
		if (zoom.ends)
			syscall(SYS_exit_group, 0);
		to_sink(s);
		return true;
	}
	return p < s->limit;
}

/* Behind the words there is room for more: of one that is a child of fork, goes round, or has come to its limit. */
static void grow_state(struct state *s)
{
	if (!s->ready) {
		uint32_t depth = s->depth;
		begin_thread_trace(s);
		s->depth = depth;
		if (!s->sink)
			write_open_frames(s, depth);
		return;
	}
	if (s->sink) {
		s->header.next = (uint64_t)(uintptr_t)s->words;
		return;
	}
	if (s->zoom && turn_zoom(s))
		return;
	char *at = (char *)s->room_end + SLACK;
	uint64_t chunk = s->chunk < CHUNK_MOST ? s->chunk * 2 : s->chunk;
	uint64_t left = (uint64_t)((char *)s->end - at);
	if (chunk > left)
		chunk = left & ~(uint64_t)(STATE_PAGE - 1);
	int rc = chunk ? commit_pages(at, chunk) : -EFBIG;
	if (rc < 0) {
		write_stop_gap(s, rc == -EFBIG ? TRACE_WHY_FULL : TRACE_WHY_SPACE);
		to_sink(s);
	} else {
		s->chunk = chunk;
		s->room_end = (uint32_t *)(at + chunk - SLACK);
		state_set_limit(s);
	}
}

/* A library comes to a thread: from now on it goes by the thread's state, and the trace tells which one it is. */
static void join_module(struct state *s, struct module *m)
{
	bool told = s->n_modules + (__stemma_trace_library ? 1 : 0) < TRACE_LIBRARIES_TOLD;
	if (!told) { /* its numbers will not be known */
		uint32_t *p = (uint32_t *)(uintptr_t)s->header.next;
		p[1] = TRACE_WHY_OTHER;
		p[0] = TRACE_WORD(TRACE_W_MORE, TRACE_MORE_GAP << 16 | 1);
		s->header.next = (uint64_t)(uintptr_t)(p + 2);
		s->mark = (uint32_t *)((uintptr_t)(p + 2) | s->keep);
		return;
	}
	s->modules[s->n_modules++] = m;
	*m->slot() = s;
	if (!s->sink && s->header.n_libraries < TRACE_LIBRARIES_TOLD)
		s->header.libraries[s->header.n_libraries++] = m->told;
}

/* Called where there is no room: room for s, or another state, never NULL. errno stays. */
static struct state *make_more(struct state *s, struct module *m)
{
	int e = errno;
	if (s->end) {
		grow_state(s);
		errno = e;
		return s;
	}
	s = __stemma_trace != &none.s ? __stemma_trace : make_first_state();
	if (!s) {
		/* No memory for it: all such threads write over each other, in a piece of memory that nobody reads. */
		s = &none.s;
		s->header.next = (uint64_t)(uintptr_t)s->words;
		s->mark = (uint32_t *)UINTPTR_MAX;
		s->keep = UINTPTR_MAX;
	} else {
		if ((uint32_t *)(uintptr_t)s->header.next >= s->limit)
			grow_state(s);
		if (m != &__stemma_trace_module)
			join_module(s, m);
	}
	errno = e;
	return s;
}

HIDDEN struct state *__stemma_trace_more(struct state *s)
{
	if (!owner)
		find_owner();
	return owner->more(s, &__stemma_trace_module);
}

/* ---- ends and beginnings ---- */

/* The program ends: the trace of this thread says so. */
__attribute__((destructor)) static void mark_exit(void)
{
	struct state *s = __stemma_trace;
	if (owner == &__stemma_trace_module && s != &none.s && s->ready && !s->sink)
		s->header.end = TRACE_EXIT;
}

/* The name of a thread is that of its creator and which of its threads it is. The program is linked with
 * --wrap=pthread_create. */
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
HIDDEN int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

struct start {
	void *(*function)(void *);
	void *argument;
	char name[64];
};

/* Runs the program's function under the name that the parent chose. */
static void *run_traced_thread(void *p)
{
	struct start s = *(struct start *)p;
	free(p);
	memcpy(owner->thread_name(), s.name, sizeof(thread_name));
	return s.function(s.argument);
}

/* The new thread's trace is named after its creator's. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *), void *argument)
{
	struct state *mine = __stemma_trace;
	struct start *s = mine->end && mine->ready && !mine->sink ? malloc(sizeof(*s)) : NULL;
	if (!s)
		return __real_pthread_create(thread, attr, function, argument);
	s->function = function;
	s->argument = argument;
	size_t n = strlen(mine->header.thread);
	if (n > sizeof(s->name) - 22) { /* a hundred creators deep: it has none then */
		free(s);
		return __real_pthread_create(thread, attr, function, argument);
	}
	memcpy(s->name, mine->header.thread, n);
	s->name[n++] = '.';
	append_decimal(s->name + n, mine->children++);
	int rc = __real_pthread_create(thread, attr, run_traced_thread, s);
	if (rc) {
		free(s);
		mine->children--;
	}
	return rc;
}
