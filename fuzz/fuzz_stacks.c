/* What the unwinder of call stacks answers, which reads programs that anybody may have made: whatever it says, lines
 * come of it that name no function before its module and no stack before its functions, or it is asked no more.
 *
 * An input is messages: the kind (1 byte), length (1, times 4 for the largest), so many bytes of what follows the kind.
 * A stack belongs to the question that is asked next. */
#include "capture/call_trace/call_stacks.h"
#include "capture/call_trace/stacks/wire.h"
#include "capture/supervisor/worker.h"
#include "event/log_writer.h"
#include "fuzz_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

enum { QUESTIONS = 4, MESSAGES_MAX = 64 };

static void lines(const char *p)
{
	unsigned long long modules = 0, frames = 0, stacks = 0, a, b, c;
	for (; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		char text[8];
		if (sscanf(p, "m %llu %1s", &a, text) == 2)
			must(a == modules++);
		else if (sscanf(p, "f %llu - %llx", &a, &c) == 2)
			must(a == frames++);
		else if (sscanf(p, "f %llu %llu %llx", &a, &b, &c) == 3)
			must(a == frames++ && b < modules);
		else if (sscanf(p, "k %llu - %llu", &a, &b) == 2)
			must(a == ++stacks && b < frames);
		else if (sscanf(p, "k %llu %llu %llu", &a, &b, &c) == 3)
			must(a == ++stacks && b < a && c < frames);
		else if (sscanf(p, "s %llu", &a) == 1)
			must(a <= stacks);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sup s;
	static char memory[STACK_BYTES + 64];
	static _Alignas(16) char message[sizeof(struct stack_answer) + 4 * 256];
	struct emitted_stacks said = {0};
	struct buf text = {0};
	struct err err = {0};
	struct stands at = {.known = true, .pc = 1};
	uint64_t question = 1;
	int v[2];
	if (!s.hz)
		sup_init(&s);
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, v) == 0);
	must(log_writer_fdopen(open("/dev/null", O_WRONLY | O_CLOEXEC), 1, &err, &s.log) == 0);
	struct stacker *k = stacker_new(v[0]);
	must(k != NULL);
	at.registers[STACK_POINTER] = (uintptr_t)memory;
	for (int i = 0; size > 2 && i < MESSAGES_MAX; i++) {
		struct stack_answer *a = (struct stack_answer *)message;
		size_t n = (size_t)data[1] * (data[0] & 128 ? 4 : 1), whole = n;
		n = n < size - 2 ? n : size - 2;
		memset(message, 0, sizeof(message));
		memcpy(&a->n, data + 2, n < sizeof(message) - 4 ? n : sizeof(message) - 4);
		a->kind = data[0] % 8;
		if (a->kind == REPLY_STACK || (a->kind == REPLY_LOST && data[0] & 64))
			a->number = question++;
		if (a->kind == REPLY_WANTS)
			a->at = (uintptr_t)memory + a->at % sizeof(memory);
		whole = whole + 4 < sizeof(*a) && !(data[0] & 32) ? sizeof(*a) : whole + 4;
		send(v[1], message, whole < sizeof(message) ? whole : sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL);
		data += 2 + n;
		size -= 2 + n;
	}
	shutdown(v[1], SHUT_WR); /* nobody waits for more */
	for (int i = 0; i < QUESTIONS; i++) {
		at.registers[0] = (uint64_t)i % 3;
		stacker_emit(k, &s, &said, getpid(), getpid(), 1, &at, &text);
		stacker_maps(k, getpid());
	}
	stacker_gone(k, getpid());
	lines(buf_cstr(&text));
	buf_release(&text);
	emitted_stacks_release(&said);
	stacker_release(k);
	must(log_writer_close(s.log) == 0);
	close(v[1]);
	return 0;
}
