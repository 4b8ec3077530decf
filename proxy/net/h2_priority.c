/* How urgent a stream is (RFC 9218): by the field Priority of its request, or by a later frame; see h2_internal.h. */
#include "proxy/net/h2_internal.h"

/* Parameter u (section 4.1). Without a valid one it has its default. */
static enum h2_urgency h2_read_urgency(const char *at, size_t len)
{
	enum h2_urgency urgency = H2_URGENCY_DEFAULT;

	for (size_t i = 0; i + 2 < len; i++)
		if (at[i] == 'u' && at[i + 1] == '=' && at[i + 2] >= '0' && at[i + 2] < '0' + H2_URGENCIES &&
		    (!i || at[i - 1] == ' ' || at[i - 1] == ','))
			urgency = (enum h2_urgency)(at[i + 2] - '0');
	return urgency;
}

static void h2_reprioritize(struct h2_stream *stream, enum h2_urgency urgency)
{
	stream->urgency = urgency;
	stream->reprioritized = true;
}

void h2_on_priority_field(struct h2_stream *stream, const char *at, size_t len)
{
	if (!stream->reprioritized)
		stream->urgency = h2_read_urgency(at, len);
}

/* A frame may come before the request that it is about (section 7.1). */
void h2_on_priority_update(struct h2 *h2, const nghttp2_ext_priority_update *update)
{
	enum h2_urgency urgency = h2_read_urgency((const char *)update->field_value, update->field_value_len);
	struct h2_stream *stream = h2_find(h2->ng, update->stream_id);

	if (stream)
		h2_reprioritize(stream, urgency);
	else if (update->stream_id > h2->highest)
		h2->early[h2->n_early++ % H2_EARLY] = (struct h2_early){ update->stream_id, urgency };
}

void h2_priority_begin(struct h2_stream *stream)
{
	struct h2 *h2 = stream->session;

	for (unsigned i = 0; i < H2_EARLY; i++) {
		const struct h2_early *early = &h2->early[(h2->n_early + i) % H2_EARLY];

		if (early->id == stream->id)
			h2_reprioritize(stream, early->urgency);
	}
}
