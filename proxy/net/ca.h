/* Owns a certificate authority of one's own: how it is made, read from its files and judged, and the certificates
 * (leaves) that it signs for hosts.
 * Must not know: options, clients, which hosts are wanted. An authority and a leaf never change once made, so that
 * threads share them by counted references.
 * Invariant: no function writes a private key anywhere but ca_make(), into the descriptor that it is given. */
#ifndef UTFEED_PROXY_NET_CA_H
#define UTFEED_PROXY_NET_CA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ca;
struct leaf;
struct leaf_keys;

enum ca_kind { CA_ECDSA, CA_RSA, CA_KINDS };   /* of a key: P-256, or 2048 bits */

/* The file that is to blame, if one is. */
enum ca_file { CA_FILE_NONE, CA_FILE_CERT, CA_FILE_KEY };
struct ca_why { enum ca_file file; char text[640]; };

/* ---- ca_make.c ---- */

struct ca_wish {
	enum ca_kind kind;
	/* The only names that it may sign for, each with all below it, and addresses, each with "/BITS" behind it for a
	 * block; none: any. */
	const char *const *names;
	size_t n_names;
	unsigned days;
	int64_t now_s;
};

/* Makes an authority and writes certificate and key as PEM. -1: why tells the reason. */
int ca_make(const struct ca_wish *, int cert_fd, int key_fd, struct ca_why *) __attribute__((warn_unused_result));
/* Whether a name can be one of a wish, or the name of a leaf if it has no "/BITS". */
bool ca_is_name(const char *name, bool block);

/* The keys of all leaves of a process, each made when it is first needed, by whoever calls leaf_make() then: one thread
 * at a time. NULL: out of memory. */
struct leaf_keys *leaf_keys_new(void);
void leaf_keys_free(struct leaf_keys **);
/* Signs a certificate for a name or address (text without brackets): from an hour ago, for 7 days. One reference. NULL:
 * why tells the reason. */
struct leaf *leaf_make(struct ca *, struct leaf_keys *, enum ca_kind, const char *name, int64_t now_s, struct ca_why *);
struct leaf *leaf_ref(struct leaf *);
void leaf_unref(struct leaf **);
/* Whether it is valid now and will be for a while: else another should be made. */
bool leaf_is_good(const struct leaf *, int64_t now_s);

/* ---- ca.c ---- */

/* Reads an authority and judges it: it must be one, be valid now and have this key, which nobody but its owner (and
 * group) may read. One reference. NULL: why tells the reason and what to do. */
struct ca *ca_read(const char *cert, const char *key, struct ca_why *);
/* The same without a key: it can be shown, and sign nothing. */
struct ca *ca_read_certificate(const char *cert, struct ca_why *);
struct ca *ca_ref(struct ca *);
void ca_unref(struct ca **);
/* Why clients would refuse a certificate for this name or address from it (name constraints); NULL: they would not. */
const char *ca_refuses(const struct ca *, const char *name);
/* Says what it is, in lines for people: subject, key, dates, names, fingerprint. */
void ca_show(const struct ca *, FILE *);
enum ca_kind ca_kind(const struct ca *);
/* SHA-256 of the certificate, as in "AB:CD:...". */
enum { CA_FINGERPRINT_BYTES = 32 * 3 };
void ca_fingerprint(const struct ca *, char text[CA_FINGERPRINT_BYTES]);

#endif
