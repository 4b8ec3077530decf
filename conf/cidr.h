/* Owns IP addresses and blocks of them: reading, writing, and whether an address lies in a block.
 * Must not know: which blocks are good or bad.
 * Invariant: an IPv4 address inside IPv6 (::ffff:0:0/96, RFC 4291 section 2.5.5.2) is kept as the IPv4 address, so that
 * no block is evaded by the other spelling. */
#ifndef UTFEED_CONF_CIDR_H
#define UTFEED_CONF_CIDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sockaddr;

struct ip {
	bool ipv6;
	uint8_t bytes[16];             /* network order; IPv4: the first four */
};

struct cidr {
	struct ip ip;
	unsigned bits;
};

struct cidr_list { struct cidr *items; size_t count; };

/* Reads dotted decimal without leading zeroes, or RFC 4291 section 2.2 without brackets and zone, and none of the other
 * forms that inet_aton accepts. */
bool ip_parse(const char *text, size_t len, struct ip *);
void ip_from_bytes(const uint8_t *bytes, bool ipv6, struct ip *);      /* 4 or 16 bytes in network order. */
bool ip_from_sockaddr(const struct sockaddr *, struct ip *);     /* False: another family. */
/* The address that counts as one client: an IPv4 address, or an IPv6 network of 64 bits. Each subscriber has at least
 * one such network (RFC 6177). */
struct ip ip_client(const struct ip *);

/* Reads "192.0.2.0/24", "2001:db8::/32", or one address. False: it is not a block, or has bits behind its prefix. */
bool cidr_parse(const char *text, size_t len, struct cidr *);
/* Whether the text would be a block if no bits were set behind its prefix; then writes that block. */
enum { CIDR_TEXT_MAX = 64 };
bool cidr_round(const char *text, size_t len, char block[CIDR_TEXT_MAX]);
void cidr_print(FILE *, const struct cidr *);
void cidr_text(const struct cidr *, char block[CIDR_TEXT_MAX]);
bool cidr_contains(const struct cidr *, const struct ip *);
bool ip_is_loopback(const struct ip *);
bool ip_is_unspecified(const struct ip *);     /* 0.0.0.0 or :: */
bool ip_is_same(const struct ip *, const struct ip *);
bool cidr_is_loopback(const struct cidr *);    /* all addresses in it are loopback addresses */
bool cidr_list_contains(const struct cidr_list *, const struct ip *);

/* Whether the host's last label is a number (WHATWG URL, "ends in a number"). Such a host is not a name: inet_aton and
 * browsers read it as an IPv4 address, in many spellings (0x7f.1, 017700000001, 2130706433). */
bool ip_is_numeric_host(const char *host, size_t len);

#endif
