/* The host in a URL; see backoff_internal.h. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "conf/cidr.h"
#include "proxy/origin/backoff_internal.h"

/* An IPv6 address is written as inet_ntop() writes it, and a name without the dot of the root. */
void backoff_host_of(struct backoff_host *host, struct slice url)
{
	size_t scheme = url.len > 5 && url.at[4] == 's' ? 8 : 7, from = scheme, end = from;
	char *at = host->text;
	struct ip ip;

	while (end < url.len && url.at[end] != '/')
		end++;
	size_t to = from;
	if (from < end && url.at[from] == '[') {
		while (to < end && url.at[to] != ']')
			to++;
		from++;
	} else
		while (to < end && url.at[to] != ':')
			to++;
	at += snprintf(at, 9, "%.*s", (int)scheme, url.at);
	if (to > from && ip_parse(url.at + from, to - from, &ip))
		inet_ntop(ip.ipv6 ? AF_INET6 : AF_INET, ip.bytes, at, INET6_ADDRSTRLEN);
	else
		snprintf(at, URL_MAX_HOST + 1, "%.*s", (int)(to - from), url.at + from);
	host->bare = (struct slice){ at, strlen(at) };
	for (size_t i = 0; i < host->bare.len; i++)
		at[i] = (char)tolower((unsigned char)at[i]);
	host->bare.len -= host->bare.len > 1 && at[host->bare.len - 1] == '.';
	to += to < end && url.at[to] == ']';
	snprintf(at + host->bare.len, 8, "%.*s", (int)(end - to), url.at + to);
	host->name = (struct slice){ host->text, strlen(host->text) };
}
