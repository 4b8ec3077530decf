/* Owns what the files of conf/ share: the rows of the option tables, the types of values, the functions that set a
 * value.
 * Must not know: flags, variables and lines of a file, but for their names as text in messages.
 * Invariant: a value gets into a struct conf only by conf_set() or conf_route_set(), which check it. */
#ifndef UTFEED_CONF_CONF_INTERNAL_H
#define UTFEED_CONF_CONF_INTERNAL_H

#include "conf/conf.h"
#include "conf/conf_near.h"

/* What the names of all variables begin with. */
#define CONF_ENV_PREFIX "UTFEED_"

#include <string.h>
#include <sys/stat.h>

enum conf_type_id {
#define TYPE(id, ctype, ...) CONF_TYPE_##id,
#include "conf/conf_types.def"
#undef TYPE
	CONF_TYPE_COUNT
};

enum conf_reload { NO_RELOAD, RELOAD };

struct conf_row {
	const char *section;
	const char *name;
	enum conf_type_id type;
	size_t offset;              /* of the member in struct conf or struct conf_route */
	const char *def;
	const char *min, *max;      /* read as values of the row's own type; NULL: no limit */
	const char *unit;           /* NULL: the text of a value shows it */
	enum conf_reload reload;
	enum conf_effect effect;    /* of a route's option on stored responses */
	const char *prose;
};

enum conf_option_id {
#define OPTION(section, oname, TYPE, member, def, min, max, unit, reload, effect, prose) CONF_OPTION_##member,
#include "conf/options.def"
#undef OPTION
	CONF_OPTION_COUNT
};
enum conf_route_option_id {
#define OPTION(section, oname, TYPE, member, def, min, max, unit, reload, effect, prose) \
	OF_ROUTE_##effect(CONF_ROUTE_##member,)
#include "conf/route_options.def"
	CONF_ROUTE_OWN_COUNT,           /* those of routes alone come first */
	CONF_ROUTE_OWN_LAST = CONF_ROUTE_OWN_COUNT - 1,
#include "conf/options.def"
#undef OPTION
	CONF_ROUTE_OPTION_COUNT
};
extern const struct conf_row conf_options[CONF_OPTION_COUNT];
extern const struct conf_row conf_route_options[CONF_ROUTE_OPTION_COUNT];

/* The defaults by way (ways.def) of a route's options, by option. plain NULL: the option has one for all ways. */
struct conf_way { const char *gateway, *plain; };
extern const struct conf_way conf_ways[CONF_ROUTE_OPTION_COUNT];

/* A value as a source gives it. */
struct conf_value {
	const char *text;
	const char *where;          /* FILE:LINE, "--flag", "UTFEED_NAME" */
};

struct conf_type {
	const char *placeholder;    /* of an enumeration: its values by number, with | between */
	bool list;                  /* set() appends */
	int (*set)(const struct conf_row *, void *member, const struct conf_value *, struct conf_error *);
	/* writes text that set() reads as the same value; a list has one item a line */
	void (*format)(FILE *, const struct conf_row *, const void *member);
	void (*clear)(void *member);                                           /* NULL: there is nothing to free */
};
extern const struct conf_type conf_types[CONF_TYPE_COUNT];

/* The source of a value: one of a higher level replaces one of a lower level, a list as a whole. */
enum conf_level { CONF_LEVEL_DEFAULT, CONF_LEVEL_FILE, CONF_LEVEL_ENVIRONMENT, CONF_LEVEL_FLAG };
struct conf_source {
	enum conf_level level;
	char *where;                /* NULL: the default */
};

/* All return -1, for `return conf_fail(...)`. */
int conf_fail(struct conf_error *, const char *format, ...) __attribute__((format(printf, 2, 3)));
int conf_fail_memory(struct conf_error *);
/* Puts "what: " before the message. */
int conf_fail_in(struct conf_error *, const char *what);

/* conf_notes.c: keeps an error or a warning for conf_tell(). conf_note_error() returns -1. */
int conf_note_error(struct conf *, const struct conf_error *);
void conf_warn(struct conf *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns 0 if no error is kept; else -1 with the first one. */
int conf_notes_status(const struct conf *, struct conf_error *);
void conf_notes_clear(struct conf_notes *);

/* A value as messages show it: without the user information of a URL, without its query, which may be a key, and cut
 * where more would not help. */
struct conf_shown { char text[208]; };
struct conf_shown conf_shown(const char *value, size_t len);
#define SHOWN(value) conf_shown(value, strlen(value)).text
/* The same for text in the place of an option's name: it is quoted, unless it cannot be a name: then it may be a value
 * and is not shown. */
struct conf_shown conf_shown_name(const char *name, size_t len);

/* What people see in the place of a secret, and what conf_write_shown() writes so: the value of a row. */
#define CONF_HIDDEN "***"
void conf_write_shown(FILE *, const struct conf_row *, const void *base);

/* conf_secret.c: values in files. */
/* Whether base names a file for the value of that row. */
bool conf_secret_in_file(const struct conf_row *rows, size_t count, const struct conf_row *row, const void *base);
/* Reads every file that is named. The errors are kept by conf_note_error(). */
void conf_secrets_read(struct conf *);

/* conf_near.c: which name may be meant by text, of those that were tried. name NULL: none is like it. */
void conf_near_rows(struct conf_near *, const struct conf_row *rows, size_t count);
/* What to write in the place of a name that other programs have (foreign.def); NULL: it is none of those. */
const char *conf_near_foreign(const struct conf_near *);
/* That, or "did you mean NAME?" with before in front of the name, or where the names are listed. */
struct conf_shown conf_near_hint(const struct conf_near *, const char *before);

const struct conf_row *conf_row_find(const struct conf_row *rows, size_t count, const char *name, size_t len);
/* The row of a global option, or of a route's; NULL: there is none of that name. */
const struct conf_row *conf_option_row(const char *name);
const struct conf_row *conf_route_row(const char *name);
/* The value of a row as text, for the caller to free; NULL: out of memory. */
char *conf_format(const struct conf_row *, const void *base);
/* The same as people may see it, with CONF_HIDDEN for secrets. */
char *conf_show(const struct conf_row *, const void *base);

static inline void *conf_member(void *base, const struct conf_row *row)
{
	return (char *)base + row->offset;
}

/* Notes that the row's value comes from level and where (copied); empties a list that a lower level has filled. */
int conf_claim(struct conf *, const struct conf_row *, enum conf_level, const char *where, struct conf_error *);
/* Checks the value and sets it, as one of that level. A file may set an option only once, unless it is a list. */
int conf_set(struct conf *, const struct conf_row *, enum conf_level, const struct conf_value *, struct conf_error *);
/* Adds a route without origin to the end of conf's list and returns it; NULL with the error. */
struct conf_route *conf_add_route(struct conf *, enum conf_level, const char *pattern, const char *where,
    struct conf_error *);
/* Routes inherit the global values, are checked against each other and sorted. May be called again after more values
 * were set. */
int conf_settle(struct conf *, struct conf_error *);

/* conf_route.c */
int conf_route_defaults(struct conf_route *, struct conf_error *);
struct conf_route *conf_route_append(struct conf_route_list *, const char *pattern, size_t len, const char *where,
    struct conf_error *);
int conf_route_set(struct conf_route *, const struct conf_row *, const struct conf_value *, struct conf_error *);
int conf_route_parse(const struct conf_row *, void *list, const struct conf_value *, struct conf_error *);
void conf_route_format(FILE *, const struct conf_row *, const void *list);
void conf_route_show(FILE *, const struct conf_row *, const void *list);
void conf_route_clear(struct conf_route *);
/* 0 for routes of the same host, port and prefix; the more specific one comes first. */
int conf_route_compare(const void *left, const void *right);
void conf_route_clear_list(void *list);
int conf_route_settle_list(struct conf_route_list *, struct conf_error *);
int conf_route_inherit(struct conf_route *, const struct conf *, struct conf_error *);

/* conf_former.c: former.def. Of these rows only name and type count. */
extern const struct conf_row conf_former_options[];
extern const size_t conf_former_count;
/* An option by its name or a former one. */
const struct conf_row *conf_option_find(const char *name, size_t len);
/* Whether the row, which may be NULL, is that of an option that is gone. */
bool conf_is_removed(const struct conf_row *);
/* conf_set() for a row of conf_option_find(). A former name is warned of: one that has moved sets the option of the
 * gateway, one that is gone nothing. */
int conf_give(struct conf *, const struct conf_row *, enum conf_level, const struct conf_value *, struct conf_error *);

/* conf_gateway.c */
int conf_gateway_defaults(struct conf *, struct conf_error *);
/* Whether the section [gateway] may have that option of routes. */
bool conf_is_of_gateway(const struct conf_row *);
/* The default of a route's option by the way of its requests; NULL: the global value counts. */
const char *conf_way_default(const struct conf *, const struct conf_route *, const struct conf_row *);

/* conf_number.c */
int conf_int_set(const struct conf_row *, void *number, const struct conf_value *, struct conf_error *);
void conf_int_format(FILE *, const struct conf_row *, const void *number);
int conf_workers_set(const struct conf_row *, void *number, const struct conf_value *, struct conf_error *);
int conf_size_set(const struct conf_row *, void *number, const struct conf_value *, struct conf_error *);
void conf_size_format(FILE *, const struct conf_row *, const void *number);
int conf_budget_set(const struct conf_row *, void *number, const struct conf_value *, struct conf_error *);
void conf_budget_format(FILE *, const struct conf_row *, const void *number);
int conf_rate_set(const struct conf_row *, void *number, const struct conf_value *, struct conf_error *);
void conf_rate_format(FILE *, const struct conf_row *, const void *number);
int conf_mode_set(const struct conf_row *, void *number, const struct conf_value *, struct conf_error *);
void conf_mode_format(FILE *, const struct conf_row *, const void *number);
int conf_time_set(const struct conf_row *, void *number, const struct conf_value *, struct conf_error *);
void conf_time_format(FILE *, const struct conf_row *, const void *number);
int conf_interval_set(const struct conf_row *, void *number, const struct conf_value *, struct conf_error *);
void conf_interval_format(FILE *, const struct conf_row *, const void *number);

/* conf_origin.c: addresses */
/* The text in small letters, for the caller to free; NULL: out of memory. */
char *conf_copy_lower(const char *text, size_t len);
int conf_origin_set(const struct conf_row *, void *origin, const struct conf_value *, struct conf_error *);
void conf_origin_format(FILE *, const struct conf_row *, const void *origin);
void conf_origin_clear(void *origin);
int conf_listen_set(const struct conf_row *, void *list, const struct conf_value *, struct conf_error *);
void conf_listen_format(FILE *, const struct conf_row *, const void *list);
void conf_listen_clear(void *list);

/* conf_access.c: clients and destinations */
int conf_cidr_list_set(const struct conf_row *, void *list, const struct conf_value *, struct conf_error *);
void conf_cidr_list_format(FILE *, const struct conf_row *, const void *list);
void conf_cidr_list_clear(void *list);
int conf_destination_set(const struct conf_row *, void *list, const struct conf_value *, struct conf_error *);
void conf_destination_format(FILE *, const struct conf_row *, const void *list);
void conf_destination_clear(void *list);
int conf_hosts_set(const struct conf_row *, void *list, const struct conf_value *, struct conf_error *);
int conf_sites_set(const struct conf_row *, void *list, const struct conf_value *, struct conf_error *);
int conf_access_settle(const struct conf *, struct conf_error *);

/* conf_intercept.c: interception and old TLS. The warnings are kept by conf_warn(). */
int conf_intercept_settle(const struct conf *, struct conf_error *);
void conf_intercept_warn(struct conf *);

/* conf_admin.c. The warnings are kept by conf_warn(). */
void conf_admin_warn(struct conf *);

/* conf_access.c. The warnings are kept by conf_warn(). */
void conf_access_warn(struct conf *);

/* conf_own.c. The warnings are kept by conf_warn(). */
void conf_own_warn(struct conf *);

/* conf_users.c: the users of client-auth. The errors are kept by conf_note_error(), the warnings by conf_warn(). */
void conf_users_read(struct conf *);
void conf_users_parse(struct conf *, const char *file, const char *text, size_t len);
void conf_users_clear(struct conf_users *);
void conf_users_warn(struct conf *);

/* conf_idle.c. The warnings are kept by conf_warn(). */
void conf_idle_warn(struct conf *);

/* conf_cors.c. The warnings are kept by conf_warn(). */
int conf_cors_set(const struct conf_row *, void *origins, const struct conf_value *, struct conf_error *);
int conf_cors_settle(const struct conf *, struct conf_error *);
void conf_cors_warn(struct conf *);

/* conf_parent.c */
int conf_parent_set(const struct conf_row *, void *parent, const struct conf_value *, struct conf_error *);
void conf_parent_format(FILE *, const struct conf_row *, const void *parent);
void conf_parent_show(FILE *, const struct conf_row *, const void *parent);
void conf_parent_clear(void *parent);

/* conf_told.c */
int conf_contact_set(const struct conf_row *, void *url, const struct conf_value *, struct conf_error *);
int conf_agent_set(const struct conf_row *, void *agent, const struct conf_value *, struct conf_error *);
void conf_agent_format(FILE *, const struct conf_row *, const void *agent);
int conf_agent_settle(const struct conf *, struct conf_error *);
int conf_fields_set(const struct conf_row *, void *fields, const struct conf_value *, struct conf_error *);
void conf_fields_format(FILE *, const struct conf_row *, const void *fields);
void conf_fields_show(FILE *, const struct conf_row *, const void *fields);
void conf_fields_clear(void *fields);

/* conf_redis.c */
int conf_redis_set(const struct conf_row *, void *redis, const struct conf_value *, struct conf_error *);
void conf_redis_format(FILE *, const struct conf_row *, const void *redis);
void conf_redis_clear(void *redis);
int conf_redis_settle(const struct conf *, struct conf_error *);

/* conf_file.c. Every error is kept by conf_note_error(). The variables of envp are those that values may name. */
void conf_file_read(struct conf *, const char *path, char *const *envp);
/* Returns 0, or -1 with the first error that is kept of conf. */
int conf_file_parse(struct conf *, const char *text, size_t len, const char *name, char *const *envp,
    struct conf_error *);

/* conf_include.c: the files that an include line names, in their order. from: the file that has the line. -1 with the
 * error; the paths are the caller's to clear either way. A folder that is looked into is added to folders. */
int conf_include_paths(const char *from, const char *text, struct conf_paths *, struct conf_paths *folders,
    struct conf_error *);

/* conf_paths.c */
/* Takes over path, which may be NULL for want of memory. */
int conf_paths_add(struct conf_paths *, char *path, struct conf_error *);
int conf_paths_set(const struct conf_row *, void *paths, const struct conf_value *, struct conf_error *);
void conf_paths_format(FILE *, const struct conf_row *, const void *paths);
void conf_paths_clear(void *paths);
/* Whether a value of that type is one path, as text. */
bool conf_is_path(enum conf_type_id);

/* conf_read.c: what is in a file of at most max bytes, for the caller to free; a zero byte follows it. NULL: failed, in
 * errno. about: filled in, and only a regular file is read; NULL: any file is. */
char *conf_read(const char *path, size_t max, struct stat *about, size_t *len);

/* conf_args.c, conf_env.c. conf_note_error() keeps the errors of values. */
/* Takes the file's name and the action. Fails unless every other argument is the flag of an option, with its value. */
int conf_args_first(struct conf *, int argc, char *const *argv, struct conf_error *);
void conf_args_apply(struct conf *, int argc, char *const *argv);
void conf_args_print(FILE *);
/* Writes what a row says of its values beside its prose: "May be repeated. Default 1, from 1 to 64. A change needs a
 * restart." */
void conf_describe(char *text, size_t cap, const struct conf_row *);
/* The names of the global options that a route may set too. */
struct conf_shared { char text[1024]; };
struct conf_shared conf_shared(void);
int conf_env_first(struct conf *, char *const *envp, struct conf_error *);
void conf_env_apply(struct conf *, char *const *envp);
/* the variables that curl reads: http_proxy and its like */
void conf_env_fall_back(struct conf *, char *const *envp);
enum { CONF_ENV_NAME_MAX = 64 };
void conf_env_name(const struct conf_row *, char name[CONF_ENV_NAME_MAX]);

#endif
