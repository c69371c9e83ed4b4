/* mpi.c - messages, in a program that is traced: stands before MPI's functions where the program calls them
 * (--wrap=MPI_Send ...), calls the real one, and writes down what it did (doc/traces.md, "Messages"). In an object of
 * its own in libstemma-trace.a, so that only programs that use MPI have it.
 *
 * Never another result: arguments are passed on as they came, but for a status that the program does not want. No call
 * that others have to join, and none that waits: only MPI_Comm_rank, MPI_Comm_size and MPI_Type_size, of handles that
 * the library has just accepted. Without mpi.h, for Open MPI and MPICH's ABI alike: what differs is where a status has
 * its fields, how wide a request is, and some constants. errno is the program's. */
#include "spec/runtime/mpi.h"

#include "spec/trace/trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_MOST 24
#define REQUESTS 4096 /* receives that are outstanding at once; of more a gap tells */
#define ON_STACK 64   /* requests of one call without malloc */

extern int PMPI_Comm_rank(handle, int *), PMPI_Comm_size(handle, int *), PMPI_Type_size(handle, int *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Rank and size, once they are known. */
static void to_header(struct state *s)
{
	int rank, ranks = __stemma_mpi_ranks(&rank);
	if (ranks && !s->header.ranks) {
		s->header.rank = (uint32_t)rank;
		s->header.ranks = (uint32_t)ranks;
	}
}

/* ---- words ---- */

/* Room for a few words, of a thread that is traced; NULL: it is not any more. */
static struct state *reserve_message_space(void)
{
	struct state *s = __stemma_trace;
	if ((uint32_t *)(uintptr_t)s->header.next >= s->limit)
		s = __stemma_trace_more(s);
	return is_thread_traced() ? s : NULL;
}

#define ORDER() __asm__ volatile("" ::: "memory")

/* Taken before they are filled: a handler that comes in between writes behind them, and if the process ends in between
 * they are no message. The last one has no kind of word in its upper bits, as the one before a frame is looked at. */
static void record_message(const struct message *m)
{
	int e = errno;
	struct state *s = reserve_message_space();
	if (s) {
		uint32_t *p = (uint32_t *)(uintptr_t)s->header.next, *end = p + 1 + TRACE_MESSAGE_WORDS;
		end[-1] = 0;
		p[0] = TRACE_WORD(TRACE_W_MORE, TRACE_MORE_MESSAGE << 16 | TRACE_MESSAGE_WORDS);
		ORDER();
		s->header.next = (uint64_t)(uintptr_t)end;
		ORDER();
		p[1] = (uint32_t)m->me;
		p[2] = (uint32_t)m->size;
		p[3] = (uint32_t)m->peer;
		p[4] = (uint32_t)m->tag;
		p[5] = (uint32_t)m->bytes;
		p[6] = (uint32_t)(m->bytes >> 32);
		ORDER();
		end[-1] = m->kind | m->flags << 8;
		if ((uintptr_t)s->mark < (uintptr_t)end)
			s->mark = (uint32_t *)((uintptr_t)end | s->keep);
		to_header(s);
	}
	errno = e;
}

/* What is missing is said once; that makes the answer partial. */
static void record_message_gap(void)
{
	static int said;
	int e = errno;
	struct state *s = __atomic_exchange_n(&said, 1, __ATOMIC_RELAXED) ? NULL : reserve_message_space();
	if (s) {
		uint32_t *p = (uint32_t *)(uintptr_t)s->header.next;
		p[1] = TRACE_WHY_OTHER;
		p[0] = TRACE_WORD(TRACE_W_MORE, TRACE_MORE_GAP << 16 | 1);
		ORDER();
		s->header.next = (uint64_t)(uintptr_t)(p + 2);
		if ((uintptr_t)s->mark < (uintptr_t)(p + 2))
			s->mark = (uint32_t *)((uintptr_t)(p + 2) | s->keep);
	}
	errno = e;
}

/* Is it traced, and is the library one whose statuses can be read? */
static int is_library_known(void)
{
	if (!is_thread_traced())
		return 0;
	bool known = __stemma_mpi_library() != OTHER;
	if (!known)
		record_message_gap();
	return known;
}

#define ANY_TAG (-1)

/* ---- what is written down ---- */

/* Fills in which rank of how many this process is. -1 for both if the library does not tell. */
static void set_rank_and_size(handle comm, struct message *m)
{
	if (PMPI_Comm_rank(comm, &m->me) != 0 || PMPI_Comm_size(comm, &m->size) != 0)
		m->me = m->size = -1;
}

/* Without the size of the type the bytes stay unknown. */
static void add_bytes(struct message *m, int64_t count, handle type)
{
	int size = 0;
	if (count < 0 || (count > 0 && (PMPI_Type_size(type, &size) != 0 || size < 0)))
		return;
	m->bytes = (uint64_t)count * (uint64_t)size;
	m->flags |= TRACE_MESSAGE_BYTES;
}

/* to negative: nobody, nothing is sent. Keeps errno. */
static struct message make_send_message(int count, handle type, int to, int tag, handle comm)
{
	int e = errno;
	struct message m = {.kind = TRACE_MESSAGE_send, .peer = to < 0 ? -1 : to, .tag = to < 0 ? -1 : tag};
	set_rank_and_size(comm, &m);
	add_bytes(&m, to < 0 ? 0 : count, type);
	errno = e;
	return m;
}

/* Who sent it and how much is added from the status. Keeps errno. */
static struct message make_receive_message(int from, int tag, handle comm)
{
	int e = errno;
	struct message m = {.kind = TRACE_MESSAGE_receive,
	                    .flags = (from == __stemma_mpi_any_source() ? TRACE_MESSAGE_ANY_SOURCE : 0u) |
	                             (tag == ANY_TAG ? TRACE_MESSAGE_ANY_TAG : 0u)};
	set_rank_and_size(comm, &m);
	errno = e;
	return m;
}

void __stemma_mpi_together(uint32_t kind, int root, int64_t count, handle type, handle comm)
{
	int e = errno;
	struct message m = {.kind = kind, .peer = root < 0 ? -1 : root, .tag = -1};
	if (is_library_known()) {
		set_rank_and_size(comm, &m);
		/* Between groups, the arguments of who is neither root nor addressed are not looked at, and may be anything. */
		add_bytes(&m, root < 0 && root != NO_ROOT ? -1 : count, type);
		record_message(&m);
	}
	errno = e;
}

/* ---- requests ---- */

/* Of threads that share MPI: a request is taken away from the library by whoever completes it, and another one may get
 * its number before that thread has come back from there. So each of the table has a number of its own, and who
 * completes it has that. */
struct request {
	handle h;
	struct message m;
	uint32_t serial;
	uint16_t next; /* i + 1 of those whose numbers hash alike, and of those that are free; 0 none */
	uint16_t busy; /* calls that may complete it */
	bool persistent, active;
};
struct held {
	handle h;
	uint32_t serial;
	uint16_t i; /* i + 1; 0: it is none that is kept */
};
static struct request requests[REQUESTS];
static uint16_t heads[REQUESTS], unused;
static unsigned n_requests, fresh; /* kept; ever used of the table */
static uint32_t serials;

/* The head of its chain: a number, 0: none. */
static uint16_t *request_chain(handle h)
{
	return &heads[(h * 0x9e3779b97f4a7c15u) >> 52];
}
static_assert(REQUESTS == 1 << 12, "as head_of takes bits");

/* What points to its number, for drop_request; NULL: it is not kept. */
static uint16_t *find_request(handle h)
{
	uint16_t *at = request_chain(h);
	while (*at && requests[*at - 1].h != h)
		at = &requests[*at - 1].next;
	return *at ? at : NULL;
}

/* Forgets a request. at: of find_request. The place goes back to the unused ones. */
static void drop_request(uint16_t *at)
{
	uint16_t i = *at;
	*at = requests[i - 1].next;
	requests[i - 1].next = unused;
	requests[i - 1].serial = 0;
	unused = i;
	__atomic_sub_fetch(&n_requests, 1, __ATOMIC_RELAXED);
}

/* What is kept of that number, and is not being completed, is of an earlier one. */
static void drop_stale(handle h)
{
	uint16_t *at = find_request(h);
	if (at && !requests[*at - 1].busy)
		drop_request(at);
}

/* What is to be recorded when the request completes. persistent: only once it is started. Without room a gap is
 * recorded. */
static void keep_request(const void *request, const struct message *m, bool persistent)
{
	handle h = __stemma_mpi_load_request(request, 0);
	uint16_t i = 0;
	pthread_mutex_lock(&lock);
	drop_stale(h);
	if (unused) {
		i = unused;
		unused = requests[i - 1].next;
	} else if (fresh < REQUESTS) {
		i = (uint16_t)++fresh;
	}
	if (i) {
		serials += serials == UINT32_MAX ? 2 : 1; /* 0 is none */
		requests[i - 1] = (struct request){.h = h,
		                                   .m = *m,
		                                   .serial = serials,
		                                   .next = *request_chain(h),
		                                   .persistent = persistent,
		                                   .active = !persistent};
		*request_chain(h) = i;
		__atomic_add_fetch(&n_requests, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lock);
	if (!i)
		record_message_gap();
}

void __stemma_mpi_forget(const void *request)
{
	if (!request || !__atomic_load_n(&n_requests, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&lock);
	drop_stale(__stemma_mpi_load_request(request, 0));
	pthread_mutex_unlock(&lock);
}

/* Whether one of them is kept. */
static bool are_kept(const void *of, int n)
{
	bool found = false;
	if (!__atomic_load_n(&n_requests, __ATOMIC_RELAXED) || !is_thread_traced())
		return false;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < n && !found; i++)
		found = find_request(__stemma_mpi_load_request(of, (size_t)i)) != NULL;
	pthread_mutex_unlock(&lock);
	return found;
}

/* Before a call that may complete them: their numbers, for the library takes them away. */
static void hold_requests(const void *of, size_t n, struct held *ret)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n; i++) {
		handle h = __stemma_mpi_load_request(of, i);
		uint16_t *at = find_request(h);
		ret[i] = (struct held){.h = h};
		if (at && requests[*at - 1].busy < UINT16_MAX) {
			requests[*at - 1].busy++;
			ret[i].i = *at;
			ret[i].serial = requests[*at - 1].serial;
		}
	}
	pthread_mutex_unlock(&lock);
}

/* With the lock: where it stands, NULL: it has gone. */
static uint16_t *slot_held(const struct held *x)
{
	uint16_t *at = request_chain(x->h);
	while (*at && *at != x->i)
		at = &requests[*at - 1].next;
	return x->i && *at && requests[*at - 1].serial == x->serial ? at : NULL;
}

/* Behind it, of those that were not completed. */
static void release_requests(struct held *held, size_t n)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n; i++) {
		uint16_t *at = slot_held(&held[i]);
		if (at)
			requests[*at - 1].busy--;
		held[i].i = 0;
	}
	pthread_mutex_unlock(&lock);
}

/* The request has been completed, with that status; rc != 0: not known how. */
static void record_completion(struct held *x, int rc, const void *statuses, size_t i)
{
	struct message m;
	bool tell = false;
	if (!x->i)
		return;
	pthread_mutex_lock(&lock);
	uint16_t *at = slot_held(x);
	if (at) {
		struct request *r = &requests[*at - 1];
		tell = r->active && r->m.kind == TRACE_MESSAGE_receive;
		m = r->m;
		r->busy--;
		if (r->persistent)
			r->active = false;
		else
			drop_request(at);
	}
	x->i = 0;
	pthread_mutex_unlock(&lock);
	if (tell && rc == 0) {
		__stemma_mpi_read_status(statuses, i, &m);
		record_message(&m);
	}
}

/* Of a persistent request, the i-th; a send is recorded when it starts. */
static void record_start(const void *request, size_t i)
{
	struct message m = {0};
	pthread_mutex_lock(&lock);
	uint16_t *at = find_request(__stemma_mpi_load_request(request, i));
	if (at) {
		requests[*at - 1].active = true;
		m = requests[*at - 1].m;
	}
	pthread_mutex_unlock(&lock);
	if (m.kind == TRACE_MESSAGE_send)
		record_message(&m);
}

/* What a call that completes several goes by, and room for statuses. */
struct several {
	struct held *held;
	size_t n;
	void *status;
	void *made;
	struct held here[ON_STACK];
	_Alignas(16) char status_here[ON_STACK * STATUS_MOST];
};

/* Begins to follow several requests. statuses: the program's; one: of one only. False: it cannot be followed. */
static bool several_begin(struct several *v, const void *of, int n, void *statuses, bool one)
{
	v->n = (size_t)n;
	v->made = NULL;
	v->held = v->here;
	v->status = __stemma_mpi_is_ignored(statuses) ? v->status_here : statuses;
	if (v->n > ON_STACK) {
		v->made = calloc(v->n, sizeof(struct held) + STATUS_MOST);
		if (!v->made) {
			record_message_gap();
			return false;
		}
		v->held = v->made;
		if (__stemma_mpi_is_ignored(statuses) && !one)
			v->status = v->held + v->n;
	}
	hold_requests(of, v->n, v->held);
	return true;
}

/* Keeps errno. */
static void several_end(struct several *v)
{
	int e = errno;
	release_requests(v->held, v->n);
	free(v->made);
	errno = e;
}

/* ---- what is stood before ---- */

#define STAND_BEFORE(name, params)                                                                                     \
	int __real_MPI_##name params;                                                                                      \
	int __wrap_MPI_##name params;                                                                                      \
	int __wrap_MPI_##name params

/* Records that messages can come from now on. rc: what the function gave; 0: it began. */
static void record_mpi_begin(int rc)
{
	if (rc == 0 && is_library_known()) {
		struct state *s = reserve_message_space();
		if (s)
			to_header(s);
	}
}

/* As MPI's; begins to record messages. */
STAND_BEFORE(Init, (int *argc, char ***argv))
{
	int rc = __real_MPI_Init(argc, argv);
	record_mpi_begin(rc);
	return rc;
}

/* As MPI's; begins to record messages. */
STAND_BEFORE(Init_thread, (int *argc, char ***argv, int required, int *provided))
{
	int rc = __real_MPI_Init_thread(argc, argv, required, provided);
	record_mpi_begin(rc);
	return rc;
}

#define SEND(name)                                                                                                     \
	STAND_BEFORE(name, (const void *buf, int count, handle type, int to, int tag, handle comm))                        \
	{                                                                                                                  \
		int rc = __real_MPI_##name(buf, count, type, to, tag, comm);                                                   \
		if (rc == 0 && is_library_known()) {                                                                           \
			struct message m = make_send_message(count, type, to, tag, comm);                                          \
			record_message(&m);                                                                                        \
		}                                                                                                              \
		return rc;                                                                                                     \
	}
SEND(Send)
SEND(Bsend)
SEND(Ssend)
SEND(Rsend)

#define SEND_LATER(name)                                                                                               \
	STAND_BEFORE(name, (const void *buf, int count, handle type, int to, int tag, handle comm, void *request))         \
	{                                                                                                                  \
		int rc = __real_MPI_##name(buf, count, type, to, tag, comm, request);                                          \
		if (rc == 0 && is_library_known()) {                                                                           \
			struct message m = make_send_message(count, type, to, tag, comm);                                          \
			record_message(&m);                                                                                        \
			__stemma_mpi_forget(request);                                                                              \
		}                                                                                                              \
		return rc;                                                                                                     \
	}
SEND_LATER(Isend)
SEND_LATER(Ibsend)
SEND_LATER(Issend)
SEND_LATER(Irsend)

#define SEND_AGAIN(name)                                                                                               \
	STAND_BEFORE(name, (const void *buf, int count, handle type, int to, int tag, handle comm, void *request))         \
	{                                                                                                                  \
		int rc = __real_MPI_##name(buf, count, type, to, tag, comm, request);                                          \
		if (rc == 0 && is_library_known()) {                                                                           \
			struct message m = make_send_message(count, type, to, tag, comm);                                          \
			keep_request(request, &m, true);                                                                           \
		}                                                                                                              \
		return rc;                                                                                                     \
	}
SEND_AGAIN(Send_init)
SEND_AGAIN(Bsend_init)
SEND_AGAIN(Ssend_init)
SEND_AGAIN(Rsend_init)

STAND_BEFORE(Recv, (void *buf, int count, handle type, int from, int tag, handle comm, void *status))
{
	_Alignas(16) char own[STATUS_MOST];
	if (!is_library_known())
		return __real_MPI_Recv(buf, count, type, from, tag, comm, status);
	void *st = __stemma_mpi_is_ignored(status) ? own : status;
	int rc = __real_MPI_Recv(buf, count, type, from, tag, comm, st);
	if (rc == 0) {
		struct message m = make_receive_message(from, tag, comm);
		__stemma_mpi_read_status(st, 0, &m);
		record_message(&m);
	}
	return rc;
}

/* As MPI's; records what was sent and what was received. */
STAND_BEFORE(Sendrecv, (const void *out, int n_out, handle type_out, int to, int tag_out, void *in, int n_in,
                        handle type_in, int from, int tag_in, handle comm, void *status))
{
	_Alignas(16) char own[STATUS_MOST];
	bool known = is_library_known();
	void *st = known && __stemma_mpi_is_ignored(status) ? own : status;
	int rc = __real_MPI_Sendrecv(out, n_out, type_out, to, tag_out, in, n_in, type_in, from, tag_in, comm, st);
	if (rc == 0 && known) {
		struct message m = make_send_message(n_out, type_out, to, tag_out, comm);
		record_message(&m);
		m = make_receive_message(from, tag_in, comm);
		__stemma_mpi_read_status(st, 0, &m);
		record_message(&m);
	}
	return rc;
}

/* As MPI's; records what was sent and what was received. */
STAND_BEFORE(Sendrecv_replace,
             (void *buf, int count, handle type, int to, int tag_out, int from, int tag_in, handle comm, void *status))
{
	_Alignas(16) char own[STATUS_MOST];
	bool known = is_library_known();
	void *st = known && __stemma_mpi_is_ignored(status) ? own : status;
	int rc = __real_MPI_Sendrecv_replace(buf, count, type, to, tag_out, from, tag_in, comm, st);
	if (rc == 0 && known) {
		struct message m = make_send_message(count, type, to, tag_out, comm);
		record_message(&m);
		m = make_receive_message(from, tag_in, comm);
		__stemma_mpi_read_status(st, 0, &m);
		record_message(&m);
	}
	return rc;
}

#define RECEIVE_LATER(name, persistent)                                                                                \
	STAND_BEFORE(name, (void *buf, int count, handle type, int from, int tag, handle comm, void *request))             \
	{                                                                                                                  \
		int rc = __real_MPI_##name(buf, count, type, from, tag, comm, request);                                        \
		if (rc == 0 && is_library_known()) {                                                                           \
			struct message m = make_receive_message(from, tag, comm);                                                  \
			/* Of nobody: such requests may all have one number. */                                                    \
			if (from >= 0 || from == __stemma_mpi_any_source())                                                        \
				keep_request(request, &m, persistent);                                                                 \
			else                                                                                                       \
				__stemma_mpi_forget(request);                                                                          \
		}                                                                                                              \
		return rc;                                                                                                     \
	}
RECEIVE_LATER(Irecv, false)
RECEIVE_LATER(Recv_init, true)

STAND_BEFORE(Start, (void *request))
{
	int rc = __real_MPI_Start(request);
	if (rc == 0 && are_kept(request, 1))
		record_start(request, 0);
	return rc;
}

/* As MPI's; each of the requests begins anew. */
STAND_BEFORE(Startall, (int n, void *of))
{
	int rc = __real_MPI_Startall(n, of);
	if (rc == 0 && are_kept(of, n))
		for (int i = 0; i < n; i++)
			record_start(of, (size_t)i);
	return rc;
}

/* As MPI's; what it was to receive is not recorded any more. */
STAND_BEFORE(Request_free, (void *request))
{
	__stemma_mpi_forget(request);
	return __real_MPI_Request_free(request);
}

/* As MPI's; records what was received. */
STAND_BEFORE(Wait, (void *request, void *status))
{
	_Alignas(16) char own[STATUS_MOST];
	if (!are_kept(request, 1))
		return __real_MPI_Wait(request, status);
	void *st = __stemma_mpi_is_ignored(status) ? own : status;
	struct held held;
	hold_requests(request, 1, &held);
	int rc = __real_MPI_Wait(request, st);
	record_completion(&held, rc, st, 0);
	return rc;
}

/* As MPI's; records what was received, if it is over. */
STAND_BEFORE(Test, (void *request, int *flag, void *status))
{
	_Alignas(16) char own[STATUS_MOST];
	if (!are_kept(request, 1))
		return __real_MPI_Test(request, flag, status);
	void *st = __stemma_mpi_is_ignored(status) ? own : status;
	struct held held;
	hold_requests(request, 1, &held);
	int rc = __real_MPI_Test(request, flag, st);
	if (rc != 0 || *flag)
		record_completion(&held, rc, st, 0);
	else
		release_requests(&held, 1);
	return rc;
}

/* As MPI's; records what was received. */
STAND_BEFORE(Waitall, (int n, void *of, void *statuses))
{
	struct several v;
	if (!are_kept(of, n) || !several_begin(&v, of, n, statuses, false))
		return __real_MPI_Waitall(n, of, statuses);
	int rc = __real_MPI_Waitall(n, of, v.status);
	for (int i = 0; i < n; i++)
		record_completion(&v.held[i], rc, v.status, (size_t)i);
	several_end(&v);
	return rc;
}

/* As MPI's; records what was received, if all are over. */
STAND_BEFORE(Testall, (int n, void *of, int *flag, void *statuses))
{
	struct several v;
	if (!are_kept(of, n) || !several_begin(&v, of, n, statuses, false))
		return __real_MPI_Testall(n, of, flag, statuses);
	int rc = __real_MPI_Testall(n, of, flag, v.status);
	for (int i = 0; i < n && (rc != 0 || *flag); i++)
		record_completion(&v.held[i], rc, v.status, (size_t)i);
	several_end(&v);
	return rc;
}

/* As MPI's; records what was received by the one that is over. */
STAND_BEFORE(Waitany, (int n, void *of, int *index, void *status))
{
	struct several v;
	if (!are_kept(of, n) || !several_begin(&v, of, n, status, true))
		return __real_MPI_Waitany(n, of, index, status);
	int rc = __real_MPI_Waitany(n, of, index, v.status);
	if (rc == 0 && *index >= 0 && *index < n)
		record_completion(&v.held[*index], rc, v.status, 0);
	several_end(&v);
	return rc;
}

/* As MPI's; records what was received by the one that is over, if one is. */
STAND_BEFORE(Testany, (int n, void *of, int *index, int *flag, void *status))
{
	struct several v;
	if (!are_kept(of, n) || !several_begin(&v, of, n, status, true))
		return __real_MPI_Testany(n, of, index, flag, status);
	int rc = __real_MPI_Testany(n, of, index, flag, v.status);
	if (rc == 0 && *flag && *index >= 0 && *index < n)
		record_completion(&v.held[*index], rc, v.status, 0);
	several_end(&v);
	return rc;
}

#define SOME(name)                                                                                                     \
	STAND_BEFORE(name, (int n, void *of, int *n_done, int *indices, void *statuses))                                   \
	{                                                                                                                  \
		struct several v;                                                                                              \
		if (!are_kept(of, n) || !several_begin(&v, of, n, statuses, false))                                            \
			return __real_MPI_##name(n, of, n_done, indices, statuses);                                                \
		int rc = __real_MPI_##name(n, of, n_done, indices, v.status);                                                  \
		for (int i = 0; rc == 0 && i < *n_done && i < n; i++)                                                          \
			if (indices[i] >= 0 && indices[i] < n)                                                                     \
				record_completion(&v.held[indices[i]], rc, v.status, (size_t)i);                                       \
		several_end(&v);                                                                                               \
		return rc;                                                                                                     \
	}
SOME(Waitsome)
SOME(Testsome)
