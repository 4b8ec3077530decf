/* Whom a response is for; see audience.h. */
#include "proxy/object/audience.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/http/vary.h"

void audience_free(struct audience **ap)
{
	if (!*ap)
		return;
	free((*ap)->vary);
	free((*ap)->values);
	free(*ap);
	*ap = NULL;
}

struct audience *audience_new(bool own, const char *vary, struct slice sent, const struct freshness *freshness)
{
	struct audience *a = calloc(1, sizeof *a);
	struct text values = { 0 };

	if (!a)
		return NULL;
	a->own = own;
	a->freshness = *freshness;
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
