/* Owns bodies that the end of their connection ends. For HTTP they are complete, but the connection may have ended too
 * early. A feed whose root is still open then counts as cut.
 * Must not know: what is stored or kept.
 * Invariant: where the body has to be a feed, nothing of one that is cut within the window reaches the object. Source:
 * RFC 9112 sections 6.3 and 8. */
#include "proxy/object/transform_internal.h"

/* A coding has an end of its own. */
bool close_applies(const struct transform *tr)
{
	return !tr->msg->chunked && !tr->msg->has_length && !tr->decode;
}

void close_comes(struct transform *tr)
{
	if (tr->end == END_BY_CLOSE && tr->options.needs_feed)
		tr->end = END_COMES;
}

bool close_waits(struct transform *tr, const struct verdict *v)
{
	if (tr->end == END_COMES && v->kind == VERDICT_CHARSET && v->feed)
		tr->end = END_HELD;
	return tr->end == END_HELD;
}

int close_settle(struct transform *tr)
{
	const struct verdict *v = normaliser_verdict(tr->normaliser);
	bool cut = tr->end != END_TOLD && v && v->feed && normaliser_is_open(tr->normaliser);

	object_report(tr->object)->cut = cut;
	if (cut && tr->options.needs_feed)
		return transform_fail(tr, FAILURE_HTTP_RESPONSE_INCOMPLETE, "connection ended within the feed");
	if (tr->end != END_HELD)
		return 0;
	if (transform_head(tr, v, RESPONSE_NORMALISED))
		return -1;
	return object_append(tr->object, tr->last.bytes, tr->last.len) ? transform_no_memory(tr) : 0;
}
