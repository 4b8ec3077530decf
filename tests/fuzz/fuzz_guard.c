/* Owns feeding arbitrary hosts, ports and addresses to the guard. Input: a byte of switches, two of port, sixteen of address, then
 * an allow entry, a deny entry and a host, each ended by a line feed.
 * Invariants: what is read as an entry is written and read back alike; a denied address stays denied however allowed; without an
 * allow entry nothing but public unicast on a web port passes, and no host that inet_aton reads in a spelling of its own; a tunnel
 * (the allow entry is its list) reaches public unicast only, on the port that entry names. */
#include "conf/conf_internal.h"
#include "proxy/settings/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_BYTES = 19, LINE_MAX_BYTES = 300 };

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void next_line(const uint8_t **data, size_t *size, char line[LINE_MAX_BYTES])
{
	const uint8_t *end = *size ? memchr(*data, '\n', *size) : NULL;
	size_t len = end ? (size_t)(end - *data) : *size, kept = len < LINE_MAX_BYTES - 1 ? len : LINE_MAX_BYTES - 1;

	memcpy(line, *data, kept);
	line[kept] = '\0';
	*data += len + (end != NULL);
	*size -= len + (end != NULL);
}

static char *written(const struct conf_destination_list *list)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	require(out != NULL);
	conf_destination_format(out, NULL, list);
	fclose(out);
	return text;
}

static void read_entry(struct conf_destination_list *list, const char *line)
{
	struct conf_destination_list again = { NULL, 0 };
	struct conf_error error;
	char *text, *second;

	if (conf_destination_set(NULL, list, &(struct conf_value){ line, NULL }, &error) != 0)
		return;
	text = written(list);
	text[strcspn(text, "\n")] = '\0';
	require(conf_destination_set(NULL, &again, &(struct conf_value){ text, NULL }, &error) == 0);
	second = written(&again);
	second[strcspn(second, "\n")] = '\0';
	require(strcmp(text, second) == 0);
	free(text);
	free(second);
	conf_destination_clear(&again);
}

/* The ranges everybody knows, told another way than by the table. */
static bool is_plainly_closed(const uint8_t *b)
{
	return b[0] == 0 || b[0] == 10 || b[0] == 127 || (b[0] == 172 && b[1] >> 4 == 1) || (b[0] == 192 && b[1] == 168) ||
		(b[0] == 169 && b[1] == 254) || b[0] >= 224;
}

static bool is_closed_address(const uint8_t *b, bool ipv6)
{
	static const uint8_t zero[12];

	if (!ipv6)
		return is_plainly_closed(b);
	if (memcmp(b, zero, 10) == 0 && b[10] == 0xff && b[11] == 0xff)
		return is_plainly_closed(b + 12);
	if (memcmp(b, "\x00\x64\xff\x9b\0\0\0\0\0\0\0\0", 12) == 0)
		return is_plainly_closed(b + 12);
	return b[0] >> 5 != 1 || memcmp(b, "\x20\x02", 2) == 0 || memcmp(b, "\x20\x01\0\0", 4) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf_destination_list none = { NULL, 0 }, allow = { NULL, 0 }, deny = { NULL, 0 };
	struct guard plain = { &none, &none, NULL }, ruled = { &allow, &deny, NULL }, tunnel = { &none, &none, &allow };
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	char line[LINE_MAX_BYTES], host[LINE_MAX_BYTES];
	struct guard_pass pass;
	struct in_addr aton;
	struct ip ip;
	const struct sockaddr *to;
	const uint8_t *address = data + 3;
	uint16_t port;
	bool ipv6;

	if (size < HEAD_BYTES)
		return 0;
	ipv6 = data[0] & 1;
	port = (uint16_t)(data[0] & 2 ? 80 : data[1] << 8 | data[2]);
	memcpy(&in.sin_addr, address, sizeof(in.sin_addr));
	memcpy(&in6.sin6_addr, address, sizeof(in6.sin6_addr));
	to = ipv6 ? (const struct sockaddr *)&in6 : (const struct sockaddr *)&in;
	data += HEAD_BYTES;
	size -= HEAD_BYTES;
	next_line(&data, &size, line);
	read_entry(&allow, line);
	next_line(&data, &size, line);
	read_entry(&deny, line);
	next_line(&data, &size, host);

	if (!guard_check_name(&plain, host, port, &pass)) {
		require((port == 80 || port == 443) && !pass.addresses_open && host[0] && !strpbrk(host, "%[]/@\\ "));
		require(!inet_aton(host, &aton) || ip_parse(host, strlen(host), &ip));
		if (!guard_check_address(&plain, &pass, to))
			require(!is_closed_address(address, ipv6));
	}
	if (!guard_check_name(&ruled, host, port, &pass) && !guard_check_address(&ruled, &pass, to)) {
		require(ip_from_sockaddr(to, &ip));
		for (size_t i = 0; i < deny.count; i++)
			require(deny.items[i].kind != DESTINATION_BLOCK || (deny.items[i].port > 0 && deny.items[i].port != port) ||
				!cidr_contains(&deny.items[i].cidr, &ip));
	}
	if (!guard_check_name(&tunnel, host, port, &pass) && !guard_check_address(&tunnel, &pass, to)) {
		require(allow.count && !is_closed_address(address, ipv6));
		require(allow.items[0].port == DESTINATION_PORT_ANY || port == (allow.items[0].port ? allow.items[0].port : 443));
	}
	conf_destination_clear(&allow);
	conf_destination_clear(&deny);
	return 0;
}
