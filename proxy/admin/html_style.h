/* Owns the style of the admin listener's pages, behind that of reports (check_html_style.h): dark and light,
 * 320 pixels wide and up. The hash is that of the style; tests/e2e/test_admin_page.py holds them together. */
#ifndef UTFEED_PROXY_ADMIN_HTML_STYLE_H
#define UTFEED_PROXY_ADMIN_HTML_STYLE_H

#define ADMIN_HTML_HASH "sha256-rikgRm3usTawJup2+7gVwFV8duNgp4Rxe699dKFmRWc="
#define ADMIN_HTML_STYLE \
	":root{color-scheme:light dark;--bg:#fff;--fg:#1b1b1b;--line:#767676;--soft:#f2f2f2;--good:#0a5c2b;--bad:" \
	"#9c1c1c;--ink:#1a5fb4;--k1:#8a4b00;--k2:#9c1c1c}" \
	"@media(prefers-color-scheme:dark){:root{--bg:#16181c;--fg:#e8e8e8;--line:#8d8d8d;--soft:#22252b;--good:" \
	"#8fd8a8;--bad:#ff9d9d;--ink:#8cb8f2;--k1:#f0b866;--k2:#ff9d9d}}" \
	"body{margin:0 auto;max-width:96rem;padding:0 1rem 2rem;font:1rem/1.5 system-ui,sans-serif;background:" \
	"var(--bg);color:var(--fg)}a{color:var(--ink)}h1,h2,h3{line-height:1.2}" \
	"h1{overflow-wrap:anywhere;margin:.5rem 0}" \
	"nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding:0;margin:.5rem 0}" \
	"nav [aria-current]{color:var(--fg);font-weight:700;text-decoration:none}" \
	"nav a{display:inline-block;padding:.25rem 0}.look{list-style:none;padding:0;margin:.5rem 0}" \
	".look li{border-inline-start:.3rem solid var(--line);background:var(--soft);padding:.4rem .75rem;margin:" \
	".25rem 0}.look .bad{border-color:var(--bad);color:inherit}" \
	".look .good{border-color:var(--good);color:inherit}" \
	".tiles{display:grid;gap:.5rem;grid-template-columns:repeat(auto-fill,minmax(7.5rem,1fr));margin:0}" \
	".tiles div{background:var(--soft);padding:.4rem .75rem}.tiles dt{font-size:.875rem}" \
	".tiles dd{margin:0;font-size:1.25rem}.bad{color:var(--bad)}.good{color:var(--good)}" \
	".charts{display:grid;gap:.75rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr))}" \
	".charts figure{background:var(--soft);padding:.5rem .75rem}" \
	".charts figcaption{font-size:.875rem;font-weight:400}" \
	".plot{display:grid;grid-template-columns:auto 1fr;gap:0 .4rem;font-size:.75rem}" \
	".y,.x{display:flex;justify-content:space-between}.y{flex-direction:column;text-align:end}" \
	".x{grid-column:2}.y span{line-height:1}svg{display:block;width:100%;height:6rem}" \
	"path{fill:none;stroke-width:2;stroke-linecap:round;vector-effect:non-scaling-stroke}" \
	".g{stroke:var(--line);stroke-width:1;opacity:.4}.l0{stroke:var(--ink)}" \
	".l1{stroke:var(--k1);stroke-dasharray:6 4}.l2{stroke:var(--k2);stroke-dasharray:1 4}" \
	".k0{color:var(--ink)}.k1{color:var(--k1)}.k2{color:var(--k2)}rect{fill:transparent}" \
	"rect:hover{fill:var(--line);opacity:.4}table{width:100%}td.n,th.n,.num td{text-align:end}" \
	".url,.scroll td.url{overflow-wrap:anywhere}td.url{min-width:16rem}" \
	".feeds td:not(.url,.say),.feeds th,.say span{white-space:nowrap}.tiles .wide{grid-column:span 2}" \
	".wide dd{font-size:1rem;padding-top:.2rem}.facts th{width:min(14rem,40%)}form{margin:.5rem 0}" \
	".acts{display:flex;flex-wrap:wrap;gap:.5rem}.acts form{margin:0}" \
	"label{display:inline-block;margin:.25rem .75rem .25rem 0}" \
	"input,button,textarea,select{font:inherit;color:inherit;background:var(--soft);border:" \
	"1px solid var(--line);padding:.25rem .5rem;margin:.125rem 0;max-width:100%;box-sizing:border-box}" \
	"@media(max-width:64rem){td.url{min-width:9rem}}" \
	"button{min-height:2.25rem;padding:.25rem .75rem;cursor:pointer}textarea{display:block;width:100%}" \
	"summary{cursor:pointer;padding:.25rem 0}@media(max-width:95rem){.w3{display:none}}" \
	"@media(max-width:88rem){.w2{display:none}}@media(max-width:64rem){.feeds thead{display:none}" \
	".feeds,.feeds tbody,.feeds td,.feeds caption{display:block}" \
	".feeds tr{display:flex;flex-wrap:wrap;gap:0 .75rem;font-size:.875rem;background:var(--soft);padding:" \
	".4rem .6rem;margin:.5rem 0}.feeds td{border:0;padding:0;text-align:start}" \
	".feeds .w2,.feeds .w3{display:none}.feeds td.url{flex:1 0 100%;min-width:0;font-size:1rem}" \
	".feeds td:nth-child(2){order:1}.feeds .say{order:1}.feeds td:nth-child(3)::before{content:'Requests '}" \
	".feeds td:nth-child(4)::before{content:'Hits '}.feeds td:nth-child(5)::before{content:'Errors '}" \
	".feeds td:nth-child(6)::before{content:'Asked '}.feeds td:nth-child(7)::before{content:'Next fetch '}}"

#endif
