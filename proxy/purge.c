/* Purging; see purge.h. */
#include "purge.h"

#include <stdlib.h>

#include "text.h"

bool purge_read(struct purge *p, const struct http_msg *m)
{
	static const struct { const char *word; struct purge purge; } kinds[] = {
		{ "url", { PURGE_URL, false, false } }, { "prefix", { PURGE_PREFIX, false, false } }, { "host", { PURGE_PREFIX, true, false } },
		{ "all", { PURGE_ALL, false, false } }, { "soft", { PURGE_URL, false, true } },
	};
	struct slice rest, word = slice_until(http_msg_get(m, H_X_PURGE), ',', &rest);

	*p = kinds[0].purge;
	if (!word.len)
		return !rest.at;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (slice_is(word, kinds[i].word)) {
			*p = kinds[i].purge;
			p->soft |= rest.at != NULL;
			return !rest.at || slice_is(slice_trim(rest), "soft");
		}
	return false;
}

int64_t purge_run(const struct purge *p, struct cache *cache, const struct destination *to, int64_t now)
{
	struct text url = { 0 };
	int64_t n = -1;

	destination_url(&url, to);
	if (!url.failed)
		n = cache_purge(cache, p->what, url.bytes, p->host ? url.len - (to->path_len - 1) : url.len, p->soft, now);
	free(url.bytes);
	return n;
}
