/* Owns what the cases of the configuration share: a configuration to load into, its rows, files with a text.
 * Must not know: what is tested with them. */
#ifndef UTFEED_TESTS_UNIT_CONF_LOADS_H
#define UTFEED_TESTS_UNIT_CONF_LOADS_H

#include "conf/conf_internal.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* conf_load() takes main's argv and envp and writes to none of it. */
#define WORDS(words) ((char *const *)(uintptr_t)(words))

#define PARENTS "; write http://host:port, http://user:password@host:port, the same with socks5h://, or off"

/* A value that every option with a secret takes. */
#define SECRET "http://u:hunter2@h:1"

static char *const no_variables[] __attribute__((unused)) = { NULL };

static inline struct conf *make(void)
{
	struct conf *conf = conf_new();

	CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
	return conf;
}

/* conf_load() of the words, up to a NULL, and of one variable; NULL: of none. */
static inline int load_words(struct conf *conf, const char *const *words, const char *variable, struct conf_error *error)
{
	const char *const variables[] = { variable, NULL };
	int count = 0;

	while (words[count])
		count++;
	return conf_load(conf, count, WORDS(words), WORDS(variables), error);
}

static inline const struct conf_row *row_of(const char *name)
{
	return conf_row_find(conf_options, CONF_OPTION_COUNT, name, strlen(name));
}

static inline bool reads(const struct conf *conf, const char *name, const char *formatted)
{
	char *text = conf_format(row_of(name), conf);
	bool same = text && strcmp(text, formatted) == 0;

	free(text);
	return same;
}

/* A file with this text; the caller unlinks and frees the name. */
static inline char *write_file(const char *text)
{
	char *path = strdup("/tmp/utfeed-test-conf-XXXXXX");
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

static inline void put_file(const char *name, const char *text, size_t len, mode_t mode)
{
	FILE *out = fopen(name, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	CU_ASSERT(fwrite(text, 1, len, out) == len && fchmod(fileno(out), mode) == 0 && fclose(out) == 0);
}

#endif
