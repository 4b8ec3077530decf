/* The frame of the admin listener's pages; see html.h. */
#include "proxy/admin/html.h"

#include <string.h>

#include "proxy/report/visible.h"

#define ADMIN_HTML_STYLE \
	":root{color-scheme:light dark;--bg:#fff;--fg:#1b1b1b;--line:#767676;--soft:#f2f2f2;--good:#0a5c2b;" \
	"--bad:#9c1c1c;--ink:#1a5fb4}" \
	"@media(prefers-color-scheme:dark){:root{--bg:#16181c;--fg:#e8e8e8;--line:#8d8d8d;--soft:#22252b;" \
	"--good:#8fd8a8;--bad:#ff9d9d;--ink:#8cb8f2}}" \
	"body{margin:0 auto;max-width:80rem;padding:0 1rem 2rem;font:1rem/1.5 system-ui,sans-serif;" \
	"background:var(--bg);color:var(--fg)}" \
	"a{color:var(--ink)}h1,h2{line-height:1.2}nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:1rem;" \
	"padding:0}nav [aria-current]{color:var(--fg);font-weight:700;text-decoration:none}" \
	".tiles{display:grid;gap:.75rem;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));margin:0}" \
	".tiles div{background:var(--soft);padding:.5rem .75rem}.tiles dt{font-size:.875rem}" \
	".tiles dd{margin:0;font-size:1.5rem}.bad{color:var(--bad)}.good{color:var(--good)}" \
	".charts{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,18rem),1fr))}" \
	"figure{margin:0;background:var(--soft);padding:.5rem .75rem}figcaption{font-size:.875rem}" \
	"svg{display:block;width:100%;height:4rem}polyline{fill:none;stroke:var(--ink);stroke-width:2;" \
	"vector-effect:non-scaling-stroke}" \
	".scroll{overflow-x:auto}table{border-collapse:collapse;margin:.5rem 0;width:100%}" \
	"caption{text-align:start;padding:.25rem 0}th,td{text-align:start;vertical-align:top;" \
	"padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--line)}td.n,th.n{text-align:end}" \
	"td.url{min-width:14rem;overflow-wrap:anywhere}form{margin:.75rem 0}label{display:inline-block;" \
	"margin:.25rem .75rem .25rem 0}input,button,textarea{font:inherit;color:inherit;background:var(--soft);" \
	"border:1px solid var(--line);padding:.25rem .5rem;max-width:100%;box-sizing:border-box}" \
	"textarea{display:block;width:100%}:focus-visible{outline:3px solid currentColor;outline-offset:2px}"

static const struct {
	const char *path, *name;
} html_places[] = {
	{ "/", "Overview" },
	{ "/feeds", "Feeds" },
	{ "/paused", "Paused" },
	{ "/check", "Check a feed" },
	{ "/metrics", "Metrics" },
	{ "/api", "Interface" },
};

void html_begin(FILE *out, const char *title, const char *here)
{
	fprintf(out,
	    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>%s - utfeed</title>\n",
	    title);
	fputs("<style>" CHECK_HTML_STYLE "</style>\n<style>" ADMIN_HTML_STYLE
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

enum { CHART_HEIGHT = 100 };

void html_chart(FILE *out, const char *title, const char *what, const double *values, size_t n)
{
	double top = 0;

	for (size_t i = 0; i < n; i++)
		top = values[i] > top ? values[i] : top;
	fprintf(out,
	    "<figure>\n<figcaption>%s: %s</figcaption>\n<svg role=\"img\" aria-label=\"%s in the last hour, "
	    "now %s\" viewBox=\"0 0 %zu %d\" preserveAspectRatio=\"none\"><polyline points=\"",
	    title, what, title, what, n > 1 ? n - 1 : 1, CHART_HEIGHT);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%zu,%.0f ", i, CHART_HEIGHT - (top > 0 ? values[i] / top : 0) * (CHART_HEIGHT - 2) - 1);
	fputs("\"/></svg>\n</figure>\n", out);
}
