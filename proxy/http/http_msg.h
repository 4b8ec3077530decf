/* Owns a parsed message head: start line and header fields as offsets into the buffer it was read into, and the table
 * of the fields that utfeed knows (headers.def). Must not know: how heads are parsed (http_parse), what they mean.
 * Invariant: the text of a head is valid until its buffer is reused; the offsets stay valid when the buffer moves. */
#ifndef UTFEED_PROXY_HTTP_HTTP_MSG_H
#define UTFEED_PROXY_HTTP_HTTP_MSG_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/base/slice.h"
#include "proxy/base/text.h"

enum header_id {
	H_OTHER = 0,
#define HEADER(id, name, request, response) H_##id,
#define FAMILY HEADER
#include "proxy/http/headers.def"
#undef HEADER
#undef FAMILY
	H_COUNT
};

enum header_request {
	REQUEST_OTHER, REQUEST_SEND, REQUEST_DROP, REQUEST_OWN, REQUEST_RELAY, REQUEST_PRIVATE, REQUEST_SIGNATURE
};
enum header_response {
	RESPONSE_KEEP, RESPONSE_DROP, RESPONSE_OWN, RESPONSE_BODY, RESPONSE_FRONT, RESPONSE_SITE, RESPONSE_CLIENT
};

struct http_field {
	uint32_t name, value;          /* offsets into the buffer */
	uint32_t value_len;
	uint16_t name_len;
	uint8_t id;                    /* enum header_id */
	bool hop;                      /* named by Connection: hop by hop in this message */
};

/* Whether a status may be about the credentials of a request (RFC 9110 sections 15.5.2 to 15.5.4). */
static inline bool http_status_refuses(int status)
{
	return status >= 401 && status <= 403;
}

enum http_method { METHOD_OTHER, METHOD_GET, METHOD_HEAD, METHOD_CONNECT, METHOD_TRACE };

struct http_msg {
	const char *base;              /* the buffer; must be set anew when the buffer moves */
	uint32_t target, target_len;   /* requests */
	uint32_t method_at, method_len;
	uint32_t head_len;             /* bytes of the whole head, from base */
	uint16_t status;               /* responses */
	uint8_t major, minor;          /* version of the head */
	bool h2;                       /* it came by HTTP/2, and its head was translated */
	enum http_method method;
	bool keep_alive;               /* by framing and Connection the connection persists (RFC 9112 section 9.3) */
	bool chunked;
	bool has_length;               /* there is a Content-Length field */
	uint64_t content_length;
	uint32_t n_fields, max_fields;
	struct http_field *fields;     /* max_fields of them, owned by http_msg */
	/* a bit for each enum header_id that fields have, so that an absent field is not searched for */
	uint64_t ids[2];
};

static_assert(H_COUNT <= 128, "a bit of http_msg.ids for each");

/* Room for max_fields fields. -1: out of memory. */
int http_msg_init(struct http_msg *, size_t max_fields) __attribute__((warn_unused_result));
void http_msg_free(struct http_msg *);
void http_msg_reset(struct http_msg *);

/* name: a token, in any case of letters. */
enum header_id http_header_id(const char *name, size_t len);
enum header_request http_header_request(enum header_id);
/* Whether an origin may take a field of that name, whose id and name these are, for one that is treated specially here,
 * because it frames, authorises or tells variants apart. "Content_Length" is one to an origin that makes variables of
 * fields (RFC 3875 section 4.1.18), or takes all but letters and digits for hyphens. */
bool http_header_is_disguised(enum header_id, struct slice name);
enum header_response http_header_response(enum header_id);

static inline struct slice http_field_name(const struct http_msg *m, const struct http_field *field)
{
	return (struct slice){ m->base + field->name, field->name_len };
}
static inline struct slice http_field_value(const struct http_msg *m, const struct http_field *field)
{
	return (struct slice){ m->base + field->value, field->value_len };
}
static inline struct slice http_msg_target(const struct http_msg *m)
{
	return (struct slice){ m->base + m->target, m->target_len };
}

/* Makes fields[n_fields], which the caller has filled in, the message's next field. */
static inline void http_msg_add(struct http_msg *m)
{
	uint8_t id = m->fields[m->n_fields++].id;

	m->ids[id / 64] |= UINT64_C(1) << id % 64;
}
static inline bool http_msg_has(const struct http_msg *m, enum header_id id)
{
	return m->ids[id / 64] >> id % 64 & 1;
}

/* The first field of that id; at NULL: none has it. */
struct slice http_msg_find(const struct http_msg *, enum header_id);
static inline struct slice http_msg_get(const struct http_msg *m, enum header_id id)
{
	return http_msg_has(m, id) ? http_msg_find(m, id) : (struct slice){ NULL, 0 };
}
/* Appends the Via line with which the proxy called name passes the message on (RFC 9110 section 7.6.3). */
void http_msg_add_via(struct text *, const struct http_msg *, const char *name);
/* Whether it has a field that is for the client alone that asked, such as Set-Cookie. */
bool http_msg_is_for_client(const struct http_msg *);
/* Takes all fields of that id off the message. */
void http_msg_drop(struct http_msg *, enum header_id);
/* How many fields have that id. */
size_t http_msg_count(const struct http_msg *, enum header_id);

/* Walks the members of a comma-separated list (RFC 9110 section 5.6.1) over all fields of one id. Start with a zeroed
 * iterator; false at the end. Members come trimmed, never empty; quoted strings are respected. */
struct http_list { size_t field, at; };
bool http_list_next(const struct http_msg *, enum header_id, struct http_list *, struct slice *member);
static inline bool http_msg_next_member(const struct http_msg *m, enum header_id id, struct http_list *it,
    struct slice *member)
{
	return http_msg_has(m, id) && http_list_next(m, id, it, member);
}

/* Whether Accept-Encoding (RFC 9110 section 12.5.3) allows the coding by one of its names (NULL at the end) or by "*".
 * Without the field the RFC allows any coding, but old clients that send none expect no coding: false. */
bool http_msg_accepts_coding(const struct http_msg *, const char *const *names);

#endif
