/* Owns a fetch's way along redirects: those that origins answer with, and those that are known without asking.
 * Must not know: why one is known. Invariant: both are judged alike (http/redirect), and behind either the request is
 * one to the new place: other guards, no private fields, its own cookies. */
#include "proxy/origin/fetch_internal.h"

#include "proxy/base/stats.h"

/* The request goes to request.to from now on. */
static void fetch_move_on(struct fetch *f, bool same_origin)
{
	log_step(&f->request.id, "fetch: redirected%s", same_origin ? "" : " to another origin");
	if (same_origin)
		return;
	f->request.private_len = 0;
	f->request.credentials = false;
	f->asked.again = false;
	f->request.transform.head.way = RESPONSE_FOREIGN;
	f->request.guard = f->request.hop_guard;
	f->request.parents = f->request.hop_parents;
	f->request.tls = f->request.hop_tls;
	f->request.http2 = f->request.hop_http2;
}

/* Tells the hooks of the latest step of the trail; msg as in struct fetch_hop. False: the fetch has ended. */
static bool fetch_tell_hop(struct fetch *f, const struct http_msg *msg)
{
	char *const *urls = f->trail.urls;
	const struct fetch_hop hop = { .from = urls[f->trail.n - 2], .to = urls[f->trail.n - 1], .msg = msg,
		.cookies = f->cookies };

	if (!f->hooks.hop || !f->hooks.hop(f->hooks.arg, &hop))
		return true;
	fetch_no_memory(f);
	return false;
}

static void fetch_redirected(struct fetch *f, bool same_origin)
{
	if (!fetch_tell_hop(f, &f->msg))
		return;
	lease_end(&f->lease, &f->conn, fetch_skip_body(f));
	fetch_tell_moved(f);
	stats_add(loop_stats(fetch_loop(f)), STAT_REDIRECTS, 1);
	fetch_move_on(f, same_origin);
	if (!f->begun_ms)
		f->begun_ms = f->asked.asked_ms;
	fetch_connect(f);
}

/* Keeps the cookies of a redirect, before request.to becomes where it leads. Another response that is not the last,
 * such as a 304 for something else, sets none: what is asked for in its place is not for its cookies. */
static void fetch_take_cookies(struct fetch *f)
{
	f->trail.anew = f->request.jar && redirect_is_asked(f->msg.status, http_msg_get(&f->msg, H_LOCATION)) &&
		http_msg_has(&f->msg, H_SET_COOKIE) &&
		cookie_jar_take(&f->jar, &f->request.to, &f->msg, loop_wall_ms(fetch_loop(f)) / 1000);
}

bool fetch_follows(struct fetch *f)
{
	const struct destination from = f->request.to;     /* its path is not used: it may be freed */

	fetch_take_cookies(f);
	switch (redirect_next(&f->trail, &f->request.redirects, f->msg.status, http_msg_get(&f->msg, H_LOCATION),
	    &f->request.to, &f->failure)) {
	case REDIRECT_NOT:
		return false;
	case REDIRECT_FOLLOW:
		fetch_redirected(f, destination_same_origin(&from, &f->request.to));
		break;
	case REDIRECT_REFUSED:
		fetch_fail(f);
		break;
	case REDIRECT_NO_MEMORY:
		fetch_no_memory(f);
	}
	return true;
}

/* The status of the redirect that is known at the current URL; 0: none is. A request with cookies is asked: what is
 * known was learned without. */
static int fetch_known(struct fetch *f, struct text *to)
{
	if (f->held || !f->hooks.known || !f->request.redirects.hops || f->url.failed || f->cookies ||
	    cookie_jar_has(f->jar, &f->request.to))
		return 0;
	text_empty(to);
	return f->hooks.known(f->hooks.arg, f->url.bytes, to);
}

/* Takes a step that is known, as redirect_next() does. One that would be refused, because it leads back say, is not
 * taken: the URL is asked, and may have changed its mind. */
static enum redirect_step fetch_take_known(struct fetch *f, int status, struct slice to)
{
	struct failure refused = { .error = FAILURE_NONE };

	f->trail.anew = false;
	enum redirect_step step = redirect_next(&f->trail, &f->request.redirects, status, to, &f->request.to, &refused);
	if (step != REDIRECT_FOLLOW && f->trail.n == 1)
		redirect_trail_free(&f->trail);
	return step;
}

bool fetch_follow_known(struct fetch *f)
{
	struct text to = { 0 };
	bool goes_on = true;
	int status;

	while (goes_on && (status = fetch_known(f, &to)) != 0) {
		const struct destination from = f->request.to;     /* its path is not used: it may be freed */

		if (to.failed || fetch_take_known(f, status, (struct slice){ to.bytes, to.len }) != REDIRECT_FOLLOW)
			break;
		stats_add(loop_stats(fetch_loop(f)), STAT_REDIRECTS_KNOWN, 1);
		goes_on = fetch_tell_hop(f, NULL);
		fetch_move_on(f, destination_same_origin(&from, &f->request.to));
		fetch_make_url(f);
	}
	text_free(&to);
	return goes_on;
}
