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

static void invalidate_url(struct invalidate *i, const char *url, size_t len)
{
	uint32_t number;

	if (cache_purge(i->sweeper->cache, PURGE_URL, url, len, false, 0, &number) < 0)
		sweeper_begin(i->sweeper);
}

/* Purges the URL that the reference names, if it is on the same origin: an origin has no say over the responses of
 * another. */
static void invalidate_reference(struct invalidate *i, struct slice reference)
{
	struct destination d = { .path = NULL };
	struct text url = { 0 };
	const char *why;

	if (!reference.len || location_follow(&d, &i->to, reference, &why) != DESTINATION_OK)
		return;
	destination_url(&url, &d);
	if (destination_same_origin(&d, &i->to) && !url.failed)
		invalidate_url(i, url.bytes, url.len);
	text_free(&url);
	destination_free(&d);
}

static enum fetch_choice invalidate_on_head(void *arg, const struct fetch_answer *answer, struct object *o)
{
	const struct http_msg *m = answer->msg;
	struct invalidate *i = arg;

	(void)o;
	if (m->status >= 200 && m->status < 400) {
		invalidate_url(i, i->url, i->url_len);
		invalidate_reference(i, http_msg_get(m, H_LOCATION));
		invalidate_reference(i, http_msg_get(m, H_CONTENT_LOCATION));
	}
	return FETCH_GO_ON;
}

static void invalidate_on_end(void *arg)
{
	struct invalidate *i = arg;

	destination_free(&i->to);
	free(i->url);
	free(i);
}

int invalidate_hooks(struct fetch_hooks *hooks, struct sweeper *sweeper, const struct destination *to,
    struct slice url)
{
	struct invalidate *i = calloc(1, sizeof *i);

	if (!i)
		return -1;
	i->sweeper = sweeper;
	i->to = *to;
	i->to.path = NULL;
	i->url = malloc(url.len);
	i->url_len = url.len;
	if (!i->url || destination_set_path(&i->to, to->path, to->path_len)) {
		invalidate_on_end(i);
		return -1;
	}
	memcpy(i->url, url.at, url.len);
	*hooks = (struct fetch_hooks){ .head = invalidate_on_head, .end = invalidate_on_end, .arg = i };
	return 0;
}
