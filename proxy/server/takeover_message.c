/* Messages of a takeover; see takeover_message.h. */
#include "proxy/server/takeover_message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const words[TAKEOVER_WORDS] = {
	[TAKEOVER_HELLO] = "hello", [TAKEOVER_SOCKET] = "socket", [TAKEOVER_PATH] = "path",
	[TAKEOVER_NOTIFY] = "notify", [TAKEOVER_END] = "end", [TAKEOVER_READY] = "ready", [TAKEOVER_BYE] = "bye",
	[TAKEOVER_NO] = "no", [TAKEOVER_RELOAD] = "reload", [TAKEOVER_TRY] = "try", [TAKEOVER_SAID] = "said",
	[TAKEOVER_RESULT] = "result",
};

/* Room for the descriptors of one message. */
union takeover_control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int) * TAKEOVER_FDS_MAX)];
};

static bool takeover_is_text(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f)
			return false;
	return len < TAKEOVER_TEXT_MAX;
}

bool takeover_parse(const char *bytes, size_t len, struct takeover_message *message)
{
	const char *blank = memchr(bytes, ' ', len);
	size_t word = blank ? (size_t)(blank - bytes) : len, text = blank ? len - word - 1 : 0;

	if (!takeover_is_text(bytes, len))
		return false;
	for (message->word = 0; message->word < TAKEOVER_WORDS; message->word++)
		if (strlen(words[message->word]) == word && !memcmp(words[message->word], bytes, word))
			break;
	if (message->word == TAKEOVER_WORDS)
		return false;
	if (text)
		memcpy(message->text, blank + 1, text);
	message->text[text] = '\0';
	return true;
}

static void takeover_attach(struct msghdr *msg, union takeover_control *control, const int *fds, size_t n)
{
	memset(control, 0, sizeof *control);
	msg->msg_control = control;
	msg->msg_controllen = CMSG_SPACE(sizeof(int) * n);
	*CMSG_FIRSTHDR(msg) = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int) * n), .cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(msg)), fds, sizeof(int) * n);
}

int takeover_send(int fd, enum takeover_word word, const char *text, const int *fds, size_t n_fds)
{
	char line[TAKEOVER_TEXT_MAX];
	int len = snprintf(line, sizeof line, "%s%s%s", words[word], *text ? " " : "", text);
	struct iovec iov = { line, (size_t)len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union takeover_control control;
	ssize_t sent;

	if (len >= (int)sizeof line || n_fds > TAKEOVER_FDS_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	if (n_fds)
		takeover_attach(&msg, &control, fds, n_fds);
	do
		sent = sendmsg(fd, &msg, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -1 : 0;
}

void takeover_drop(struct takeover_message *message, size_t i)
{
	for (; i < message->n_fds; i++)
		close(message->fds[i]);
	message->n_fds = 0;
}

static void takeover_detach(struct msghdr *msg, struct takeover_message *message)
{
	for (struct cmsghdr *control_head = CMSG_FIRSTHDR(msg); control_head;
	     control_head = CMSG_NXTHDR(msg, control_head)) {
		if (control_head->cmsg_level != SOL_SOCKET || control_head->cmsg_type != SCM_RIGHTS)
			continue;
		message->n_fds = (control_head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(message->fds, CMSG_DATA(control_head), message->n_fds * sizeof(int));
	}
}

int takeover_receive(int fd, struct takeover_message *message)
{
	char line[TAKEOVER_TEXT_MAX];
	union takeover_control control;
	struct iovec iov = { line, sizeof line };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof control };
	ssize_t len;

	message->n_fds = 0;
	do
		len = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	while (len < 0 && errno == EINTR);
	if (len <= 0)
		return (int)len;
	takeover_detach(&msg, message);
	if (!(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && takeover_parse(line, (size_t)len, message))
		return 1;
	takeover_drop(message, 0);
	errno = msg.msg_flags & MSG_CTRUNC ? EMFILE : EBADMSG;
	return -1;
}
