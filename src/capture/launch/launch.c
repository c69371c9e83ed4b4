/* The start of a run: what is set up before there is a worker, and what is said when all is over. The keeper, which
 * this process is, starts worker and command, passes signals on, holds the listener so that no call ever fails for want
 * of somebody to answer it, and ends as the command ended. */
#include "base/os/memfile.h"
#include "capture/app/images.h"
#include "capture/attach/attach.h"
#include "capture/call_trace/call_trace.h"
#include "capture/hdf5/h5_static.h"
#include "capture/hdf5/h5_words.h"
#include "capture/launch/choose.h"
#include "capture/launch/features.h"
#include "capture/launch/launch_int.h"
#include "capture/launch/run.h"
#include "capture/launch/stop_self.h"
#include "capture/preload/preload_library.h"
#include "capture/preload/safe.h"
#include "event/log_place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The folder of the run: "job-ID" in a batch job, else the day (UTC). ret has n bytes. */
static void day_of(char *ret, size_t n)
{
	/* A job's runs lie together; what is not a job's goes by day. */
	static const char *const jobs[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"};
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		const char *v = getenv(jobs[i]);
		if (!v || !*v || strlen(v) > 64)
			continue;
		snprintf(ret, n, "job-%s", v);
		for (char *p = ret; *p; p++)
			if (*p == '/' || (unsigned char)*p < 0x21 || *p == 0x7f)
				*p = '_';
		return;
	}
	time_t t = time(NULL);
	struct tm tm;
	strftime(ret, n, "%Y-%m-%d", gmtime_r(&t, &tm));
}

/* What became of the record, where that is not all that it should be; NULL. */
static const char *log_note(const struct control *c, const char *home)
{
	static char note[800];
	const char *limit = c->log.error == EFBIG ? " (ulimit -f)" : "";
	char where[300];
	snprintf(where, sizeof(where), "the record in '%.200s' was removed while this ran", home ? home : "");
	switch (c->log.removed) {
	case LOG_REMOVED_ANEW:
		snprintf(note, sizeof(note), "%s; a new record with this run was made there", where);
		return note;
	case LOG_REMOVED_ELSEWHERE:
		snprintf(note, sizeof(note), "%s; the record of this run is in '%s': use 'stemma import'", where, c->log.place);
		return note;
	case LOG_REMOVED_LOST:
		snprintf(note, sizeof(note), "%s; the record of this run is lost", where);
		return note;
	}
	if (!c->log.error)
		return NULL;
	if (c->log.nothing)
		snprintf(note, sizeof(note), "nothing of this run could be recorded: writing the log failed: %s%s",
		         strerror(c->log.error), limit);
	else if (c->log.lost)
		snprintf(note, sizeof(note),
		         "this run is recorded incompletely: writing the log failed: %s%s; %llu event%s missing",
		         strerror(c->log.error), limit, (unsigned long long)c->log.lost, c->log.lost == 1 ? " is" : "s are");
	else /* nobody counted them */
		snprintf(note, sizeof(note), "this run is recorded incompletely: writing the log failed: %s%s",
		         strerror(c->log.error), limit);
	return note;
}

/* A run inside a run: the outer one's listener sees everything (the kernel allows one only), so it is told, and we step
 * aside. What it is told is in nested.c. True: the command is to be run without a recorder of its own. */
static bool yield_if_nested(const struct keeper *k, const char *ulid)
{
	char marker[128];
	const struct run_options *o = k->o;
	char *const none[] = {NULL};
	snprintf(marker, sizeof(marker), "/.stemma/run/%s/%llx/%llx/%llx", ulid, (unsigned long long)(uintptr_t)o->argv,
	         (unsigned long long)(uintptr_t)o->labels, (unsigned long long)(uintptr_t)o->home);
	int fd = open(marker, O_RDWR | O_CLOEXEC); /* what only reads may be opened without a stop */
	/* Where only programs are recorded no open is stopped, but an exec is. */
	if (fd < 0 && errno == ENOENT && prctl(PR_GET_SECCOMP) > 0)
		execve(marker, none, none);
	if (fd >= 0) {
		close(fd);
	} else if (errno == EL2NSYNC || errno == EL3HLT) {
		if (errno == EL3HLT && o->say)
			o->say("this run is part of another stemma run and is recorded in that run's record");
		channel_enter_nested(ulid);
		if (o->stay || o->orphans != ORPHANS_DETACH)
			return true; /* it has to be stayed with */
		sigaction(SIGXFSZ, &k->xfsz, NULL);
		launch_become_command(k);
	}
	return false;
}

/* Traces of calls, where every call is seen. */
static void begin_call_traces(struct sup *s, const struct run_options *o)
{
	s->called = called_new(o->calls, o->calls_of);
	if (!s->called) {
		sup_gap(s, NULL, TERM_gap_lost, 0,
		        "calls are not traced: out of memory, or the folder for traces cannot be used");
		return;
	}
	int stacks = o->stacks > 0 ? fcntl(o->stacks, F_DUPFD_CLOEXEC, 3) : -1;
	if (stacks >= 0)
		called_with_stacks(s->called, stacks);
}

/* What the record lacks for what was chosen. */
static void say_what_lacks(struct sup *s, const struct choice *c)
{
	if (c->tree_only || c->backend == BACKEND_NONE)
		sup_gap(s, NULL, TERM_gap_tree_only, 0,
		        c->tree_only ? "only processes were recorded" : "only the run itself was recorded");
	if (s->scans)
		sup_gap(s, NULL, TERM_gap_lost, 0, "processes that lived for some milliseconds may have been missed");
	if (c->privileged)
		sup_gap(s, NULL, TERM_gap_privilege_lost, 0,
		        "a set-user-ID program runs with its privilege and is not observed");
	if (c->outranked)
		sup_gap(s, NULL, TERM_gap_lost, 0, "system calls that another seccomp listener handles were not observed");
}

/* What was chosen, to whom it concerns: the recorder, the record and the user. */
static void take_choice(struct keeper *k)
{
	struct sup *s = k->sup;
	const struct choice *c = &k->choice;
	s->tree_only = c->tree_only;
	s->exact = c->backend == BACKEND_EXACT;
	if (s->exact && k->o->calls)
		begin_call_traces(s, k->o);
	s->scans = c->backend == BACKEND_PROC;
	s->nnp = c->loses;
	features_add(s, k->o, c);
	s->narrow = (s->exact || s->bytes) && k->o->narrow;
	s->injects = k->o->inject && c->backend == BACKEND_NOTIFY && !c->tree_only;
	s->inject_after = k->o->inject;
	k->trace = c->backend == BACKEND_TRACE || c->backend == BACKEND_EXACT;
	run_describe(s, k->o, c);
	say_what_lacks(s, c);
	if (*c->line && k->o->say)
		k->o->say(c->line);
}

/* Classes of HDF5 objects, and times, that are not in the record because nobody asked for them. */
static void emit_left_out(struct sup *s, const char *what)
{
	uint32_t classes = h5_classes_of(what);
	bool untimed = h5_has_word(what, H5_UNTIMED_WORD);
	struct buf text = {0};
	buf_str(&text, str_of("excluded by --hdf5:"));
	for (int i = 0; i < H5_CLASSES; i++)
		if (!(classes & 1u << i))
			buf_printf(&text, " %s", h5_class_word[i]);
	if (untimed)
		buf_str(&text, str_of(" times"));
	if (classes != H5_ALL || untimed)
		sup_gap(s, NULL, TERM_gap_hdf5, 0, buf_cstr(&text));
	buf_release(&text);
}

/* The library that tells of HDF5 goes along with the command; what it tells is looked at when its process is over. */
static void enter_hdf5(struct keeper *k, const char *command, const char *what)
{
	struct sup *s = k->sup;
	char library[4096];
	const char *why = NULL;
	if (!preload_library_path("../capture/hdf5", "libstemma-hdf5.so", library, sizeof(library)))
		why = "objects of HDF5 files are not recorded: the library for --hdf5 was not found";
	else if (!k->channel.path[0] || (!s->images && !(s->images = images_new())))
		why = "objects of HDF5 files are not recorded: out of memory";
	else if (!preload_library_enter(library, command))
		why = "objects of HDF5 files are not recorded: the program cannot load the library for --hdf5";
	else
		setenv("STEMMA_HDF5", what, 1);
	if (why)
		sup_gap(s, NULL, TERM_gap_hdf5, 0, why);
	else
		emit_left_out(s, what);
	s->inside = inside_new();
}

/* A library that tells of HDF5 and netCDF is loaded with those, by the programs that load them. Where that cannot be,
 * it is as if nobody had asked. */
static void attach_hdf5(struct keeper *k, const char *what)
{
	static const char *const names[] = {"hdf5", "netcdf", NULL};
	static const char *const symbols[] = {"H5Dwrite", "nc_put_vara", NULL};
	struct sup *s = k->sup;
	char library[4096];
	if (k->choice.backend != BACKEND_NOTIFY || k->choice.tree_only || !k->channel.path[0] ||
	    !preload_library_path("../capture/hdf5", "libstemma-hdf5-attach.so", library, sizeof(library)))
		return;
	s->attach = attach_new(library, names, symbols);
	if (strcmp(what, H5_AUTO_WORD) != 0)
		setenv("STEMMA_HDF5", what, 1);
	emit_left_out(s, what);
}

/* The library that tells of MPI goes along with the command. */
static void enter_mpi(struct sup *s, const char *command)
{
	char library[4096];
	if (!preload_library_path("../capture/mpi", "libstemma-mpi.so", library, sizeof(library)) ||
	    !preload_library_enter(library, command))
		sup_gap(s, NULL, TERM_gap_lost, 0, "MPI is not observed: its library was not found or cannot be preloaded");
	else if (!s->images && !(s->images = images_new()))
		sup_gap(s, NULL, TERM_gap_lost, 0, "which ranks of MPI sent to each other is not recorded: out of memory");
}

/* Descriptors of ours must not take the place of standard ones that are missing. False: they would. */
static bool hold_standard_descriptors(struct keeper *k)
{
	for (int fd = 0; fd < 3; fd++)
		k->closed[fd] = fcntl(fd, F_GETFD) < 0;
	for (int fd = 0; fd < 3; fd++)
		if (k->closed[fd] && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return false;
	return true;
}

/* Opens the log of the run. False: there is no record, and the user is told why. */
static bool open_record(const struct keeper *k)
{
	const struct run_options *o = k->o;
	struct err why = {0};
	char host[LOG_PLACE_HOST], day[128];
	log_place_own_host(host);
	day_of(day, sizeof(day));
	if (!o->home)
		err_set(&why, 0, "%s", o->no_home ? o->no_home : "there is no directory for the record");
	/* The record's modes are its own, whatever the command's umask is. */
	mode_t mask = umask(077);
	int opened = o->home ? log_writer_open(o->home, host, day, &why, &k->sup->log) : -ENOENT;
	umask(mask);
	if (opened < 0) {
		char note[sizeof(why.text) + sizeof(why.hint) + 32];
		snprintf(note, sizeof(note), "nothing is recorded: %s%s%s", why.text, why.hint[0] ? "; " : "", why.hint);
		if (o->say)
			o->say(note);
	}
	return opened >= 0;
}

/* Where the record of this run begins. */
static void tell_place(const struct sup *s, struct run_place *place)
{
	struct stat st;
	memcpy(place->run, s->run, sizeof(place->run));
	place->session = log_writer_session(s->log);
	place->segment = strdup(log_writer_path(s->log));
	place->from = stat(log_writer_path(s->log), &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* What programs of the run are told of by their environment, or carry with them. */
static void enter_programs(struct keeper *k)
{
	struct sup *s = k->sup;
	const struct run_options *o = k->o;
	if (o->mpi)
		enter_mpi(s, o->argv[0]);
	if (channel_make(&k->channel) < 0)
		sup_gap(s, NULL, TERM_gap_lost, 0, "annotations are not recorded: out of memory");
	channel_enter(&k->channel, s->run);
	if (o->autolog && !channel_enter_autolog())
		sup_gap(s, NULL, TERM_gap_lost, 0, "--autolog recorded nothing: its Python module was not found");
	if (o->hdf5 && h5_is_attached(o->hdf5))
		attach_hdf5(k, o->hdf5);
	else if (o->hdf5)
		enter_hdf5(k, o->argv[0], o->hdf5);
}

/* Memory that keeper and worker share. A standby, which is another program, gets it by its descriptor. Of a run that
 * stops no call there is none. */
static void share_memory(struct keeper *k)
{
	k->memory = k->choice.backend == BACKEND_NOTIFY ? memfile_sealed("recorder", sizeof(*k->control)) : -1;
	k->control = mmap(NULL, sizeof(*k->control), PROT_READ | PROT_WRITE,
	                  MAP_SHARED | (k->memory < 0 ? MAP_ANONYMOUS : 0), k->memory < 0 ? -1 : k->memory, 0);
}

/* The filter that stops calls. False: none is wanted, or to be had. */
static bool make_filter(struct keeper *k, struct sock_fprog *ret)
{
	struct sup *s = k->sup;
	const enum backend b = k->choice.backend;
	const bool filters = b == BACKEND_NOTIFY || b == BACKEND_TRACE;
	struct err why = {0};
	if (k->o->xattr && (!(filters || b == BACKEND_EXACT) || s->tree_only || xattr_start(s) < 0))
		sup_gap(s, NULL, TERM_gap_lost, 0, "extended attributes are not recorded: system calls cannot be stopped");
	s->unread_rings = k->o->unread_rings;
	const unsigned more = TRAP_FILE | (s->unread_rings ? 0u : TRAP_RINGS) | (s->bytes ? TRAP_COUNT : 0u) |
	                      (s->xattrs ? TRAP_XATTR : 0u) | (s->injects ? TRAP_INJECT : 0u);
	const unsigned forks = s->observer && s->observer->forks ? TRAP_FORKS : 0u;
	return filters && trap_filter(TRAP_TREE | forks | (s->tree_only ? 0u : more), !k->trace, &why, ret) == 0;
}

/* Signals are blocked from then on, and orphans come here. */
static void block_signals(struct keeper *k)
{
	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigprocmask(SIG_BLOCK, &all, &k->before);
	stop_guard_set();
	stop_guard_spare(&all);
	k->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* The worker begins, in its process: with the filter (NULL: none), and this end of a pair to the keeper. */
static _Noreturn void begin_worker(struct keeper *k, const struct sock_fprog *prog, const int pair[2])
{
	k->sup->self = getpid();
	log_writer_quiet(k->sup->log, false);
	close(pair[0]);
	close(k->life[0]);
	if (k->memory >= 0)
		close(k->memory);
	if (k->safe)
		launch_safe_worker(k, k->w, pair[1]);
	launch_worker(k, k->w, prog, pair[1]);
}

/* The command with its recorder, to the end of both. prog: its filter, NULL none. False: it was not started;
 * *ret_begun: signals are blocked since. */
static bool run_recorded(struct keeper *k, struct sock_fprog *prog, bool *ret_begun)
{
	struct worker *w = k->w;
	int pair[2];
	if (k->control == MAP_FAILED || pipe2(k->life, O_CLOEXEC | O_NONBLOCK) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	w->control = k->control;
	k->sup->page = &k->control->page;
	k->sup->known = &k->control->known;
	w->keeper = getpid();
	w->notice = k->life[1];
	block_signals(k);
	*ret_begun = true;
	k->worker = fork();
	if (k->worker == 0)
		begin_worker(k, prog, pair);
	if (!k->safe)
		worker_hide_memory(true);
	close(pair[1]); /* but not life[1]: the pipe's hang-up would wake us a moment before the worker can be waited for
	                 */
	if (prog) {
		free(prog->filter);
		prog->filter = NULL;
	}
	if (k->worker < 0)
		return false;
	k->worker_alive = 1;
	k->from_command = pair[0];
	return keeper_wait(k);
}

/* What the user is to know of the record that was made; NULL: nothing. */
static const char *note_of_record(const struct keeper *k)
{
	const struct choice *c = &k->choice;
	const char *lost = log_note(k->control, k->o->home);
	if (k->listener < 0 && c->backend == BACKEND_NOTIFY)
		return launch_explain_no_capture("nothing could be recorded: system calls cannot be stopped on this machine");
	if (lost)
		return lost;
	if (k->unwritten)
		return "the record is not complete yet: a file system does not respond; stemma records the rest when it does";
	if (k->control->few)
		return "this run is recorded incompletely: too few file descriptors (ulimit -n)";
	const unsigned untold = k->control->untold | k->sup->untold;
	if (untold & CHANNEL_UNTOLD_PYTHON)
		return "annotations of a Python program are not recorded: libstemma-app was not found (set STEMMA_APP_LIBRARY "
		       "to its path)";
	if (untold & CHANNEL_UNTOLD_JAVA)
		return "annotations of a Java program are not recorded: libstemma-app-jni was not found (set "
		       "STEMMA_APP_JAVA_LIBRARY to its path)";
	if (c->loses && (k->control->gaps & 1u << TERM_gap_privilege_lost))
		return "a set-user-ID program ran without its privilege; to keep it use --transport=proc, which records only "
		       "processes";
	return NULL;
}

/* What programs and recorder share, before there is a worker: the place of the safe mode, the channel by which programs
 * tell, shared memory. What cannot be made is a gap, and no error. place: for a run whose programs tell by a library.
 */
static void prepare_record(struct keeper *k, struct safe_place *place)
{
	struct err why = {0};
	if (k->choice.backend == BACKEND_SAFE) {
		k->safe = place;
		if (safe_place_make(place, &why) < 0)
			sup_gap(k->sup, NULL, TERM_gap_lost, 0, why.text);
	}
	enter_programs(k);
	share_memory(k);
}

int capture_run(const struct run_options *o, struct err *err, int *ret_status, const char **ret_note)
{
	static struct worker w; /* big tables: not on the stack */
	struct keeper k = {
	    .o = o, .w = &w, .sup = &w.sup, .listener = -1, .from_command = -1, .memory = -1, .life = {-1, -1}};
	struct sup *s = &w.sup;
	struct sock_fprog prog = {0};
	struct safe_place place = {0};
	bool begun = false;
	*ret_note = NULL;
	if (!hold_standard_descriptors(&k))
		return err_set(err, EBADF, "cannot open '/dev/null'");
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, &k.xfsz);
	if (ulid_new(s->run) < 0 || yield_if_nested(&k, s->run) || !open_record(&k))
		return launch_bare(&k, ret_status);
	/* Nobody who has calls to answer waits for the disk. This process adds, and a process that it forks writes. */
	log_writer_behind(s->log);
	log_writer_quiet(s->log, true);
	if (o->place)
		tell_place(s, o->place);
	sup_init(s);
	s->channel = &k.channel;
	s->observer = o->observer;
	s->keeper = o->keeper;
	s->orphans = o->orphans;
	capture_choose(o, &k.choice);
	take_choice(&k);
	if (k.choice.crowded)
		return launch_unwatched(&k, ret_status);
	prepare_record(&k, &place);
	bool recorded = run_recorded(&k, make_filter(&k, &prog) ? &prog : NULL, &begun);
	free(prog.filter);
	if (recorded) {
		keeper_fetch_listener(&k);
		keeper_dismiss_standby(&k);
		*ret_note = note_of_record(&k);
		*ret_status = k.control->status;
		stop_guard_drop();
		sigprocmask(SIG_SETMASK, &k.before, NULL);
		return 0;
	}
	if (begun) {
		prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
		stop_guard_drop();
		sigprocmask(SIG_SETMASK, &k.before, NULL);
	}
	if (k.safe)
		safe_place_release(&place);
	return launch_alone(&k, ret_status, ret_note);
}
