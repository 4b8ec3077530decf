/* Owns the command line of `utfeed serve`: --name VALUE and --name=VALUE for every option, and the few words beside
 * them.
 * Must not know: files, variables; what any option means.
 * Invariant: every option takes a value; where a flag is given twice the last one counts, but the values of a list add
 * up. */
#include "conf/conf_internal.h"

#include <stdlib.h>
#include <string.h>

/* Flags beside the options: the file to read options from, or something to print instead of serving. */
static const struct word {
	const char *name;
	char letter;                /* 0: none */
	const char *placeholder;    /* of its value; NULL: it takes none */
	size_t member;              /* of struct conf, where the value goes */
	enum conf_action action;    /* of a word without a value */
	const char *prose;
} words[] = {
	{ "config", 'c', "FILE", offsetof(struct conf, file), CONF_SERVE, "Read FILE; also UTFEED_CONFIG." },
	{ "help", 'h', NULL, 0, CONF_PRINT_HELP, "Print this." },
	{ "check-config", 0, NULL, 0, CONF_CHECK_CONFIG, "Read everything, say whether it is right, and stop." },
	{ "against", 0, "RUNNING", offsetof(struct conf, against), CONF_SERVE,
		"With --check-config: ask the utfeed that runs there whether a reload takes it all." },
	{ "print-config", 0, NULL, 0, CONF_PRINT_CONFIG,
		"Print the values in force and where each comes from, as a file." },
	{ "print-sample", 0, NULL, 0, CONF_PRINT_SAMPLE, "Print a file with every option and its default." },
};

struct args {
	int argc, at;
	char *const *argv;
	const struct word *word;    /* the last step has found this or row */
	const struct conf_row *row;
	const char *value;
	const char *before;         /* the name of the flag before that; NULL: there is none */
};

static const struct word *find_word(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].name) == len && memcmp(words[i].name, name, len) == 0)
			return &words[i];
	return NULL;
}

static bool args_is_name(const char *name, size_t len)
{
	return find_word(name, len) || conf_option_find(name, len);
}

/* A word without dashes. It is not shown, since it may be the value of a flag with a blank too many. */
static int fail_word_alone(const struct args *args, struct conf_error *error)
{
	const char *text = args->argv[args->at];
	size_t len = strcspn(text, "=");

	if (args_is_name(text, len))
		return conf_fail(error, "argument %d lacks its dashes; write --%.*s", args->at, (int)len, text);
	return conf_fail(error,
	    "argument %d%s%s%s is neither an option nor the value of one; write --NAME VALUE, with quotes around a "
	    "value with blanks, or -c FILE for a configuration file",
	    args->at, args->before ? ", behind --" : "", args->before ? args->before : "",
	    args->before ? " and its value," : "");
}

/* The message names a flag, never a value. */
static int fail_unknown(const struct args *args, struct conf_error *error)
{
	const char *text = args->argv[args->at];
	size_t dashes = strspn(text, "-"), len = strcspn(text, "=");
	struct conf_near near = { .text = text + dashes, .len = len - dashes };

	if (!dashes)
		return fail_word_alone(args, error);
	if (dashes == 1 && args_is_name(near.text, near.len))
		return conf_fail(error, "%s has one dash; write -%.*s", conf_shown_name(text, len).text, (int)len,
			text);
	if (dashes == 1 && !conf_near_foreign(&near))
		len = len < 2 ? len : 2;       /* a letter with its value behind it */
	if (dashes > 1) {
		conf_near_rows(&near, conf_options, CONF_OPTION_COUNT);
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			conf_near_try(&near, words[i].name);
	}
	if (dashes > 1 && !conf_near_foreign(&near) &&
	    conf_row_find(conf_route_options, CONF_ROUTE_OPTION_COUNT, near.text, near.len))
		return conf_fail(error, "--%.*s is an option of a route; write --route 'PATTERN=ORIGIN %.*s=VALUE'",
			(int)near.len, near.text, (int)near.len, near.text);
	return conf_fail(error, "%s is not an option; %s", conf_shown_name(text, len).text,
	    conf_near_hint(&near, "--").text);
}

static const struct word *find_letter(const char *text)
{
	for (size_t i = 0; text[1] && i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].letter == text[1] && !(text[2] && args_is_name(text + 1, strcspn(text + 1, "="))))
			return &words[i];
	return NULL;
}

/* Takes one flag and its value: -cFILE, -c FILE, --name=VALUE, --name VALUE. */
static int split(struct args *args, struct conf_error *error)
{
	const char *text = args->argv[args->at];
	bool takes;

	args->before = args->row ? args->row->name : args->word ? args->word->name : NULL;
	args->word = NULL;
	args->row = NULL;
	args->value = NULL;
	if (strncmp(text, "--", 2) == 0) {
		size_t len = strcspn(text + 2, "=");
		args->value = text[2 + len] ? text + 2 + len + 1 : NULL;
		args->word = find_word(text + 2, len);
		args->row = conf_option_find(text + 2, len);
	} else if (text[0] == '-') {
		args->word = find_letter(text);
		args->value = text[1] && text[2] ? text + 2 : NULL;
	}
	if (!args->word && !args->row)
		return fail_unknown(args, error);
	takes = args->row || args->word->placeholder;
	if (!takes && args->value)
		return conf_fail(error, "--%s: takes no value; write --%s alone", args->word->name, args->word->name);
	if (takes && !args->value && args->at + 1 < args->argc)
		args->value = args->argv[++args->at];
	if (takes && !args->value)
		return conf_fail(error, "%.200s: has no value; write %.200s %s", text, text,
			args->row ? conf_types[args->row->type].placeholder : args->word->placeholder);
	args->at++;
	return 0;
}

int conf_args_first(struct conf *conf, int argc, char *const *argv, struct conf_error *error)
{
	struct args args = { .argc = argc, .at = 1, .argv = argv };

	while (args.at < argc) {
		char **text;

		if (split(&args, error) != 0)
			return -1;
		if (!args.word)
			continue;
		if (!args.word->placeholder) {
			conf->action = args.word->action;
			continue;
		}
		text = (char **)(void *)((char *)conf + args.word->member);
		free(*text);
		*text = strdup(args.value);
		if (!*text)
			return conf_fail_memory(error);
	}
	if (conf->against && conf->action != CONF_CHECK_CONFIG)
		return conf_fail(error, "--against: counts only beside --check-config; write that too");
	return 0;
}

void conf_args_apply(struct conf *conf, int argc, char *const *argv)
{
	struct args args = { .argc = argc, .at = 1, .argv = argv };
	struct conf_error error;

	while (args.at < argc && split(&args, &error) == 0) {
		char where[CONF_ENV_NAME_MAX];
		if (!args.row)
			continue;
		snprintf(where, sizeof(where), "--%s", args.row->name);
		if (conf_give(conf, args.row, CONF_LEVEL_FLAG, &(struct conf_value){ args.value, where }, &error) != 0)
			conf_note_error(conf, &error);
	}
}

void conf_args_print(FILE *out)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct word *word = &words[i];
		char left[64];
		snprintf(left, sizeof(left), "--%s%s%s", word->name, word->placeholder ? " " : "",
		    word->placeholder ? word->placeholder : "");
		if (word->letter)
			fprintf(out, "  -%c, %-18s %s\n", word->letter, left, word->prose);
		else
			fprintf(out, "      %-18s %s\n", left, word->prose);
	}
}
