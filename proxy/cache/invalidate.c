/* Invalidation; see invalidate.h. */
#include "proxy/cache/invalidate.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/http/location.h"

struct invalidate {
	struct sweeper *sweeper;
	struct destination to;
	char *url;
	size_t url_len;
};

static void invalidate_url(struct invalidate *invalidate, const char *url, size_t len)
{
	uint32_t number;

	if (cache_purge(invalidate->sweeper->cache, PURGE_URL, url, len, false, 0, &number) < 0)
		sweeper_begin(invalidate->sweeper);
}

/* Purges the URL that the reference names, if it is on the same origin: an origin has no say over the responses of
 * another. */
static void invalidate_reference(struct invalidate *invalidate, struct slice reference)
{
	struct destination d = { .path = NULL };
	struct text url = { 0 };
	const char *why;

	if (!reference.len || location_follow(&d, &invalidate->to, reference, &why) != DESTINATION_OK)
		return;
	destination_url(&url, &d);
	if (destination_same_origin(&d, &invalidate->to) && !url.failed)
		invalidate_url(invalidate, url.bytes, url.len);
	text_free(&url);
	destination_free(&d);
}

static enum fetch_choice invalidate_on_head(void *arg, const struct fetch_answer *answer, struct object *o)
{
	const struct http_msg *m = answer->msg;
	struct invalidate *invalidate = arg;

	(void)o;
	if (m->status >= 200 && m->status < 400) {
		invalidate_url(invalidate, invalidate->url, invalidate->url_len);
		invalidate_reference(invalidate, http_msg_get(m, H_LOCATION));
		invalidate_reference(invalidate, http_msg_get(m, H_CONTENT_LOCATION));
	}
	return FETCH_GO_ON;
}

static void invalidate_on_end(void *arg)
{
	struct invalidate *invalidate = arg;

	destination_free(&invalidate->to);
	free(invalidate->url);
	free(invalidate);
}

int invalidate_hooks(struct fetch_hooks *hooks, struct sweeper *sweeper, const struct destination *to,
    struct slice url)
{
	struct invalidate *invalidate = calloc(1, sizeof *invalidate);

	if (!invalidate)
		return -1;
	invalidate->sweeper = sweeper;
	invalidate->to = *to;
	invalidate->to.path = NULL;
	invalidate->url = malloc(url.len);
	invalidate->url_len = url.len;
	if (!invalidate->url || destination_set_path(&invalidate->to, to->path, to->path_len)) {
		invalidate_on_end(invalidate);
		return -1;
	}
	memcpy(invalidate->url, url.at, url.len);
	*hooks = (struct fetch_hooks){ .head = invalidate_on_head, .end = invalidate_on_end, .arg = invalidate };
	return 0;
}
