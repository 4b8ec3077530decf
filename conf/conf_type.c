/* Owns the text form of each kind of value (conf_types.def): reading it, checking its range, writing it.
 * Must not know: which option uses it, where the text came from.
 * Invariant: set() reads what format() has written as the same value; a failed set() leaves the member as it was. */
#include "conf/conf_internal.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/repair/repair_gateway.h"

/* Numbers */

struct unit {
	const char *suffix;
	uint64_t factor;
};

static const struct unit no_units[] = { { "", 1 }, { NULL, 0 } };
static const struct unit size_units[] = {
	{ "t", 1ull << 40 }, { "g", 1ull << 30 }, { "m", 1ull << 20 }, { "k", 1ull << 10 }, { "", 1 }, { NULL, 0 }
};
static const struct unit time_units[] = {
	{ "w", 604800000 }, { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 }, { NULL, 0 }
};
/* Times are written with those from hours on. */
static const struct unit *const time_units_written = time_units + 2;

/* in requests an hour; a number alone is one a second */
static const struct unit rate_units[] = { { "/s", 3600 }, { "/m", 60 }, { "/h", 1 }, { "", 3600 }, { NULL, 0 } };

static bool type_read_number(const char *text, const struct unit *units, uint64_t *number)
{
	uint64_t value = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return false;
	if (at == text)
		return false;
	if (value == 0 && !*at) {
		*number = 0;
		return true;
	}
	for (; units->suffix; units++)
		if (strcasecmp(at, units->suffix) == 0)
			return !__builtin_mul_overflow(value, units->factor, number);
	return false;
}

static void write_number(FILE *out, uint64_t number, const struct unit *units)
{
	while (units[1].suffix && (number == 0 || number % units->factor != 0))
		units++;
	fprintf(out, "%llu%s", (unsigned long long)(number / units->factor), number ? units->suffix : "");
}

static int set_number(const struct conf_row *row, const char *text, const struct unit *units, const char *kind,
    uint64_t *number, struct conf_error *error)
{
	uint64_t min = 0, max = UINT64_MAX, value;

	if (row->min)
		type_read_number(row->min, units, &min);
	if (row->max)
		type_read_number(row->max, units, &max);
	if (!type_read_number(text, units, &value))
		return conf_fail(error, "'%.64s' is not %s; allowed: %s to %s", SHOWN(text), kind, row->min, row->max);
	if (value < min || value > max)
		return conf_fail(error, "'%.64s' is out of range; allowed: %s to %s", SHOWN(text), row->min, row->max);
	*number = value;
	return 0;
}

static int set_int(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	uint64_t number;

	if (set_number(row, value->text, no_units, "a whole number", &number, error) != 0)
		return -1;
	*(int *)member = (int)number;
	return 0;
}

static void format_int(FILE *out, const struct conf_row *row, const void *member)
{
	(void)row;
	fprintf(out, "%d", *(const int *)member);
}

static int fail_or_auto(struct conf_error *error)
{
	strncat(error->text, ", or auto", sizeof(error->text) - strlen(error->text) - 1);
	return -1;
}

static int set_workers(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	uint64_t max = 1;
	cpu_set_t cpus;

	if (strcasecmp(value->text, "auto") != 0) {
		if (set_int(row, member, value, error) == 0)
			return 0;
		return fail_or_auto(error);
	}
	long count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : sysconf(_SC_NPROCESSORS_ONLN);
	type_read_number(row->max, no_units, &max);
	*(int *)member = count < 1 ? 1 : (uint64_t)count > max ? (int)max : (int)count;
	return 0;
}

static int set_size(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	uint64_t number;

	if (set_number(row, value->text, size_units, "a size (bytes, or with k, m, g, t)", &number, error) != 0)
		return -1;
	if (number > SIZE_MAX)
		return conf_fail(error, "'%.64s' is more than this machine can count", SHOWN(value->text));
	*(size_t *)member = (size_t)number;
	return 0;
}

static void format_size(FILE *out, const struct conf_row *row, const void *member)
{
	(void)row;
	write_number(out, *(const size_t *)member, size_units);
}

/* auto is stored as 0; the user of the value finds out how much that is. */
static int set_budget(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	if (strcasecmp(value->text, "auto") == 0) {
		*(size_t *)member = 0;
		return 0;
	}
	if (set_size(row, member, value, error) == 0)
		return 0;
	return fail_or_auto(error);
}

static void format_budget(FILE *out, const struct conf_row *row, const void *member)
{
	if (*(const size_t *)member)
		format_size(out, row, member);
	else
		fputs("auto", out);
}

static int set_rate(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	return set_number(row, value->text, rate_units, "a rate (a whole number, with /s, /m or /h)", member, error);
}

static void format_rate(FILE *out, const struct conf_row *row, const void *member)
{
	(void)row;
	write_number(out, *(const uint64_t *)member, rate_units);
}

/* The bits that chmod(1) writes in octal; no more than reading, writing and executing are a socket's. */
static int set_mode(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	const char *text = value->text;
	char *end;
	unsigned long mode = strtoul(text, &end, 8);

	(void)row;
	if (*text < '0' || *text > '7' || *end || strlen(text) > 4 || mode > 0777)
		return conf_fail(error,
		    "'%.64s' is no mode of a file; allowed: octal digits as for chmod(1), 0 to 0777", SHOWN(text));
	*(unsigned *)member = (unsigned)mode;
	return 0;
}

static void format_mode(FILE *out, const struct conf_row *row, const void *member)
{
	(void)row;
	fprintf(out, "%04o", *(const unsigned *)member);
}

static int set_time(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	return set_number(row, value->text, time_units, "a time (a whole number with ms, s, m, h, d or w)", member,
	    error);
}

static void format_time(FILE *out, const struct conf_row *row, const void *member)
{
	(void)row;
	write_number(out, *(const uint64_t *)member, time_units_written);
}

static int set_interval(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	if (strcasecmp(value->text, "auto") == 0) {
		*(uint64_t *)member = CONF_INTERVAL_AUTO;
		return 0;
	}
	return set_time(row, member, value, error);
}

static void format_interval(FILE *out, const struct conf_row *row, const void *member)
{
	if (*(const uint64_t *)member == CONF_INTERVAL_AUTO)
		fputs("auto", out);
	else
		format_time(out, row, member);
}

/* Words */

static int set_word(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	const char *words = conf_types[row->type].placeholder, *word = words;
	size_t len;

	for (unsigned i = 0; *word; i++, word += len + (word[len] == '|')) {
		len = strcspn(word, "|");
		if (strlen(value->text) == len && strncasecmp(value->text, word, len) == 0) {
			*(unsigned *)member = i;
			return 0;
		}
	}
	return conf_fail(error, "'%.64s' is not known; allowed: %s", SHOWN(value->text), words);
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

	(void)row;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(value->text, words[i].word) == 0) {
			*(bool *)member = words[i].is;
			return 0;
		}
	}
	return conf_fail(error, "'%.64s' is not a switch; allowed: on, off (or yes, no, true, false, 1, 0)",
	    SHOWN(value->text));
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
	return conf_fail(error, "'%.64s' is not a policy; allowed: %s", SHOWN(value->text), names.text);
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
		    "'%.64s' is not a known encoding; allowed: none, or a label that utfeed charsets lists",
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
	return conf_fail(error, "'%.64s' is not a repair; allowed: %s, each also with a minus",
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

static int set_string(const struct conf_row *row, char **member, const struct conf_value *value, bool (*fits)(char),
    const char *rule, struct conf_error *error)
{
	const char *text = value->text;
	char *copy;

	if (!*text && row->def && *row->def)
		return conf_fail(error, "is empty; allowed: %s", rule);
	for (const char *at = text; *at; at++)
		if (!fits(*at))
			return conf_fail(error, "character %zu has the code 0x%02x; allowed: %s",
			    (size_t)(at - text) + 1, (unsigned char)*at, rule);
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
	return set_string(row, member, value, is_printable, "printable ASCII characters", error);
}

int conf_read_gateway(char *text, struct conf_error *error)
{
	size_t len = strlen(text);
	struct url url;
	enum url_error fault = url_parse(text, len, &url);

	if (fault != URL_OK)
		return conf_fail(error, "'%s' is not a URL: %s", conf_shown(text, len).text, url_error_text(fault));
	if (url.has_query || (url.path.len && !url_path_valid(text + url.path.at, url.path.len)) || !gateway_fits(text))
		return conf_fail(error,
		    "'%s' is not one for a gateway; allowed: http or https, a host, and a path without & and '",
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
