/* Interception as it is configured; see interception.h. */
#include "proxy/settings/interception.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/net/ca.h"
#include "proxy/net/leaves.h"
#include "proxy/net/tls_context.h"
#include "proxy/settings/tls_set.h"

static const char *const options[] = { [CA_FILE_NONE] = "intercept", [CA_FILE_CERT] = "intercept-ca-cert",
	[CA_FILE_KEY] = "intercept-ca-key" };

/* All options that a reload takes together. */
static const char *const kept_options[] = { "intercept", "intercept-ca-cert", "intercept-ca-key", "intercept-else" };

/* A name that stands for all that the destination means: if the authority may not sign for it, clients refuse some of
 * them at least. Nothing is ever below .invalid (RFC 6761 section 6.4). */
static const char *sample_of(const struct conf_destination *served, char text[300])
{
	if (served->kind == DESTINATION_EVERY)
		return "utfeed.invalid";
	if (served->kind == DESTINATION_BLOCK)
		inet_ntop(served->cidr.ip.ipv6 ? AF_INET6 : AF_INET, served->cidr.ip.bytes, text, 300);
	else
		snprintf(text, 300, "%s%.253s", served->kind == DESTINATION_BELOW ? "utfeed." : "", served->host);
	return text;
}

/* The authority must be able to sign for all that is to be intercepted. */
static int check_names(const struct ca *ca, const struct conf *conf, struct ca_why *why)
{
	for (size_t i = 0; i < conf->intercept.count; i++) {
		const struct conf_destination *served = &conf->intercept.items[i];
		char sample[300], written[300];
		const char *refusal = ca_refuses(ca, sample_of(served, sample));

		if (!refusal)
			continue;
		if (served->kind == DESTINATION_BLOCK)
			snprintf(written, sizeof written, "%s", sample);
		else
			snprintf(written, sizeof written, "%s%.253s", served->kind == DESTINATION_BELOW ? "." : "",
			    served->kind == DESTINATION_EVERY ? "*" : served->host);
		why->file = CA_FILE_NONE;
		snprintf(why->text, sizeof why->text,
		    "%.80s is not among the names that %.120s may sign for (%s); leave it out, or make another "
		    "authority with utfeed ca --for NAME",
		    written, conf->intercept_ca_cert, refusal);
		return -1;
	}
	return 0;
}

static struct interception *interception_make(const struct conf *conf, struct ca_why *why)
{
	const struct tls_settings tls = { .side = TLS_SERVER, .ca_file = "", .cert = "", .key = "",
		.min = tls_set_version(conf->tls_listen_min), .h2 = true };
	struct interception *interception = calloc(1, sizeof *interception);
	struct ca *ca = interception ? ca_read(conf->intercept_ca_cert, conf->intercept_ca_key, why) : NULL;
	struct tls_why tls_why = { TLS_FILE_NONE, "out of memory" };

	if (interception && (!ca || check_names(ca, conf, why))) {
		ca_unref(&ca);
		free(interception);
		return NULL;
	}
	if (interception && (interception->leaves = leaves_new(ca, INTERCEPTION_LEAVES_MAX)) &&
	    (interception->tls = tls_context_new(&tls, &tls_why))) {
		ca_unref(&ca);
		atomic_init(&interception->refs, 1);
		return interception;
	}
	why->file = CA_FILE_NONE;
	snprintf(why->text, sizeof why->text, "%s", tls_why.text);
	if (interception)
		leaves_free(&interception->leaves);
	ca_unref(&ca);
	free(interception);
	return NULL;
}

/* Goes back to the former options, all of them. */
static int interception_keep(struct conf *conf, const struct interception_former *former, struct interception **made)
{
	for (size_t i = 0; i < sizeof kept_options / sizeof *kept_options; i++)
		if (conf_keep(conf, former->conf, kept_options[i]))
			return -1;
	if ((*made = former->made))
		atomic_fetch_add_explicit(&former->made->refs, 1, memory_order_relaxed);
	return 0;
}

/* The key must not be in a core dump, and no other process of the same user may read it. The kernel does not dump a
 * process that is not dumpable, and only root may trace it or read its memory. MADV_DONTDUMP is not enough, because
 * OpenSSL copies parts of a key as it signs. */
static void protect_process(void)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		log_warn("intercept: a core dump of utfeed would have the authority's key in it");
}

int interception_new(struct conf *conf, const struct interception_former *former, struct interception **made,
    size_t *kept)
{
	struct ca_why why = { CA_FILE_NONE, "out of memory" };

	*made = NULL;
	if (!conf->intercept.count)
		return 0;
	protect_process();             /* before the key is read */
	if ((*made = interception_make(conf, &why)))
		return 0;
	log_error("%s: %s%s", conf_place(conf, NULL, options[why.file]).text, why.text,
	    former ? "; interception stays as it was" : "");
	if (!former || interception_keep(conf, former, made))
		return -1;
	++*kept;
	return 0;
}

void interception_unref(struct interception **ip)
{
	struct interception *interception = *ip;

	*ip = NULL;
	if (!interception || atomic_fetch_sub_explicit(&interception->refs, 1, memory_order_acq_rel) > 1)
		return;
	leaves_free(&interception->leaves);
	tls_context_unref(&interception->tls);
	free(interception);
}

bool interception_wants(const struct conf *conf, const char *host)
{
	size_t len = strlen(host);
	struct ip ip;
	bool numeric = ip_parse(host, len, &ip);

	for (size_t i = 0; i < conf->intercept.count; i++) {
		const struct conf_destination *served = &conf->intercept.items[i];

		if (served->kind == DESTINATION_BLOCK ? numeric && cidr_contains(&served->cidr, &ip) :
		        conf_destination_names(served, host, len))
			return true;
	}
	return false;
}
