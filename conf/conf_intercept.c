/* Owns what the options of interception and of old TLS demand of each other. Must not know: files. */
#include "conf/conf_internal.h"

static int intercept_fails(const struct conf *conf, const char *option, const char *why, struct conf_error *error)
{
	return conf_fail(error, "%s: %s", conf_place(conf, NULL, option).text, why);
}

int conf_intercept_settle(const struct conf *conf, struct conf_error *error)
{
	if (!conf->intercept.count)
		return 0;
	if (!*conf->intercept_ca_cert || !*conf->intercept_ca_key)
		return intercept_fails(conf, "intercept",
		    "needs an authority that clients trust; write intercept-ca-cert and intercept-ca-key, whose files "
		    "utfeed ca --cert FILE --key FILE makes", error);
	if (!conf->forward)
		return intercept_fails(conf, "intercept",
		    "needs the forward proxy, which answers requests in an opened CONNECT; write forward = on", error);
	if (conf->intercept_else == INTERCEPT_TUNNEL && !conf->connect_allow.count)
		return intercept_fails(conf, "intercept-else",
		    "tunnel leads nowhere, because connect-allow names no destination; write for example "
		    "connect-allow = .example.org, or intercept-else = refuse", error);
	return 0;
}

void conf_intercept_warn(struct conf *conf)
{
	if (conf->tls_listen_min < CONF_TLS_1_2 && (conf->tls_listen.count || conf->intercept.count))
		conf_warn(conf,
		    "%s: TLS before 1.2 is broken: anybody between these clients and utfeed can read and change their "
		    "responses; keep utfeed on the same machine or network as they are, or write 1.2",
		    conf_place(conf, NULL, "tls-listen-min").text);
}
