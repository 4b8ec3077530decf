/* Message heads; see http_msg.h. */
#include "proxy/http/http_msg.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HEADER_NAME_MAX = 32 };         /* no field for which headers.def has a rule of its own has a longer name */

static const struct {
	const char *name;
	uint8_t len, request, response;
	bool family;                   /* name is a prefix of its members' names */
} headers[H_COUNT] = {
	[H_OTHER] = { "", 0, REQUEST_OTHER, RESPONSE_KEEP, false },
#define HEADER(id, name, request, response) \
	[H_##id] = { name, sizeof name - 1, REQUEST_##request, RESPONSE_##response, false },
#define FAMILY(id, name, request, response) \
	[H_##id] = { name, sizeof name - 1, REQUEST_##request, RESPONSE_##response, true },
#include "proxy/http/headers.def"
#undef HEADER
#undef FAMILY
};

int http_msg_init(struct http_msg *m, size_t max_fields)
{
	memset(m, 0, sizeof *m);
	m->fields = malloc(max_fields * sizeof *m->fields);
	m->max_fields = (uint32_t)max_fields;
	return m->fields ? 0 : -1;
}

void http_msg_free(struct http_msg *m)
{
	free(m->fields);
	m->fields = NULL;
}

void http_msg_reset(struct http_msg *m)
{
	struct http_msg keep = { .fields = m->fields, .max_fields = m->max_fields, .base = m->base };

	*m = keep;
}

enum { HEADER_LISTS = 64 };

/* Lists of the headers, by length and first letter; families by first letter alone. first_of and first_family: the
 * first header of a list; next_of: the header that follows in the list; H_OTHER: none. */
static uint8_t first_of[HEADER_LISTS], next_of[H_COUNT], first_family[32];

static uint8_t *header_list(const char *name, size_t len)
{
	return &first_of[(len * 7 + ((unsigned char)name[0] | 0x20)) % HEADER_LISTS];
}

static void __attribute__((constructor)) headers_list(void)
{
	for (int id = 1; id < H_COUNT; id++) {
		uint8_t *list = headers[id].family
		    ? &first_family[headers[id].name[0] % 32]
		    : header_list(headers[id].name, headers[id].len);

		next_of[id] = *list;
		*list = (uint8_t)id;
	}
}

/* Whether a token of that length is the header's name: letters differ from capitals by one bit, which other characters
 * of names have set. */
static inline bool header_is(int id, const char *name, size_t len)
{
	const uint64_t small = UINT64_C(0x2020202020202020);
	const char *known = headers[id].name;
	uint64_t a, b;
	size_t at = 0;

	if (headers[id].len != len)
		return false;
	while (len - at >= sizeof a) {
		memcpy(&a, name + at, sizeof a);
		memcpy(&b, known + at, sizeof b);
		if ((a | small) != b)
			return false;
		at += sizeof a;
		if (at < len && len - at < sizeof a)           /* the last ones once more, with what is left */
			at = len - sizeof a;
	}
	for (; at < len; at++)
		if ((name[at] | 0x20) != known[at])
			return false;
	return true;
}

static enum header_id header_family(const char *name, size_t len)
{
	int id = first_family[(unsigned char)name[0] % 32];

	while (id != H_OTHER && (headers[id].len > len || strncasecmp(headers[id].name, name, headers[id].len)))
		id = next_of[id];
	return (enum header_id)id;
}

enum header_id http_header_id(const char *name, size_t len)
{
	int id = len ? *header_list(name, len) : H_OTHER;

	while (id != H_OTHER && !header_is(id, name, len))
		id = next_of[id];
	return id == H_OTHER && len ? header_family(name, len) : (enum header_id)id;
}

enum header_request http_header_request(enum header_id id)
{
	return (enum header_request)headers[id].request;
}

enum header_response http_header_response(enum header_id id)
{
	return (enum header_response)headers[id].response;
}

bool http_header_is_disguised(enum header_id id, struct slice name)
{
	char plain[HEADER_NAME_MAX];
	bool odd = false;

	if (http_header_request(id) != REQUEST_OTHER || name.len > sizeof plain)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		plain[i] = isalnum((unsigned char)name.at[i]) ? name.at[i] : '-';
		odd |= plain[i] != name.at[i];
	}
	return odd && http_header_request(http_header_id(plain, name.len)) != REQUEST_OTHER;
}

void http_msg_drop(struct http_msg *m, enum header_id id)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < m->n_fields; i++)
		if (m->fields[i].id != id)
			m->fields[kept++] = m->fields[i];
	m->n_fields = kept;
	m->ids[id / 64] &= ~(UINT64_C(1) << id % 64);
}

void http_msg_add_via(struct text *t, const struct http_msg *m, const char *name)
{
	const char version[] = { (char)('0' + m->major), '.', (char)('0' + m->minor) };

	text_puts(t, "Via: ");
	text_add(t, m->h2 ? "2" : version, m->h2 ? 1 : sizeof version);
	text_puts(t, " ");
	text_puts(t, name);
	text_puts(t, "\r\n");
}

struct slice http_msg_find(const struct http_msg *m, enum header_id id)
{
	for (uint32_t i = 0; i < m->n_fields; i++)
		if (m->fields[i].id == id)
			return http_field_value(m, &m->fields[i]);
	return (struct slice){ NULL, 0 };
}

bool http_msg_is_for_client(const struct http_msg *m)
{
	for (int id = 1; id < H_COUNT; id++)
		if (headers[id].response == RESPONSE_CLIENT && http_msg_has(m, (enum header_id)id))
			return true;
	return false;
}

size_t http_msg_count(const struct http_msg *m, enum header_id id)
{
	size_t n = 0;

	if (!http_msg_has(m, id))
		return 0;
	for (uint32_t i = 0; i < m->n_fields; i++)
		n += m->fields[i].id == id;
	return n;
}

/* Length up to the next comma that is not inside a quoted string (RFC 9110 section 5.6.4). */
static size_t member_length(const char *at, size_t len)
{
	bool quoted = false;

	for (size_t i = 0; i < len; i++) {
		if (quoted && at[i] == '\\')
			i++;
		else if (at[i] == '"')
			quoted = !quoted;
		else if (at[i] == ',' && !quoted)
			return i;
	}
	return len;
}

bool http_list_next(const struct http_msg *m, enum header_id id, struct http_list *it, struct slice *member)
{
	for (; it->field < m->n_fields; it->field++, it->at = 0) {
		struct slice v;

		if (m->fields[it->field].id != id)
			continue;
		v = http_field_value(m, &m->fields[it->field]);
		while (it->at < v.len) {
			struct slice s = { v.at + it->at, member_length(v.at + it->at, v.len - it->at) };

			it->at += s.len + 1;
			s = slice_trim(s);
			if (s.len) {
				*member = s;
				return true;
			}
		}
	}
	return false;
}

/* ";q=0" in any of its forms (RFC 9110 section 12.4.2). */
static bool weight_is_zero(struct slice params)
{
	struct slice weight;

	(void)slice_until(params, '=', &weight);
	weight = slice_trim(weight);
	for (size_t i = 0; i < weight.len; i++)
		if (weight.at[i] != '0' && weight.at[i] != '.')
			return false;
	return weight.len && weight.at[0] == '0';
}

bool http_msg_accepts_coding(const struct http_msg *m, const char *const *names)
{
	struct http_list it = { 0, 0 };
	struct slice member, params;
	bool any = false, named = false, granted = false;

	while (http_msg_next_member(m, H_ACCEPT_ENCODING, &it, &member)) {
		struct slice name = slice_until(member, ';', &params);

		if (slice_is(name, "*"))
			any = !weight_is_zero(params);
		for (const char *const *n = names; *n; n++)
			if (slice_is(name, *n)) {
				named = true;
				granted = !weight_is_zero(params);
			}
	}
	return named ? granted : any;
}
