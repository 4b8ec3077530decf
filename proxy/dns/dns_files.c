/* hosts(5) and resolv.conf(5); see dns_files.h. */
#include "proxy/dns/dns_files.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NDOTS_MAX = 15 };       /* resolv.conf(5) */

struct file_word { const char *at; size_t len; };

/* The next word of a line; false at its end or at a comment. */
static bool word_next(const char **at, struct file_word *word)
{
	*at += strspn(*at, " \t\r");
	word->at = *at;
	word->len = strcspn(*at, " \t\r\n");
	if (!word->len || *word->at == '#' || *word->at == ';')
		return false;
	*at += word->len;
	return true;
}

static const char *line_next(const char *at)
{
	at += strcspn(at, "\n");
	return *at ? at + 1 : NULL;
}

static bool word_is(struct file_word w, const char *text)
{
	return strlen(text) == w.len && !strncasecmp(text, w.at, w.len);
}

static void search_add(struct dns_search *search, struct file_word w)
{
	if (w.len && w.at[w.len - 1] == '.')
		w.len--;
	if (search->n < DNS_DOMAINS_MAX && w.len && w.len < DNS_NAME_MAX - 2)
		snprintf(search->domains[search->n++], DNS_NAME_MAX, "%.*s", (int)w.len, w.at);
}

static void search_set(struct dns_search *search, const char *at)
{
	struct file_word w;

	search->n = 0;
	while (word_next(&at, &w))
		search_add(search, w);
}

static void search_options(struct dns_search *search, const char *at)
{
	struct file_word w;

	while (word_next(&at, &w))
		if (w.len > 6 && !strncmp(w.at, "ndots:", 6)) {
			unsigned long n = strtoul(w.at + 6, NULL, 10);

			search->ndots = n < NDOTS_MAX ? (unsigned)n : NDOTS_MAX;
		}
}

void dns_search_read(struct dns_search *search, const char *text, const char *localdomain, const char *res_options)
{
	search->ndots = 1;
	search->n = 0;
	for (const char *line = text; line; line = line_next(line)) {
		const char *at = line;
		struct file_word key;

		if (!word_next(&at, &key))
			continue;
		if (word_is(key, "search") || word_is(key, "domain"))
			search_set(search, at);
		else if (word_is(key, "options"))
			search_options(search, at);
	}
	if (localdomain)
		search_set(search, localdomain);
	if (res_options)
		search_options(search, res_options);
}

size_t dns_search_count(const struct dns_search *search, const char *name)
{
	size_t len = strlen(name);

	return len && name[len - 1] == '.' ? 1 : search->n + 1;
}

bool dns_search_name(const struct dns_search *search, const char *name, size_t i, char out[DNS_NAME_MAX])
{
	unsigned dots = 0;
	size_t as_it_is, len = strlen(name);
	int n;

	if (i >= dns_search_count(search, name))
		return false;
	for (const char *at = name; *at; at++)
		dots += *at == '.';
	if (len && name[len - 1] == '.')
		return snprintf(out, DNS_NAME_MAX, "%s", name) < DNS_NAME_MAX;
	as_it_is = dots >= search->ndots ? 0 : search->n;        /* the name itself is asked for first, or last */
	if (i == as_it_is)
		n = snprintf(out, DNS_NAME_MAX, "%s.", name);
	else
		n = snprintf(out, DNS_NAME_MAX, "%s.%s.", name, search->domains[as_it_is ? i : i - 1]);
	return n < DNS_NAME_MAX;
}

static void answer_add(struct dns_answers *answers, enum dns_family f, const uint8_t *address)
{
	struct dns_answer *of = &answers->of[f];

	if (of->n == DNS_ADDRESSES_MAX)
		return;
	memcpy(of->address[of->n++], address, f == DNS_IPV4 ? 4 : 16);
	of->status = DNS_OK;
}

static bool dns_files_is_localhost(const char *name, size_t len)
{
	static const char suffix[] = ".localhost";
	size_t n = sizeof suffix - 1;

	return (len == n - 1 && !strncasecmp(name, suffix + 1, len)) ||
	    (len > n && !strncasecmp(name + len - n, suffix, n));
}

bool dns_hosts_find(const char *text, const char *name, struct dns_answers *out)
{
	static const uint8_t loopback6[16] = { [15] = 1 }, loopback4[4] = { 127, 0, 0, 1 };
	struct dns_answers a = { { { .status = DNS_NOT_FOUND, .reason = "not in the hosts file" },
	    { .status = DNS_NOT_FOUND, .reason = "not in the hosts file" } } };
	size_t len = strlen(name);

	if (len && name[len - 1] == '.')
		len--;
	for (const char *line = text; line; line = line_next(line)) {
		const char *at = line;
		struct file_word address, alias;
		char literal[INET6_ADDRSTRLEN];
		uint8_t bytes[16];

		if (!word_next(&at, &address) || address.len >= sizeof literal)
			continue;
		while (word_next(&at, &alias)) {
			if (alias.len != len || strncasecmp(alias.at, name, len))
				continue;
			memcpy(literal, address.at, address.len);
			literal[address.len] = '\0';
			if (inet_pton(AF_INET, literal, bytes) == 1)
				answer_add(&a, DNS_IPV4, bytes);
			else if (inet_pton(AF_INET6, literal, bytes) == 1)
				answer_add(&a, DNS_IPV6, bytes);
			break;
		}
	}
	if (!a.of[DNS_IPV4].n && !a.of[DNS_IPV6].n && dns_files_is_localhost(name, len)) {
		answer_add(&a, DNS_IPV6, loopback6);
		answer_add(&a, DNS_IPV4, loopback4);
	}
	if (!a.of[DNS_IPV4].n && !a.of[DNS_IPV6].n)
		return false;
	*out = a;
	return true;
}
