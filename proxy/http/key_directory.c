/* The key directory; see key_directory.h. */
#include "proxy/http/key_directory.h"

#include <string.h>
#include <strings.h>

#include "proxy/base/base64.h"

static bool key_directory_names_host(const struct conf_origin *agent, struct slice host)
{
	struct url_host asked;

	/* "example.com." is the same host. */
	if (url_parse_host(host.at, host.len, &asked) != URL_OK)
		return false;
	struct slice name = { host.at + asked.host.at, asked.host.len };
	if (name.len && name.at[name.len - 1] == '.')
		name.len--;
	return name.len == strlen(agent->host) && !strncasecmp(name.at, agent->host, name.len) &&
	    (asked.port_given ? asked.port : url_default_port(URL_HTTPS)) == agent->port;
}

bool key_directory_is(const struct conf *conf, const struct http_msg *m)
{
	struct slice query, path = slice_until(http_msg_target(m), '?', &query);

	return conf->sign_agent.host && path.len == sizeof KEY_DIRECTORY_PATH - 1 &&
	    !memcmp(path.at, KEY_DIRECTORY_PATH, path.len) && conf_signs(conf) && http_msg_count(m, H_HOST) == 1 &&
	    key_directory_names_host(&conf->sign_agent, http_msg_get(m, H_HOST));
}

static void key_directory_write_x(struct text *t, const unsigned char key[KEY_DIRECTORY_KEY_BYTES])
{
	text_puts(t, "\"x\":\"");
	base64_write_url(t, (struct slice){ (const char *)key, KEY_DIRECTORY_KEY_BYTES });
	text_puts(t, "\"");
}

/* The members that make the key, in the order of their names (RFC 7638 section 3). */
void key_directory_write_canonical(struct text *t, const unsigned char key[KEY_DIRECTORY_KEY_BYTES])
{
	text_puts(t, "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",");
	key_directory_write_x(t, key);
	text_puts(t, "}");
}

void key_directory_write_key(struct text *t, const unsigned char key[KEY_DIRECTORY_KEY_BYTES], const char *id)
{
	text_printf(t, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"%s\",", id);
	key_directory_write_x(t, key);
	text_puts(t, ",\"use\":\"sig\"}");
}
