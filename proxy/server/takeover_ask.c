/* Asking a running utfeed to reload, by takeover-socket; see takeover.h. */
#include "proxy/server/takeover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/server/takeover_internal.h"
#include "proxy/server/takeover_message.h"

/* A takeover that is under way ends first, and every worker takes the new configuration. */
enum { ASK_ANSWER_S = 150, ASK_MESSAGES_MAX = 200 };

static int ask_fail(char why[TAKEOVER_WHY_MAX], const char *what)
{
	snprintf(why, TAKEOVER_WHY_MAX, "%.*s", TAKEOVER_WHY_MAX - 1, what);
	return -1;
}

/* The result comes last and is written first. */
static int ask_answer(int fd, FILE *lines, FILE *texts, char why[TAKEOVER_WHY_MAX])
{
	struct takeover_message m;
	char *level_end;
	int got;

	for (int i = 0; i < ASK_MESSAGES_MAX; i++) {
		if ((got = takeover_receive(fd, &m)) <= 0)
			return ask_fail(why, got ? strerror(errno) : "it ended without an answer");
		takeover_drop(&m, 0);
		if (m.word == TAKEOVER_NO)
			return ask_fail(why, m.text);
		if (m.word == TAKEOVER_RESULT) {
			fprintf(lines, "%s\n", m.text);
			return 0;
		}
		if (m.word != TAKEOVER_SAID || !(level_end = strchr(m.text, ' ')))
			break;
		*level_end = '\0';
		fprintf(texts, "%s: %s\n", m.text, level_end + 1);
	}
	return ask_fail(why, "it says what it must not");
}

static int ask_on(int fd, bool trial, FILE *lines, char why[TAKEOVER_WHY_MAX])
{
	struct ucred peer;
	char *text = NULL;
	size_t len;
	FILE *texts;

	if (!takeover_peer(fd, &peer) && geteuid())
		return ask_fail(why, "another user listens there, who is neither root nor the user of this process");
	if (takeover_send(fd, trial ? TAKEOVER_TRY : TAKEOVER_RELOAD, "", NULL, 0) ||
	    !(texts = open_memstream(&text, &len)))
		return ask_fail(why, strerror(errno));
	int status = ask_answer(fd, lines, texts, why);
	fclose(texts);
	if (!status && text)
		fputs(text, lines);
	free(text);
	return status;
}

int takeover_ask_reload(const char *path, bool trial, FILE *lines, char why[TAKEOVER_WHY_MAX])
{
	int fd = takeover_connect(path, ASK_ANSWER_S);

	if (fd < 0) {
		snprintf(why, TAKEOVER_WHY_MAX, "%s; write the takeover-socket of a running utfeed", strerror(errno));
		return -1;
	}
	int status = ask_on(fd, trial, lines, why);
	close(fd);
	return status;
}
