/* The frame of the admin listener's pages; see html.h. */
#include "proxy/admin/html.h"

#include <string.h>

#include "proxy/report/visible.h"

static const struct {
	const char *path, *name;
} html_places[] = {
	{ "/", "Overview" },
	{ "/feeds", "Feeds" },
	{ "/paused", "Paused" },
	{ "/check", "Check a feed" },
	{ "/metrics", "Metrics" },
	{ "/api", "API" },
};

void html_begin(FILE *out, const char *title, const char *here, const char *instance)
{
	fprintf(out,
	    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>%s - ",
	    title);
	visible_html(out, instance);
	fputs(" - utfeed " PACKAGE_VERSION "</title>\n<style>" CHECK_HTML_STYLE "</style>\n<style>" ADMIN_HTML_STYLE
	      "</style>\n</head>\n<body>\n<header>\n<nav aria-label=\"Pages\"><ul>\n",
	    out);
	for (size_t i = 0; i < sizeof html_places / sizeof *html_places; i++)
		fprintf(out, "<li><a href=\"%s\"%s>%s</a></li>\n", html_places[i].path,
		    !strcmp(html_places[i].path, here) ? " aria-current=\"page\"" : "", html_places[i].name);
	fprintf(out, "</ul></nav>\n</header>\n<main>\n<h1>%s</h1>\n", title);
}

void html_end(FILE *out)
{
	fputs("</main>\n<footer><p>utfeed " PACKAGE_VERSION ", utfeed-operating(7)</p></footer>\n</body>\n</html>\n",
	    out);
}

void html_bytes(FILE *out, uint64_t n)
{
	static const char *const units[] = { "", " kB", " MB", " GB", " TB" };
	double value = (double)n;
	size_t unit = 0;

	while (value >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
		value /= 1000;
		unit++;
	}
	fprintf(out, unit && value < 9.95 ? "%.1f%s" : "%.0f%s", value, units[unit]);
}

void html_span(FILE *out, int64_t seconds)
{
	static const struct {
		int64_t seconds;
		const char *unit;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	size_t i = 0;

	while (units[i].seconds > 1 && seconds < 2 * units[i].seconds)
		i++;
	fprintf(out, "%lld %s", (long long)(seconds / units[i].seconds), units[i].unit);
}

void html_moment(FILE *out, int64_t at, int64_t now)
{
	if (!at) {
		putc('-', out);
		return;
	}
	if (at == now) {
		fputs("now", out);
		return;
	}
	fputs(at > now ? "in " : "", out);
	html_span(out, at > now ? at - now : now - at);
	fputs(at > now ? "" : " ago", out);
}

void html_query(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || strchr("-._~/:", c))
			putc(c, out);
		else
			fprintf(out, "%%%02X", c);
	}
}
