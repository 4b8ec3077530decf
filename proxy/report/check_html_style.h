/* Owns the style of a report in HTML: dark and light, 320 pixels wide and up. The hash is that of the style, which is
 * all that the document's Content-Security-Policy lets through; tests/e2e/test_check.py holds them together. */
#ifndef UTFEED_PROXY_REPORT_CHECK_HTML_STYLE_H
#define UTFEED_PROXY_REPORT_CHECK_HTML_STYLE_H

#define CHECK_HTML_STYLE_HASH "sha256-cRoz8IbaogSnIGD1GhnmceMcf9Grjy67JUeVXtzCDcg="
#define CHECK_HTML_STYLE \
	":root{color-scheme:light dark;--bg:#fff;--fg:#1b1b1b;--line:#767676;--soft:#f2f2f2;--good:#0a5c2b;--bad:" \
	"#9c1c1c;--b:#ead7f7;--j:#fbe7b4;--d:#cfe8f5;--u:#d3efd3;--s:#f9c9c9}" \
	"@media(prefers-color-scheme:dark){:root{--bg:#16181c;--fg:#e8e8e8;--line:#8d8d8d;--soft:#22252b;--good:" \
	"#8fd8a8;--bad:#ff9d9d;--b:#4d2f63;--j:#5a4510;--d:#173f54;--u:#1d4a24;--s:#6b1f1f}}" \
	"body{margin:0 auto;max-width:75rem;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif;background:" \
	"var(--bg);color:var(--fg)}h1,h2,h3{line-height:1.2}h2,td,li{overflow-wrap:anywhere}" \
	"article{border-top:1px solid var(--line)}table{border-collapse:collapse;margin:.5rem 0}" \
	"caption{text-align:start;padding:.25rem 0}" \
	"th,td{text-align:start;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:" \
	"1px solid var(--line)}.scroll{overflow-x:auto}.scroll td{overflow-wrap:normal}" \
	":focus-visible{outline:3px solid currentColor;outline-offset:2px}" \
	"pre{margin:0;padding:.5rem;font:.875rem/1.5 ui-monospace,monospace}" \
	".scroll pre,.text{background:var(--soft)}.text{white-space:pre-wrap;overflow-wrap:anywhere}" \
	".pair{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr))}" \
	"figure{margin:0;min-width:0}figcaption{font-weight:600}" \
	"textarea{width:100%;box-sizing:border-box;font:.875rem/1.5 ui-monospace,monospace;background:" \
	"var(--soft);color:var(--fg);border:1px solid var(--line)}.same td,p.same{color:var(--good)}" \
	".parts td{color:var(--bad)}.words,.legend{list-style:none;margin:0;padding:0}.words{color:var(--fg)}" \
	".scroll .words{min-width:16rem}.b{background:var(--b)}.j{background:var(--j)}.d{background:var(--d)}" \
	".u{background:var(--u)}.s{background:var(--s);font-weight:700}" \
	".legend span{font-family:ui-monospace,monospace;padding:0 .25rem}" \
	"@media(max-width:44rem){.verdicts thead{display:none}" \
	".verdicts tr{display:block;padding:.25rem 0;border-bottom:1px solid var(--line)}" \
	".verdicts th,.verdicts td{display:block;border:0;padding:0}.scroll .words{min-width:0}}"

#endif
