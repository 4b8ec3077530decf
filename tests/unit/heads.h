/* Owns heads made of lines for tests of what reads heads: "Name: value" lines, each ended by a line feed, without the parser and so
 * with whatever it would refuse. Invariant: the bytes lie in an allocation of just their size. */
#ifndef UTFEED_TESTS_HEADS_H
#define UTFEED_TESTS_HEADS_H

#include "proxy/http/http_msg.h"

#include <stdlib.h>
#include <string.h>

enum { HEADS_FIELDS = 64 };

static inline struct slice head_slice(const char *text)
{
	return (struct slice){ text, text ? strlen(text) : 0 };
}

static inline void head_fill(struct http_msg *m, const char *lines, size_t len, int status)
{
	char *bytes = malloc(len ? len : 1);
	const char *end, *at = lines;

	if (!bytes || http_msg_init(m, HEADS_FIELDS))
		abort();
	memcpy(bytes, lines, len);
	m->base = bytes;
	m->status = (uint16_t)status;
	m->method = METHOD_GET;
	for (; m->n_fields < HEADS_FIELDS && (end = memchr(at, '\n', (size_t)(lines + len - at))); at = end + 1) {
		const char *colon = memchr(at, ':', (size_t)(end - at));
		struct slice name, value;

		if (!colon || colon - at > UINT16_MAX)
			continue;
		name = (struct slice){ at, (size_t)(colon - at) };
		value = slice_trim((struct slice){ colon + 1, (size_t)(end - colon - 1) });
		m->fields[m->n_fields] = (struct http_field){ .name = (uint32_t)(name.at - lines), .name_len = (uint16_t)name.len,
			.value = (uint32_t)(value.at - lines), .value_len = (uint32_t)value.len,
			.id = (uint8_t)http_header_id(name.at, name.len) };
		http_msg_add(m);
	}
}

static inline void head_read(struct http_msg *m, const char *lines, int status)
{
	head_fill(m, lines, strlen(lines), status);
}

static inline void head_free(struct http_msg *m)
{
	free((char *)(uintptr_t)m->base);
	http_msg_free(m);
}

#endif
