/* Owns how a target and its route are turned into a fetch: its limits, guards, parent proxies, redirects and
 * transformation.
 * Must not know: connections, stored responses.
 * Invariant: nothing of a client's request reaches an origin but what headers.def lets through, and that is written
 * anew (request_head.h). */
#ifndef UTFEED_PROXY_ANSWER_FETCH_PLAN_H
#define UTFEED_PROXY_ANSWER_FETCH_PLAN_H

#include "proxy/answer/context.h"
#include "proxy/http/request.h"
#include "proxy/http/target.h"
#include "proxy/origin/fetch.h"
#include "proxy/settings/parent.h"

struct conf_route;

/* The parent proxies of a route; those of conf->direct serve destinations that clients name. Borrowed from conf. */
struct parent_rules fetch_plan_parents(const struct conf *, const struct conf_route *);

/* Whether the request may be made. url: of the target, as destination_url() writes it. */
enum backoff_answer fetch_plan_waits(const struct request_context *, const struct request *, const struct target *,
    struct slice url, struct failure *);
/* The kept copy has answered because of what fetch_plan_waits() said (backoff_missed()). */
void fetch_plan_missed(const struct request_context *, const struct request *, const struct target *, struct slice url,
    const struct backoff_copy *);
/* Whether a request that may be made leaves it to another feed of its host (backoff_gives_way()). */
bool fetch_plan_gives_way(const struct request_context *, const struct request *, const struct target *,
    struct slice url, const struct backoff_copy *, struct failure *);
/* Whether a request that may be made is to have no fields of the client's (backoff_asks_plainly()). */
bool fetch_plan_asks_plainly(const struct request_context *, const struct request *, const struct target *,
    struct slice url);

/* Whether the request goes through the cache. A response to a request with cookies is that client's own: neither stored
 * nor answered from the store. */
bool fetch_plan_caches(const struct request *, const struct target *);

/* Fills *r with the fetch of this target for this request. ranged: the fetch asks only for the part that the request
 * asks for. begin: as request_head_write() takes it. The strings of *r are the caller's (fetch_request_free()) until a
 * fetch takes them. -1: out of memory. */
int fetch_plan(const struct request_context *, const struct request *, const struct target *, enum policy,
    struct object *body, bool ranged, struct slice begin, struct fetch_request *asked)
    __attribute__((warn_unused_result));

#endif
