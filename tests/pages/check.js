// The admin listener's pages in a browser: node check.js ADMIN-URL FILE [FOLDER-FOR-PICTURES]
// Owns what a person with a browser, a keyboard or a screen reader must find: axe-core has nothing to say, no console message, no page
// wider than its window or longer than 60 kB, every feed is reached, everything works without script, in the light and in the dark. Ends with
// status 1 where anything is wrong.
const fs = require('fs');
const { chromium } = require('playwright-core');

const [base, file, pictures] = process.argv.slice(2);
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const places = ['/', '/feeds', '/feeds?sort=url&mislabelled=1', '/feed?id=1', '/paused', '/check'];
const widths = [320, 390, 768, 1280, 1920];
const longest = 60000;
let checks = 0, faults = 0;

function hold(good, words) {
  checks++;
  if (good) return;
  faults++;
  console.log('fault: ' + words);
}

async function look(page, place, scheme) {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    hold(wide <= width, `${place} is ${wide} pixels wide in a window of ${width}`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run());
    hold(violations.length === 0, `${place}, ${width}, ${scheme}: ${violations.map(v => v.id + ' ' + v.nodes[0].html.slice(0, 100)).join('; ')}`);
    if (pictures) await page.screenshot({ path: `${pictures}/${place.replace(/\W+/g, '_')}-${width}-${scheme}.png`, fullPage: true });
  }
}

// Clicks through as a person does; the same without script.
async function walk(page) {
  await page.goto(base + '/');
  await page.click('nav >> text=Feeds');
  await page.fill('input[name=search]', 'feed1');
  await page.check('input[name=mislabelled]');
  await page.click('text=Show');
  hold(page.url().includes('search=feed1') && page.url().includes('mislabelled=1'), 'the search is not asked for: ' + page.url());
  await page.click('thead >> text=Hits');
  hold(page.url().includes('sort=hits') && page.url().includes('search=feed1'), 'sorting forgets the search: ' + page.url());
  await page.click('thead >> text=Hits');
  hold(page.url().includes('sort=hits&reverse=1') && page.url().includes('search=feed1'), 'the list is not turned round: ' + page.url());
  await page.click('tbody >> a >> nth=0');
  hold((await page.title()).startsWith('One feed - '), 'a feed has no page of its own');
  await page.click('text=Purge');
  hold((await page.locator('[role=status]').textContent()).startsWith('Purged'), 'a feed is not purged');
  await page.click('nav >> text=Check a feed');
  await page.setInputFiles('#file', file);
  await page.fill('#type', 'text/xml; charset=iso-8859-1');
  await page.click('form[method=post] button');
  hold(await page.locator('article').count() === 1, 'a file is not checked: ' + (await page.content()).slice(0, 300));
}

// Every feed is on one of the pages that follow each other.
async function turn(page) {
  await page.goto(base + '/feeds');
  const said = await page.locator('caption').textContent(), total = Number(said.match(/of (\d+) feeds/)[1]);
  const seen = new Set();
  for (let pages = 1; ; pages++) {
    for (const id of await page.locator('tbody a').evaluateAll(all => all.map(a => a.getAttribute('href')))) seen.add(id);
    const size = (await page.content()).length, next = page.locator('nav >> text="Next"');
    hold(size < longest, `page ${pages} of the feeds has ${size} characters`);
    if (!await next.count()) break;
    await next.click();
  }
  hold(seen.size === total && total >= 5000, `${seen.size} of ${total} feeds are reached`);
}

// In a narrow window each feed is a card.
async function fit(page) {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(base + '/feeds');
  const cards = await page.locator('tbody tr').evaluateAll(all => all.map(row => [getComputedStyle(row).display, row.getBoundingClientRect().right, row.scrollHeight]));
  hold(cards.every(([display, right]) => display === 'flex' && right <= 390), 'feeds are no cards at 390 pixels');
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    hold(await page.evaluate(() => { const e = document.querySelector('.scroll'); return e.scrollWidth <= e.clientWidth; }), `the list is scrolled sideways at ${width} pixels`);
  }
}

// The button copies what it stands at.
async function copy(page, context) {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: base });
  await page.click('article button');
  await page.waitForSelector('text=Copied');
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  hold(copied === await page.locator('textarea').inputValue() && copied.length > 100, 'the mail is not copied: ' + copied.slice(0, 100));
}

// By keyboard alone: every link and field can be reached, and shows that it was.
async function reach(page) {
  await page.goto(base + '/feeds');
  const wanted = await page.locator('a:visible, button:visible, input:visible, select:visible, [tabindex="0"]:visible').count();
  const seen = new Set();
  for (let i = 0; i < wanted + 5; i++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const e = document.activeElement, all = [...document.querySelectorAll('*')];
      return e === document.body ? null : [all.indexOf(e), getComputedStyle(e).outlineStyle !== 'none'];
    });
    if (at) {
      seen.add(at[0]);
      hold(at[1], 'the focus is not to be seen');
    }
  }
  hold(seen.size >= wanted, `${seen.size} of ${wanted} links and fields can be reached by keyboard`);
}

async function main() {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({ colorScheme, bypassCSP: true });   // for axe-core, which is a script
    const page = await context.newPage();
    for (const place of places) {
      const response = await page.goto(base + place);
      hold(response.status() === 200, `${place}: ${response.status()}`);
      hold((await response.body()).length < longest, `${place} has ${(await response.body()).length} bytes`);
      await look(page, place, colorScheme);
    }
    await walk(page);
    await look(page, 'report', colorScheme);
    await context.close();
  }
  for (const javaScriptEnabled of [true, false]) {
    const context = await browser.newContext({ javaScriptEnabled });
    const page = await context.newPage();
    page.on('console', message => hold(false, 'console: ' + message.text()));
    page.on('pageerror', error => hold(false, 'error: ' + error.message));
    await walk(page);
    if (javaScriptEnabled) {
      await copy(page, context);
      await fit(page);
      await page.setViewportSize({ width: 1280, height: 900 });
      await reach(page);
      await page.goto(base + '/');
      hold(await page.evaluate(() => getComputedStyle(document.body).maxWidth) === '1536px', 'the style is not let through by its own policy');
    } else {
      await turn(page);
    }
    await context.close();
  }
  await browser.close();
  console.log(`check-pages: ${checks} checks, ${faults} faults`);
  process.exit(faults ? 1 : 0);
}

main().catch(error => { console.log('check-pages: ' + error.message); process.exit(1); });
