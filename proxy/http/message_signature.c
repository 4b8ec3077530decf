/* Signature bases and fields; see message_signature.h. */
#include "proxy/http/message_signature.h"

#include <string.h>

#include "proxy/http/sf_write.h"

static void signature_write_name(struct text *t, const struct signature_component *component)
{
	text_printf(t, "\"%s\"%s", component->name, component->params);
}

static bool signature_write_param(struct text *t, const struct signature_param *param)
{
	text_printf(t, ";%s=", param->name);
	return param->text ? sf_write_string(t, (struct slice){ param->text, strlen(param->text) })
	                   : sf_write_integer(t, param->number);
}

/* The inner list of components with its parameters. */
static bool signature_write_input(struct text *t, const struct signature *signature)
{
	bool fits = true;

	text_puts(t, "(");
	for (size_t i = 0; i < signature->n_components; i++) {
		text_puts(t, i ? " " : "");
		signature_write_name(t, &signature->components[i]);
	}
	text_puts(t, ")");
	for (size_t i = 0; i < signature->n_params; i++)
		fits = signature_write_param(t, &signature->params[i]) && fits;
	return fits;
}

bool signature_write_base(struct text *t, const struct signature *signature)
{
	for (size_t i = 0; i < signature->n_components; i++) {
		struct slice value = signature->components[i].value;

		/* it would be another line of the base */
		if (value.len && memchr(value.at, '\n', value.len))
			return false;
		signature_write_name(t, &signature->components[i]);
		text_puts(t, ": ");
		text_add(t, value.at, value.len);
		text_puts(t, "\n");
	}
	text_puts(t, "\"@signature-params\": ");
	return signature_write_input(t, signature);
}

bool signature_write_fields(struct text *t, const char *label, const struct signature *signature, struct slice bytes)
{
	text_printf(t, "Signature-Input: %s=", label);
	bool fits = signature_write_input(t, signature);
	text_printf(t, "\r\nSignature: %s=", label);
	sf_write_bytes(t, bytes);
	text_puts(t, "\r\n");
	return fits;
}
