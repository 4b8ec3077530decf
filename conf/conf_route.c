/* Owns routes: their patterns, the route that a request takes, the target of the request to its origin.
 * Must not know: HTTP beyond a Host field and a path.
 * Invariant: the settled list is sorted by how specific routes are, so that the first match is the right one. */
#include "conf/conf_internal.h"
#include "conf/conf_quote.h"
#include "conf/idn.h"
#include "conf/url_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PATTERNS "write /prefix or //host[:port]/prefix, without ="

void conf_route_clear(struct conf_route *route)
{
	if (route->lent)
		return;
	for (size_t i = 0; i < CONF_ROUTE_OPTION_COUNT; i++) {
		const struct conf_row *row = &conf_route_options[i];
		if (conf_types[row->type].clear)
			conf_types[row->type].clear(conf_member(route, row));
	}
	free(route->pattern);
	free(route->host);
	free(route->prefix);
	free(route->where);
	for (size_t i = 0; route->places && i < CONF_ROUTE_OPTION_COUNT; i++)
		free(route->places[i]);
	free(route->places);
}

char *conf_route_effects(const struct conf_route *route, enum conf_effect least)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; out && i < CONF_ROUTE_OPTION_COUNT; i++) {
		const struct conf_row *row = &conf_route_options[i];
		if (row->effect < least)
			continue;
		fprintf(out, "%s = ", row->name);
		conf_types[row->type].format(out, row, (const char *)route + row->offset);
		fputc('\n', out);
	}
	bool failed = !out || ferror(out);
	if (!out || fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}

void conf_route_clear_list(void *member)
{
	struct conf_route_list *list = member;

	for (size_t i = 0; i < list->count; i++)
		conf_route_clear(&list->items[i]);
	free(list->items);
	*list = (struct conf_route_list){ NULL, 0 };
}

/* Reads the HOST[:PORT] of a pattern. The host is kept in A-labels, however it was written. */
static int read_host(struct conf_route *route, const char *pattern, size_t pattern_len, const char *path,
    struct conf_error *error)
{
	const char *text = pattern + 2;
	size_t len = (size_t)(path - text), ascii_len;
	char *ascii = idn_host(text, len, &ascii_len);
	struct url_host host;
	int status = 0;

	if (ascii) {
		text = ascii;
		len = ascii_len;
	}
	if (url_parse_host(text, len, &host) != URL_OK)
		status = conf_fail(error, "'%s' does not name a valid host; " PATTERNS,
		    conf_shown(pattern, pattern_len).text);
	/* "example.com." is the same host. */
	else if (!(route->host = conf_copy_lower(text + host.host.at,
	               host.host.len - (text[host.host.at + host.host.len - 1] == '.'))))
		status = conf_fail_memory(error);
	else
		route->port = host.port;
	free(ascii);
	return status;
}

/* Reads the path of a pattern. It is kept as requests have it, with text beyond ASCII as %XX. */
static int read_prefix(struct conf_route *route, const char *pattern, size_t pattern_len, const char *path,
    struct conf_error *error)
{
	size_t len = (size_t)(pattern + pattern_len - path);
	char *encoded = url_text_encode(path, len, &len);
	int status = 0;

	if (encoded)
		path = encoded;
	/* In an inline route the pattern ends at the first "=", so it cannot contain one. */
	if (!url_path_valid(path, len) || memchr(pattern, '=', pattern_len))
		status = conf_fail(error, "'%s' is not a pattern; " PATTERNS, conf_shown(pattern, pattern_len).text);
	else if (url_path_has_dots(path, len))
		status = conf_fail(error, "'%s' has a dot segment; " PATTERNS, conf_shown(pattern, pattern_len).text);
	else if (!(route->prefix = strndup(path, len)))
		status = conf_fail_memory(error);
	route->prefix_len = len;
	free(encoded);
	return status;
}

static int read_pattern(struct conf_route *route, const char *pattern, size_t len, struct conf_error *error)
{
	const char *path = pattern;

	if (len >= 2 && pattern[0] == '/' && pattern[1] == '/') {
		const char *text = pattern + 2;
		path = memchr(text, '/', len - 2);
		if (!path)
			return conf_fail(error, "'%s' has no path, at least a final /; " PATTERNS,
			    conf_shown(pattern, len).text);
		if (read_host(route, pattern, len, path, error) != 0)
			return -1;
	}
	if (read_prefix(route, pattern, len, path, error) != 0)
		return -1;
	route->pattern = strndup(pattern, len);
	return route->pattern ? 0 : conf_fail_memory(error);
}

int conf_route_defaults(struct conf_route *route, struct conf_error *error)
{
	for (size_t i = 0; i < CONF_ROUTE_OPTION_COUNT; i++) {
		const struct conf_row *row = &conf_route_options[i];
		/* The name of a secret's file is not inherited, but the value read from it is. */
		struct conf_value value = { row->type == CONF_TYPE_SECRET_FILE ? "" : row->def, NULL };
		if (value.text && conf_types[row->type].set(row, conf_member(route, row), &value, error) != 0)
			return -1;
	}
	return 0;
}

struct conf_route *conf_route_append(struct conf_route_list *list, const char *pattern, size_t len, const char *where,
	struct conf_error *error)
{
	struct conf_route route = { 0 };
	struct conf_route *grown;
	int status = read_pattern(&route, pattern, len, error);

	if (status == 0)
		status = conf_route_defaults(&route, error);
	if (status == 0 &&
	    (!(route.where = strdup(where)) ||
	        !(route.places = calloc(CONF_ROUTE_OPTION_COUNT, sizeof(*route.places)))))
		status = conf_fail_memory(error);
	grown = status == 0 ? reallocarray(list->items, list->count + 1, sizeof(*grown)) : NULL;
	if (!grown) {
		conf_route_clear(&route);
		if (status == 0)
			conf_fail_memory(error);
		return NULL;
	}
	list->items = grown;
	list->items[list->count] = route;
	return &list->items[list->count++];
}

int conf_route_set(struct conf_route *route, const struct conf_row *row, const struct conf_value *value,
    struct conf_error *error)
{
	char **place = &route->places[row - conf_route_options];
	int status;

	if (*place)
		status = conf_fail(error, "is given twice for the %s%.200s, first at %s; write it once",
		    *route->pattern ? "route " : "gateway", route->pattern, *place);
	else
		status = conf_types[row->type].set(row, conf_member(route, row), value, error);
	if (!*place && !(*place = strdup(value->where ? value->where : "")))
		status = conf_fail_memory(error);
	return status == 0 ? 0 : conf_fail_in(error, row->name);
}

/* The value of a word of an inline route; NULL with the error. */
static char *read_word(const char *text, size_t len, struct conf_error *error)
{
	size_t quoted = len && *text == '"' ? conf_quoted_length(text) : 0;
	char *value;

	if (len && *text == '"' && quoted != len) {
		conf_fail(error,
		    quoted ? CONF_BEHIND_QUOTE "; write a blank there" : CONF_NO_QUOTE);
		return NULL;
	}
	if (!(value = strndup(text, len)))
		conf_fail_memory(error);
	else if (quoted)
		conf_unquote(value);
	return value;
}

static int fail_word(const char *name, size_t len, struct conf_error *error)
{
	struct conf_near near = { .text = name, .len = len, .of_route = true };

	conf_near_rows(&near, conf_route_options, CONF_ROUTE_OPTION_COUNT);
	return conf_fail(error, "%s is not an option of a route; %s", conf_shown_name(name, len).text,
	    conf_near_hint(&near, "").text);
}

/* One NAME=VALUE of an inline route. */
static int route_set_word(struct conf *conf, struct conf_route *route, const char *word, size_t len,
    const char *where, struct conf_error *error)
{
	const char *equals = memchr(word, '=', len);
	size_t name_len = equals ? (size_t)(equals - word) : len;
	const struct conf_row *row = conf_row_find(conf_route_options, CONF_ROUTE_OPTION_COUNT, word, name_len);
	const struct conf_row *former = conf_option_find(word, name_len);
	int status;

	if (equals && conf_is_removed(former))
		return conf_give(conf, former, CONF_LEVEL_FILE, &(struct conf_value){ "", where }, error);
	if (!equals)
		return conf_fail(error, "a word behind the origin is not NAME=VALUE; write quotes around a value with "
		    "blanks");
	if (!row)
		return fail_word(word, name_len, error);
	char *text = read_word(equals + 1, len - name_len - 1, error);
	if (!text)
		return conf_fail_in(error, row->name);
	status = conf_route_set(route, row, &(struct conf_value){ text, where }, error);
	free(text);
	return status;
}

/* Whether something in the origin's path looks like ",NAME=VALUE" of an option, or like ";PATTERN=ORIGIN". */
static bool origin_has_option(const char *origin)
{
	for (const char *at = origin; (at = strpbrk(at, ",;"));) {
		size_t n = strcspn(++at, "=,;");
		if (at[n] == '=' && (*at == '/' || conf_row_find(conf_route_options, CONF_ROUTE_OPTION_COUNT, at, n)))
			return true;
	}
	return false;
}

/* PATTERN=ORIGIN, then words NAME=VALUE, separated by blanks. */
int conf_route_parse(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	static const char blanks[] = " \t";
	struct conf_route_list *list = member;
	struct conf *conf = (void *)((char *)member - row->offset);
	const char *at = value->text + strspn(value->text, blanks);
	size_t len = conf_item_length(at, blanks);
	const char *equals = memchr(at, '=', len);
	struct conf_route *route;

	if (!equals)
		return conf_fail(error, "'%s' has no origin; write %s", conf_shown(at, len).text,
		    conf_types[row->type].placeholder);
	route = conf_route_append(list, at, (size_t)(equals - at), value->where ? value->where : "", error);
	if (!route)
		return -1;
	char *origin = read_word(equals + 1, len - (size_t)(equals - at) - 1, error);
	if (!origin)
		return conf_fail_in(error, "origin");
	int status = origin_has_option(origin) ? conf_fail(error, "an option stands in the origin; write a blank "
	    "between them, as in %s", conf_types[row->type].placeholder) : conf_route_set(route,
	    &conf_route_options[CONF_ROUTE_origin], &(struct conf_value){ origin, value->where }, error);
	free(origin);
	while (status == 0) {
		at += len;
		at += strspn(at, blanks);
		len = conf_item_length(at, blanks);
		if (len == 0)
			break;
		status = route_set_word(conf, route, at, len, value->where, error);
	}
	return status;
}

/* Writes a text in quotes where it could be taken for several words, or for a quoted one; the values of other types
 * contain no blanks. */
static void route_format_word(FILE *out, const struct conf_row *option, const struct conf_route *route, bool shown)
{
	bool is_fields = option->type == CONF_TYPE_FIELDS, is_text = option->type == CONF_TYPE_TEXT || is_fields ||
	    option->type == CONF_TYPE_NAMES || option->type == CONF_TYPE_CONTACT_URL || conf_is_path(option->type);
	const char *text = is_text ? *(char *const *)(const void *)((const char *)route + option->offset) : "";
	bool hides = is_fields && shown, quotes = *text == '"' || text[strcspn(text, " ;")];

	if (quotes && !hides)
		conf_quote(out, text, strlen(text));
	else if (shown) {
		fputs(hides ? "\"" : "", out);
		conf_write_shown(out, option, route);
		fputs(hides ? "\"" : "", out);
	} else
		conf_types[option->type].format(out, option, (const char *)route + option->offset);
}

static void route_format_one(FILE *out, const struct conf_route *route, bool shown)
{
	fprintf(out, "%s=", route->pattern);
	for (size_t i = 0; i < CONF_ROUTE_OPTION_COUNT; i++) {
		const struct conf_row *option = &conf_route_options[i];
		bool is_origin = i == CONF_ROUTE_origin;
		if (!is_origin &&
		    (!route->places[i] ||
		        conf_secret_in_file(conf_route_options, CONF_ROUTE_OPTION_COUNT, option, route)))
			continue;
		if (!is_origin)
			fprintf(out, " %s=", option->name);
		route_format_word(out, option, route, shown);
	}
	fputc('\n', out);
}

void conf_route_format(FILE *out, const struct conf_row *row, const void *member)
{
	const struct conf_route_list *list = member;

	(void)row;
	for (size_t i = 0; i < list->count; i++)
		route_format_one(out, &list->items[i], false);
}

void conf_route_show(FILE *out, const struct conf_row *row, const void *member)
{
	const struct conf_route_list *list = member;

	(void)row;
	for (size_t i = 0; i < list->count; i++)
		route_format_one(out, &list->items[i], true);
}

/* The values that a route inherits, one at a time: a stream for each would cost more than all else of a start. */
struct inherited {
	FILE *out;
	char *text;
	size_t len;
};

static const char *inherited_text(struct inherited *values, const struct conf_row *global, const struct conf *conf)
{
	rewind(values->out);
	conf_types[global->type].format(values->out, global, (const char *)conf + global->offset);
	fputc('\0', values->out);
	return ferror(values->out) || fflush(values->out) != 0 ? NULL : values->text;
}

static int inherit_value(struct conf_route *route, const struct conf_row *row, const struct conf *conf,
    struct inherited *values, struct conf_error *error)
{
	const struct conf_row *global = conf_option_row(row->name);
	const char *text;

	if (row->def || row->type == CONF_TYPE_SECRET_FILE || !global || route->places[row - conf_route_options])
		return 0;
	if (!(text = conf_way_default(conf, route, row)) && !(text = inherited_text(values, global, conf)))
		return conf_fail_memory(error);
	return conf_types[row->type].set(row, conf_member(route, row), &(struct conf_value){ text, NULL }, error);
}

int conf_route_inherit(struct conf_route *route, const struct conf *conf, struct conf_error *error)
{
	struct inherited values = { 0 };
	int status = 0;

	if (!(values.out = open_memstream(&values.text, &values.len)))
		return conf_fail_memory(error);
	for (size_t i = 0; status == 0 && i < CONF_ROUTE_OPTION_COUNT; i++)
		status = inherit_value(route, &conf_route_options[i], conf, &values, error);
	fclose(values.out);
	free(values.text);
	return status;
}

/* Routes with host and port come first, then those with a host, then the others; among equal ones the longer prefix
 * comes first. Further comparisons only make the order definite. */
int conf_route_compare(const void *left, const void *right)
{
	const struct conf_route *a = left, *b = right;
	int a_rank = a->host ? 1 + (a->port != 0) : 0, b_rank = b->host ? 1 + (b->port != 0) : 0, order;

	if (a_rank != b_rank)
		return b_rank - a_rank;
	if (a->prefix_len != b->prefix_len)
		return a->prefix_len < b->prefix_len ? 1 : -1;
	order = strcmp(a->prefix, b->prefix);
	if (order == 0 && a->host)
		order = strcmp(a->host, b->host);
	return order ? order : (int)a->port - (int)b->port;
}

int conf_route_settle_list(struct conf_route_list *list, struct conf_error *error)
{
	for (size_t i = 0; i < list->count; i++) {
		struct conf_route *route = &list->items[i];
		if (!route->origin.host)
			return conf_fail(error, "%s: route %.200s has no origin; write a line origin = URL below it",
			    route->where, route->pattern);
		if (*route->name)
			continue;
		/* An empty name counts as none: the pattern stands in for it, and is not written back as a name. */
		free(route->places[CONF_ROUTE_name]);
		route->places[CONF_ROUTE_name] = NULL;
		free(route->name);
		route->name = strdup(route->pattern);
		if (!route->name)
			return conf_fail_memory(error);
	}
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), conf_route_compare);
	for (size_t i = 1; i < list->count; i++)
		if (conf_route_compare(&list->items[i - 1], &list->items[i]) == 0)
			return conf_fail(error, "%s: route %.200s is also set at %s; write one route for each pattern",
			    list->items[i].where, list->items[i].pattern, list->items[i - 1].where);
	return 0;
}

/* A prefix matches whole segments: it ends in '/', or the path ends or goes on with '/' behind it. */
static bool prefix_matches(const struct conf_route *route, const char *path, size_t len)
{
	if (len < route->prefix_len || memcmp(path, route->prefix, route->prefix_len) != 0)
		return false;
	return route->prefix[route->prefix_len - 1] == '/' || len == route->prefix_len ||
	    path[route->prefix_len] == '/';
}

static size_t path_length(const char *path, size_t len)
{
	const char *query = memchr(path, '?', len);

	return query ? (size_t)(query - path) : len;
}

const struct conf_route *conf_route_match_host(const struct conf *conf, const char *text, const struct url_host *asked,
    const char *path, size_t path_len)
{
	const char *name = text + asked->host.at;
	size_t name_len = asked->host.len;

	if (name_len && name[name_len - 1] == '.')
		name_len--;
	path_len = path_length(path, path_len);
	for (size_t i = 0; i < conf->routes.count; i++) {
		const struct conf_route *route = &conf->routes.items[i];
		if (route->host && (strlen(route->host) != name_len || strncasecmp(route->host, name, name_len) != 0))
			continue;
		if (route->port && route->port != asked->port)
			continue;
		if (prefix_matches(route, path, path_len))
			return route;
	}
	return NULL;
}

const struct conf_route *conf_route_match(const struct conf *conf, const char *host, size_t host_len, const char *path,
    size_t path_len)
{
	struct url_host asked;

	if (url_parse_host(host, host_len, &asked) != URL_OK)
		asked = (struct url_host){ .port_given = false };
	if (!asked.port_given)
		asked.port = url_default_port(URL_HTTP);
	return conf_route_match_host(conf, host, &asked, path, path_len);
}

static bool route_append(char *out, size_t cap, size_t *len, const char *text, size_t text_len)
{
	if (text_len > cap - *len)
		return false;
	memcpy(out + *len, text, text_len);
	*len += text_len;
	return true;
}

size_t conf_route_target(const struct conf_route *route, const char *path, size_t path_len, char *out, size_t cap)
{
	const char *base = route->origin.path, *rest = path + route->prefix_len;
	size_t base_len = strlen(base), rest_len = path_length(path, path_len) - route->prefix_len;
	size_t query_len = path_len - route->prefix_len - rest_len, len = 0;
	bool base_slash = base[base_len - 1] == '/', prefix_slash = route->prefix[route->prefix_len - 1] == '/';

	if (base_len > 1 && url_path_has_dots(path, path_len - query_len))
		return 0;
	if (rest_len && base_slash && !prefix_slash)
		base_len--;   /* rest begins with a slash */
	if (!route_append(out, cap, &len, base, base_len))
		return 0;
	if (rest_len && !base_slash && prefix_slash && !route_append(out, cap, &len, "/", 1))
		return 0;
	if (!route_append(out, cap, &len, rest, rest_len) || !route_append(out, cap, &len, rest + rest_len, query_len))
		return 0;
	return len;
}
