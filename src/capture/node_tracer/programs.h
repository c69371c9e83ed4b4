/* programs.h - loads the programs for the kernel, attaches them, and reads their rings. Only here is libbpf used.
 *
 * Nothing is pinned: the kernel lets go of all of it when the process ends. Ring memory is ring_kb a processor, shared
 * by eight processors a ring, at most 64 MB in all. One thread. */
#ifndef STEMMA_CAPTURE_NODE_TRACER_PROGRAMS_H
#define STEMMA_CAPTURE_NODE_TRACER_PROGRAMS_H

#include "base/err.h"
#include "capture/node_tracer/record.h"

#include <stdbool.h>
#include <stddef.h>

struct programs;

/* Fails with a sentence where the kernel does not do it. 0; -errno. ring_kb: for each processor, 0 as it is best. */
int programs_open(unsigned ring_kb, struct programs **ret, struct err *err);
void programs_close(struct programs *p);
/* Shared with the kernel; valid while it is open. */
struct rec_control *programs_control(struct programs *p);
/* Whether io_uring is told too. */
bool programs_has_uring(const struct programs *p);
/* Whether the kernel lets programs stand at its functions (fentry). Tried with an empty one. */
bool programs_has_fentry(void);
/* Readable when a ring is fuller than control->wake. */
int programs_fd(const struct programs *p);
/* Gives each record that is there to each(); it may keep nothing of it. Their number, or -errno. */
int programs_read(struct programs *p, void (*each)(void *arg, const void *record, size_t size), void *arg);
/* Bytes that wait, and that there is room for, in all rings. */
void programs_waiting(const struct programs *p, uint64_t *ret_waiting, uint64_t *ret_size);
/* The size of one ring. */
size_t programs_ring_size(const struct programs *p);
/* Memory of maps and rings, bytes. */
uint64_t programs_memory(const struct programs *p);

/* Granularity access: loaded when first asked for. 0; -errno with a sentence. Nothing is attached yet. */
struct access_programs;
int access_programs_open(struct access_programs **ret, struct err *err);
void access_programs_close(struct access_programs *a);
struct rec_access_control *access_programs_control(struct access_programs *a);
/* Attaches the BPF programs that count bytes, or detaches them. On: the program runs at the end of every system call
 * of the node. 0; -errno with a sentence, then nothing is attached. */
int access_programs_attach(struct access_programs *a, bool on, struct err *err);
/* Adds to or takes from those asked for; set: 0 users, 1 groups (cgroup ids), 2 processes. 1, 0 if it was so, -errno.
 */
int access_programs_ask(struct access_programs *a, unsigned set, uint64_t id, bool on, struct err *err);
/* Nobody is asked for, nobody marked: call it when it is not attached. */
void access_programs_ask_none(struct access_programs *a);
/* Takes all out of one of the two maps, which must not be the active one. Their number, or -errno. */
int access_programs_take(struct access_programs *a, unsigned map,
                         void (*each)(void *arg, const struct rec_total_key *key, const struct rec_total *total),
                         void *arg);
uint64_t access_programs_memory(const struct access_programs *a); /* bytes, of the kernel's maps */

#endif
