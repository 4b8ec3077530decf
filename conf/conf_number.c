/* Owns the text form of numbers: counts, sizes, times, rates, the mode of a file.
 * Must not know: which option uses it, where the text came from.
 * Invariant: set() reads what format() has written as the same value; a failed set() leaves the member as it was. */
#include "conf/conf_internal.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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

/* A kind of numbers, with the words for it in messages. */
struct number_kind {
	const struct unit *units;
	const char *name, *form;
};

static const struct number_kind kind_whole = { no_units, "a whole number", "one" };
static const struct number_kind kind_size = { size_units, "a size", "bytes, or a number with k, m, g or t," };
static const struct number_kind kind_rate = { rate_units, "a rate", "a whole number with /s, /m or /h," };
static const struct number_kind kind_time = { time_units, "a time", "a whole number with ms, s, m, h, d or w," };

static bool conf_read_number(const char *text, const struct unit *units, uint64_t *number)
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

static int set_number(const struct conf_row *row, const char *text, const struct number_kind *kind, uint64_t *number,
    struct conf_error *error)
{
	uint64_t min = 0, max = UINT64_MAX, value;

	if (row->min)
		conf_read_number(row->min, kind->units, &min);
	if (row->max)
		conf_read_number(row->max, kind->units, &max);
	if (!conf_read_number(text, kind->units, &value))
		return conf_fail(error, "'%.64s' is not %s; write %s from %s to %s", SHOWN(text), kind->name,
			kind->form, row->min, row->max);
	if (value < min || value > max)
		return conf_fail(error, "'%.64s' is too %s; write %s from %s to %s", SHOWN(text),
			value < min ? "small" : "large", kind->name, row->min, row->max);
	*number = value;
	return 0;
}

int conf_int_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	uint64_t number;

	if (set_number(row, value->text, &kind_whole, &number, error) != 0)
		return -1;
	*(int *)member = (int)number;
	return 0;
}

void conf_int_format(FILE *out, const struct conf_row *row, const void *member)
{
	(void)row;
	fprintf(out, "%d", *(const int *)member);
}

static int fail_or_auto(struct conf_error *error)
{
	strncat(error->text, ", or auto", sizeof(error->text) - strlen(error->text) - 1);
	return -1;
}

int conf_workers_set(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	uint64_t max = 1;
	cpu_set_t cpus;

	if (strcasecmp(value->text, "auto") != 0) {
		if (conf_int_set(row, member, value, error) == 0)
			return 0;
		return fail_or_auto(error);
	}
	long count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : sysconf(_SC_NPROCESSORS_ONLN);
	conf_read_number(row->max, no_units, &max);
	*(int *)member = count < 1 ? 1 : (uint64_t)count > max ? (int)max : (int)count;
	return 0;
}

int conf_size_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	uint64_t number;

	if (set_number(row, value->text, &kind_size, &number, error) != 0)
		return -1;
	if (number > SIZE_MAX)
		return conf_fail(error, "'%.64s' is more than this machine can count; write less than 4g",
			SHOWN(value->text));
	*(size_t *)member = (size_t)number;
	return 0;
}

void conf_size_format(FILE *out, const struct conf_row *row, const void *member)
{
	(void)row;
	write_number(out, *(const size_t *)member, size_units);
}

/* auto is stored as 0; the user of the value finds out how much that is. */
int conf_budget_set(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	if (strcasecmp(value->text, "auto") == 0) {
		*(size_t *)member = 0;
		return 0;
	}
	if (conf_size_set(row, member, value, error) == 0)
		return 0;
	return fail_or_auto(error);
}

void conf_budget_format(FILE *out, const struct conf_row *row, const void *member)
{
	if (*(const size_t *)member)
		conf_size_format(out, row, member);
	else
		fputs("auto", out);
}

int conf_rate_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	return set_number(row, value->text, &kind_rate, member, error);
}

void conf_rate_format(FILE *out, const struct conf_row *row, const void *member)
{
	(void)row;
	write_number(out, *(const uint64_t *)member, rate_units);
}

/* The bits that chmod(1) writes in octal; no more than reading, writing and executing are a socket's. */
int conf_mode_set(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	const char *text = value->text;
	char *end;
	unsigned long mode = strtoul(text, &end, 8);

	(void)row;
	if (*text < '0' || *text > '7' || *end || strlen(text) > 4 || mode > 0777)
		return conf_fail(error,
		    "'%.64s' is not a file mode; write octal digits as for chmod(1), from 0 to 0777", SHOWN(text));
	*(unsigned *)member = (unsigned)mode;
	return 0;
}

void conf_mode_format(FILE *out, const struct conf_row *row, const void *member)
{
	(void)row;
	fprintf(out, "%04o", *(const unsigned *)member);
}

int conf_time_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	return set_number(row, value->text, &kind_time, member, error);
}

void conf_time_format(FILE *out, const struct conf_row *row, const void *member)
{
	(void)row;
	write_number(out, *(const uint64_t *)member, time_units_written);
}

int conf_interval_set(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	if (strcasecmp(value->text, "auto") == 0) {
		*(uint64_t *)member = CONF_INTERVAL_AUTO;
		return 0;
	}
	return conf_time_set(row, member, value, error) == 0 ? 0 : fail_or_auto(error);
}

void conf_interval_format(FILE *out, const struct conf_row *row, const void *member)
{
	if (*(const uint64_t *)member == CONF_INTERVAL_AUTO)
		fputs("auto", out);
	else
		conf_time_format(out, row, member);
}
