/* What answers tell of a feed's origin; see feed_state.h. */
#include "proxy/feeds/feed_state.h"

#include <stddef.h>

/* An account of kept answers from before and behind an answer that ended them counts from the last of them on. */
static void feed_state_add_kept(struct feed_state *to, const struct feed_state *from)
{
	const struct feed_state *first = !to->kept_us || (from->kept_us && from->kept_us < to->kept_us) ? from : to;

	to->kept_us = first->kept_us;
	to->kept_since = first->kept_since;
	if (from->kept_last_us >= to->kept_last_us) {
		to->kept_last_us = from->kept_last_us;
		to->kept_last = from->kept_last;
		to->kept_asked_us = from->kept_asked_us;
		to->kept_until = from->kept_until;
	}
	if (from->unkept_us > to->unkept_us)
		to->unkept_us = from->unkept_us;
	if (!to->kept_us || to->kept_us > to->unkept_us)
		return;
	to->kept_us = to->kept_last_us > to->unkept_us ? to->kept_last_us : 0;
	to->kept_since = to->kept_last;
}

void feed_state_add(struct feed_state *to, const struct feed_state *from)
{
	to->saved += from->saved;
	if (from->good > to->good)
		to->good = from->good;
	feed_state_add_kept(to, from);
	if (!from->failed_us || from->failed_us < to->failed_us)
		return;
	to->failed_us = from->failed_us;
	to->failed_at = from->failed_at;
	to->failed_status = from->failed_status;
	to->failed_why = from->failed_why;
}

const char *feed_state_error(const struct feed_state *state, char room[FAILURE_CAUSE_MAX])
{
	return state->failed_us ? failure_cause(state->failed_status, state->failed_why, room) : NULL;
}
