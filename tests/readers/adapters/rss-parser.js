// rss-parser (npm): its own HTTP, which knows neither proxies nor conditional requests. Of some feeds that it cannot read it never says so:
// it waits for its timeout.
const Parser = require("rss-parser");

(async () => {
	for (const url of process.argv.slice(2)) {
		try {
			const feed = await new Parser({ timeout: 5000 }).parseURL(url);
			for (const title of [feed.title, ...feed.items.map((item) => item.title)]) console.log(`${url}\t${title}`);
		} catch (error) {
			console.error(`${url}: ${error}`);
		}
	}
})();
