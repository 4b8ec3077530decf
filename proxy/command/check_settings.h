/* Owns the settings under which `utfeed check` fetches URLs: those of the environment.
 * Must not know: what is fetched. */
#ifndef UTFEED_PROXY_COMMAND_CHECK_SETTINGS_H
#define UTFEED_PROXY_COMMAND_CHECK_SETTINGS_H

struct settings;

/* One reference. NULL: told on standard error. */
struct settings *check_settings_new(void);

#endif
