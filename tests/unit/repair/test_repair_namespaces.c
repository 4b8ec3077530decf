/* Owns the cases of prefixes that nothing declares: where they are declared, and where not.
 * Must not know: other repairs. Invariant: each row names its rule; rows are fed whole and split in two at every byte. */
#include "core/repair/repair_namespaces.h"
#include "tests/unit/repair/rows.h"

#define SAME(rule, text) { rule, T(text), T(text), { 0 } }
#define DC "http://purl.org/dc/elements/1.1/"
#define DC_DECLARED " xmlns:dc=\"" DC "\""
#define MEDIA_DECLARED " xmlns:media=\"http://search.yahoo.com/mrss/\""

static void prefixes(void)
{
	static const struct row rows[] = {
		SAME("declared at the root", "<rss xmlns:dc='" DC "'><i><dc:date/><dc:date>1</dc:date></i></rss>"),
		SAME("at the element itself, and as anything", "<rss><dc:date xmlns:dc='other'>1</dc:date></rss>"),
		SAME("by an element between", "<rss><i xmlns:dc = \"\n" DC "\"><dc:date/><j><dc:date/></j></i></rss>"),
		SAME("no prefix that is known", "<rss><x:y z:w='1'/><dcx:date/><d:date/></rss>"),
		SAME("xml and xmlns need none", "<rss><i xml:lang='en' xmlns:b='c'/></rss>"),
		{ "an element's", T("<rss><dc:date>1</dc:date></rss>"), T("<rss><dc:date" DC_DECLARED ">1</dc:date></rss>"), COUNT(NAMESPACES, 1) },
		{ "each time where it is out of scope again", T("<rss><dc:date>1</dc:date><dc:date>2</dc:date><dc:date/></rss>"),
		    T("<rss><dc:date" DC_DECLARED ">1</dc:date><dc:date" DC_DECLARED ">2</dc:date><dc:date" DC_DECLARED "/></rss>"), COUNT(NAMESPACES, 3) },
		{ "not within", T("<rss><media:group><media:title>1</media:title><i><media:b/></i></media:group></rss>"),
		    T("<rss><media:group" MEDIA_DECLARED "><media:title>1</media:title><i><media:b/></i></media:group></rss>"), COUNT(NAMESPACES, 1) },
		{ "behind the element that declares", T("<rss><i xmlns:dc='" DC "'><dc:a>1</dc:a></i><dc:b>2</dc:b></rss>"),
		    T("<rss><i xmlns:dc='" DC "'><dc:a>1</dc:a></i><dc:b" DC_DECLARED ">2</dc:b></rss>"), COUNT(NAMESPACES, 1) },
		{ "an attribute's, with white space before the end", T("<rss><i media:type='a' />&amp;</rss>"), T("<rss><i media:type='a'" MEDIA_DECLARED " />&amp;</rss>"),
		    COUNT(NAMESPACES, 1) },
		{ "two", T("<rss><dc:a media:b='c'></dc:a></rss>"), T("<rss><dc:a media:b='c'" DC_DECLARED MEDIA_DECLARED "></dc:a></rss>"), COUNT(NAMESPACES, 2) },
		{ "the root's", T("<dc:rss/>"), T("<dc:rss" DC_DECLARED "/>"), COUNT(NAMESPACES, 1) },
		{ "in a tag that is mended", T("<rss><i media:b=c>1</i></rss>"), T("<rss><i media:b=\"c\"" MEDIA_DECLARED ">1</i></rss>"), COUNT(NAMESPACES, 1), COUNT(TAGS, 1) },
		SAME("a type may declare attributes", "<!DOCTYPE rss [<!ATTLIST rss xmlns:dc CDATA #FIXED '" DC "'>]><rss><dc:date/></rss>"),
		SAME("and one elsewhere", "<!DOCTYPE rss SYSTEM 'rss.dtd'><rss><dc:date/></rss>"),
		{ "one without declarations does not", T("<!DOCTYPE rss><rss><dc:date/></rss>"), T("<!DOCTYPE rss><rss><dc:date" DC_DECLARED "/></rss>"), COUNT(NAMESPACES, 1) },
		SAME("a seventeenth scope within the others: all may be declared", "<rss xmlns:dc='1'><i xmlns:sy='1'><i xmlns:cc='1'><i xmlns:wfw='1'><i xmlns:geo='1'><i xmlns:gml='1'>"
		    "<i xmlns:thr='1'><i xmlns:app='1'><i xmlns:gd='1'><i xmlns:yt='1'><i xmlns:psc='1'><i xmlns:taxo='1'><i xmlns:atom='1'><i xmlns:rdf='1'><i xmlns:media='1'>"
		    "<i xmlns:admin='1'><i xmlns:slash='1'><itunes:a/></i></i></i></i></i></i></i></i></i></i></i></i></i></i></i></i><news:b/></rss>"),
	};
	static const struct row off[] = { SAME("switched off", "<rss><dc:date media:b='c'/></rss>") };

	RUN(rows, REPAIR_ALL | REPAIR_NAMESPACES, 0);
	RUN(rows, NO_PROLOG | REPAIR_NAMESPACES, 0);
	RUN(off, REPAIR_ALL, 0);
}

UNIT_SUITE(repair_namespaces, { "prefixes", prefixes })
