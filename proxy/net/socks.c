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

void socks_begin(struct socks *socks, const char *login, const char *host, uint16_t port, struct text *out)
{
	*socks = (struct socks){ .login = login, .host = host, .port = port };
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

static enum socks_result socks_connect(struct socks *socks, struct text *out, struct failure *failure)
{
	if (strlen(socks->host) > SOCKS_HOST_MAX) {
		failure_set(failure, FAILURE_PARENT_REFUSED, "SOCKS has no room for a name of more than %d bytes",
		    SOCKS_HOST_MAX);
		return SOCKS_FAILED;
	}
	socks->step = SOCKS_CONNECT;
	socks_add_byte(out, SOCKS_VERSION);
	socks_add_byte(out, 1);
	socks_add_byte(out, 0);
	socks_add_host(out, socks->host);
	socks_add_byte(out, socks->port >> 8);
	socks_add_byte(out, socks->port & 0xff);
	return SOCKS_SAYS;
}

/* RFC 1928 section 3 */
static enum socks_result socks_take_method(struct socks *socks, struct text *out, struct failure *failure)
{
	switch (socks->answer[1]) {
	case SOCKS_BY_NOTHING:
		return socks_connect(socks, out, failure);
	case SOCKS_BY_PASSWORD:
		if (!socks->login)
			break;
		socks->step = SOCKS_LOGIN;
		text_puts(out, socks->login);
		return SOCKS_SAYS;
	case SOCKS_BY_NONE:
		failure_set(failure, FAILURE_PARENT_CREDENTIALS, "it takes no client %s",
		    socks->login ? "by user and password" : "without credentials");
		return SOCKS_FAILED;
	}
	failure_set(failure, FAILURE_PARENT_REFUSED, "it wants method %u, which was not offered", socks->answer[1]);
	return SOCKS_FAILED;
}

/* RFC 1929 section 2. Its version is not looked at: some servers send that of SOCKS. */
static enum socks_result socks_take_login(struct socks *socks, struct text *out, struct failure *failure)
{
	if (!socks->answer[1])
		return socks_connect(socks, out, failure);
	failure_set(failure, FAILURE_PARENT_CREDENTIALS, "SOCKS user or password is wrong (status %u)",
	    socks->answer[1]);
	return SOCKS_FAILED;
}

static void socks_refused(struct failure *failure, unsigned reply)
{
	if (reply < sizeof socks_replies / sizeof *socks_replies)
		failure_set(failure, socks_replies[reply].error, "%s (SOCKS reply %u)", socks_replies[reply].what,
		    reply);
	else
		failure_set(failure, FAILURE_PARENT_REFUSED, "SOCKS reply %u", reply);
}

/* How long the answer is by the bytes that are there: as many more may be read. 0: it is none. */
static size_t socks_length(const struct socks *socks)
{
	enum { HEAD = 4, PORT = 2 };

	if (socks->step != SOCKS_CONNECT || socks->len < 2)
		return 2;
	if (socks->len < HEAD + 1)
		return HEAD + 1;
	switch (socks->answer[3]) {
	case SOCKS_IPV4:
		return HEAD + 4 + PORT;
	case SOCKS_NAME:
		return HEAD + 1 + (size_t)socks->answer[4] + PORT;
	case SOCKS_IPV6:
		return HEAD + 16 + PORT;
	default:
		return 0;
	}
}

uint8_t *socks_room(struct socks *socks, size_t *len)
{
	*len = socks_length(socks) - socks->len;
	return socks->answer + socks->len;
}

static enum socks_result socks_take_reply(const struct socks *socks, struct failure *failure)
{
	size_t length = socks_length(socks);

	if (socks->answer[1]) {
		socks_refused(failure, socks->answer[1]);
		return SOCKS_FAILED;
	}
	if (!length) {
		failure_set(failure, FAILURE_PARENT_REFUSED, "it answers with an address of kind %u", socks->answer[3]);
		return SOCKS_FAILED;
	}
	return socks->len == length ? SOCKS_OPEN : SOCKS_MORE;
}

enum socks_result socks_take(struct socks *socks, size_t len, struct text *out, struct failure *failure)
{
	socks->len += len;
	if (socks->step != SOCKS_LOGIN && socks->answer[0] != SOCKS_VERSION) {
		failure_set(failure, FAILURE_PARENT_REFUSED, "it does not speak SOCKS5");
		return SOCKS_FAILED;
	}
	if (socks->len < 2)
		return SOCKS_MORE;
	if (socks->step == SOCKS_CONNECT)
		return socks_take_reply(socks, failure);
	enum socks_result r = socks->step == SOCKS_METHOD ? socks_take_method(socks, out, failure)
	    : socks_take_login(socks, out, failure);
	socks->len = 0;
	return r;
}
