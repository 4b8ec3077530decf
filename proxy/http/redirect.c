/* Following redirects; see redirect.h. */
#include "proxy/http/redirect.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/http/location.h"

void redirect_upgrade(struct destination *d, const struct redirect_rules *rules)
{
	if (!rules->upgrade_https || d->tls)
		return;
	d->tls = true;
	if (d->port == url_default_port(URL_HTTP))
		d->port = url_default_port(URL_HTTPS);
}

bool redirect_is_asked(int status, struct slice location)
{
	bool is = status == 301 || status == 302 || status == 303 || status == 307 || status == 308;

	return is && location.len;
}

static char *url_of(const struct destination *d)
{
	struct text t = { 0 };
	size_t len;

	destination_url(&t, d);
	text_add(&t, "", 1);
	return text_take(&t, &len);
}

static enum redirect_step refuse(struct destination *to, struct failure *failure, enum failure_kind error,
    const char *why)
{
	destination_free(to);
	failure_set(failure, error, "%s", why);
	return REDIRECT_REFUSED;
}

enum redirect_step redirect_next(struct redirect_trail *trail, const struct redirect_rules *rules, int status,
    struct slice location,
    struct destination *at, struct failure *failure)
{
	struct destination to = { .path = NULL };
	const char *why;
	char *url;

	if (!rules->hops || !redirect_is_asked(status, location))
		return REDIRECT_NOT;
	if (!trail->n && !(trail->urls[trail->n++] = url_of(at)))
		return REDIRECT_NO_MEMORY;
	switch (location_follow(&to, at, location, &why)) {
	case DESTINATION_OK:
		break;
	case DESTINATION_NO_MEMORY:
		return REDIRECT_NO_MEMORY;
	default:
		return REDIRECT_NOT;
	}
	redirect_upgrade(&to, rules);
	if (at->tls && !to.tls && !rules->allow_downgrade)
		return refuse(&to, failure, FAILURE_REQUEST_DENIED, "redirect from https to http");
	if (trail->n > rules->hops || trail->n > CONF_REDIRECTS_MAX)
		return refuse(&to, failure, FAILURE_LOOP_DETECTED, "too many redirects");
	if (!(url = url_of(&to))) {
		destination_free(&to);
		return REDIRECT_NO_MEMORY;
	}
	for (int i = 0; i < trail->n && !trail->anew; i++)
		if (!strcmp(trail->urls[i], url)) {
			free(url);
			return refuse(&to, failure, FAILURE_LOOP_DETECTED, "the redirects lead back");
		}
	trail->urls[trail->n++] = url;
	destination_free(at);
	*at = to;
	return REDIRECT_FOLLOW;
}

void redirect_trail_free(struct redirect_trail *trail)
{
	while (trail->n)
		free(trail->urls[--trail->n]);
}
