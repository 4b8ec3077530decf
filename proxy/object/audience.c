/* The requests that a response answers; see audience.h. */
#include "proxy/object/audience.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/http/vary.h"

/* Of every response for one request alone: there is nothing to tell them apart by. */
static struct audience audience_alone = { .own = true };

struct audience *audience_own(void)
{
	return &audience_alone;
}

void audience_free(struct audience **ap)
{
	struct audience *audience = *ap;

	*ap = NULL;
	if (!audience || audience == &audience_alone)
		return;
	free(audience->vary);
	free(audience->values);
	free(audience);
}

struct audience *audience_new(const char *vary, struct slice sent, const struct freshness *freshness)
{
	struct audience *audience = malloc(sizeof *audience);
	struct text values = { 0 };

	if (!audience)
		return NULL;
	*audience = (struct audience){ .freshness = *freshness };
	if (!vary)
		return audience;
	vary_key(&values, (struct slice){ vary, strlen(vary) }, sent);
	audience->vary = strdup(vary);
	audience->values = text_take(&values, &audience->values_len);
	if (!audience->vary || !audience->values)
		audience_free(&audience);
	return audience;
}

/* Without memory for the comparison the request is not admitted. */
bool audience_admits(const struct audience *audience, struct slice sent)
{
	struct text values = { 0 };

	if (audience->own || !audience->vary)
		return !audience->own;
	if (!sent.at)
		return false;
	vary_key(&values, (struct slice){ audience->vary, strlen(audience->vary) }, sent);
	bool same = !values.failed && values.len == audience->values_len &&
	    !memcmp(values.bytes, audience->values, values.len);
	text_free(&values);
	return same;
}
