/* Owns feeding arbitrary fields to whoever finds out who asks. Input: a byte of switches, then field lines as a client sends them, each
 * ended by a line feed, to a trusted proxy that adds a line of its own.
 * Invariants: whatever the client wrote, it is whom the proxy names; a client that is not believed is the connection's other end; nobody
 * has rights who is not known, is a proxy, or came through another one. */
#include "proxy/answer/requester.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIELDS_MAX = 24, TRUSTED = 1, FORWARDED = 2, ADDS = 4 };

static void require(bool holds)
{
	if (!holds)
		abort();
}

static struct conf *load(bool forwarded)
{
	static const char *const fields[] = { "--client-field=x-forwarded-for", "--client-field=forwarded" };
	const char *const words[] = { "serve", "--trusted-proxies=10.0.0.0/8, 127.0.0.1", "--client-allow=0.0.0.0/0", fields[forwarded] };
	static char *const none[] = { NULL };
	struct conf_error error;
	struct conf *conf = conf_new();

	require(conf && conf_load(conf, 4, (char *const *)(uintptr_t)words, none, &error) == 0);
	return conf;
}

static void add(struct http_msg *m, enum header_id id, const char *value, size_t len)
{
	m->fields[m->n_fields] = (struct http_field){ .id = (uint8_t)id, .value = (uint32_t)(value - m->base), .value_len = (uint32_t)len };
	http_msg_add(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const own[] = { "192.0.2.99", "for=192.0.2.99" };
	static const enum header_id ids[] = { H_X_FORWARDED_FOR, H_FORWARDED, H_X_REAL_IP };
	static struct conf *confs[2];
	struct sockaddr_in in = { .sin_family = AF_INET };
	uint8_t how = size ? data[0] : 0;
	bool forwarded = how & FORWARDED;
	size_t own_len = strlen(own[forwarded]);
	struct http_field fields[FIELDS_MAX + 1];
	char *text = malloc(size + own_len), room[REQUESTER_TEXT_MAX];
	struct http_msg m = { .base = text, .fields = fields, .max_fields = FIELDS_MAX + 1 };
	struct requester r;

	require(text);
	if (!confs[forwarded])
		confs[forwarded] = load(forwarded);
	memcpy(text, data, size);
	memcpy(text + size, own[forwarded], own_len);
	for (size_t at = size ? 1 : 0; at < size && m.n_fields < FIELDS_MAX;) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t len = end ? (size_t)(end - text) - at : size - at;

		add(&m, ids[len % 3 ? forwarded : len % 2 + 1], text + at, len);
		at += len + 1;
	}
	if (how & ADDS)
		add(&m, ids[forwarded], text + size, own_len);
	in.sin_addr.s_addr = inet_addr(how & TRUSTED ? "10.0.0.1" : "192.0.2.98");
	requester_of_peer(&r, (struct sockaddr *)&in);
	requester_read(&r, confs[forwarded], &m);
	(void)requester_text(&r, room);
	require(!r.rights || (r.known && !requester_is_trusted(&r, confs[forwarded])));
	if (!(how & TRUSTED))
		require(!strcmp(requester_text(&r, room), "192.0.2.98:-") && !r.told && r.rights == !m.n_fields);
	else if (how & ADDS)
		require(r.known && r.told && !strcmp(requester_text(&r, room), "192.0.2.99:-"));
	free(text);
	return 0;
}
