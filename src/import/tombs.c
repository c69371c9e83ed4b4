#include "import/tombs.h"

#include "event/log_place.h"

#include <errno.h>

int tombs_take(struct tombs *t, const struct event *ev, uint32_t *first)
{
	if (ev->kind != EVENT_tombstone || !ev->tombstone.dead)
		return 0;
	const uint64_t dead = ev->tombstone.dead;
	struct tomb *one = vec_add(&t->all);
	if (!one)
		return -ENOMEM;
	*one = (struct tomb){dead, *first};
	*first = (uint32_t)(t->all.n - 1);
	if (map_get(&t->numbers, dead) != VEC_NONE)
		return 0;
	struct tomb_dead *d = vec_add(&t->dead);
	if (!d || !map_set(&t->numbers, dead, (uint32_t)(t->dead.n - 1)))
		return -ENOMEM;
	*d = (struct tomb_dead){.session = dead, .host = VEC_NONE};
	return 0;
}

int tombs_meet(struct tombs *t, const char *path, struct log_reader *r, const struct log_frame_info *f)
{
	struct log_frame_info again;
	struct event ev;
	const uint32_t at = t->dead.n ? map_get(&t->numbers, f->session) : VEC_NONE;
	if (at == VEC_NONE)
		return 0;
	struct tomb_dead *d = &t->dead.v[at];
	d->here = true;
	d->own |= !log_place_received(path);
	if (f->seq != 1 || log_reader_event(r, &ev) != 1 || ev.kind != EVENT_session)
		return 0;
	d->host = intern_add(&t->hosts, ev.session.host);
	/* Its events are there to be read from the first one again. */
	log_reader_seek(r, f->offset);
	const int rc = log_reader_frame(r, &again);
	return d->host == VEC_NONE ? -ENOMEM : rc < 0 ? rc : 0;
}

bool tombs_may(const struct tombs *t, uint32_t first, struct str host)
{
	for (uint32_t i = first; i != VEC_NONE; i = t->all.v[i].next) {
		const struct tomb_dead *d = &t->dead.v[map_get(&t->numbers, t->all.v[i].dead)];
		if (d->own || (d->here && (d->host == VEC_NONE || d->host != intern_find(&t->hosts, host))))
			return false;
	}
	return true;
}

/* t itself may not be used afterwards. */
void tombs_release(struct tombs *t)
{
	vec_release(&t->all);
	vec_release(&t->dead);
	map_release(&t->numbers);
	intern_release(&t->hosts);
}
