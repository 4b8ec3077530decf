/* The PROXY protocol; see proxy_protocol.h. */
#include "proxy/net/proxy_protocol.h"

#include <string.h>

static const char v1_begin[] = "PROXY ";
static const uint8_t v2_begin[12] = { '\r', '\n', '\r', '\n', 0, '\r', '\n', 'Q', 'U', 'I', 'T', '\n' };

enum { V2_LOCAL = 0x20, V2_PROXY = 0x21 };

/* By the byte of family and transport: whether it names a client, where its port stands, and the least length of the
 * addresses. */
static const struct { uint8_t family; enum proxy_protocol_whose whose; bool ipv6; uint8_t port,
	least; } v2_families[] = {
	{ 0x00, PROXY_PROTOCOL_UNKNOWN, false, 0, 0 },
	{ 0x11, PROXY_PROTOCOL_CLIENT, false, 8, 12 },      /* TCP over IPv4 */
	{ 0x21, PROXY_PROTOCOL_CLIENT, true, 32, 36 },      /* TCP over IPv6 */
	/* What a receiver cannot use counts as 0x00 (section 2.2): Unix streams, and datagrams of each family. */
	{ 0x31, PROXY_PROTOCOL_UNKNOWN, false, 0, 0 },
	{ 0x12, PROXY_PROTOCOL_UNKNOWN, false, 0, 0 },
	{ 0x22, PROXY_PROTOCOL_UNKNOWN, false, 0, 0 },
	{ 0x32, PROXY_PROTOCOL_UNKNOWN, false, 0, 0 },
};

static bool proxy_protocol_begins(const uint8_t *bytes, size_t len, const void *with, size_t with_len)
{
	return !memcmp(bytes, with, len < with_len ? len : with_len);
}

/* The word at *at, which ends at a blank, the last one at the line's end. *at moves behind the blank. */
static size_t next_word(const char **at, const char *end, const char **word)
{
	const char *blank = memchr(*at, ' ', (size_t)(end - *at));

	*word = *at;
	*at = blank ? blank + 1 : end;
	return (size_t)((blank ? blank : end) - *word);
}

static bool proxy_protocol_read_port(const char *text, size_t len, uint16_t *port)
{
	unsigned n = 0;

	if (!len || len > 5 || (len > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		n = n * 10 + (unsigned)(text[i] - '0');
	}
	*port = (uint16_t)n;
	return n <= 65535;
}

/* The line is TCP4 or TCP6, source, destination and their ports, or UNKNOWN and anything (section 2.1). */
static bool read_v1_words(struct proxy_protocol *header, const char *at, const char *end)
{
	const char *word;
	size_t len = next_word(&at, end, &word);
	bool ipv6 = len == 4 && !memcmp(word, "TCP6", 4);
	struct ip destination;
	uint16_t port;

	if (len == 7 && !memcmp(word, "UNKNOWN", 7)) {
		header->whose = PROXY_PROTOCOL_UNKNOWN;
		return true;
	}
	if (!ipv6 && (len != 4 || memcmp(word, "TCP4", 4)))
		return false;
	header->whose = PROXY_PROTOCOL_CLIENT;
	len = next_word(&at, end, &word);
	if (!ip_parse(word, len, &header->ip) || (memchr(word, ':', len) != NULL) != ipv6)
		return false;
	len = next_word(&at, end, &word);
	if (!ip_parse(word, len, &destination) || (memchr(word, ':', len) != NULL) != ipv6)
		return false;
	len = next_word(&at, end, &word);
	if (!proxy_protocol_read_port(word, len, &header->port) || at == end)
		return false;
	return proxy_protocol_read_port(at, (size_t)(end - at), &port);
}

static enum proxy_protocol_result read_v1(struct proxy_protocol *header, const char *text, size_t len)
{
	const char *end = memchr(text, '\n', len < PROXY_PROTOCOL_V1_MAX ? len : PROXY_PROTOCOL_V1_MAX);

	if (!end)
		return len < PROXY_PROTOCOL_V1_MAX ? PROXY_PROTOCOL_MORE : PROXY_PROTOCOL_BAD;
	header->length = (size_t)(end - text) + 1;
	if (end[-1] != '\r' || !read_v1_words(header, text + sizeof v1_begin - 1, end - 1))
		return PROXY_PROTOCOL_BAD;
	return PROXY_PROTOCOL_DONE;
}

/* Of a LOCAL connection the family and the addresses are ignored (section 2.2). */
static enum proxy_protocol_result read_v2(struct proxy_protocol *header, const uint8_t *bytes, size_t len)
{
	const uint8_t *addresses = bytes + PROXY_PROTOCOL_V2_FIXED;

	if (len < PROXY_PROTOCOL_V2_FIXED)
		return PROXY_PROTOCOL_MORE;
	size_t named = (size_t)(bytes[14] << 8 | bytes[15]);
	header->length = PROXY_PROTOCOL_V2_FIXED + named;
	header->whose = PROXY_PROTOCOL_LOCAL;
	if (bytes[12] == V2_LOCAL)
		return PROXY_PROTOCOL_DONE;
	if (bytes[12] != V2_PROXY)
		return PROXY_PROTOCOL_BAD;
	for (size_t i = 0; i < sizeof v2_families / sizeof *v2_families; i++) {
		if (v2_families[i].family != bytes[13])
			continue;
		if (named < v2_families[i].least)
			return PROXY_PROTOCOL_BAD;
		if (len < PROXY_PROTOCOL_V2_FIXED + (size_t)v2_families[i].least)
			return PROXY_PROTOCOL_MORE;
		header->whose = v2_families[i].whose;
		if (header->whose == PROXY_PROTOCOL_CLIENT) {
			ip_from_bytes(addresses, v2_families[i].ipv6, &header->ip);
			header->port =
			    (uint16_t)(addresses[v2_families[i].port] << 8 | addresses[v2_families[i].port + 1]);
		}
		return PROXY_PROTOCOL_DONE;
	}
	return PROXY_PROTOCOL_BAD;
}

enum proxy_protocol_result proxy_protocol_read(struct proxy_protocol *header, const uint8_t *bytes, size_t len)
{
	*header = (struct proxy_protocol){ .whose = PROXY_PROTOCOL_UNKNOWN };
	if (proxy_protocol_begins(bytes, len, v2_begin, sizeof v2_begin))
		return read_v2(header, bytes, len);
	if (!proxy_protocol_begins(bytes, len, v1_begin, sizeof v1_begin - 1))
		return PROXY_PROTOCOL_BAD;
	return len < sizeof v1_begin ? PROXY_PROTOCOL_MORE : read_v1(header, (const char *)bytes, len);
}
