/* Public suffixes; see public_suffix.h. */
#include "proxy/http/public_suffix.h"

#include <ctype.h>
#include <libpsl.h>

enum { DOMAIN_NAME_MAX = 253 };        /* RFC 1035 section 2.3.4, without the dot at the end */

bool public_suffix(struct slice domain)
{
	const psl_ctx_t *list = psl_builtin();
	char name[DOMAIN_NAME_MAX + 1];

	while (domain.len && domain.at[domain.len - 1] == '.')
		domain.len--;
	if (!list || !domain.len || domain.len > DOMAIN_NAME_MAX)
		return true;
	for (size_t i = 0; i < domain.len; i++)
		name[i] = (char)tolower((unsigned char)domain.at[i]);
	name[domain.len] = '\0';
	return psl_is_public_suffix(list, name);
}
