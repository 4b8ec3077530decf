/* Questions of policies about the bytes; see policy_bytes.h. */
#include "core/policy/policy_bytes.h"

#include <errno.h>

#include "core/evidence/detector.h"
#include "core/evidence/plausible.h"

/* Notes want of memory. EINVAL is not noted, because it is an answer: this machine has no such converter, now or
 * later. */
static void note(const struct evidence *e, int error)
{
	if (error != EINVAL)
		*e->starved = true;
}

const uint8_t *policy_text(const struct evidence *e, size_t *len)
{
	*len = e->len - e->bom_len;
	return e->bytes + e->bom_len;
}

bool policy_accepts(const struct evidence *e, enum charset cs, struct decoder_trial *t)
{
	size_t len;
	const uint8_t *text = policy_text(e, &len);

	if (decoder_try(cs, text, len, e->complete, t) == 0)
		return t->accepts;
	note(e, errno);
	return false;
}

enum charset policy_guess(const struct evidence *e)
{
	enum charset guess;
	size_t len;
	const uint8_t *text = policy_text(e, &len);

	if (detector_guess(text, len, &guess) != 0)
		note(e, ENOMEM);
	return guess;
}

unsigned policy_flaws(const struct evidence *e, enum charset cs)
{
	size_t len;
	const uint8_t *text = policy_text(e, &len);
	int flaws = plausible_flaws(cs, text, len);

	if (flaws >= 0)
		return (unsigned)flaws;
	note(e, errno);
	return PLAUSIBLE_WORST;
}

bool policy_is_faultless(const struct evidence *e, enum charset cs)
{
	size_t len;
	const uint8_t *text = policy_text(e, &len);
	int faultless = plausible_is_faultless(cs, text, len);

	if (faultless < 0)
		note(e, errno);
	return faultless > 0;
}
