/* Owns the options that say what origins learn: the name and contact of the operator, the host of its public keys, and
 * the fields of each request.
 * Must not know: where it stands in a request, which fields utfeed writes itself.
 * Invariant: a contact URL can stand in a comment of User-Agent, and a field in a head; no message has anything of a
 * field's value. */
#include "conf/conf_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#define FIELDS_FORM "write NAME: VALUE, with commas between, and \\, for a comma in a value"

enum { FIELDS_MAX = 16 };

int conf_contact_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	size_t len = strlen(value->text);
	struct url url;
	enum url_error fault = len ? url_parse(value->text, len, &url) : URL_OK;
	char *copy;

	(void)row;
	if (fault != URL_OK)
		return conf_fail(error, "'%s' is not a URL: %s; write one such as https://example.org/about",
		    SHOWN(value->text), url_error_text(fault));
	if (strpbrk(value->text, "()"))       /* they would end the comment */
		return conf_fail(error, "'%s' has a parenthesis; write %%28 for ( and %%29 for )", SHOWN(value->text));
	if (!(copy = strdup(value->text)))
		return conf_fail_memory(error);
	free(*(char **)member);
	*(char **)member = copy;
	return 0;
}

int conf_agent_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	bool https = !strncasecmp(value->text, "https://", sizeof "https://" - 1);
	struct conf_origin agent = { 0 };

	if (https && conf_origin_set(row, &agent, value, error) != 0)
		return -1;
	if (*value->text && (!https || strcmp(agent.path, "/") != 0)) {
		conf_origin_clear(&agent);
		return conf_fail(error, "'%s' is not an https URL without a path; write https://host or "
		    "https://host:port", SHOWN(value->text));
	}
	conf_origin_clear(member);
	*(struct conf_origin *)member = agent;
	return 0;
}

void conf_agent_format(FILE *out, const struct conf_row *row, const void *member)
{
	const struct conf_origin *agent = member;

	(void)row;
	if (agent->host)
		fprintf(out, "https://%s", agent->authority);
}

bool conf_signs(const struct conf *conf)
{
	for (size_t i = 0; i < conf_route_count(conf); i++)
		if (*conf_route_at(conf, i)->sign_key)
			return true;
	return false;
}

int conf_agent_settle(const struct conf *conf, struct conf_error *error)
{
	for (size_t i = 0; i < conf_route_count(conf); i++) {
		const struct conf_route *route = conf_route_at(conf, i);

		if (*route->sign_key && !conf->sign_agent.host)
			return conf_fail(error, "%s: needs the host at which origins find the public key; write "
			    "sign-agent = https://HOST", conf_place(conf, route, "sign-key").text);
	}
	return 0;
}

bool conf_fields_have(const struct conf_fields *fields, const char *name, size_t len)
{
	for (size_t i = 0; i < fields->count; i++)
		if (strlen(fields->items[i].name) == len && !strncasecmp(fields->items[i].name, name, len))
			return true;
	return false;
}

/* The length of a field: up to a comma or the end of a line. */
static size_t field_length(const char *text)
{
	size_t n = 0;

	while (text[n] && text[n] != '\n' && text[n] != ',')
		n += text[n] == '\\' && text[n + 1] == ',' ? 2 : 1;
	return n;
}

/* Cuts blanks and CR off both ends. */
static const char *trim(const char *text, size_t *len)
{
	while (*len && strchr(" \t\r", text[*len - 1]))
		--*len;
	while (*len && strchr(" \t", *text)) {
		text++;
		--*len;
	}
	return text;
}

/* RFC 9110 section 5.1: a token */
static bool is_field_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("!#$%&'*+-.^_`|~", text[i]))
			return false;
	return len;
}

/* A value without the backslashes before commas. */
static char *copy_field_value(const char *text, size_t len)
{
	char *copy = strndup(text, len), *out = copy;

	for (const char *in = copy; in && *in; in++) {
		in += in[0] == '\\' && in[1] == ',';
		*out++ = *in;
	}
	if (out)
		*out = '\0';
	return copy;
}

static int fields_add(struct conf_fields *fields, const char *text, size_t len, struct conf_error *error)
{
	const char *colon, *value;
	size_t name_len, value_len, number = fields->count + 1;
	struct conf_field *field = &fields->items[fields->count];

	text = trim(text, &len);
	colon = memchr(text, ':', len);
	name_len = colon ? (size_t)(colon - text) : 0;
	value_len = len - name_len - 1;
	value = colon ? trim(colon + 1, &value_len) : NULL;
	if (!is_field_name(text, name_len) || !value_len)
		return conf_fail(error, "field %zu is not NAME: VALUE; " FIELDS_FORM, number);
	for (size_t i = 0; i < value_len; i++)
		if (value[i] < 0x20 || value[i] > 0x7e)
			return conf_fail(error, "field %zu has the code 0x%02x in its value; write printable ASCII "
			    "characters alone", number, (unsigned char)value[i]);
	if (conf_fields_have(fields, text, name_len))
		return conf_fail(error, "field %zu is given twice; write it once", number);
	if (fields->count == FIELDS_MAX)
		return conf_fail(error, "has too many fields; write at most %d", FIELDS_MAX);
	fields->count++;
	field->name = strndup(text, name_len);
	field->value = copy_field_value(value, value_len);
	return field->name && field->value ? 0 : conf_fail_memory(error);
}

int conf_fields_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	struct conf_fields fields = { strdup(value->text), calloc(FIELDS_MAX + 1, sizeof(struct conf_field)), 0 };
	const char *at = value->text;
	int status = fields.text && fields.items ? 0 : conf_fail_memory(error);

	(void)row;
	for (size_t len; status == 0 && *at; at += len + (at[len] != '\0')) {
		len = field_length(at);
		status = fields_add(&fields, at, len, error);
	}
	if (status == 0) {
		conf_fields_clear(member);
		*(struct conf_fields *)member = fields;
	} else
		conf_fields_clear(&fields);
	return status;
}

void conf_fields_format(FILE *out, const struct conf_row *row, const void *member)
{
	const struct conf_fields *fields = member;

	(void)row;
	fputs(fields->text ? fields->text : "", out);
}

void conf_fields_show(FILE *out, const struct conf_row *row, const void *member)
{
	const struct conf_fields *fields = member;

	(void)row;
	for (size_t i = 0; i < fields->count; i++)
		fprintf(out, "%s%s: " CONF_HIDDEN, i ? ", " : "", fields->items[i].name);
}

void conf_fields_clear(void *member)
{
	struct conf_fields *fields = member;

	for (size_t i = 0; i < fields->count; i++) {
		free(fields->items[i].name);
		free(fields->items[i].value);
	}
	free(fields->items);
	free(fields->text);
	*fields = (struct conf_fields){ NULL, NULL, 0 };
}
