/* SOCKS5, the client's side; see socks.h. */
#include "proxy/net/socks.h"

#include <string.h>

#include "conf/cidr.h"

enum { SOCKS_VERSION = 5, SOCKS_BY_NOTHING = 0, SOCKS_BY_PASSWORD = 2, SOCKS_BY_NONE = 0xff, SOCKS_HOST_MAX = 255 };
enum socks_kind { SOCKS_IPV4 = 1, SOCKS_NAME = 3, SOCKS_IPV6 = 4 };

/* The replies to CONNECT (RFC 1928 section 6). */
static const struct { enum failure_kind error; const char *what; } socks_replies[] = {
	[1] = { FAILURE_PARENT_REFUSED, "it failed" },
	[2] = { FAILURE_PARENT_REFUSED, "its rules forbid the connection" },
	[3] = { FAILURE_IP_UNROUTABLE, "no way to the network" },
	[4] = { FAILURE_IP_UNROUTABLE, "no way to the host" },
	[5] = { FAILURE_CONNECTION_REFUSED, "connection refused" },
	[6] = { FAILURE_IP_UNROUTABLE, "TTL expired" },
	[7] = { FAILURE_PARENT_REFUSED, "it has no CONNECT" },
	[8] = { FAILURE_PARENT_REFUSED, "it does not know this kind of address" },
};

static void socks_add_byte(struct text *out, unsigned byte)
{
	text_add(out, &(char){ (char)byte }, 1);
}

void socks_begin(struct socks *s, const char *login, const char *host, uint16_t port, struct text *out)
{
	*s = (struct socks){ .login = login, .host = host, .port = port };
	socks_add_byte(out, SOCKS_VERSION);
	socks_add_byte(out, login ? 2 : 1);
	socks_add_byte(out, SOCKS_BY_NOTHING);
	if (login)
		socks_add_byte(out, SOCKS_BY_PASSWORD);
}

static void socks_add_host(struct text *out, const char *host)
{
	size_t len = strlen(host);
	struct ip ip;

	if (ip_parse(host, len, &ip)) {
		socks_add_byte(out, ip.ipv6 ? SOCKS_IPV6 : SOCKS_IPV4);
		text_add(out, (const char *)ip.bytes, ip.ipv6 ? 16 : 4);
	} else {
		socks_add_byte(out, SOCKS_NAME);
		socks_add_byte(out, (unsigned)len);
		text_add(out, host, len);
	}
}

static enum socks_result socks_connect(struct socks *s, struct text *out, struct failure *f)
{
	if (strlen(s->host) > SOCKS_HOST_MAX) {
		failure_set(f, FAILURE_PARENT_REFUSED, "SOCKS has no room for a name of more than %d bytes",
		    SOCKS_HOST_MAX);
		return SOCKS_FAILED;
	}
	s->step = SOCKS_CONNECT;
	socks_add_byte(out, SOCKS_VERSION);
	socks_add_byte(out, 1);
	socks_add_byte(out, 0);
	socks_add_host(out, s->host);
	socks_add_byte(out, s->port >> 8);
	socks_add_byte(out, s->port & 0xff);
	return SOCKS_SAYS;
}

/* RFC 1928 section 3 */
static enum socks_result socks_take_method(struct socks *s, struct text *out, struct failure *f)
{
	switch (s->answer[1]) {
	case SOCKS_BY_NOTHING:
		return socks_connect(s, out, f);
	case SOCKS_BY_PASSWORD:
		if (!s->login)
			break;
		s->step = SOCKS_LOGIN;
		text_puts(out, s->login);
		return SOCKS_SAYS;
	case SOCKS_BY_NONE:
		failure_set(f, FAILURE_PARENT_CREDENTIALS, "it takes no client %s",
		    s->login ? "by user and password" : "without credentials");
		return SOCKS_FAILED;
	}
	failure_set(f, FAILURE_PARENT_REFUSED, "it wants method %u, which was not offered", s->answer[1]);
	return SOCKS_FAILED;
}

/* RFC 1929 section 2. Its version is not looked at: some servers send that of SOCKS. */
static enum socks_result socks_take_login(struct socks *s, struct text *out, struct failure *f)
{
	if (!s->answer[1])
		return socks_connect(s, out, f);
	failure_set(f, FAILURE_PARENT_CREDENTIALS, "SOCKS user or password is wrong (status %u)", s->answer[1]);
	return SOCKS_FAILED;
}

static void socks_refused(struct failure *f, unsigned reply)
{
	if (reply < sizeof socks_replies / sizeof *socks_replies)
		failure_set(f, socks_replies[reply].error, "%s (SOCKS reply %u)", socks_replies[reply].what, reply);
	else
		failure_set(f, FAILURE_PARENT_REFUSED, "SOCKS reply %u", reply);
}

/* How long the answer is by the bytes that are there: as many more may be read. 0: it is none. */
static size_t socks_length(const struct socks *s)
{
	enum { HEAD = 4, PORT = 2 };

	if (s->step != SOCKS_CONNECT || s->len < 2)
		return 2;
	if (s->len < HEAD + 1)
		return HEAD + 1;
	switch (s->answer[3]) {
	case SOCKS_IPV4:
		return HEAD + 4 + PORT;
	case SOCKS_NAME:
		return HEAD + 1 + (size_t)s->answer[4] + PORT;
	case SOCKS_IPV6:
		return HEAD + 16 + PORT;
	default:
		return 0;
	}
}

uint8_t *socks_room(struct socks *s, size_t *len)
{
	*len = socks_length(s) - s->len;
	return s->answer + s->len;
}

static enum socks_result socks_take_reply(const struct socks *s, struct failure *f)
{
	size_t length = socks_length(s);

	if (s->answer[1]) {
		socks_refused(f, s->answer[1]);
		return SOCKS_FAILED;
	}
	if (!length) {
		failure_set(f, FAILURE_PARENT_REFUSED, "it answers with an address of kind %u", s->answer[3]);
		return SOCKS_FAILED;
	}
	return s->len == length ? SOCKS_OPEN : SOCKS_MORE;
}

enum socks_result socks_take(struct socks *s, size_t len, struct text *out, struct failure *f)
{
	enum socks_result r;

	s->len += len;
	if (s->step != SOCKS_LOGIN && s->answer[0] != SOCKS_VERSION) {
		failure_set(f, FAILURE_PARENT_REFUSED, "it does not speak SOCKS5");
		return SOCKS_FAILED;
	}
	if (s->len < 2)
		return SOCKS_MORE;
	if (s->step == SOCKS_CONNECT)
		return socks_take_reply(s, f);
	r = s->step == SOCKS_METHOD ? socks_take_method(s, out, f) : socks_take_login(s, out, f);
	s->len = 0;
	return r;
}
