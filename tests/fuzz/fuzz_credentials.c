/* Owns feeding arbitrary bytes to the readers of names and passwords. Input: what a client sends, a line feed, and a file of users.
 * Invariants: a name or password fits and has no control character. A token is a whole segment of its path, and is not shown. A user of the
 * file is found by its name, and has a hash of a known kind. */
#include "conf/conf_internal.h"
#include "proxy/base/url_mask.h"
#include "proxy/base/url_secrets.h"
#include "proxy/http/credentials.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_text(const char *text, size_t len, size_t most)
{
	require(len && len <= most && strlen(text) == len);
	for (size_t i = 0; i < len; i++)
		require((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
}

static void check_credentials(const struct credentials *given)
{
	check_text(given->name, given->name_len, CREDENTIALS_NAME_MAX);
	check_text(given->password, given->password_len, CREDENTIALS_PASSWORD_MAX);
	require(!memchr(given->name, ':', given->name_len) && credentials_same(given, given));
}

static void check_token(struct slice path)
{
	size_t len = credentials_token(path), n;
	struct credentials given;
	char shown[URL_SHOWN_MAX];

	require(len < path.len || !len);
	if (!len)
		return;
	require(len > 1 && path.at[0] == '/' && path.at[len] == '/' && !memchr(path.at + 1, '/', len - 1));
	if (credentials_read_token(&given, (struct slice){ path.at, len }))
		check_credentials(&given);
	n = url_show(shown, path.at, path.len);
	require(url_has_secret_sign(path.at, path.len) && n >= 5 && !memcmp(shown, "/***@", 5) && (n == 5 || shown[5] == '/'));
}

static void check_users(const char *text, size_t len)
{
	struct conf *conf = conf_new();

	require(conf);
	conf_users_parse(conf, "users", text, len);
	for (size_t i = 0; i < conf->users.count; i++) {
		const struct conf_user *user = &conf->users.items[i], *found = conf_user_find(&conf->users, user->name, user->name_len);

		require(found && !strcmp(found->name, user->name));
		require(conf->notes.errors || (found == user && *user->hash == '$' && strlen(user->hash) < 256));
	}
	conf_free(&conf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *line = memchr(text, '\n', size);
	struct slice sent = { text, line ? (size_t)(line - text) : size };
	struct credentials given;

	if (credentials_read_basic(&given, sent))
		check_credentials(&given);
	check_token(sent);
	(void)url_has_userinfo(sent.at, sent.len);
	if (line)
		check_users(line + 1, size - sent.len - 1);
	return 0;
}
