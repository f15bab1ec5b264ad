/* SPDX-License-Identifier: MIT */
/*
 * html_drive.mjs MODULES BROWSER PAGE REPORT PROFILE [PICTURES]
 *
 * Opens the page in a headless Chromium and does what a user would: clicks, searches, zooms,
 * switches, all of it by keyboard too. Figures are compared with REPORT, the document of
 * `report --json`. Any word on the console, any request but for the page itself, fails.
 * PICTURES: a folder for a picture of each view, light and dark.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { openBrowser } from './browser.mjs';
import { tooFaint } from './html_contrast.mjs';

const [modules, executablePath, page, reportPath, profile, pictures] = process.argv.slice(2);
const report = JSON.parse(readFileSync(reportPath, 'utf8'));
const sites = report.sites.filter((site) => site.kind !== 'mmap');
/* Of a moment of a recording, what only its end knows is not there. */
const isMoment = report.session.recorded_seconds > 0;
const groups = report.leaks?.groups ?? [];
const sum = (values) => values.reduce((total, value) => total + value, 0);
const total = (key) => sum(sites.map((site) => site[key]));
/* What the page begins with. */
const first = total('live_bytes') > 0 ? ['live', 'live_bytes'] : ['bytes', 'alloc_bytes'];
const url = pathToFileURL(page).href;
const complaints = [],
	requests = [];

const [context, tab] = await openBrowser(modules, executablePath, profile, {
	viewport: { width: 1360, height: 850 },
	colorScheme: 'light',
	args: ['--disable-gpu'],
});

context.on('request', (request) => requests.push(request.url()));
tab.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
tab.on('pageerror', (error) => complaints.push(error.stack));
tab.setDefaultTimeout(20000);

const text = (selector) => tab.textContent(selector);
const frame = () =>
	tab.evaluate(
		() =>
			new Promise((done) => {
				requestAnimationFrame(() => requestAnimationFrame(done));
			}),
	);

/* Something that takes longer than this froze, however busy the machine is. */
async function quickly(what, act) {
	const begin = performance.now();

	await act();
	await frame();
	const took = Math.round(performance.now() - begin);

	console.log(`${what}: ${took} ms`);
	assert.ok(took < 30000, `${what} took ${took} ms`);
}

const shown = () =>
	tab.evaluate(() => ({
		sum: memattach.values().reduce((all, value) => all + value, 0),
		metric: memattach.metric.key,
		moment: memattach.moment,
		last: memattach.model.lastMoment,
	}));

async function picture(name) {
	if (pictures) await tab.screenshot({ path: `${pictures}/${name}.png` });
}

/* The first picture within two seconds: of three loads the best, as the machine may be busy. */
async function opens() {
	let paint = Infinity;

	for (let load = 0; load < 3 && paint >= 2000; load++) {
		await quickly('load', () => tab.goto(url));
		const handle = await tab.waitForFunction(
			() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
		);

		paint = Math.min(paint, await handle.jsonValue());
	}
	console.log(`first paint: ${Math.round(paint)} ms`);
	assert.ok(paint < 2000, 'first paint under two seconds');
	assert.match(await tab.title(), / – memattach$/);
	const blocks = report.totals.live_count.toLocaleString('en-US');

	assert.ok((await text('#cards')).includes(`${blocks} block`), 'live blocks of the cards');
	assert.ok((await tab.locator('#top-sites tr').count()) > 0);
}

const range = () => tab.evaluate(() => memattach.views.overview.timeline.range);
const width = ([low, high]) => high - low;

async function timelineZooms() {
	const all = await range();
	const box = await tab.locator('#timeline .u-over').first().boundingBox();
	const y = box.y + box.height / 2;

	await tab.mouse.move(box.x + box.width * 0.3, y);
	await tab.mouse.down();
	await tab.mouse.move(box.x + box.width * 0.6, y, { steps: 5 });
	await tab.mouse.up();
	await frame();
	assert.ok(width(await range()) < width(all) / 2, 'dragging zooms');
	await picture('zoomed');
	await tab.mouse.dblclick(box.x + box.width * 0.5, y);
	await frame();
	assert.deepEqual(await range(), all, 'a double click shows all');
	await tab.focus('#timeline');
	await tab.keyboard.press('+');
	assert.ok(width(await range()) < width(all) * 0.6, 'plus zooms');
	await tab.keyboard.press('ArrowRight');
	assert.ok((await range())[0] > all[0] + width(all) * 0.26, 'an arrow moves');
	await tab.keyboard.press('0');
	assert.deepEqual(await range(), all, '0 shows all');
}

async function momentsAreChosen() {
	const { last, sum: end } = await shown();

	assert.ok(last >= 5, `${last} snapshots`);
	assert.equal(end, total(first[1]), `${first[0]} at the end`);
	await tab.keyboard.press('[');
	const before = await shown();

	assert.equal(before.moment, last - 1);
	if (!process.env.UP_AND_DOWN)
		/* a program that only grows */
		assert.ok(before.sum > 0 && before.sum < end, 'there was less before');
	assert.match(await text('#moment-text'), / s, .* live/);
	await tab.keyboard.press(']');
	assert.equal((await shown()).sum, end);
	const box = await tab.locator('#timeline .u-over').first().boundingBox();

	await tab.mouse.click(box.x + 3, box.y + box.height / 2);
	await tab.waitForFunction(() => memattach.moment < 4); /* early ones */
	await tab.fill('#moment', String(last));
	assert.equal((await shown()).moment, last, 'the slider chooses the last');
}

/* What this session can't know is not offered. */
function metricsKnown() {
	const keys = {
		live: 'live_bytes',
		'live-count': 'live_count',
		bytes: 'alloc_bytes',
		calls: 'alloc_count',
	};

	if (report.totals.temporary_count !== null) keys.temporary = 'temporary_count';
	return keys;
}

async function metricsSwitch() {
	for (const [key, column] of Object.entries(metricsKnown())) {
		await quickly(`switch to ${key}`, () => tab.selectOption('#metric-flame', key));
		const now = await shown();

		assert.equal(now.metric, key);
		assert.equal(now.sum, total(column), `the sum of ${key}`);
		const said = await text(now.sum > 0 ? '#flame-details' : '#flame-stage');

		assert.ok(
			said.includes(now.sum > 0 ? '100.0 % of all' : 'Nothing of this kind'),
			key,
		);
	}
	const offered = await tab
		.locator('#metric-flame option')
		.evaluateAll((options) => options.map((option) => option.value));

	assert.equal(offered.includes('peak'), !isMoment);
	assert.equal(
		offered.includes('leaks'),
		groups.some((group) => group.site || group.likely_site),
	);
	for (const key of offered.slice(Object.keys(metricsKnown()).length)) {
		await tab.selectOption('#metric-flame', key);
		assert.ok((await shown()).sum > 0, `there are ${key}`);
		assert.ok(
			(await tab.locator('#flame-stage g.frame').count()) > 1,
			`frames of ${key}`,
		);
	}
	await tab.selectOption('#metric-flame', first[0]);
}

const focus = () => tab.evaluate(() => memattach.views.flame.focus);
const selected = () => tab.evaluate(() => memattach.views.flame.selected);

async function flameZooms() {
	const child = await tab.evaluate(() => {
		const { tree } = memattach.views.flame;

		return tree.children(tree.children(0, 0)[0], 0)[0];
	});

	await tab.waitForFunction(
		(node) => memattach.views.flame.frames.get(node).getBoundingClientRect().width > 20,
		child,
	);
	await quickly('flame graph: zoom', () => tab.click(`g[data-node="${child}"]`));
	assert.equal(await focus(), child, 'a click zooms');
	await tab.waitForFunction(
		(node) =>
			memattach.views.flame.frames.get(node).getBoundingClientRect().width >
			memattach.views.flame.width * 0.99,
		child,
	);
	await tab.keyboard.press('Escape');
	assert.equal(await focus(), 0, 'Escape zooms out');
	await tab.keyboard.press('ArrowDown');
	await tab.keyboard.press('ArrowDown');
	assert.equal(await selected(), child, 'arrows go to the widest below');
	await tab.keyboard.press('ArrowUp');
	await tab.keyboard.press('ArrowDown');
	await tab.keyboard.press('Enter');
	assert.equal(await focus(), child, 'Enter zooms');
	assert.ok(await tab.isEnabled('#flame-reset'));
	await tab.click('#flame-reset');
	assert.equal(await focus(), 0, 'the button zooms out');
}

/* A function that is in some stacks and not in all. */
function someFunction() {
	const seen = new Map();

	for (const site of sites) {
		for (const name of new Set(site.frames.map((f) => f.function)))
			seen.set(name, (seen.get(name) ?? 0) + 1);
	}
	const rare = [...seen].filter(
		([name, times]) => /^[\w:]{6,40}$/.test(name ?? '') && times < sites.length / 2,
	);

	return rare.sort((a, b) => b[1] - a[1])[0][0];
}

const term = someFunction();
const contains = (site) =>
	site.frames.some((f) =>
		[f.function, f.file, f.module]
			.join('\n')
			.toLowerCase()
			.includes(term.toLowerCase()),
	);

async function flameSearches() {
	await tab.keyboard.press('/');
	await tab.keyboard.type(term);
	await tab.waitForFunction(() =>
		/frames?, /.test(document.getElementById('flame-found').textContent),
	);
	const passing = sum(sites.filter(contains).map((site) => site[first[1]]));
	const share = ((100 * passing) / total(first[1])).toFixed(1);
	const said = await text('#flame-found');

	assert.ok(said.includes(`(${share} %)`), `${term}: ${said} is ${share} %`);
	if (passing > total(first[1]) / 100)
		assert.ok(
			(await tab.locator('#flame-stage g.match').count()) > 0,
			'matches are shown',
		);
	await picture('search');
	await tab.fill('#flame-search', 'no such function');
	await tab.waitForFunction(
		() => document.getElementById('flame-found').textContent === 'no frame matches',
	);
	await tab.fill('#flame-search', '');
	await tab.waitForFunction(() => document.querySelector('.flame .match') === null);
}

async function sitesAreListed() {
	await quickly('sites', () => tab.click('#tab-sites'));
	assert.ok((await text('#site-found')).startsWith(sites.length.toLocaleString('en-US')));
	assert.ok((await tab.locator('#site-rows .row').count()) < 100, 'rows in sight only');
	await quickly('sites: sort', () => tab.click('[data-sort=calls]'));
	assert.equal(await tab.getAttribute('[data-sort=calls]', 'aria-sort'), 'descending');
	const most = sites.reduce((high, site) => Math.max(high, site.alloc_count), 0);
	const top = await tab.evaluate(
		() => memattach.model.sites.id[memattach.views.sites.order[0]],
	);

	assert.equal(sites.find((site) => site.id === top).alloc_count, most, 'most calls first');
	await tab.focus('#site-rows');
	await tab.keyboard.press('Home');
	await quickly('sites: to the end', () => tab.keyboard.press('End'));
	await tab.waitForSelector(`#site-rows [data-row="${sites.length - 1}"].selected`);
	await tab.click('#tab-threads');
	await tab.click('#tab-sites');
	await tab.focus('#site-rows');
	await tab.waitForSelector(`#site-rows [data-row="${sites.length - 1}"].selected`);
	await tab.keyboard.press('PageUp');
	await tab.keyboard.press('ArrowUp');
	assert.ok((await tab.locator('#site-detail .stack li').count()) > 0, 'a stack');
}

async function sitesAreFiltered() {
	const matching = sites.filter(contains).length;

	await tab.keyboard.press('/');
	await tab.keyboard.type(term);
	const wanted = `${matching.toLocaleString('en-US')} of `;

	await tab.waitForFunction(
		(words) => document.getElementById('site-found').textContent.startsWith(words),
		wanted,
	);
	assert.ok(
		(await text('#site-detail .stack')).includes(term),
		'the first of them is chosen',
	);
	await tab.keyboard.press('Enter');
	assert.equal(await tab.evaluate(() => document.activeElement.id), 'site-rows');
	await tab.fill('#site-search', '');
	await tab.keyboard.press('Escape');
}

async function histogramSwitches() {
	await tab.keyboard.press('4');
	if (isMoment) {
		assert.match(await text('#histogram'), /without the moment/);
		return;
	}
	assert.ok((await tab.locator('#histogram tbody tr').count()) > 0);
	await tab.check('input[value="exact sizes"]');
	assert.equal(
		await tab.locator('#histogram tbody tr').count(),
		Math.min(200, report.histogram.length),
	);
	await tab.check('input[value="bytes"]');
}

async function leaksShowHolders() {
	await tab.keyboard.press('5');
	assert.equal(await tab.locator('#leak-groups details').count(), groups.length);
	if (isMoment) assert.match(await text('#view-leaks'), /without the moment/);
	const held = groups.findIndex((group) => group.held_by && group.site);

	if (held < 0) return;
	const group = tab.locator('#leak-groups details').nth(held);

	await group.locator('summary').click();
	assert.ok((await group.textContent()).includes(groups[held].held_by));
	await group.getByRole('button', { name: 'Show the site' }).click();
	await tab.waitForSelector('#site-rows .row.selected');
	assert.ok(
		(await text('#site-detail')).includes(`${groups[held].site}, `),
		'it is that site',
	);
}

async function threadsSort() {
	const { threads } = await tab.evaluate(() => memattach.model);
	const cell = tab.locator('#threads tbody tr').first().locator('td').first();
	const first = () => cell.textContent();

	await tab.keyboard.press('6');
	if (isMoment) {
		assert.match(await text('#view-threads'), /without the moment/);
		return;
	}
	assert.ok(threads.rows.number.length > 0, 'there are threads');
	assert.equal(
		await tab.locator('#threads tbody tr').count(),
		Math.min(500, threads.rows.number.length),
	);
	assert.equal(await first(), String(threads.rows.number[0]), 'by allocated bytes');
	await tab.getByRole('button', { name: 'Thread', exact: true }).click();
	assert.equal(await first(), String(Math.min(...threads.rows.number)), 'by number');
	assert.equal(
		await tab.locator('#handovers tbody tr').count(),
		Math.min(500, threads.handovers.owner.length),
	);
}

/* The system's word comes as an event, some time after it was changed. */
const themed = (theme) =>
	tab.waitForFunction((name) => document.documentElement.dataset.theme === name, theme);

async function themesSwitch() {
	const ground = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);

	await themed('light');
	const light = await ground();

	await tab.focus('#tab-sites');
	await tab.keyboard.press('t');
	await themed('dark');
	assert.notEqual(await ground(), light);
	await tab.click('#theme');
	await themed('light');
	assert.equal(await ground(), light);
	await tab.emulateMedia({ colorScheme: 'dark' });
	await themed('dark');
	await tab.emulateMedia({ colorScheme: 'light' });
	await themed('light');
}

async function helpOpens() {
	await tab.focus('#tab-sites');
	await tab.keyboard.press('?');
	assert.match(await text('#help'), /uplot .*MIT/s);
	await tab.keyboard.press('Escape');
	await tab.waitForSelector('#help', { state: 'detached' });
}

async function isReadable() {
	for (const theme of ['light', 'dark']) {
		await tab.emulateMedia({ colorScheme: theme });
		await themed(theme);
		for (const view of await viewKeys()) {
			await tab.click(`#tab-${view}`);
			await frame();
			assert.deepEqual(await tab.evaluate(tooFaint), [], `${view}, ${theme}`);
		}
	}
	await tab.emulateMedia({ colorScheme: 'light' });
	await themed('light');
}

/* As they stand in the page. */
const viewKeys = () =>
	tab
		.locator('nav [role=tab]')
		.evaluateAll((tabs) => tabs.map(({ id }) => id.slice('tab-'.length)));

async function pictureAll() {
	for (const theme of pictures ? ['light', 'dark'] : []) {
		await tab.emulateMedia({ colorScheme: theme });
		for (const view of await viewKeys()) {
			await tab.click(`#tab-${view}`);
			await tab.waitForTimeout(600);
			await picture(`${view}-${theme}`);
		}
	}
}

async function loadsNothing() {
	const elements = await tab.evaluate(
		() =>
			document.querySelectorAll('img, iframe, object, embed, link, video, audio')
				.length,
	);

	assert.equal(elements, 0, 'elements that could load');
	await tab.evaluate(() =>
		fetch('http://127.0.0.1:9/').then(
			() => {
				document.title = 'broken';
			},
			() => {},
		),
	);
	assert.match(await tab.title(), / – memattach$/, 'no name was run, nothing was fetched');
	assert.ok(
		complaints.length > 0 &&
			complaints.every((line) => line.includes('Content Security Policy')),
		`the policy forbids it: ${complaints}`,
	);
	assert.deepEqual(
		requests.filter((each) => each.split('#')[0] !== url),
		[],
	);
}

const steps = [
	opens,
	timelineZooms,
	momentsAreChosen,
	async () => {
		await quickly('flame graph', () => tab.click('#tab-flame'));
	},
	metricsSwitch,
	flameZooms,
	flameSearches,
	sitesAreListed,
	sitesAreFiltered,
	histogramSwitches,
	leaksShowHolders,
	threadsSort,
	themesSwitch,
	helpOpens,
	isReadable,
	pictureAll,
];

try {
	for (const step of steps) {
		await step();
		assert.deepEqual(complaints, [], step.name);
	}
	await loadsNothing();
} finally {
	await context.close();
}
console.log(`${sites.length} sites: all views opened, searched, zoomed, switched`);
