#include "capture/launch/features.h"
#include "capture/app/channel.h"
#include "capture/attach/attach.h"
#include "capture/count/counted.h"
#include "capture/hdf5/h5_static.h"
#include "capture/hdf5/h5_words.h"
#include "capture/inline_open/inline_open.h"
#include "capture/launch/choose.h"
#include "capture/witness/witness.h"

void features_add(struct sup *s, const struct run_options *o, const struct choice *c)
{
	const bool notified = c->backend == BACKEND_NOTIFY && !c->tree_only;
	/* All that there are, in the order of their hooks. */
	const struct {
		const struct feature *feature;
		bool wanted;
	} list[] = {
	    /* First, so that its `after`, which leaves the lock, is the last one. */
	    {&attach_feature, o->hdf5 && h5_is_attached(o->hdf5) && notified},
	    {&opens_feature, o->inject && notified},
	    {&counted_feature, o->count && notified},
	    {&witness_feature, true},
	    {&app_feature, true},
	    {&hdf5_feature, o->hdf5},
	};
	_Static_assert(sizeof(list) / sizeof(list[0]) <= FEATURES_MAX, "there is room for all of them");
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (list[i].wanted)
			feature_add(s, list[i].feature);
}
