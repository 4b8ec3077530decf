/* Whom a response is for; see audience.h. */
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
	struct audience *a = *ap;

	*ap = NULL;
	if (!a || a == &audience_alone)
		return;
	free(a->vary);
	free(a->values);
	free(a);
}

struct audience *audience_new(const char *vary, struct slice sent, const struct freshness *freshness)
{
	struct audience *a = malloc(sizeof *a);
	struct text values = { 0 };

	if (!a)
		return NULL;
	*a = (struct audience){ .freshness = *freshness };
	if (!vary)
		return a;
	vary_key(&values, (struct slice){ vary, strlen(vary) }, sent);
	a->vary = strdup(vary);
	a->values = text_take(&values, &a->values_len);
	if (!a->vary || !a->values)
		audience_free(&a);
	return a;
}

/* Where there is no memory for the comparison, nobody is admitted. */
bool audience_admits(const struct audience *a, struct slice sent)
{
	struct text values = { 0 };
	bool same;

	if (a->own || !a->vary)
		return !a->own;
	if (!sent.at)
		return false;
	vary_key(&values, (struct slice){ a->vary, strlen(a->vary) }, sent);
	same = !values.failed && values.len == a->values_len && !memcmp(values.bytes, a->values, values.len);
	text_free(&values);
	return same;
}
