// What a browser makes of documents of HTML: node look.mjs NODE_MODULES CHROMIUM FILE... prints one object of JSON a look: violations of axe-core,
// whether the document is wider than its window, what the console and the network saw, and how much text there is.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [modules, executablePath, ...files] = process.argv.slice(2);
const require = createRequire(`${modules}/look.cjs`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

async function look(file, scheme, width, script) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 800 }, javaScriptEnabled: script, bypassCSP: script });
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("request", (request) => request.url().startsWith("file:") || said.push(request.url()));
  await page.goto(pathToFileURL(file).href);
  const seen = { file, scheme, width, script, said, text: (await page.textContent("main")).length, violations: [], wide: false };
  if (script) {
    await page.evaluate(axe);
    seen.violations = (await page.evaluate(() => window.axe.run())).violations.map((each) => `${each.id}: ${each.nodes[0].html}`);
    seen.wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  }
  await context.close();
  console.log(JSON.stringify(seen));
}

for (const file of files)
  for (const scheme of ["light", "dark"])
    for (const width of [320, 1920]) await look(file, scheme, width, true);
for (const file of files) await look(file, "light", 1024, false);
await browser.close();
