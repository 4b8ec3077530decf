/* Asking for a name and a password (option client-auth), behind client-allow and before everything else; see
 * client_internal.h. Requests inside an opened CONNECT have its user.
 * Invariant: the name and password that counted are taken off the request. They are never logged, stored, sent to
 * origins, or part of a key. Sources: RFC 9110 section 11, RFC 7617. */
#include "proxy/client/client_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "conf/conf.h"
#include "proxy/answer/local_reply.h"
#include "proxy/base/url_mask.h"
#include "proxy/client/client_intercept.h"
#include "proxy/http/credentials.h"
#include "proxy/settings/logins.h"
#include "proxy/settings/settings.h"

#define AUTH_REALM " Basic realm=\"utfeed\", charset=\"UTF-8\"\r\n"
#define AUTH_ENDED "Who asked for this tunnel may not use this proxy any more (client-auth); connect again."

/* What a client hears that has shown nothing, or nothing right: no word of which. */
static const struct {
	int status;
	const char *fields, *text;
} challenges[] = {
	{ 401, "WWW-Authenticate:" AUTH_REALM, "This asks for a name and a password (client-auth)." },
	{ 407, "Proxy-Authenticate:" AUTH_REALM, "This proxy asks for a name and a password (client-auth)." },
};

/* Whether the client takes utfeed for its proxy. */
static bool client_proxies(const struct http_msg *m)
{
	return m->method == METHOD_CONNECT || m->base[m->target] != '/';
}

void client_hide_referer(struct http_msg *m)
{
	bool tells = false;

	for (uint32_t i = 0; http_msg_has(m, H_REFERER) && i < m->n_fields; i++) {
		struct slice url = http_field_value(m, &m->fields[i]);

		tells |= m->fields[i].id == H_REFERER && url_has_userinfo(url.at, url.len);
	}
	if (tells)
		http_msg_drop(m, H_REFERER);
}

void client_hide_token(struct client *c)
{
	struct http_msg *m = &c->exchange->msg;
	struct request *request = &c->exchange->request;
	uint32_t len;

	if (c->opened || client_proxies(m) || !(len = (uint32_t)credentials_token(http_msg_target(m))))
		return;
	request->token_at = m->target;
	request->token_len = len;
	m->target += len;
	m->target_len -= len;
}

/* Whether an Authorization that is meant for the origin has what is meant for utfeed as well: some clients send both
 * alike. */
static bool client_repeats(const struct http_msg *m, const struct credentials *given)
{
	struct credentials other;
	bool repeats = false;

	for (uint32_t i = 0; http_msg_has(m, H_AUTHORIZATION) && i < m->n_fields; i++)
		if (m->fields[i].id == H_AUTHORIZATION &&
		    credentials_read_basic(&other, http_field_value(m, &m->fields[i]))) {
			repeats |= credentials_same(&other, given);
			credentials_forget(&other);
		}
	return repeats;
}

/* Takes the name and password off the request: those in the URL, else those in Proxy-Authorization, else those in
 * Authorization, which is the origin's in the other cases. False: there are none that can be read. */
static bool client_take_credentials(struct exchange *exchange, struct credentials *given)
{
	struct http_msg *m = &exchange->msg;
	bool proxy = client_proxies(m) || http_msg_has(m, H_PROXY_AUTHORIZATION), token = exchange->request.token_len;
	enum header_id id = proxy ? H_PROXY_AUTHORIZATION : H_AUTHORIZATION;
	bool read = token ? credentials_read_token(given, request_token(&exchange->request)) :
	    http_msg_count(m, id) == 1 && credentials_read_basic(given, http_msg_get(m, id));

	if (!(token || proxy) || (read && client_repeats(m, given))) {
		http_msg_drop(m, H_AUTHORIZATION);
		exchange->request.authorization = false;
	}
	return read;
}

/* Answers without carrying the request out. */
static void client_turn_back(struct client *c, enum stats_counter counter, int status, const char *fields,
    const char *text)
{
	stats_add(loop_stats(client_loop(c)), counter, 1);
	log_step(&c->exchange->id, "request: refused, %d: client-auth", status);
	if (client_has_more(c->exchange))
		client_ends(c, AFTER_LINGERS);
	client_take_object(c, local_reply(&c->exchange->ctx, status, fields, text, ""));
}

static void client_challenge(struct client *c)
{
	bool proxy = client_proxies(&c->exchange->msg);

	client_turn_back(c, STAT_LOGINS_REFUSED, challenges[proxy].status, challenges[proxy].fields,
	    challenges[proxy].text);
}

static void client_send_away(struct client *c, unsigned wait_s)
{
	char field[40];

	snprintf(field, sizeof field, "Retry-After: %u\r\n", wait_s);
	client_turn_back(c, STAT_LOGINS_HURRIED, 429, field, "Too many wrong passwords came from this address.");
}

static void client_say_busy(struct client *c)
{
	client_turn_back(c, STAT_LOGINS_BUSY, 503, "Retry-After: 1\r\n", "Too many passwords are being compared.");
}

static void client_let_in(struct client *c, const struct conf_user *user)
{
	c->exchange->user = user->name;
	log_step(&c->exchange->id, "client-auth: %s", user->name);
}

/* Who asked for the CONNECT. NULL: the user has left the file, or the CONNECT is older than the option. */
static const struct conf_user *client_connect_user(const struct client *c, const struct conf_users *users)
{
	const char *name = c->opened ? c->opened->user : c->exchange->user;

	return name ? conf_user_find(users, name, strlen(name)) : NULL;
}

bool client_is_out(const struct client *c)
{
	const struct conf_users *users = &c->pool->ctx.conf->users;

	return users->count && !client_connect_user(c, users);
}

/* True: the request goes no further. */
static bool client_inside_is_out(struct client *c)
{
	const struct conf_user *user = client_connect_user(c, &client_conf(c)->users);

	if (user) {
		client_let_in(c, user);
		return false;
	}
	client_leave_inside(c, client_has_more(c->exchange));
	client_turn_back(c, STAT_LOGINS_REFUSED, 403, "", AUTH_ENDED);
	return true;
}

/* Has the password compared. The client waits for it, or is refused. */
static void client_ask_login(struct client *c, const struct login *asked)
{
	struct login_waiter *login = calloc(1, sizeof *login);
	enum login_answer answer = LOGIN_NO_MEMORY;
	unsigned wait_s;

	if (login) {
		login->at.loop = client_loop(c);
		login->at.task = &c->task;
		answer = logins_ask(c->exchange->ctx.settings->logins, asked, login, &wait_s);
	}
	if (answer == LOGIN_WAITS) {
		stats_add(loop_stats(client_loop(c)), STAT_LOGINS_COMPARED, 1);
		if (!c->blocked)
			loop_disarm(client_loop(c), &c->timer);
		c->login = login;
		client_enter(c, CL_AUTH);
		return;
	}
	free(login);
	if (answer == LOGIN_HURRIED)
		client_send_away(c, wait_s);
	else if (answer == LOGIN_BUSY)
		client_say_busy(c);
	else
		client_close(c, false);
}

bool client_must_log_in(struct client *c)
{
	static const struct ip nobody;
	struct exchange *exchange = c->exchange;
	const struct conf_user *user;
	struct credentials given;

	if (c->opened)
		return client_inside_is_out(c);
	if (!client_take_credentials(exchange, &given)) {
		client_challenge(c);
		return true;
	}
	struct login asked = (struct login){ .users = &client_conf(c)->users, .given = &given,
		.client = exchange->who.known ? &exchange->who.ip : &nobody,
		.now_ms = loop_now_ms(client_loop(c)) };
	if ((user = logins_known(exchange->ctx.settings->logins, &asked)))
		client_let_in(c, user);
	else
		client_ask_login(c, &asked);
	credentials_forget(&given);
	return !user;
}

void client_leave_login(struct client *c)
{
	if (!c->login)
		return;
	logins_leave(c->exchange->ctx.settings->logins, c->login);
	free(c->login);
	c->login = NULL;
}

bool client_log_in(struct client *c)
{
	const struct conf_user *user = c->login->user;
	enum login_answer answer =
	    logins_told(c->exchange->ctx.settings->logins, c->login, loop_now_ms(client_loop(c)));

	if (answer == LOGIN_WAITS)
		return false;
	free(c->login);
	c->login = NULL;
	if (answer == LOGIN_RIGHT) {
		client_let_in(c, user);
		client_carry_out(c);
	} else if (answer == LOGIN_BUSY)
		client_say_busy(c);
	else
		client_challenge(c);
	return true;
}
