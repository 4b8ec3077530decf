/* Owns the check that the access log goes one way. Must not know: what is logged.
 * Invariant: every message names the option and its place. */
#include "conf/conf_internal.h"

int conf_log_settle(const struct conf *conf, struct conf_error *error)
{
	if (*conf->access_log_file && (conf->access_log_syslog.host || conf->access_log_syslog.path))
		return conf_fail(error,
		    "%s: access-log-syslog: access-log-file is set too, at %s; allowed: one of them",
		    conf_where(conf, NULL, "access-log-syslog"), conf_where(conf, NULL, "access-log-file"));
	return 0;
}
