/* Owns feeding arbitrary targets and Host fields to proxy/http/target.c. Input: a byte of switches, a Host field up to a line feed, then
 * the target.
 * Invariants: what is accepted has a host, a port and a path beginning with '/', all of visible ASCII; a route keeps its origin;
 * the same request gives the same answer. */
#include "proxy/http/target.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct conf *conf;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void load(void)
{
	static const char *const args[] = { "serve", "--route", "/f/=http://origin.example/base/ name=f", "--route", "//h.example/=https://[::1]:8443/", NULL };
	static char *const none[] = { NULL };
	struct conf_error error;

	require((conf = conf_new()) != NULL);
	require(conf_load(conf, 5, (char *const *)(uintptr_t)args, none, &error) == 0);
}

static void check_visible(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		require(text[i] > 0x20 && text[i] < 0x7f);
}

static void check(const struct target *t)
{
	require(t->route && t->to.port && t->to.host[0] && strlen(t->to.host) < DESTINATION_HOST_MAX && strlen(t->to.authority) < DESTINATION_AUTHORITY_MAX);
	require(t->to.path && t->to.path[0] == '/' && strlen(t->to.path) == t->to.path_len);
	check_visible(t->to.path, t->to.path_len);
	check_visible(t->to.host, strlen(t->to.host));
	check_visible(t->to.authority, strlen(t->to.authority));
	require(strstr(t->to.authority, t->to.host) != NULL && !strpbrk(t->to.host, "/?#@[]"));
	if (t->mode == TARGET_ROUTE) {
		require(strcmp(t->to.host, t->route->origin.host) == 0 && t->to.port == t->route->origin.port);
		require(strncmp(t->to.path, t->route->origin.path, strlen(t->route->origin.path)) == 0);
	} else
		require(t->route == (t->mode == TARGET_GATEWAY ? &conf->by_url : &conf->direct));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_field field = { .id = H_HOST };
	struct http_msg m = { .max_fields = 1, .fields = &field, .major = 1, .minor = 1 };
	struct target a, b;
	enum target_error error;
	const uint8_t *line;
	const char *why;
	char room[64];

	if (!conf)
		load();
	if (size < 2 || !(line = memchr(data + 1, '\n', size - 1)) || line + 1 == data + size)
		return 0;
	m.base = (const char *)data;
	field.value = 1;
	field.value_len = (uint32_t)(line - data - 1);
	if (data[0] & 1)
		http_msg_add(&m);
	m.minor = data[0] >> 1 & 1;
	m.target = (uint32_t)(line + 1 - data);
	m.target_len = (uint32_t)(size - m.target);
	conf->forward = data[0] & 4;
	conf->gateway = !(data[0] & 8);
	error = target_find(&a, conf, &m, 80, NULL, 0, &why);
	require(why != NULL && (error == TARGET_BAD_URL) == (why[0] != '\0'));
	require(target_find(&b, conf, &m, 80, room, sizeof room, &why) == error);
	if (error == TARGET_OK) {
		check(&a);
		require(strcmp(a.to.path, b.to.path) == 0 && strcmp(a.to.authority, b.to.authority) == 0 && a.to.tls == b.to.tls && a.route == b.route);
	}
	target_free(&a);
	target_free(&b);
	return 0;
}
