/* Owns the text form of words, sets and strings, and the table of all kinds of values (conf_types.def).
 * Must not know: which option uses it, where the text came from.
 * Invariant: set() reads what format() has written as the same value; a failed set() leaves the member as it was. */
#include "conf/conf_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/repair/repair_gateway.h"

/* Words */

enum { WORDS_MAX = 64 };

/* Writes "a|b|c" as "a, b or c". */
static void write_words(char out[WORDS_MAX], const char *words)
{
	size_t n = 0;

	for (; *words && n + sizeof(" or ") < WORDS_MAX; words++) {
		const char *between = *words != '|' ? NULL : strchr(words + 1, '|') ? ", " : " or ";

		if (between)
			n += (size_t)sprintf(out + n, "%s", between);
		else
			out[n++] = *words;
	}
	out[n] = '\0';
}

static int set_word(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	const char *words = conf_types[row->type].placeholder, *word = words;
	char list[WORDS_MAX];
	size_t len;

	for (unsigned i = 0; *word; i++, word += len + (word[len] == '|')) {
		len = strcspn(word, "|");
		if (strlen(value->text) == len && strncasecmp(value->text, word, len) == 0) {
			*(unsigned *)member = i;
			return 0;
		}
	}
	write_words(list, words);
	return conf_fail(error, "'%.64s' is not known; write %s", SHOWN(value->text), list);
}

static void format_word(FILE *out, const struct conf_row *row, const void *member)
{
	const char *word = conf_types[row->type].placeholder;

	for (unsigned i = *(const unsigned *)member; i; i--)
		word += strcspn(word, "|") + 1;
	fprintf(out, "%.*s", (int)strcspn(word, "|"), word);
}

/* YAML 1.1 turns an unquoted on or off into true or false before the environment sees it. */
static int set_bool(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	static const struct { const char *word; bool is; } words[] = {
		{ "on", true }, { "off", false }, { "yes", true }, { "no", false }, { "true", true },
		{ "false", false },
		{ "1", true }, { "0", false }
	};
	/* Switches that may be taken for something else. Their value may be a secret, and is not shown. */
	static const struct { const char *option, *advice; } meant[] = {
		{ "access-log", "access-log-file = FILE is another place for the log" },
		{ "authorization", "origin-fields-file names a file with a field of your own: Authorization: VALUE" },
		{ "cookies", "origin-fields-file names a file with a field of your own: Cookie: NAME=VALUE" },
		{ "cache", "cache-lmdb = FOLDER and cache-redis = HOST:PORT are other places for it" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(value->text, words[i].word) == 0) {
			*(bool *)member = words[i].is;
			return 0;
		}
	}
	for (size_t i = 0; i < sizeof(meant) / sizeof(meant[0]); i++)
		if (strcmp(row->name, meant[i].option) == 0)
			return conf_fail(error, "is a switch; write on or off; %s", meant[i].advice);
	return conf_fail(error, "'%.64s' is not a switch; write on or off", SHOWN(value->text));
}

static void format_bool(FILE *out, const struct conf_row *row, const void *member)
{
	(void)row;
	fputs(*(const bool *)member ? "on" : "off", out);
}

/* A word, or what set_bool() takes for on and off. */
static int set_sandbox(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	struct conf_error scratch;
	bool is;

	if (set_bool(row, &is, value, &scratch) != 0)
		return set_word(row, member, value, error);
	*(enum conf_sandbox *)member = is ? CONF_SANDBOX_ON : CONF_SANDBOX_OFF;
	return 0;
}

struct names { char text[256]; size_t len; };

static void add_name(struct names *names, const char *name)
{
	int wrote =
	    snprintf(names->text + names->len, sizeof(names->text) - names->len, "%s%s", names->len ? ", " : "", name);

	if (wrote > 0 && (size_t)wrote < sizeof(names->text) - names->len)
		names->len += (size_t)wrote;
}

static int set_policy(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	int policy = policy_lookup(value->text, strlen(value->text));
	struct names names = { "", 0 };

	(void)row;
	if (policy >= 0) {
		*(enum policy *)member = (enum policy)policy;
		return 0;
	}
	for (unsigned i = 0; i < POLICY_COUNT; i++)
		add_name(&names, policy_name((enum policy)i));
	return conf_fail(error, "'%.64s' is not a policy; write one of %s%s", SHOWN(value->text), names.text,
	    !charset_lookup(value->text, strlen(value->text)) ? "" :
	    ", or, for an encoding, charset = LABEL below a [route PATTERN]");
}

static void format_policy(FILE *out, const struct conf_row *row, const void *member)
{
	(void)row;
	fputs(policy_name(*(const enum policy *)member), out);
}

static int set_charset(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	const struct charset_label *label = charset_lookup(value->text, strlen(value->text));

	(void)row;
	if (!label && strcasecmp(value->text, "none") != 0)
		return conf_fail(error,
		    "'%.64s' is not an encoding that utfeed knows; write none, or a label that utfeed charsets lists",
		    SHOWN(value->text));
	*(enum charset *)member = label ? label->charset : CS_NONE;
	return 0;
}

static void format_charset(FILE *out, const struct conf_row *row, const void *member)
{
	enum charset charset = *(const enum charset *)member;

	(void)row;
	fputs(charset == CS_NONE ? "none" : charset_name(charset), out);
}

/* Sets of repairs */

static const struct { const char *name; unsigned bit; } repairs[] = {
#define REPAIR_ROW(id, bit, name, what) { name, bit },
	REPAIRS(REPAIR_ROW)
#undef REPAIR_ROW
	{ "all", REPAIR_ALL }, { "none", 0 }
};

enum { REPAIR_NAMES = sizeof(repairs) / sizeof(repairs[0]) };

static int fail_repair(const char *name, size_t len, struct conf_error *error)
{
	struct names names = { "", 0 };

	for (size_t i = 0; i < REPAIR_NAMES; i++)
		add_name(&names, repairs[i].name);
	return conf_fail(error, "'%.64s' is not a repair; write names from %s, each also with a minus",
	    conf_shown(name, len).text, names.text);
}

static int set_repairs(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	static const char blanks[] = ", \t";
	const char *at = value->text + strspn(value->text, blanks);
	unsigned bits = *at == '-' ? REPAIR_ALL : 0;

	(void)row;
	if (!*at)
		return fail_repair("", 0, error);
	while (*at) {
		size_t len = strcspn(at, blanks), i;
		bool remove = *at == '-';
		for (i = 0; i < REPAIR_NAMES; i++)
			if (strlen(repairs[i].name) == len - remove &&
			    strncasecmp(repairs[i].name, at + remove, len - remove) == 0)
				break;
		if (i == REPAIR_NAMES)
			return fail_repair(at, len, error);
		bits = remove ? bits & ~repairs[i].bit : bits | repairs[i].bit;
		at += len;
		at += strspn(at, blanks);
	}
	*(unsigned *)member = bits;
	return 0;
}

int conf_read_repairs(const char *text, unsigned *bits, struct conf_error *error)
{
	return set_repairs(NULL, bits, &(struct conf_value){ .text = text }, error);
}

static void format_repairs(FILE *out, const struct conf_row *row, const void *member)
{
	unsigned bits = *(const unsigned *)member;
	const char *comma = "";

	(void)row;
	if (bits == REPAIR_ALL || bits == 0) {
		fputs(bits ? "all" : "none", out);
		return;
	}
	for (size_t i = 0; i < REPAIR_COUNT; i++) {
		if (bits & repairs[i].bit) {
			fprintf(out, "%s%s", comma, repairs[i].name);
			comma = ",";
		}
	}
}

/* Strings */

/* Only characters that no secret may have are shown. */
static int fail_character(const char *text, const char *at, const char *rule, struct conf_error *error)
{
	size_t number = (size_t)(at - text) + 1;

	if (*at == ' ')
		return conf_fail(error, "character %zu is a blank; write %s", number, rule);
	if (*at > ' ' && *at <= '~')
		return conf_fail(error, "character %zu is '%c'; write %s", number, *at, rule);
	return conf_fail(error, "character %zu has the code 0x%02x; write %s", number, (unsigned char)*at, rule);
}

static int set_string(const struct conf_row *row, char **member, const struct conf_value *value, bool (*fits)(char),
    const char *rule, struct conf_error *error)
{
	const char *text = value->text;
	char *copy;

	if (!*text && row->def && *row->def)
		return conf_fail(error, "is empty; write %s", rule);
	for (const char *at = text; *at; at++)
		if (!fits(*at))
			return fail_character(text, at, rule, error);
	copy = strdup(text);
	if (!copy)
		return conf_fail_memory(error);
	free(*member);
	*member = copy;
	return 0;
}

/* RFC 9110 section 5.6.2 */
static bool type_is_token(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_printable(char c)
{
	return c >= 0x20 && c <= 0x7e;
}

static int set_token(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	return set_string(row, member, value, type_is_token, "letters, digits and !#$%&'*+-.^_`|~", error);
}

static int set_text(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	return set_string(row, member, value, is_printable, "printable ASCII characters alone", error);
}

/* Field names with commas between, or *. */
static int set_names(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	static const char between[] = ", \t";
	size_t len, number = 1;

	for (const char *at = value->text; *(at += strspn(at, between)); at += len, number++) {
		len = strcspn(at, between);
		for (size_t i = 0; i < len; i++)
			if (!type_is_token(at[i]))
				return conf_fail(error, "word %zu is not the name of a field; write names with commas "
				    "between, or *; origin-fields takes NAME: VALUE", number);
	}
	return set_text(row, member, value, error);
}

/* What utfeed makes at a path. Words that other programs have in its place would be the names of files. */
static int set_path(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	static const char *const words[] = { "on", "yes", "true", "1", "off", "no", "false", "0", "none", "auto", "-",
		"stdout", "stderr", "syslog", "memory" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasecmp(value->text, words[i]) == 0)
			return conf_fail(error, "'%s' would be the name of a file here; write a /PATH, "
			    "or leave this out", words[i]);
	if (strncmp(value->text, "unix:", 5) == 0)
		return conf_fail(error, "'%.64s' begins with unix:, which only listeners have; write the /PATH alone",
			SHOWN(value->text));
	return set_text(row, member, value, error);
}

int conf_read_gateway(char *text, struct conf_error *error)
{
	size_t len = strlen(text);
	struct url url;
	enum url_error fault = url_parse(text, len, &url);

	if (fault != URL_OK)
		return conf_fail(error, "'%s' is not a URL: %s; write one such as http://127.0.0.1:8080/",
			conf_shown(text, len).text, url_error_text(fault));
	if (url.has_query || (url.path.len && !url_path_valid(text + url.path.at, url.path.len)) || !gateway_fits(text))
		return conf_fail(error,
		    "'%s' cannot be a gateway's; write http or https, a host, and a path without ?, & and '",
		    conf_shown(text, len).text);
	while (len > 0 && text[len - 1] == '/')
		text[--len] = '\0';
	return 0;
}

static int set_gateway_url(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	char *text = strdup(value->text);

	(void)row;
	if (!text)
		return conf_fail_memory(error);
	if (*text && conf_read_gateway(text, error) != 0) {
		free(text);
		return -1;
	}
	free(*(char **)member);
	*(char **)member = text;
	return 0;
}

static void format_string(FILE *out, const struct conf_row *row, const void *member)
{
	const char *text = *(char *const *)member;

	(void)row;
	fputs(text ? text : "", out);
}

static void clear_string(void *member)
{
	char **string = member;

	free(*string);
	*string = NULL;
}

/* Lists of words in order, NULL at the end: one block of memory, with the pointers before the text. */

static void format_names(FILE *out, const struct conf_row *row, const void *member)
{
	const char *const *names = *(const char **const *)member;

	(void)row;
	for (size_t i = 0; names[i]; i++)
		fprintf(out, "%s%s", i ? "," : "", names[i]);
}

static void clear_names(void *member)
{
	const char ***names = member;

	free(*names);
	*names = NULL;
}

const struct conf_type conf_types[CONF_TYPE_COUNT] = {
#define TYPE(id, ctype, placeholder, list, set, format, clear) { placeholder, list, set, format, clear },
#include "conf/conf_types.def"
#undef TYPE
};
