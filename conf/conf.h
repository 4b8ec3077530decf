/* Owns the configuration: all options, the source of each value (flag > environment > file > default), and routes.
 * Must not know: sockets, events, what the proxy does with a value.
 * Invariant: a struct conf that was loaded is complete and in range, and it does not change again; a reload makes
 * another one. */
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

#define CONF_ORIGINS_MAX 16     /* The most origins in one list. */
enum { CONF_UNIX_PATH_MAX = 107 };      /* Bytes of a socket's path (unix(7), sun_path). */
/* The limit of an option for which an array elsewhere has room, and the limit as text for the table. */
#define CONF_REDIRECTS_MAX 20
#define CONF_LIMIT(number) CONF_LIMIT_TEXT(number)
#define CONF_LIMIT_TEXT(number) #number
/* The changes of a feed's text beside repairs. */
enum conf_rewrite { CONF_REWRITE_OFF, CONF_REWRITE_ENCLOSURES };
enum conf_moved { CONF_MOVED_OFF, CONF_MOVED_FOLLOW, CONF_MOVED_TELL };
#define CONF_INTERVAL_AUTO UINT64_MAX
enum conf_client_policy { CLIENT_POLICY_OFF, CLIENT_POLICY_LOOPBACK, CLIENT_POLICY_ANY };
enum conf_client_field { CLIENT_FIELD_X_FORWARDED_FOR, CLIENT_FIELD_FORWARDED };
enum conf_intercept_else { INTERCEPT_REFUSE, INTERCEPT_TUNNEL };
enum conf_tls_min { CONF_TLS_1_0, CONF_TLS_1_1, CONF_TLS_1_2, CONF_TLS_1_3 };
enum conf_http2 { CONF_HTTP2_AUTO, CONF_HTTP2_ON, CONF_HTTP2_OFF };
enum conf_sandbox {
	CONF_SANDBOX_ON, CONF_SANDBOX_OFF, CONF_SANDBOX_SECCOMP, CONF_SANDBOX_LANDLOCK, CONF_SANDBOX_STRICT
};
enum conf_log_format { CONF_LOG_TEXT, CONF_LOG_JSON, CONF_LOG_COMBINED };
enum conf_log_level { CONF_LOG_ERROR, CONF_LOG_WARN, CONF_LOG_INFO, CONF_LOG_DEBUG };

/* A place to accept clients on: an address with its port, or the path of a Unix socket. */
struct conf_listen {
	char *host;                 /* an IPv4 or IPv6 address as text, without brackets; NULL beside a path */
	bool ipv6;
	uint16_t port;              /* 0: any free one */
	char *path;                 /* begins with '/', at most CONF_UNIX_PATH_MAX bytes; NULL: none */
};

struct conf_listen_list { struct conf_listen *items; size_t count; };

/* The kinds of items in a list of destinations: one host, a host and all names below it, a block of addresses, any
 * host. */
enum conf_destination_kind { DESTINATION_HOST, DESTINATION_BELOW, DESTINATION_BLOCK, DESTINATION_EVERY };
enum { DESTINATION_PORT_NONE = 0, DESTINATION_PORT_ANY = -1 };

struct conf_destination {
	enum conf_destination_kind kind;
	char *host;                 /* HOST, BELOW: lower case, without dots at its ends; NULL for the other kinds */
	struct cidr cidr;
	int port;                   /* or a DESTINATION_PORT_ */
};

struct conf_destination_list { struct conf_destination *items; size_t count; };

/* An origin: the parts of a URL without query. */
struct conf_origin {
	enum url_scheme scheme;
	char *host;                 /* without brackets, lower case */
	bool ipv6;
	uint16_t port;
	char *path;                 /* begins with '/' */
	/* The value of a Host field: with brackets for IPv6, with the port unless it is the scheme's default. */
	char *authority;
};

/* A proxy that requests to origins go through. HTTP: RFC 9110 section 3.7. SOCKS: RFC 1928; it looks names up. */
enum conf_parent_kind { CONF_PARENT_HTTP, CONF_PARENT_SOCKS };
struct conf_parent {
	enum conf_parent_kind kind;
	char *host;                 /* without brackets, lower case; NULL: none, origins are asked directly */
	bool ipv6;
	uint16_t port;
	char *userinfo;             /* As written, with blanks and quotes as %XX; NULL: none. */
	/* As they are sent: "user:password" in base64 (RFC 7617 section 2), or the request of RFC 1929 section 2. No
	 * byte of it is 0. NULL: none. */
	char *credentials;
};

struct conf_redis_server {
	char *host;                 /* without brackets */
	bool ipv6;
	uint16_t port;              /* never 0 */
};
enum conf_redis_kind { CONF_REDIS_SERVER, CONF_REDIS_SENTINEL, CONF_REDIS_CLUSTER };
enum { CONF_REDIS_SERVERS_MAX = 16 };
/* Where Redis or Valkey is; nowhere without servers and path. */
struct conf_redis {
	enum conf_redis_kind kind;
	char *name;                 /* of the master, as Sentinels know it; NULL for other kinds */
	/* the server, the Sentinels, or some nodes of the cluster */
	struct conf_redis_server servers[CONF_REDIS_SERVERS_MAX];
	size_t n;
	char *path;                 /* of a Unix socket; begins with '/' */
};

struct conf_paths { char **items; size_t count; };

/* Fields that requests to an origin have in any case. */
struct conf_field { char *name, *value; };
struct conf_fields {
	char *text;                 /* as written */
	struct conf_field *items;
	size_t count;
};

/* How an option of a route changes a stored response; see options.def. GLOBAL: it is not one of routes. */
enum conf_effect { EFFECT_GLOBAL, EFFECT_SAME, EFFECT_KEY, EFFECT_BYTES };
/* Text that counts only for options of routes: OF_ROUTE_##effect(text). */
#define OF_ROUTE_GLOBAL(...)
#define OF_ROUTE_SAME(...) __VA_ARGS__
#define OF_ROUTE_KEY(...) __VA_ARGS__
#define OF_ROUTE_BYTES(...) __VA_ARGS__

struct conf_route_list { struct conf_route *items; size_t count; };

/* Somebody who may ask, by the file of client-auth. */
struct conf_user {
	char *name;                 /* without control characters and colons */
	size_t name_len;
	char *hash;                 /* of the password, in the form of crypt(5), or of Argon2id */
	size_t line;                /* of the file */
};
/* Sorted by name. */
struct conf_users { struct conf_user *items; size_t count; };

/* utfeed makes no object of this type. It names the C type of each kind of value, so that a row of the tables can
 * declare its member. */
struct conf_types {
#define TYPE(id, ctype, ...) ctype id;
#include "conf/conf_types.def"
#undef TYPE
};

/* `policy`, `on_error`, `repair`, `characters` and `output` hold the global value where the route does not set its
 * own. */
struct conf_route {
	char *pattern;              /* as written; "" for direct and by_url of conf */
	char *host;                 /* lower case, no brackets; NULL: any */
	uint16_t port;              /* 0: any */
	char *prefix;               /* begins with '/' */
	size_t prefix_len;
	char *where;                /* The place that set the route, for messages. */
	bool lent;                  /* Another configuration owns what its members point to. */
	/* [i]: the place that set row i of conf_route_options; NULL: the route does not set it. */
	char **places;
#define OPTION(section, oname, TYPE, member, def, min, max, unit, reload, effect, prose) \
	OF_ROUTE_##effect(__typeof__(((struct conf_types *)0)->TYPE) member;)
#include "conf/route_options.def"
#include "conf/options.def"
#undef OPTION
};

/* What the command line asks for: to serve, or one of the others instead. */
enum conf_action { CONF_SERVE, CONF_PRINT_HELP, CONF_PRINT_SAMPLE, CONF_PRINT_CONFIG, CONF_CHECK_CONFIG };

struct conf_source;

/* What is to be said of a configuration. The text: "FILE:LINE: sniff-bytes: what is wrong; what is allowed". */
enum conf_note_level { CONF_NOTE_WARNING, CONF_NOTE_ERROR };
enum { CONF_NOTES_MAX = 20 };
struct conf_note { enum conf_note_level level; char *text; };
struct conf_notes {
	struct conf_note items[CONF_NOTES_MAX];
	size_t count;
	size_t errors, left_out;    /* those without room in items are left out, and counted in both */
};

struct conf {
#define OPTION(section, oname, TYPE, member, def, min, max, unit, reload, effect, prose) \
	__typeof__(((struct conf_types *)0)->TYPE) member;
#include "conf/options.def"
#undef OPTION
	/* The routes of destinations that clients name: URLs in the gateway, which the section [gateway] sets; all
	 * others, by forward proxy or in tunnels. They have no origin (host NULL). */
	struct conf_route by_url, direct;
	enum conf_action action;
	char *file;                 /* the configuration file; NULL: none was read */
	char *against;              /* --against: which running utfeed judges it too; NULL: none */
	struct conf_users users;        /* of client-auth; none: nobody is asked for a password */

	bool inherits;              /* a service manager gives sockets (LISTEN_FDS), perhaps unnamed ones */
	struct conf_paths included;     /* the files and folders that its include lines name */
	struct conf_source *sources;    /* the source of each value; conf_internal.h */
	struct conf_notes notes;
};

/* One error, the first one where there are several. */
struct conf_error { char text[640]; };

/* NULL: out of memory. Every member has its default. */
struct conf *conf_new(void);
void conf_free(struct conf **);

/* argv[0] (the word `serve`) is skipped. Returns 0, or -1 with the first error filled in; conf can then only be given
 * to conf_tell() and conf_free(). */
int conf_load(struct conf *, int argc, char *const *argv, char *const *envp, struct conf_error *)
    __attribute__((warn_unused_result));

/* Gives out every warning and error of a load, a call each. */
typedef void conf_tell_f(enum conf_note_level, const char *text);
void conf_tell(const struct conf *, conf_tell_f *);

/* The place that set an option: FILE:LINE, a flag, a variable. For a route (NULL: none) that of its own option, else of
 * the global one with that name. NULL: the value is the default. */
const char *conf_where(const struct conf *, const struct conf_route *, const char *option);

/* Whether the admin listener answers other machines by admin-allow, and no admin-token keeps them out. */
bool conf_admin_is_open(const struct conf *);
#define CONF_ADMIN_OPEN \
	"without admin-token other machines get only /healthz, /readyz and /metrics; for the rest write " \
	"admin-token-file = FILE"

/* Where a value is from, as messages begin: "FILE:LINE: OPTION", "--OPTION" or "UTFEED_OPTION", without the name twice;
 * for a default the option's name alone. */
struct conf_place { char text[320]; };
struct conf_place conf_place(const struct conf *, const struct conf_route *, const char *option);

/* Carries out an action other than CONF_SERVE. */
void conf_act(const struct conf *, FILE *);

/* What utfeed does with a path of the configuration while it runs. READ: reads a file or folder, perhaps again. APPEND:
 * appends to a file, or makes it. FOLDER: reads, writes, makes and removes files in it. SOCKET: removes the file. */
enum conf_use { CONF_USE_NONE, CONF_USE_READ, CONF_USE_APPEND, CONF_USE_FOLDER, CONF_USE_SOCKET };
typedef void conf_path_f(void *arg, enum conf_use, const char *path);
/* Calls f for each path that the configuration names, itself and what it includes among them. One that several options
 * name comes as often. Also of a configuration that cannot be used, as far as it was read. */
void conf_each_path(const struct conf *, conf_path_f *, void *arg);

/* Gives each option that needs a restart and differs the value and the place that it has in running. f is called with
 * the place of the new value and a sentence. Returns how many differ. -1 with the error: the other options of fresh do
 * not fit the running values. */
typedef void conf_held_f(void *arg, const char *place, const char *sentence);
int conf_hold(struct conf *fresh, const struct conf *running, conf_held_f *, void *arg, struct conf_error *)
    __attribute__((warn_unused_result));

/* All routes by number: those with a pattern in their order, then direct and by_url. */
size_t conf_route_count(const struct conf *);
const struct conf_route *conf_route_at(const struct conf *, size_t);
size_t conf_route_number(const struct conf *, const struct conf_route *);

/* What a reload keeps of the former configuration where the new one cannot be used. The route of the same pattern, or
 * direct for direct, by_url for by_url; NULL: there is none. */
const struct conf_route *conf_route_former(const struct conf *former, const struct conf *, const struct conf_route *);
/* Makes the route what the former one is, all its options; the former one's configuration must live as long. */
void conf_route_keep(struct conf_route *, const struct conf_route *former);
void conf_route_drop(struct conf *, struct conf_route *);
/* Gives an option its former value and place. -1: out of memory. */
int conf_keep(struct conf *, const struct conf *former, const char *option) __attribute__((warn_unused_result));

/* The options of the route that change at least that much of a stored response, a line each, as --print-config writes
 * them. The caller frees the text. NULL: out of memory. */
char *conf_route_effects(const struct conf_route *, enum conf_effect least);

/* The most specific route that matches, or NULL. host: a Host field as it came (may be empty); path: a path with or
 * without its query. */
const struct conf_route *conf_route_match(const struct conf *, const char *host, size_t host_len, const char *path,
    size_t path_len);
/* The same for a Host field that is already parsed; all members zero: there is no Host field. */
const struct conf_route *conf_route_match_host(const struct conf *, const char *host, const struct url_host *,
    const char *path, size_t path_len);

/* Writes the target for a request to the route's origin: the origin's path instead of the prefix, and the query. path
 * must have matched the route. Writes no terminator. Returns the length; 0: the target does not fit cap, or a dot
 * segment could leave the origin's path. */
size_t conf_route_target(const struct conf_route *, const char *path, size_t path_len, char *out, size_t cap);

/* Whether requests of any route are signed. */
bool conf_signs(const struct conf *);

/* NULL: no user has that name. */
const struct conf_user *conf_user_find(const struct conf_users *, const char *name, size_t len);

/* Whether one of the fields has that name, in any case of letters. */
bool conf_fields_have(const struct conf_fields *, const char *name, size_t len);

/* Whether host, len bytes without a final dot, is a name that d includes. No name lies in a block. */
bool conf_destination_names(const struct conf_destination *, const char *host, size_t len);

/* Reads the URL of a gateway as the option `gateway-url` has it, and cuts the slashes off its end. 0, or -1 with the
 * error filled in and the text as it was. */
int conf_read_gateway(char *text, struct conf_error *) __attribute__((warn_unused_result));
/* Reads a set of repairs as the option `repair` has it. 0, or -1 with the error filled in and the bits as they were. */
int conf_read_repairs(const char *text, unsigned *bits, struct conf_error *) __attribute__((warn_unused_result));

void conf_print_sample(FILE *);
/* Writes a file that loads as the same configuration, but for secrets, which it has as ***; each line tells where its
 * value came from. */
void conf_dump(FILE *, const struct conf *);

#endif
