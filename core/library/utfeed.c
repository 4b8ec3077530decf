/* Owns the public face of core: a stream with settings by name, over the normaliser (core/normalise/normalise.h), and
 * the output of a stream that has no writer.
 * Must not know: how anything is decided or decoded.
 * Invariant: what a caller gave is copied, and a stream that failed fails for ever in the same way. */
#define UTFEED_API __attribute__((visibility("default")))
#include "core/library/utfeed.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/memory/held.h"
#include "core/normalise/normalise.h"

enum { SNIFF_MIN = 1024, SNIFF_MAX = 1 << 20 };

struct utfeed {
	struct normalise_options options;   /* its strings are those below */
	char *content_type, *content_language, *base;
	struct normaliser *normaliser;      /* NULL before the first feed */
	utfeed_write_f write;               /* NULL: the output is held */
	void *arg;
	struct held output;                 /* a zero byte, which output.len does not count, follows */
	size_t read;                        /* so many bytes of the output were read */
	int result;                         /* the first failure of feed or finish */
	bool finished;
	char rule[VERDICT_FORMAT_MAX];
	char *type;                         /* the Content-Type of the output, where it is made of the input's */
};

const char *utfeed_version(void)
{
	return PACKAGE_VERSION;
}

const char *utfeed_result_text(int result)
{
	static const char *const texts[] = {
		[-UTFEED_OK] = "right", [-UTFEED_NO_MEMORY] = "out of memory, or a converter is missing",
		[-UTFEED_REJECTED] = "an error by the policy", [-UTFEED_STOPPED] = "stopped by the writer",
		[-UTFEED_BAD_NAME] = "no such setting", [-UTFEED_BAD_VALUE] = "no such value",
		[-UTFEED_TOO_LATE] = "too late",
	};

	return result <= 0 && result >= UTFEED_TOO_LATE ? texts[-result] : "no result of libutfeed";
}

struct utfeed *utfeed_new(utfeed_write_f write, void *arg)
{
	struct utfeed *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->options.policy = POLICY_AUTO;
	u->options.repairs = REPAIR_ALL;
	u->write = write;
	u->arg = arg;
	return u;
}

void utfeed_free(struct utfeed *u)
{
	if (!u)
		return;
	normaliser_free(&u->normaliser);
	free(u->content_type);
	free(u->content_language);
	free(u->base);
	free(u->type);
	held_free(&u->output);
	free(u);
}

/* Settings */

static int set_copy(char **member, const char *value)
{
	char *copy = value ? strdup(value) : NULL;

	if (value && !copy)
		return UTFEED_NO_MEMORY;
	free(*member);
	*member = copy;
	return UTFEED_OK;
}

static int set_content_type(struct utfeed *u, const char *value)
{
	if (set_copy(&u->content_type, value))
		return UTFEED_NO_MEMORY;
	u->options.http = true;
	u->options.content_type = u->content_type;
	u->options.content_type_len = value ? strlen(value) : 0;
	return UTFEED_OK;
}

static int set_content_language(struct utfeed *u, const char *value)
{
	if (set_copy(&u->content_language, value))
		return UTFEED_NO_MEMORY;
	u->options.content_language = u->content_language;
	u->options.content_language_len = value ? strlen(value) : 0;
	return UTFEED_OK;
}

static int set_base(struct utfeed *u, const char *value)
{
	if (set_copy(&u->base, value))
		return UTFEED_NO_MEMORY;
	u->options.base = u->base;
	return UTFEED_OK;
}

static int set_stream_policy(struct utfeed *u, const char *value)
{
	int policy = policy_lookup(value, strlen(value));

	if (policy < 0)
		return UTFEED_BAD_VALUE;
	u->options.policy = (enum policy)policy;
	return UTFEED_OK;
}

static int set_forced(struct utfeed *u, const char *value)
{
	const struct charset_label *label = charset_lookup(value, strlen(value));

	if (!label && strcmp(value, "none") != 0)
		return UTFEED_BAD_VALUE;
	u->options.forced = label ? label->charset : CS_NONE;
	return UTFEED_OK;
}

/* The bits of one name; -1: there is no such repair. */
static long repair_bits(const char *name, size_t len)
{
	static const unsigned bits[] = {
#define REPAIR_BIT(id, bit, name, what) bit,
		REPAIRS(REPAIR_BIT)
#undef REPAIR_BIT
	};

	if (len == 3 && strncasecmp(name, "all", len) == 0)
		return REPAIR_ALL;
	for (int i = 0; i < REPAIR_COUNT; i++)
		if (strlen(repair_name(i)) == len && strncasecmp(name, repair_name(i), len) == 0)
			return bits[i];
	return -1;
}

/* As the option of that name: a list that begins with a minus takes away from all. */
static int set_stream_repairs(struct utfeed *u, const char *value)
{
	static const char blanks[] = ", \t";
	const char *at = value + strspn(value, blanks);
	unsigned all = *at == '-' ? REPAIR_ALL : 0;

	if (strcasecmp(value, "none") == 0)
		at = "";
	else if (!*at)
		return UTFEED_BAD_VALUE;
	while (*at) {
		bool remove = *at == '-';
		size_t len = strcspn(at, blanks);
		long bits = repair_bits(at + remove, len - remove);

		if (bits < 0)
			return UTFEED_BAD_VALUE;
		all = remove ? all & ~(unsigned)bits : all | (unsigned)bits;
		at += len;
		at += strspn(at, blanks);
	}
	u->options.repairs = all;
	return UTFEED_OK;
}

static int set_sniff_bytes(struct utfeed *u, const char *value)
{
	char *end;
	long bytes = strtol(value, &end, 10);

	if (end == value || *end || bytes < SNIFF_MIN || bytes > SNIFF_MAX)
		return UTFEED_BAD_VALUE;
	u->options.sniff_bytes = (size_t)bytes;
	return UTFEED_OK;
}

static const struct {
	const char *name;
	int (*set)(struct utfeed *, const char *value);
	bool absent;                        /* its value may be NULL */
} settings[] = {
	{ "content-type", set_content_type, true },
	{ "content-language", set_content_language, true },
	{ "base", set_base, true },
	{ "policy", set_stream_policy, false },
	{ "charset", set_forced, false },
	{ "repair", set_stream_repairs, false },
	{ "sniff-bytes", set_sniff_bytes, false },
};

/* Settings that are one of two words; the member is 0 for the first of them, 1 for the second. */
static const struct {
	const char *name, *words[2];
	size_t offset;                      /* in struct normalise_options, of an enum */
} choices[] = {
	{ "characters", { "drop", "replace" }, offsetof(struct normalise_options, characters) },
	{ "output", { "utf-8", "us-ascii" }, offsetof(struct normalise_options, output) },
	{ "on-error", { "reject", "pass" }, offsetof(struct normalise_options, on_error) },
};
_Static_assert(CHARACTERS_DROP == 0 && CHARACTERS_REPLACE == 1 && OUTPUT_UTF_8 == 0 && OUTPUT_US_ASCII == 1 &&
    ON_ERROR_REJECT == 0 && ON_ERROR_PASS == 1, "as choices[] has them");

static int set_choice(struct utfeed *u, const char *name, const char *value)
{
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		if (strcmp(choices[i].name, name) != 0)
			continue;
		for (unsigned word = 0; value && word < 2; word++) {
			if (strcmp(choices[i].words[word], value) == 0) {
				memcpy((char *)&u->options + choices[i].offset, &word, sizeof(word));
				return UTFEED_OK;
			}
		}
		return UTFEED_BAD_VALUE;
	}
	return UTFEED_BAD_NAME;
}

int utfeed_set(struct utfeed *u, const char *name, const char *value)
{
	if (u->normaliser || u->finished)
		return UTFEED_TOO_LATE;
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (strcmp(settings[i].name, name) == 0)
			return value || settings[i].absent ? settings[i].set(u, value) : UTFEED_BAD_VALUE;
	return set_choice(u, name, value);
}

/* The output of a stream without a writer */

enum { OUTPUT_FIRST = 4096 };

/* Drops the bytes that were read, but only when they fill half of the block: so each byte is moved once at most. */
static int output_add(struct utfeed *u, const uint8_t *bytes, size_t len)
{
	if (u->read > 0 && u->read >= u->output.cap / 2) {
		held_drop(&u->output, u->read);
		u->output.bytes[u->output.len] = '\0';
		u->read = 0;
	}
	if (held_room(&u->output, len + 1, OUTPUT_FIRST) != 0 || held_add(&u->output, bytes, len, 0) != 0)
		return UTFEED_NO_MEMORY;
	u->output.bytes[u->output.len] = '\0';
	return 0;
}

size_t utfeed_read(struct utfeed *u, void *buffer, size_t size)
{
	size_t len = u->output.len - u->read;

	if (len > size)
		len = size;
	if (len > 0)
		memcpy(buffer, u->output.bytes + u->read, len);
	u->read += len;
	return len;
}

const char *utfeed_output(const struct utfeed *u, size_t *len)
{
	*len = u->output.len - u->read;
	return u->output.bytes ? (const char *)u->output.bytes + u->read : "";
}

/* The stream */

/* Makes the type of the output where it is that of the input with another charset. */
static int stream_decided(void *arg, const struct verdict *v)
{
	struct utfeed *u = arg;
	const struct normalise_options *o = &u->options;

	if (!v->keeps_type)
		return 0;
	u->type = media_type_relabel(o->content_type, o->content_type_len, normalise_charset(o->output));
	return u->type ? 0 : UTFEED_NO_MEMORY;
}

/* Whatever the writer returns, the normaliser sees one value, which none of its own results is. */
static int stream_write(void *arg, const uint8_t *bytes, size_t len)
{
	struct utfeed *u = arg;

	if (!u->write)
		return output_add(u, bytes, len);
	return u->write(u->arg, bytes, len) == 0 ? 0 : UTFEED_STOPPED;
}

static int stream_begin(struct utfeed *u)
{
	struct normalise_events events = { stream_decided, NULL, stream_write, u };

	/* Whatever was set first */
	if (u->base)
		u->options.repairs |= REPAIR_BASE;
	if (!u->normaliser)
		u->normaliser = normaliser_new(&u->options, &events);
	return u->normaliser ? UTFEED_OK : UTFEED_NO_MEMORY;
}

int utfeed_feed(struct utfeed *u, const void *bytes, size_t len)
{
	if (u->result == UTFEED_OK && u->finished)
		return UTFEED_TOO_LATE;
	if (u->result == UTFEED_OK)
		u->result = stream_begin(u);
	if (u->result == UTFEED_OK && len > 0)
		u->result = normaliser_feed(u->normaliser, bytes, len);
	return u->result;
}

int utfeed_finish(struct utfeed *u)
{
	if (u->result == UTFEED_OK && u->finished)
		return UTFEED_TOO_LATE;
	if (u->result == UTFEED_OK)
		u->result = stream_begin(u);
	if (u->result == UTFEED_OK)
		u->result = normaliser_finish(u->normaliser);
	u->finished = true;
	return u->result;
}

static int stream_whole(struct utfeed *u, const void *bytes, size_t len, const char *content_type)
{
	if (content_type && set_content_type(u, content_type) != UTFEED_OK)
		return UTFEED_NO_MEMORY;
	if (len == 0)
		return utfeed_finish(u);
	u->result = stream_begin(u);
	if (u->result == UTFEED_OK)
		u->result = normaliser_feed_last(u->normaliser, bytes, len);
	u->finished = true;
	return u->result;
}

int utfeed_normalise(const void *bytes, size_t len, const char *content_type, struct utfeed **out)
{
	struct utfeed *u = utfeed_new(NULL, NULL);
	int result = u ? stream_whole(u, bytes, len, content_type) : UTFEED_NO_MEMORY;

	if (result != UTFEED_OK) {
		utfeed_free(u);
		u = NULL;
	}
	*out = u;
	return result;
}

/* What was found */

static const struct verdict *found(const struct utfeed *u)
{
	return u->normaliser ? normaliser_verdict(u->normaliser) : NULL;
}

int utfeed_is_feed(const struct utfeed *u)
{
	const struct verdict *v = found(u);

	return v ? v->kind == VERDICT_CHARSET : -1;
}

const char *utfeed_charset(const struct utfeed *u)
{
	const struct verdict *v = found(u);

	return v && v->kind == VERDICT_CHARSET ? charset_name(v->charset) : NULL;
}

const char *utfeed_rule(struct utfeed *u)
{
	const struct verdict *v = found(u);

	if (!v)
		return NULL;
	verdict_format(v, u->rule, sizeof(u->rule));
	return u->rule;
}

const char *utfeed_content_type(const struct utfeed *u)
{
	if (utfeed_is_feed(u) != 1)
		return NULL;
	return u->type ? u->type : normalise_content_type(u->options.output);
}

uint64_t utfeed_count(const struct utfeed *u, const char *name)
{
	static const struct normalise_report none;
	static const struct { const char *name; size_t offset; } counts[] = {
		{ "malformed", offsetof(struct normalise_report, malformed) },
		{ "others", offsetof(struct normalise_report, others) },
		{ "lost", offsetof(struct normalise_report, lost) },
		{ "bytes-in", offsetof(struct normalise_report, bytes_in) },
		{ "bytes-out", offsetof(struct normalise_report, bytes_out) },
	};
	const struct normalise_report *report = u->normaliser ? normaliser_report(u->normaliser) : &none;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (strcmp(counts[i].name, name) == 0)
			return *(const uint64_t *)(const void *)((const char *)report + counts[i].offset);
	for (int i = 0; i < REPAIR_COUNT; i++)
		if (strcmp(repair_name(i), name) == 0)
			return report->repairs[i];
	return UTFEED_NO_COUNT;
}
