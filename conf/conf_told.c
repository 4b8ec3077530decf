/* Owns what origins are told by option of who asks them.
 * Must not know: where it stands in a request. Invariant: a contact URL can stand in a comment of User-Agent. */
#include "conf/conf_internal.h"

#include <stdlib.h>

int conf_contact_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	size_t len = strlen(value->text);
	struct url url;
	enum url_error fault = len ? url_parse(value->text, len, &url) : URL_OK;
	char *copy;

	(void)row;
	if (fault != URL_OK)
		return conf_fail(error, "'%s' is not a URL: %s", SHOWN(value->text), url_error_text(fault));
	if (strpbrk(value->text, "()"))       /* they would end the comment */
		return conf_fail(error, "'%s' has a parenthesis; allowed: %%28 and %%29", SHOWN(value->text));
	if (!(copy = strdup(value->text)))
		return conf_fail_memory(error);
	free(*(char **)member);
	*(char **)member = copy;
	return 0;
}
