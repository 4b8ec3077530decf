/* The kernel's backlog of listening sockets; see backlog.h. */
#include "proxy/net/backlog.h"

#include <linux/filter.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { FLAGS_AT = 13, FLAG_SYN = 0x02, FLAG_ACK = 0x10 };      /* of a TCP header (RFC 9293 section 3.1) */
enum { BACKLOG_ASK_MS = 200 };

int backlog_shut(int fd)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FLAGS_AT),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, FLAG_SYN | FLAG_ACK),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FLAG_SYN, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	static const struct sock_fprog no_syn = { .len = sizeof code / sizeof *code, .filter = code };
	int family = AF_UNSPEC;
	socklen_t len = sizeof family;

	if (!getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) && family == AF_UNIX)
		return shutdown(fd, SHUT_RD);
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &no_syn, sizeof no_syn);
}

struct backlog_question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 ask;
};

static void backlog_ask(struct backlog_question *question, const struct sockaddr *sockaddr)
{
	const struct sockaddr_in *in = (const void *)sockaddr;
	const struct sockaddr_in6 *in6 = (const void *)sockaddr;

	memset(question, 0, sizeof *question);
	question->head = (struct nlmsghdr){ .nlmsg_len = sizeof *question, .nlmsg_type = SOCK_DIAG_BY_FAMILY,
	    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP };
	question->ask.sdiag_family = (uint8_t)sockaddr->sa_family;
	question->ask.sdiag_protocol = IPPROTO_TCP;
	/* TCP_SYN_RECV, and TCP_NEW_SYN_RECV where the kernel tells them apart */
	question->ask.idiag_states = 1u << 3 | 1u << 12;
	question->ask.id.idiag_sport = sockaddr->sa_family == AF_INET6 ? in6->sin6_port : in->sin_port;
	question->ask.id.idiag_cookie[0] = question->ask.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
}

/* The first message of the answer is enough: it tells of a socket, or ends an empty list. */
static enum backlog_state backlog_answer(int fd)
{
	union {
		struct nlmsghdr head;
		char room[8192];
	} answer;
	ssize_t n = recv(fd, &answer, sizeof answer, 0);

	if (n < (ssize_t)sizeof answer.head)
		return BACKLOG_UNKNOWN;
	switch (answer.head.nlmsg_type) {
	case SOCK_DIAG_BY_FAMILY:
		return BACKLOG_OPENING;
	case NLMSG_DONE:
		return BACKLOG_QUIET;
	default:
		return BACKLOG_UNKNOWN;
	}
}

enum backlog_state backlog_state(const struct sockaddr *sockaddr)
{
	static const struct timeval patience = { .tv_usec = BACKLOG_ASK_MS * 1000 };
	enum backlog_state state = BACKLOG_UNKNOWN;
	struct backlog_question question;
	int fd;

	if (sockaddr->sa_family == AF_UNIX)
		return BACKLOG_QUIET;
	if ((fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) < 0)
		return state;
	backlog_ask(&question, sockaddr);
	if (!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) &&
	    send(fd, &question, sizeof question, 0) == sizeof question)
		state = backlog_answer(fd);
	close(fd);
	return state;
}
