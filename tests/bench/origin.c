/* Owns the origin of `make bench`: every file of a folder from memory, head and body in one block, one thread, keep-alive.
 * Must not know: caches, feeds. Whoever asks with If-None-Match is told that it is as it was. FILE.head holds the field lines that FILE is sent with. A query makes one file as many objects as
 * wanted: its number is written where the body has "?n=00000000", so that each body is another one. It costs so little that it can share a core with the load.
 * usage: origin PORT FOLDER */
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FILES_MAX = 64, EVENTS = 64, REQUEST_MAX = 8192, DIGITS = 8, NUMBER_WITHIN = 4096 };

struct file { char name[128]; char *number; size_t width; char *block; size_t len; char *confirmed; size_t confirmed_len; };
struct conn { int fd; bool waits; const char *sending; size_t at, len, have; char request[REQUEST_MAX]; };

static struct file files[FILES_MAX];
static size_t file_count;
static const char missing[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
static const struct file absent = { .block = (char *)(uintptr_t)missing, .len = sizeof missing - 1 };

static void fail(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

static char *read_all(const char *folder, const char *name, const char *suffix, size_t *len)
{
	char path[512], *bytes;
	FILE *f;
	long size;

	snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
	if (!(f = fopen(path, "rb")) || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0)
		fail(path);
	rewind(f);
	bytes = malloc((size_t)size + 1);
	if (!bytes || fread(bytes, 1, (size_t)size, f) != (size_t)size)
		fail(path);
	fclose(f);
	bytes[size] = '\0';
	*len = (size_t)size;
	return bytes;
}

/* In the first packet of a body of this many bytes a character: what is being sent is not changed. */
static char *find_number(char *body, size_t len, size_t width)
{
	static const char mark[] = "?n=00000000";
	char wide[2 * sizeof mark] = "";

	for (size_t i = 0; mark[i]; i++)
		wide[i * width] = mark[i];
	body = memmem(body, len < NUMBER_WITHIN ? len : NUMBER_WITHIN, wide, (sizeof mark - 2) * width + 1);
	return body ? body + 3 * width : NULL;
}

static void write_number(const struct file *f, const char *request)
{
	const char *path = strchr(request, ' '), *query = path ? strpbrk(path + 1, "? \r\n") : NULL;
	char digits[DIGITS + 1];

	if (!f->number)
		return;
	snprintf(digits, sizeof digits, "%08u", query && *query == '?' ? (unsigned)strtoul(query + 1, NULL, 10) % 100000000 : 0);
	for (size_t i = 0; i < DIGITS; i++)
		f->number[i * f->width] = digits[i];
}

static void load_file(const char *folder, const char *name)
{
	struct file *f = &files[file_count];
	size_t fields_len, body_len, head_len;
	char *fields = read_all(folder, name, ".head", &fields_len), *bytes = read_all(folder, name, "", &body_len);
	size_t room = fields_len + body_len + 128;

	f->block = malloc(room);
	if (!f->block)
		fail(name);
	snprintf(f->name, sizeof f->name, "/%s", name);
	head_len = (size_t)snprintf(f->block, room, "HTTP/1.1 200 OK\r\n%sContent-Length: %zu\r\n\r\n", fields, body_len);
	memcpy(f->block + head_len, bytes, body_len);
	f->len = head_len + body_len;
	for (f->width = 2; f->width > 0 && !f->number; f->width -= !f->number)
		f->number = find_number(f->block + head_len, body_len, f->width);
	f->confirmed = malloc(room);
	if (!f->confirmed)
		fail(name);
	f->confirmed_len = (size_t)snprintf(f->confirmed, room, "HTTP/1.1 304 Not Modified\r\n%s\r\n", fields);
	free(fields);
	free(bytes);
	file_count++;
}

static void load_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	if (!dir)
		fail(folder);
	while ((entry = readdir(dir)) != NULL) {
		size_t len = strlen(entry->d_name);

		if (entry->d_name[0] != '.' && (len < 5 || strcmp(entry->d_name + len - 5, ".head") != 0) && file_count < FILES_MAX)
			load_file(folder, entry->d_name);
	}
	closedir(dir);
}

static const struct file *lookup(const char *request)
{
	const char *path = strchr(request, ' ');
	size_t len = path ? strcspn(++path, " ?\r\n") : 0;

	for (size_t i = 0; i < file_count; i++)
		if (strlen(files[i].name) == len && memcmp(files[i].name, path, len) == 0)
			return &files[i];
	return &absent;
}

/* False: the connection is over. */
static bool serve(struct conn *c, int poller)
{
	for (;;) {
		const char *end;
		ssize_t n;

		while (c->sending) {
			n = send(c->fd, c->sending + c->at, c->len - c->at, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (n < 0 && errno != EAGAIN)
				return false;
			if (c->waits != (n < 0)) {
				struct epoll_event event = { .events = n < 0 ? EPOLLOUT : EPOLLIN, .data = { .ptr = c } };

				epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
				c->waits = n < 0;
			}
			if (n < 0)
				return true;
			c->at += (size_t)n;
			if (c->at == c->len)
				c->sending = NULL;
		}
		c->request[c->have] = '\0';
		end = strstr(c->request, "\r\n\r\n");
		if (end) {
			size_t used = (size_t)(end - c->request) + 4;
			const struct file *f = lookup(c->request);
			bool same = f->confirmed && strcasestr(c->request, "\nif-none-match:") != NULL;

			write_number(f, c->request);
			c->sending = same ? f->confirmed : f->block;
			c->len = same ? f->confirmed_len : f->len;
			c->at = 0;
			c->have -= used;
			memmove(c->request, c->request + used, c->have);
			continue;
		}
		n = recv(c->fd, c->request + c->have, REQUEST_MAX - 1 - c->have, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0)
			return false;
		c->have += (size_t)n;
	}
}

static void welcome(int listener, int poller)
{
	struct conn *c = calloc(1, sizeof *c);
	struct epoll_event event = { .events = EPOLLIN, .data = { .ptr = c } };
	int on = 1;

	if (!c)
		fail("memory");
	c->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (c->fd < 0) {
		free(c);
		return;
	}
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event);
}

int main(int argc, char **argv)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct epoll_event events[EVENTS], event = { .events = EPOLLIN };
	int poller = epoll_create1(EPOLL_CLOEXEC), listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (argc != 3 || poller < 0 || listener < 0)
		return EXIT_FAILURE;
	load_folder(argv[2]);
	here.sin_port = htons((uint16_t)atoi(argv[1]));
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener, (struct sockaddr *)&here, sizeof here) != 0 || listen(listener, 1024) != 0)
		fail("listen");
	epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
	for (;;) {
		int count = epoll_wait(poller, events, EVENTS, -1);

		for (int i = 0; i < count; i++) {
			struct conn *c = events[i].data.ptr;

			if (!c) {
				welcome(listener, poller);
			} else if (!serve(c, poller)) {
				close(c->fd);
				free(c);
			}
		}
	}
}
