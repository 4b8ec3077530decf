// feedparser (npm), fed by node's fetch as its manual shows; it asks conditionally by the ETags of the last poll, kept in ./state.
const fs = require("fs");
const { Readable } = require("stream");
const FeedParser = require("feedparser");

const state = fs.existsSync("state") ? JSON.parse(fs.readFileSync("state")) : {};

const read = (url, response) => new Promise((resolve, reject) => {
	const parser = new FeedParser({ feedurl: url });
	parser.on("error", reject);
	parser.on("meta", (meta) => console.log(`${url}\t${meta.title}`));
	parser.on("readable", function () {
		for (let item; (item = this.read());) console.log(`${url}\t${item.title}`);
	});
	parser.on("end", resolve);
	Readable.fromWeb(response.body).pipe(parser);
});

(async () => {
	for (const url of process.argv.slice(2)) {
		const response = await fetch(url, { headers: state[url] ? { "If-None-Match": state[url] } : {} });
		if (response.status === 304) continue;
		if (response.headers.get("etag")) state[url] = response.headers.get("etag");
		await read(url, response).catch((error) => console.error(`${url}: ${error}`));
	}
	fs.writeFileSync("state", JSON.stringify(state));
})();
