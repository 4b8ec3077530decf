/* Owns as whom the links of a Redis store log in, and what their TLS trusts; see store_redis_link.h. */
#include "proxy/store/store_redis_link.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_HIREDIS_SSL
enum { HAS_TLS = true };
#else
enum { HAS_TLS = false };
#endif

static char *copy_or_null(const char *text)
{
	return text ? strdup(text) : NULL;
}

int redis_access_login(struct redis_access *access, const char *user, const char *password)
{
	char *new_user = copy_or_null(user), *new_password = copy_or_null(password);

	if ((user && !new_user) || (password && !new_password)) {
		free(new_user);
		free(new_password);
		return -1;
	}
	pthread_mutex_lock(&access->lock);
	char *old_user = access->user;
	char *old_password = access->password;
	access->user = new_user;
	access->password = new_password;
	pthread_mutex_unlock(&access->lock);
	free(old_user);
	free(old_password);
	return 0;
}

/* Returns the reason if the server cannot be accessed, and NULL otherwise. */
static const char *access_init(struct redis_access *access, const struct redis_settings *settings, struct tls_why *why)
{
	const struct tls_settings tls = { .side = TLS_CLIENT, .verify = true,
		.ca_file = settings->ca_file ? settings->ca_file : "", .cert = "", .key = "" };

	if (settings->tls && !HAS_TLS)
		return "this build has no TLS for Redis (hiredis_ssl, hiredis 1.0); write cache-redis-tls = off";
	if (!access || redis_access_login(access, settings->user, settings->password))
		return "out of memory";
	if (!settings->tls)
		return NULL;
	assert(settings->where->n);
	return (access->tls = tls_context_new(&tls, why)) ? NULL : why->text;
}

struct redis_access *redis_access_new(const struct redis_settings *settings, struct store_redis_why *why)
{
	struct redis_access *access = malloc(sizeof *access);
	struct tls_why tls = { .file = TLS_FILE_NONE };

	if (access)
		*access = (struct redis_access){ .settings = *settings, .lock = PTHREAD_MUTEX_INITIALIZER, .refs = 1 };
	const char *text = access_init(access, settings, &tls);
	snprintf(why->text, sizeof why->text, "%s", text ? text : "");
	why->ca_file = tls.file == TLS_FILE_CA;
	if (text && access)
		redis_access_unref(&access);
	if (access)
		access->settings.prefix = access->settings.user = access->settings.password = NULL;
	return access;
}

struct redis_access *redis_access_ref(struct redis_access *access)
{
	access->refs++;
	return access;
}

void redis_access_unref(struct redis_access **ap)
{
	struct redis_access *access = *ap;

	*ap = NULL;
	if (!access || --access->refs)
		return;
	tls_context_unref(&access->tls);
	free(access->user);
	free(access->password);
	free(access);
}
