/* A terminal's whole screen; see terminal.h. Signals only set a bit. They are let in while terminal_wait() waits and
 * while a request is out, so that none is missed in between. */
#include "proxy/command/terminal.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { TERMINAL_END = 1, TERMINAL_SIZE = 2, TERMINAL_STOP = 4 };

static volatile sig_atomic_t terminal_signals;
static struct termios terminal_before;
static bool terminal_has_keys;

/* The other screen, without a cursor; and back. */
#define TERMINAL_ENTER "\033[?1049h\033[?25l\033[2J"
#define TERMINAL_LEAVE "\033[0m\033[?25h\033[?1049l"

static void terminal_on_signal(int number)
{
	terminal_signals |= number == SIGWINCH ? TERMINAL_SIZE : number == SIGTSTP ? TERMINAL_STOP : TERMINAL_END;
}

/* Keys come at once and are not shown. */
static void terminal_enter(void)
{
	struct termios mode = terminal_before;

	mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	mode.c_cc[VMIN] = 1;
	mode.c_cc[VTIME] = 0;
	if (terminal_has_keys)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &mode);
	fputs(TERMINAL_ENTER, stdout);
	(void)fflush(stdout);
}

void terminal_give_back(void)
{
	fputs(TERMINAL_LEAVE, stdout);
	(void)fflush(stdout);
	if (terminal_has_keys)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
}

int terminal_take(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP };
	/* without SA_RESTART: a request that is out ends, too */
	struct sigaction action = { .sa_handler = terminal_on_signal };

	if (!isatty(STDOUT_FILENO))
		return -1;
	terminal_has_keys = !tcgetattr(STDIN_FILENO, &terminal_before);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		(void)sigaction(numbers[i], &action, NULL);
	terminal_enter();
	return 0;
}

void terminal_size(unsigned *columns, unsigned *rows)
{
	struct winsize size;
	bool told = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col && size.ws_row;

	*columns = told ? size.ws_col : 80;
	*rows = told ? size.ws_row : 24;
}

/* Ctrl-Z: the shell gets its terminal, until SIGCONT comes. */
static void terminal_stop(void)
{
	terminal_give_back();
	(void)raise(SIGSTOP);
	terminal_enter();
}

static int terminal_key(void)
{
	char key;

	return read(STDIN_FILENO, &key, 1) == 1 ? (unsigned char)key : -1;
}

int terminal_wait(int timeout_ms)
{
	struct pollfd keys = { .fd = terminal_has_keys ? STDIN_FILENO : -1, .events = POLLIN };
	const struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000l };
	sigset_t all, before;
	int n = 0;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	if (!terminal_signals)
		n = ppoll(&keys, 1, &timeout, &before);
	int signals = terminal_signals;
	terminal_signals = 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (signals & TERMINAL_END)
		return -1;
	if (signals & TERMINAL_STOP)
		terminal_stop();
	return n == 1 ? terminal_key() : 0;
}
