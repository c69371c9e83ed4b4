/* ship_folder.c - a shared folder as a carrier of `stemma ship`: a batch lies there until the collector has taken it.
 */
#include "cmd/site/ship_int.h"
#include "cmd/site/site_wait.h"
#include "site/drop_folder.h"
#include "site/http.h"

#include <errno.h>
#include <string.h>

enum { ANSWER_LOOK_NS = 200000000 };

/* What is no URL is a folder. */
static bool is_folder(const char *to)
{
	return !strstr(to, "://");
}

/* The answer to the batch that lies in the folder. 1: dealt with; 0: there is none yet, or it is to be put there again.
 */
static int folder_answer(struct shipping *x, struct err *err)
{
	char text[HTTP_ANSWER];
	struct ship_answer a;
	int rc = 0;
	for (unsigned ms = 0; ms <= SHIP_PATIENCE_S * 1000; ms += ANSWER_LOOK_NS / 1000000) {
		rc = drop_answer(x->o->to, shipper_pending(x->s), err, text, sizeof(text));
		if (rc == 1) {
			rc = ship_read_answer(text, err, &a);
			return rc < 0 ? rc : ship_take_answer(x, &a, 0, err);
		}
		if (rc == -ENOENT) {
			shipper_lost(x->s);
			return 0;
		}
		if (rc < 0)
			return rc;
		if (!site_wait(ANSWER_LOOK_NS)) {
			x->ended = true;
			break;
		}
	}
	x->waits = true;
	return 0;
}

/* Looks whether the collector has answered what was left in the folder. 1: nothing waits for an answer, 0: something
 * does, negative with a sentence. */
static int resume_in_folder(struct shipping *x, struct err *err)
{
	if (!shipper_pending(x->s)[0])
		return 1;
	int rc = folder_answer(x, err);
	return rc == 0 && !shipper_pending(x->s)[0] ? 1 : rc;
}

/* Leaves a batch of frames in the folder. As folder_answer; frames and wait_s are not used. 0 or more, -errno with a
 * sentence. */
static int send_by_folder(struct shipping *x, struct str batch, uint64_t frames, unsigned *wait_s, struct err *err)
{
	char name[DROP_NAME];
	(void)frames, (void)wait_s;
	int rc = drop_put(x->o->to, batch, err, name);
	rc = rc < 0 ? rc : shipper_left(x->s, name, err);
	return rc < 0 ? rc : folder_answer(x, err);
}

const struct ship_carrier ship_by_folder = {.is = is_folder, .resume = resume_in_folder, .send = send_by_folder};
