/* Owns the configuration: what every option is, where its value comes from (flag > environment > file > default), and
 * routes.
 * Must not know: sockets, events, what the proxy does with a value.
 * Invariant: a struct conf that loaded is whole and in range, and nobody writes to it again; a reload makes another
 * one. */
#ifndef UTFEED_CONF_CONF_H
#define UTFEED_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "conf/cidr.h"
#include "conf/url.h"
#include "core/decode/charset.h"
#include "core/normalise/normalise.h"
#include "core/policy/policy.h"

enum { CONF_NAMES_MAX = 16 };   /* of one list of names */
/* A limit of an option that has room made for it elsewhere, and its text in the table. */
#define CONF_REDIRECTS_MAX 20
#define CONF_LIMIT(number) CONF_LIMIT_TEXT(number)
#define CONF_LIMIT_TEXT(number) #number
enum conf_client_policy { CLIENT_POLICY_OFF, CLIENT_POLICY_LOOPBACK, CLIENT_POLICY_ANY };
enum conf_client_field { CLIENT_FIELD_X_FORWARDED_FOR, CLIENT_FIELD_FORWARDED };
enum conf_log_level { CONF_LOG_ERROR, CONF_LOG_WARN, CONF_LOG_INFO, CONF_LOG_DEBUG };

struct conf_listen {
	char *host;                 /* an IPv4 or IPv6 address as text, without brackets */
	bool ipv6;
	uint16_t port;              /* 0: any free one */
};

struct conf_listen_list { struct conf_listen *items; size_t count; };

/* What a destination list names: one host, a host and all below it, a block of addresses, or any host. */
enum conf_destination_kind { DESTINATION_HOST, DESTINATION_BELOW, DESTINATION_BLOCK, DESTINATION_EVERY };
enum { DESTINATION_PORT_NONE = 0, DESTINATION_PORT_ANY = -1 };

struct conf_destination {
	enum conf_destination_kind kind;
	char *host;                 /* lower case, without dots at its ends; NULL for the other kinds */
	struct cidr cidr;
	int port;                   /* or a DESTINATION_PORT_ */
};

struct conf_destination_list { struct conf_destination *items; size_t count; };

/* An origin: what a URL without query says. */
struct conf_origin {
	enum url_scheme scheme;
	char *host;                 /* without brackets, lower case */
	bool ipv6;
	uint16_t port;
	char *path;                 /* begins with '/' */
	/* what a Host field says: brackets where needed, the port where it is not the scheme's own */
	char *authority;
};

/* A proxy that requests to origins go through. */
struct conf_parent {
	char *host;                 /* without brackets, lower case; NULL: none, origins are asked directly */
	bool ipv6;
	uint16_t port;
	char *userinfo;             /* as written, blanks as %20; NULL: none */
	char *credentials;          /* "user:password" as RFC 7617 section 2 sends it, in base64; NULL: none */
};

/* A Redis or Valkey server: by host, by path, or none where both are NULL. */
struct conf_redis {
	char *host;                 /* without brackets */
	bool ipv6;
	uint16_t port;              /* never 0 beside a host */
	char *path;                 /* of a Unix socket; begins with '/' */
};

/* What an option of a route changes of a stored response; see route_options.def. */
enum conf_effect { EFFECT_SAME, EFFECT_KEY, EFFECT_BYTES };

struct conf_route_list { struct conf_route *items; size_t count; };

/* Never made: names the C type of each kind of value, so that a row of the tables can declare its member. */
struct conf_types {
#define TYPE(id, ctype, ...) ctype id;
#include "conf/conf_types.def"
#undef TYPE
};

/* `policy`, `on_error`, `repair` and `output` hold the global value where the route does not set its own. */
struct conf_route {
	char *pattern;              /* as written; "" for conf.direct */
	char *host;                 /* lower case, no brackets; NULL: any */
	uint16_t port;              /* 0: any */
	char *prefix;               /* begins with '/' */
	size_t prefix_len;
	char *where;                /* what set it: FILE:LINE, a flag, a variable; for messages */
	/* [i]: what set row i of route_options.def, as where; NULL: it does not itself. NULL for conf.direct */
	char **places;
#define OPTION(section, oname, TYPE, member, def, min, max, unit, reload, effect, prose) \
	__typeof__(((struct conf_types *)0)->TYPE) member;
#include "conf/route_options.def"
#undef OPTION
};

/* What the command line asked for instead of serving. */
enum conf_action { CONF_SERVE, CONF_PRINT_HELP, CONF_PRINT_SAMPLE, CONF_PRINT_CONFIG, CONF_CHECK_CONFIG };

struct conf_source;

struct conf {
#define OPTION(section, oname, TYPE, member, def, min, max, unit, reload, prose) \
	__typeof__(((struct conf_types *)0)->TYPE) member;
#include "conf/options.def"
#undef OPTION
	/* what holds for requests by gateway or forward proxy: the global values, and no origin (host NULL) */
	struct conf_route direct;
	enum conf_action action;
	char *file;                 /* the file read; NULL: none */
	struct conf_source *sources;    /* where each value came from; conf_internal.h */
};

/* The first error, ready to print: "FILE:LINE: sniff-bytes: what is wrong; what is allowed". */
struct conf_error { char text[640]; };

/* NULL: out of memory. Every member has its default. */
struct conf *conf_new(void);
void conf_free(struct conf **);

/* argv[0] is skipped (the word `serve`). 0, or -1 with the error filled in; conf is then only fit for conf_free(). */
int conf_load(struct conf *, int argc, char *const *argv, char *const *envp, struct conf_error *)
    __attribute__((warn_unused_result));

/* What set an option: FILE:LINE, a flag, a variable; on a route (NULL: for all) its own or the global one of that name.
 * NULL: the default. */
const char *conf_where(const struct conf *, const struct conf_route *, const char *option);

/* Carries out an action other than CONF_SERVE. */
void conf_act(const struct conf *, FILE *);

/* After a reload: 0, or -1 naming the first option that differs and needs a restart. */
int conf_compare(const struct conf *running, const struct conf *fresh, struct conf_error *)
    __attribute__((warn_unused_result));

/* The route's options that change at least so much of a stored response, a line each, as --print-config has them; the
 * caller frees it.
 * NULL: out of memory. */
char *conf_route_effects(const struct conf_route *, enum conf_effect least);

/* host: a Host field as it came (may be empty), path: a path with or without its query. The most specific route, or
 * NULL. */
const struct conf_route *conf_route_match(const struct conf *, const char *host, size_t host_len, const char *path,
    size_t path_len);
/* The same for a Host field that was read already; all zero where there is none. */
const struct conf_route *conf_route_match_host(const struct conf *, const char *host, const struct url_host *,
    const char *path, size_t path_len);

/* The target to ask route's origin for: its path in the place of the prefix, the query kept. path must have matched
 * route. Writes no terminator. Returns the length; 0 where it does not fit cap or a dot segment could leave the
 * origin's path. */
size_t conf_route_target(const struct conf_route *, const char *path, size_t path_len, char *out, size_t cap);

/* host, len bytes without a final dot, is the name that d gives, or lies below it. No name lies in a block. */
bool conf_destination_names(const struct conf_destination *, const char *host, size_t len);

void conf_print_sample(FILE *);
/* Parts of the manuals, in mdoc(7): every flag with its default, for utfeed(1); every option with its text, for
 * utfeed.conf(5). */
void conf_print_manual_flags(FILE *);
void conf_print_manual_options(FILE *);
/* A file that loads to the same configuration, each line with where its value came from. */
void conf_dump(FILE *, const struct conf *);

#endif
