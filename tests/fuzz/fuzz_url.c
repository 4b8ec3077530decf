/* Owns feeding arbitrary bytes to the URL, Host, path and Location readers, and to what guesses a URL.
 * Invariant tested: parts lie in the text and put together make it again; a path accepted for a pattern has no odd byte; a guess has a
 * scheme; a Location leads to a URL of visible ASCII without a backslash, which leads to itself. */
#include "conf/url.h"
#include "proxy/http/location.h"
#include "proxy/http/meant_url.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_url(const char *text, size_t size)
{
	struct url url;
	struct url_host host;
	enum url_error error = url_parse(text, size, &url);

	require(url_error_text(error) != NULL);
	if (error)
		return;
	require(url.port != 0 && url.host.len != 0);
	require(text[url.authority.at - 1] == '/' && url.authority.at + url.authority.len == url.path.at);
	require(url.host.at >= url.authority.at && url.host.at + url.host.len <= url.path.at);
	require(url.path.len == 0 || text[url.path.at] == '/');
	require(url.target.at == url.path.at && url.target.at + url.target.len == size);
	require(url.target.len == url.path.len + url.query.len + url.has_query);
	require(url_parse_host(text + url.authority.at, url.authority.len, &host) == URL_OK);
	require(url.authority.at + host.host.at == url.host.at && host.host.len == url.host.len && host.ipv6 == url.ipv6);
	for (size_t i = 0; i < size; i++)
		require(text[i] > 0x20 && text[i] < 0x7f);
}

static void check_guess(const char *text, size_t size)
{
	struct text url = { 0 };
	enum meant_url meant = meant_url(&url, (struct slice){ size ? text : "", size });

	require((meant == MEANT_URL) == (url.len > 0));
	require(!url.len || (url.len > 7 && (!memcmp(url.bytes, "https://", 8) || !memcmp(url.bytes, "http://", 7))));
	text_free(&url);
}

/* False: it leads nowhere. */
static bool follow(const struct destination *base, struct slice reference, struct text *url)
{
	struct destination to = { .path = NULL };
	const char *why;

	if (location_follow(&to, base, reference, &why) != DESTINATION_OK)
		return false;
	destination_url(url, &to);
	destination_free(&to);
	return true;
}

static void check_location(const char *text, size_t size)
{
	char path[] = "/x/f?q";
	struct destination base = { .port = 80, .path = path, .path_len = sizeof path - 1, .host = "h", .authority = "h" };
	struct text url = { 0 }, again = { 0 };

	if (follow(&base, (struct slice){ size ? text : "", size }, &url)) {
		for (size_t i = 0; i < url.len; i++)
			require(url.bytes[i] > 0x20 && url.bytes[i] < 0x7f && url.bytes[i] != '\\' && url.bytes[i] != '#');
		require(follow(&base, (struct slice){ url.bytes, url.len }, &again) || url.len > URL_MAX_BYTES);
		require(!again.len || (again.len == url.len && !memcmp(again.bytes, url.bytes, url.len)));
	}
	text_free(&url);
	text_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct url_host host;

	check_url(text, size);
	check_guess(text, size);
	check_location(text, size);
	if (url_parse_host(text, size, &host) == URL_OK)
		require(host.host.at + host.host.len <= size && (host.port != 0) == host.port_given);
	url_path_has_dots(text, size);
	if (url_path_valid(text, size))
		require(!memchr(text, ' ', size) && !memchr(text, '?', size) && !memchr(text, '\n', size));
	return 0;
}
