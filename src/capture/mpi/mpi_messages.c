/* mpi_messages.c - who sent to whom through MPI, and when first and last: a row on the tape (APP_MPIMSG) for each peer
 * of each communicator and direction, and one for each collective by its kind and root. The recorder makes accesses to
 * streams of them (capture/app/app_messages.c; doc/annotations.md, "Messages between ranks").
 *
 * Ranks are told as they are in MPI_COMM_WORLD. What a communicator is, is asked of the process's own library
 * (MPI_Comm_group and its like), once for each: no call is made that others have to join. All arguments go through as
 * words, as they came: an int in the lower half of one. Nothing is allocated. */
#include "capture/mpi/mpi_int.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COMMS 256 /* communicators at once; those beyond are not told of, which is counted */
#define ROWS 4096 /* the same of rows */
#define AT_ONCE 64

typedef uintptr_t word;

/* Two numbers as one. */
static uint64_t mix_words(uint64_t h, uint64_t v)
{
	h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 27) * 0x94d049bb133111ebu;
	return h ^ h >> 31;
}

/* ---- communicators ---- */

enum { COMM_FREE, COMM_BEING_FILLED, COMM_READY };
struct comm {
	int state;
	bool told; /* false: between two jobs, or with ranks that are not of this one */
	handle h;
	uint32_t number; /* never given twice */
	int rank, size;
	uint64_t members; /* hash of their ranks in MPI_COMM_WORLD; 0: all of it */
};
static struct comm comms[COMMS];
static uint32_t comms_met;
static uint64_t job; /* hash of the launcher's words; 0: it gave none */

/* Its library's own number or address. */
static handle comm_key(handle h)
{
	return mpi_library.open_mpi ? h : (uint32_t)h;
}

/* The ranks of MPI_COMM_WORLD that n ranks of the communicator are, n at most AT_ONCE. False: some are none. */
static bool translate_ranks(handle comm, int n, const int *ranks, int *ret)
{
	int (*group_of)(handle, handle *) = REAL(int (*)(handle, handle *), "PMPI_Comm_group");
	int (*translate)(handle, int, const int *, handle, int *) =
	    REAL(int (*)(handle, int, const int *, handle, int *), "PMPI_Group_translate_ranks");
	int (*done)(handle *) = REAL(int (*)(handle *), "PMPI_Group_free");
	handle of = 0, all = 0;
	if (!group_of || !translate || !done || group_of(comm, &of) != 0)
		return false;
	bool ok = group_of(mpi_library.world, &all) == 0;
	if (ok) {
		ok = translate(of, n, ranks, all, ret) == 0;
		done(&all);
	}
	done(&of);
	for (int i = 0; ok && i < n; i++)
		ok = ret[i] >= 0 && ret[i] < mpi_library.size;
	return ok;
}

/* c->members of c->size ranks. False: some are not of MPI_COMM_WORLD. */
static bool hash_members(struct comm *c)
{
	uint64_t h = (uint64_t)c->size;
	bool all = c->size == mpi_library.size;
	for (int from = 0; from < c->size; from += AT_ONCE) {
		int ranks[AT_ONCE], are[AT_ONCE], n = c->size - from < AT_ONCE ? c->size - from : AT_ONCE;
		for (int i = 0; i < n; i++)
			ranks[i] = from + i;
		if (!translate_ranks(c->h, n, ranks, are))
			return false;
		for (int i = 0; i < n; i++)
			h = mix_words(h, (uint64_t)are[i]);
	}
	c->members = all ? 0 : h | 1; /* of all ranks: in whichever order */
	return true;
}

static void fill_comm(struct comm *c, handle h)
{
	int inter = 1;
	int (*is_inter)(handle, int *) = REAL(int (*)(handle, int *), "PMPI_Comm_test_inter");
	int (*get_rank)(handle, int *) = REAL(int (*)(handle, int *), "PMPI_Comm_rank");
	int (*get_size)(handle, int *) = REAL(int (*)(handle, int *), "PMPI_Comm_size");
	c->h = h;
	c->number = __atomic_add_fetch(&comms_met, 1, __ATOMIC_RELAXED);
	c->told = is_inter && get_rank && get_size && is_inter(h, &inter) == 0 && !inter && get_rank(h, &c->rank) == 0 &&
	          get_size(h, &c->size) == 0 && c->size > 0 && hash_members(c);
}

/* NULL: there is no room. */
static const struct comm *find_comm(handle h)
{
	size_t at = (comm_key(h) >> 3) * 0x9e3779b97f4a7c15u % COMMS;
	for (size_t i = 0; i < COMMS; i++) {
		struct comm *c = &comms[(at + i) % COMMS];
		int free_one = COMM_FREE;
		if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) == COMM_READY) {
			if (comm_key(c->h) == comm_key(h))
				return c;
			continue;
		}
		if (!__atomic_compare_exchange_n(&c->state, &free_one, COMM_BEING_FILLED, false, __ATOMIC_ACQ_REL,
		                                 __ATOMIC_RELAXED))
			continue;
		fill_comm(c, h);
		__atomic_store_n(&c->state, COMM_READY, __ATOMIC_RELEASE);
		return c;
	}
	return NULL;
}

/* Its handle may be another one's from now on. Rows stay: they go by its number. */
static void forget_comm(handle h)
{
	for (size_t i = 0; i < COMMS; i++)
		if (__atomic_load_n(&comms[i].state, __ATOMIC_ACQUIRE) == COMM_READY && comm_key(comms[i].h) == comm_key(h))
			__atomic_store_n(&comms[i].state, COMM_FREE, __ATOMIC_RELEASE);
}

/* ---- rows ---- */

struct row {
	uint64_t key; /* 0: free */
	struct app_mpimsg *m;
};
static struct row rows[ROWS];

/* What the launcher says of the job, the same to all of its ranks. */
static uint64_t hash_job(void)
{
	static const char *const names[] = {
	    "OMPI_MCA_orte_hnp_uri", "PMIX_NAMESPACE", "PALS_APID", "PMI_JOBID", "SLURM_JOB_ID",
	    "SLURM_STEP_ID",         "FLUX_JOB_ID",    "PBS_JOBID", "LSB_JOBID"};
	uint64_t h = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);
		if (value && *value)
			h = mix_words(h, i + 1);
		while (value && *value)
			h = mix_words(h, (unsigned char)*value++);
	}
	return h;
}

/* The row of that key, made on the tape where it is new, as `as` says. NULL: there is no room. */
static struct app_mpimsg *find_row(uint64_t key, const struct app_mpimsg *as)
{
	key |= 1;
	for (size_t i = 0; i < ROWS; i++) {
		struct row *r = &rows[(key + i) % ROWS];
		uint64_t is = __atomic_load_n(&r->key, __ATOMIC_ACQUIRE);
		if (!is && __atomic_compare_exchange_n(&r->key, &is, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			struct app_mpimsg *m = app_tape_reserve(APP_MPIMSG, sizeof(*m));
			if (!job)
				job = hash_job();
			if (m) {
				*m = *as;
				m->job = job;
			}
			__atomic_store_n(&r->m, m, __ATOMIC_RELEASE);
			return m;
		}
		if (is == key) /* NULL where another thread is making it, or could not */
			return __atomic_load_n(&r->m, __ATOMIC_ACQUIRE);
	}
	return NULL;
}

/* Widens [*at, ...] to t; first: to earlier times. */
static void widen(int64_t *at, int64_t t, bool first)
{
	int64_t is = __atomic_load_n(at, __ATOMIC_RELAXED);
	while ((!is || (first ? t < is : t > is)) &&
	       !__atomic_compare_exchange_n(at, &is, t, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Counts a call between t0 and now in the row of `what` in the communicator with that number (0: none). */
static void count_message(uint32_t comm, const struct app_mpimsg *what, uint64_t bytes, int64_t t0)
{
	uint64_t key = mix_words(mix_words(comm, (uint64_t)what->op << 32 | what->how),
	                         (uint64_t)(uint32_t)what->from << 32 | (uint32_t)what->to);
	struct app_mpimsg *m = find_row(key, what);
	if (!m)
		return;
	widen(&m->first, t0, true);
	widen(&m->last, app_tape_now(), false);
	__atomic_add_fetch(&m->bytes, bytes, __ATOMIC_RELAXED);
	__atomic_add_fetch(&m->calls, 1, __ATOMIC_RELEASE);
}

/* A call whose ranks are not known here. */
static void count_untold(int64_t t0)
{
	count_message(0, &(struct app_mpimsg){.op = APP_MSG_UNTOLD}, 0, t0);
}

/* ---- what a call says ---- */

static bool is_any_source(int rank)
{
	return rank == (mpi_library.open_mpi ? -1 : -2);
}

/* Data that went to the rank of the communicator, or came from it. how: APP_MSG_WRITES or APP_MSG_READS, and more. */
static void tell_peer(handle comm, int peer, unsigned how, uint64_t bytes, int64_t t0)
{
	const struct comm *c = mpi_library.known ? find_comm(comm) : NULL;
	bool sends = how & APP_MSG_WRITES, any = !sends && is_any_source(peer);
	int other = -1;
	if (!mpi_library.known || (peer < 0 && !any)) /* MPI_PROC_NULL: nobody */
		return;
	if (!c || !c->told || (!any && !translate_ranks(comm, 1, &peer, &other))) {
		count_untold(t0);
		return;
	}
	struct app_mpimsg m = {.op = APP_MSG_PEER,
	                       .how = how,
	                       .from = sends ? mpi_library.rank : other,
	                       .to = sends ? other : mpi_library.rank,
	                       .ranks = (uint32_t)mpi_library.size};
	if (other != mpi_library.rank)
		count_message(c->number, &m, bytes, t0);
}

/* A collective call of which this rank gives or gets data. root: -1 all do. */
static void tell_collective(handle comm, unsigned op, int root, unsigned how, uint64_t bytes, int64_t t0)
{
	const struct comm *c = mpi_library.known ? find_comm(comm) : NULL;
	int at = -1;
	if (!mpi_library.known)
		return;
	if (!c || !c->told || (op != APP_MSG_AMONG && !translate_ranks(comm, 1, &root, &at))) {
		count_untold(t0);
		return;
	}
	struct app_mpimsg m = {.op = op,
	                       .how = how,
	                       .from = op == APP_MSG_FROM_ROOT ? at : -1,
	                       .to = op == APP_MSG_TO_ROOT ? at : -1,
	                       .ranks = (uint32_t)c->size,
	                       .members = c->members};
	if (c->size > 1)
		count_message(c->number, &m, bytes, t0);
}

/* op: APP_MSG_FROM_ROOT or APP_MSG_TO_ROOT. */
static void tell_root(unsigned op, handle comm, int root, unsigned later, uint64_t bytes, int64_t t0)
{
	const struct comm *c = mpi_library.known ? find_comm(comm) : NULL;
	bool gives = (c && c->rank == root) == (op == APP_MSG_FROM_ROOT);
	tell_collective(comm, op, root, (gives ? APP_MSG_WRITES : APP_MSG_READS) | later, gives ? bytes : 0, t0);
}

static void tell_among(handle comm, unsigned how, uint64_t bytes, int64_t t0)
{
	tell_collective(comm, APP_MSG_AMONG, -1, APP_MSG_WRITES | APP_MSG_READS | how, bytes, t0);
}

struct mpi_ranks mpi_ranks_of(handle comm)
{
	const struct comm *c = mpi_library.known ? find_comm(comm) : NULL;
	return c && c->told && c->size > 1 ? (struct mpi_ranks){c->number, (uint32_t)c->size, c->members}
	                                   : (struct mpi_ranks){0, 0, 0};
}

void mpi_tell_together(const struct mpi_ranks *r, uint64_t bytes, int64_t t0)
{
	struct app_mpimsg m = {.op = APP_MSG_AMONG,
	                       .how = APP_MSG_WRITES | APP_MSG_READS | APP_MSG_MAY,
	                       .from = -1,
	                       .to = -1,
	                       .ranks = r->ranks,
	                       .members = r->members};
	if (r->ranks)
		count_message(r->number, &m, bytes, t0);
}

/* ---- what is stood before ---- */

#define NUMBER(n) ((int64_t)(int)(n))
#define LONG_NUMBER(n) ((int64_t)(n))
/* Each with its twin of 64-bit counts, since MPI 4. */
#define BOTH(macro, name, ...) macro(name, NUMBER, __VA_ARGS__) macro(name##_c, LONG_NUMBER, __VA_ARGS__)

#define SEND(name, number, more)                                                                                       \
	STAND_BEFORE(name, (word buf, word n, word type, word dest, word tag, word comm), (buf, n, type, dest, tag, comm), \
	             if (rc == 0)                                                                                          \
	                 tell_peer(comm, (int)dest, APP_MSG_WRITES | more, mpi_datatype_bytes(type, number(n)), t0))
#define SEND_LATER(name, number, more)                                                                                 \
	STAND_BEFORE(name, (word buf, word n, word type, word dest, word tag, word comm, word request),                    \
	             (buf, n, type, dest, tag, comm, request),                                                             \
	             if (rc == 0)                                                                                          \
	                 tell_peer(comm, (int)dest, APP_MSG_WRITES | more, mpi_datatype_bytes(type, number(n)), t0))
BOTH(SEND, Send, 0)
BOTH(SEND, Bsend, 0)
BOTH(SEND, Ssend, 0)
BOTH(SEND, Rsend, 0)
BOTH(SEND_LATER, Isend, 0)
BOTH(SEND_LATER, Ibsend, 0)
BOTH(SEND_LATER, Issend, 0)
BOTH(SEND_LATER, Irsend, 0)
/* To be started later, once or often, or never. */
BOTH(SEND_LATER, Send_init, APP_MSG_MAY | APP_MSG_GOES_ON)
BOTH(SEND_LATER, Bsend_init, APP_MSG_MAY | APP_MSG_GOES_ON)
BOTH(SEND_LATER, Ssend_init, APP_MSG_MAY | APP_MSG_GOES_ON)
BOTH(SEND_LATER, Rsend_init, APP_MSG_MAY | APP_MSG_GOES_ON)

/* A status, as either library has it. The program's own, or ours where it wants none. */
struct status {
	int v[16];
};
static bool is_ignored(word status)
{
	return status <= 1; /* MPI_STATUS_IGNORE: 0 of Open MPI, 1 of MPICH */
}

/* Who sent it; MPI_ANY_SOURCE stays where the status does not tell. */
static int source_of(int asked, word status)
{
	struct status st;
	if (!is_any_source(asked) || is_ignored(status))
		return asked;
	memcpy(st.v, (const void *)status, 4 * sizeof(int));
	int source = st.v[mpi_library.open_mpi ? 0 : 2];
	return source >= 0 ? source : -3; /* nobody: MPI_PROC_NULL */
}

/* Where a receive puts its status: the program's own place or, if it wants none and the source is to be learned, ours.
 */
#define STATUS_FOR(source)                                                                                             \
	struct status own;                                                                                                 \
	word at = is_any_source((int)(source)) && is_ignored(status) ? (word)&own : status

#define RECV_ONE(name)                                                                                                 \
	EXPORT int name(word buf, word n, word type, word source, word tag, word comm, word status);                       \
	EXPORT int name(word buf, word n, word type, word source, word tag, word comm, word status)                        \
	{                                                                                                                  \
		int (*f)(word, word, word, word, word, word, word) =                                                           \
		    REAL(int (*)(word, word, word, word, word, word, word), #name);                                            \
		if (!f)                                                                                                        \
			return ERR_OTHER;                                                                                          \
		if (mpi_inside || !app_tape_on() || !mpi_library.known)                                                        \
			return f(buf, n, type, source, tag, comm, status);                                                         \
		STATUS_FOR(source);                                                                                            \
		int64_t t0 = app_tape_now();                                                                                   \
		mpi_inside++;                                                                                                  \
		int rc = f(buf, n, type, source, tag, comm, at), e = errno;                                                    \
		if (rc == 0)                                                                                                   \
			tell_peer(comm, source_of((int)source, at), APP_MSG_READS, 0, t0);                                         \
		errno = e;                                                                                                     \
		mpi_inside--;                                                                                                  \
		return rc;                                                                                                     \
	}
RECV_ONE(MPI_Recv)
RECV_ONE(PMPI_Recv)
RECV_ONE(MPI_Recv_c)
RECV_ONE(PMPI_Recv_c)

#define RECV_LATER(name, number, more)                                                                                 \
	STAND_BEFORE(name, (word buf, word n, word type, word source, word tag, word comm, word request),                  \
	             (buf, n, type, source, tag, comm, request),                                                           \
	             if (rc == 0) tell_peer(comm, (int)source, APP_MSG_READS | APP_MSG_GOES_ON | more, 0, t0))
BOTH(RECV_LATER, Irecv, 0)
BOTH(RECV_LATER, Recv_init, APP_MSG_MAY)

/* A message that was found is going to be received (MPI_Mrecv does not say from whom). */
STAND_BEFORE(Mprobe, (word source, word tag, word comm, word message, word status),
             (source, tag, comm, message, status), {
	             if (rc == 0)
		             tell_peer(comm, source_of((int)source, status), APP_MSG_READS | APP_MSG_GOES_ON, 0, t0);
             })
STAND_BEFORE(Improbe, (word source, word tag, word comm, word flag, word message, word status),
             (source, tag, comm, flag, message, status), {
	             if (rc == 0 && flag && *(const int *)flag)
		             tell_peer(comm, source_of((int)source, status), APP_MSG_READS | APP_MSG_GOES_ON, 0, t0);
             })

#define SENDRECV_ONE(name, number)                                                                                     \
	EXPORT int name(word sbuf, word sn, word stype, word dest, word stag, word rbuf, word rn, word rtype, word source, \
	                word rtag, word comm, word status);                                                                \
	EXPORT int name(word sbuf, word sn, word stype, word dest, word stag, word rbuf, word rn, word rtype, word source, \
	                word rtag, word comm, word status)                                                                 \
	{                                                                                                                  \
		int (*f)(word, word, word, word, word, word, word, word, word, word, word, word) =                             \
		    REAL(int (*)(word, word, word, word, word, word, word, word, word, word, word, word), #name);              \
		if (!f)                                                                                                        \
			return ERR_OTHER;                                                                                          \
		if (mpi_inside || !app_tape_on() || !mpi_library.known)                                                        \
			return f(sbuf, sn, stype, dest, stag, rbuf, rn, rtype, source, rtag, comm, status);                        \
		STATUS_FOR(source);                                                                                            \
		int64_t t0 = app_tape_now();                                                                                   \
		mpi_inside++;                                                                                                  \
		int rc = f(sbuf, sn, stype, dest, stag, rbuf, rn, rtype, source, rtag, comm, at), e = errno;                   \
		if (rc == 0) {                                                                                                 \
			tell_peer(comm, (int)dest, APP_MSG_WRITES, mpi_datatype_bytes(stype, number(sn)), t0);                     \
			tell_peer(comm, source_of((int)source, at), APP_MSG_READS, 0, t0);                                         \
		}                                                                                                              \
		errno = e;                                                                                                     \
		mpi_inside--;                                                                                                  \
		return rc;                                                                                                     \
	}
SENDRECV_ONE(MPI_Sendrecv, NUMBER)
SENDRECV_ONE(PMPI_Sendrecv, NUMBER)
SENDRECV_ONE(MPI_Sendrecv_c, LONG_NUMBER)
SENDRECV_ONE(PMPI_Sendrecv_c, LONG_NUMBER)

#define SENDRECV_REPLACE(name, number, more)                                                                           \
	STAND_BEFORE(                                                                                                      \
	    name, (word buf, word n, word type, word dest, word stag, word source, word rtag, word comm, word status),     \
	    (buf, n, type, dest, stag, source, rtag, comm, status), if (rc == 0) {                                         \
		    tell_peer(comm, (int)dest, APP_MSG_WRITES | more, mpi_datatype_bytes(type, number(n)), t0);                \
		    tell_peer(comm, source_of((int)source, status), APP_MSG_READS | more, 0, t0);                              \
	    })
BOTH(SENDRECV_REPLACE, Sendrecv_replace, 0)

/* Collective calls: the blocking one, and the one that goes on when it has returned, with a request at its end. `tell`
 * is a macro of how a count is read; in it the arguments are a1, a2 ... as the function has them. */
#define W5 word a1, word a2, word a3, word a4, word a5
#define A5 a1, a2, a3, a4, a5
#define W6 W5, word a6
#define A6 A5, a6
#define W7 W6, word a7
#define A7 A6, a7
#define W8 W7, word a8
#define A8 A7, a8
#define W9 W8, word a9
#define A9 A8, a9
#define COLLECTIVE(name, iname, k, tell)                                                                               \
	COLLECTIVE_ONE(name, W##k, A##k, 0u, tell(NUMBER))                                                                 \
	COLLECTIVE_ONE(name##_c, W##k, A##k, 0u, tell(LONG_NUMBER))                                                        \
	COLLECTIVE_LATER(iname, W##k, A##k, APP_MSG_GOES_ON, tell(NUMBER))                                                 \
	COLLECTIVE_LATER(iname##_c, W##k, A##k, APP_MSG_GOES_ON, tell(LONG_NUMBER))
#define COLLECTIVE_ONE(name, w, args, how, tell)                                                                       \
	STAND_BEFORE(                                                                                                      \
	    name, (w), (args), if (rc == 0) {                                                                              \
		    const unsigned later = how;                                                                                \
		    tell;                                                                                                      \
	    })
#define COLLECTIVE_LATER(name, w, args, how, tell)                                                                     \
	STAND_BEFORE(                                                                                                      \
	    name, (w, word request), (args, request), if (rc == 0) {                                                       \
		    const unsigned later = how;                                                                                \
		    tell;                                                                                                      \
	    })

#define TELL_BCAST(number) tell_root(APP_MSG_FROM_ROOT, a5, (int)a4, later, mpi_datatype_bytes(a3, number(a2)), t0)
#define TELL_SCATTER(number) tell_root(APP_MSG_FROM_ROOT, a8, (int)a7, later, mpi_datatype_bytes(a3, number(a2)), t0)
#define TELL_SCATTERV(number) tell_root(APP_MSG_FROM_ROOT, a9, (int)a8, later, 0, t0)
#define TELL_GATHER(number) tell_root(APP_MSG_TO_ROOT, a8, (int)a7, later, mpi_datatype_bytes(a3, number(a2)), t0)
#define TELL_GATHERV(number) tell_root(APP_MSG_TO_ROOT, a9, (int)a8, later, mpi_datatype_bytes(a3, number(a2)), t0)
#define TELL_REDUCE(number) tell_root(APP_MSG_TO_ROOT, a7, (int)a6, later, mpi_datatype_bytes(a4, number(a3)), t0)
#define TELL_ALLREDUCE(number) tell_among(a6, later, mpi_datatype_bytes(a4, number(a3)), t0)
#define TELL_SCAN(number) tell_among(a6, later | APP_MSG_MAY, mpi_datatype_bytes(a4, number(a3)), t0)
#define TELL_SCATTERED(number) tell_among(a6, later, 0, t0)
#define TELL_ALLGATHER(number) tell_among(a7, later, mpi_datatype_bytes(a3, number(a2)), t0)
#define TELL_NEIGHBOURS(number) tell_among(a7, later | APP_MSG_MAY, mpi_datatype_bytes(a3, number(a2)), t0)
#define TELL_ALLGATHERV(number) tell_among(a8, later, mpi_datatype_bytes(a3, number(a2)), t0)
#define TELL_NEIGHBOURSV(number) tell_among(a8, later | APP_MSG_MAY, mpi_datatype_bytes(a3, number(a2)), t0)
#define TELL_ALLTOALLV(number) tell_among(a9, later | APP_MSG_MAY, 0, t0)

COLLECTIVE(Bcast, Ibcast, 5, TELL_BCAST)
COLLECTIVE(Scatter, Iscatter, 8, TELL_SCATTER)
COLLECTIVE(Scatterv, Iscatterv, 9, TELL_SCATTERV)
COLLECTIVE(Gather, Igather, 8, TELL_GATHER)
COLLECTIVE(Gatherv, Igatherv, 9, TELL_GATHERV)
COLLECTIVE(Reduce, Ireduce, 7, TELL_REDUCE)
COLLECTIVE(Allreduce, Iallreduce, 6, TELL_ALLREDUCE)
COLLECTIVE(Scan, Iscan, 6, TELL_SCAN)
COLLECTIVE(Exscan, Iexscan, 6, TELL_SCAN)
COLLECTIVE(Reduce_scatter, Ireduce_scatter, 6, TELL_SCATTERED)
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, 6, TELL_ALLREDUCE)
COLLECTIVE(Allgather, Iallgather, 7, TELL_ALLGATHER)
COLLECTIVE(Allgatherv, Iallgatherv, 8, TELL_ALLGATHERV)
COLLECTIVE(Alltoall, Ialltoall, 7, TELL_ALLGATHER)
COLLECTIVE(Alltoallv, Ialltoallv, 9, TELL_ALLTOALLV)
COLLECTIVE(Alltoallw, Ialltoallw, 9, TELL_ALLTOALLV)
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, 7, TELL_NEIGHBOURS)
COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, 8, TELL_NEIGHBOURSV)
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, 7, TELL_NEIGHBOURS)
COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, 9, TELL_ALLTOALLV)
COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, 9, TELL_ALLTOALLV)

/* Memory that all ranks of a communicator may put into and get from until the end: no call says from whom. */
#define WINDOW_MAY(comm) tell_among(comm, APP_MSG_MAY | APP_MSG_GOES_ON, 0, t0)
#define WINDOW(name)                                                                                                   \
	STAND_BEFORE(name, (word base, word size, word unit, word info, word comm, word win),                              \
	             (base, size, unit, info, comm, win), if (rc == 0) WINDOW_MAY(comm))                                   \
	STAND_BEFORE(name##_c, (word base, word size, word unit, word info, word comm, word win),                          \
	             (base, size, unit, info, comm, win), if (rc == 0) WINDOW_MAY(comm))
#define ALLOCATED(name)                                                                                                \
	STAND_BEFORE(name, (word size, word unit, word info, word comm, word base, word win),                              \
	             (size, unit, info, comm, base, win), if (rc == 0) WINDOW_MAY(comm))                                   \
	STAND_BEFORE(name##_c, (word size, word unit, word info, word comm, word base, word win),                          \
	             (size, unit, info, comm, base, win), if (rc == 0) WINDOW_MAY(comm))
WINDOW(Win_create)
ALLOCATED(Win_allocate)
ALLOCATED(Win_allocate_shared)
STAND_BEFORE(Win_create_dynamic, (word info, word comm, word win), (info, comm, win), if (rc == 0) WINDOW_MAY(comm))

/* The handle is gone after it, and may be another one's. */
#define GIVE_UP(name)                                                                                                  \
	EXPORT int name(handle *comm);                                                                                     \
	EXPORT int name(handle *comm)                                                                                      \
	{                                                                                                                  \
		int (*f)(handle *) = REAL(int (*)(handle *), #name);                                                           \
		if (!f)                                                                                                        \
			return ERR_OTHER;                                                                                          \
		if (!mpi_inside && comm && mpi_library.known && app_tape_on())                                                 \
			forget_comm(*comm);                                                                                        \
		mpi_inside++;                                                                                                  \
		int rc = f(comm);                                                                                              \
		mpi_inside--;                                                                                                  \
		return rc;                                                                                                     \
	}
GIVE_UP(MPI_Comm_free)
GIVE_UP(PMPI_Comm_free)
GIVE_UP(MPI_Comm_disconnect)
GIVE_UP(PMPI_Comm_disconnect)
