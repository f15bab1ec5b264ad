/* SPDX-License-Identifier: MIT */
/*
 * http_live_drive.mjs MODULES BROWSER URL TOKEN PROFILE
 *
 * Opens the report that memattachd serves in a headless Chromium, and sees it follow the process:
 * figures move without the page being loaded again, what is looked at stays, and it says when
 * nobody answers, when the session ends, and when another one has begun. Says "want THING" for what
 * daemon-http-live.sh is to do, which answers with a line.
 */
import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { openBrowser } from './browser.mjs';
import { tooFaint } from './html_contrast.mjs';

const [modules, executablePath, url, token, profile] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const complaints = [],
	requests = [];
const authorization = { Authorization: `Bearer ${token}` };

const [context, tab] = await openBrowser(modules, executablePath, profile, {
	viewport: { width: 1360, height: 700 },
	colorScheme: 'light',
	extraHTTPHeaders: authorization,
	args: ['--disable-gpu'],
});

context.on('request', (request) => requests.push(request.url()));
/* That nobody answers is no fault of the page's. */
tab.on('console', (message) => {
	if (!message.text().startsWith('Failed to load resource'))
		complaints.push(`${message.type()}: ${message.text()}`);
});
tab.on('pageerror', (error) => complaints.push(error.stack));
tab.setDefaultTimeout(30000);

async function want(what) {
	console.log(`want ${what}`);
	await lines.next();
}

const calls = () => tab.evaluate(() => memattach.model.document.totals.alloc_count);
const evaluate = (f, argument) => tab.evaluate(f, argument);

async function says(pattern) {
	await tab.waitForFunction(
		([source]) =>
			new RegExp(source).test(document.getElementById('live-state').textContent),
		[pattern.source],
	);
}

/* The process allocates, and the page has heard of it. */
async function moves() {
	const before = await calls();

	await want('grow');
	await tab.waitForFunction(
		(count) => memattach.model.document.totals.alloc_count > count,
		before,
	);
}

/* What f tells of the page before and after figures moved. */
async function stays(what, f) {
	const before = await evaluate(f);

	await moves();
	assert.deepEqual(await evaluate(f), before, what);
	return before;
}

async function opens() {
	await tab.goto(url);
	assert.equal(await evaluate(() => memattach.live.seconds), 10, 'every ten seconds');
	const policy = await tab.getAttribute('meta[http-equiv]', 'content');

	assert.ok(policy.startsWith("default-src 'none'; connect-src 'self'; script-src"), policy);
	await says(/^live$/);
	assert.match(await tab.textContent('#live-time'), /^updated \d\d:\d\d:\d\d$/);
	await evaluate(() => {
		globalThis.sameLoad = true;
		memattach.live.seconds = 0.5;
		memattach.live.later(0.5);
	});
}

async function figuresMove() {
	const cards = await tab.textContent('#cards');

	await moves();
	assert.notEqual(await tab.textContent('#cards'), cards, 'the cards');
	assert.ok((await tab.locator('#top-sites tr').count()) > 2, 'top sites');
}

async function timelineStays() {
	const range = () => memattach.views.overview.timeline.range;
	const [, end] = await evaluate(range);

	await moves();
	assert.ok((await evaluate(range))[1] > end, 'all of it is all of it');
	await tab.focus('#timeline');
	await tab.keyboard.press('+');
	await stays('the zoom of the charts', range);
	await tab.keyboard.press('0');
	await tab.locator('#top-sites button').nth(2).focus();
	await moves();
	assert.ok(
		await evaluate(() =>
			document
				.querySelectorAll('#top-sites tr')[2]
				.contains(document.activeElement),
		),
		'the focus',
	);
}

/* In the page: what is looked at in the table of sites. */
function sitesLookedAt() {
	const { sites } = memattach.views;
	const row = document.querySelector('#site-rows .row.selected');

	return {
		selected: memattach.model.sites.id[sites.selected],
		at: row && Math.round(row.getBoundingClientRect().top),
		sort: sites.sort,
		search: document.getElementById('site-search').value,
		stack: document.querySelector('#site-detail .stack').textContent,
		focus: document.activeElement.id,
	};
}

async function sitesStay() {
	await tab.click('#tab-sites');
	await tab.click('[data-sort=calls]');
	await tab.click('[data-sort=calls]');
	await tab.fill('#site-search', 'many_stacks');
	await tab.keyboard.press('Enter');
	await tab.keyboard.press('End');
	await tab.keyboard.press('PageUp');
	await tab.keyboard.press('PageUp');
	await tab.waitForSelector('#site-rows .row.selected');	/* rows come with the next frame */
	const looked = await stays('what is looked at in sites', sitesLookedAt);

	assert.deepEqual(looked.sort, { key: 'calls', down: false });
	assert.equal(looked.search, 'many_stacks');
	assert.equal(looked.focus, 'site-rows');
	assert.ok(looked.at > 0, 'the selected row is in sight');
	assert.ok((await evaluate(() => memattach.views.sites.scroller.scrollTop)) > 0);
	/* Out of sight, too. */
	await tab.click('#tab-threads');
	await moves();
	await tab.click('#tab-sites');
	await tab.focus('#site-rows');
	await tab.waitForSelector('#site-rows .row.selected');
	assert.deepEqual(await evaluate(sitesLookedAt), looked, 'shown again');
}

/* In the page: what is looked at in the flame graph. */
function flameLookedAt() {
	const { flame } = memattach.views;

	return {
		focus: flame.tree.names(flame.focus),
		selected: flame.tree.names(flame.selected),
		drawn: flame.frames.has(flame.focus),
		search: document.getElementById('flame-search').value,
		top: document.querySelector('main').scrollTop,
		hue: flame.hueOf('/nowhere'),
	};
}

/* In the page: when frames of what is looked at have other names than before. */
function isFoundUnderOtherNames() {
	const { tree, focus } = memattach.views.flame;
	const { names, site } = tree.place(focus);
	const others = names.map((name, depth) => (depth % 2 ? name : `module+0x${depth}`));

	return focus > 0 && tree.find({ names: others, site }) === focus;
}

async function named() {
	await tab.waitForFunction(() => memattach.model.texts.includes('step_a'));
	assert.ok(await evaluate(() => globalThis.sameLoad), 'named without loading again');
}

async function flameStays() {
	await tab.click('#tab-flame');
	await tab.selectOption('#metric-flame', 'bytes');
	await tab.focus('#flame-stage');
	for (let down = 0; down < 4; down++) await tab.keyboard.press('ArrowDown');
	await tab.keyboard.press('Enter');
	await tab.keyboard.press('ArrowDown');
	await tab.fill('#flame-search', 'step');
	await tab.waitForSelector('#flame-stage .match');
	await tab.focus('#flame-stage');
	await tab.keyboard.press('ArrowDown');
	const looked = await stays('what is looked at in the flame graph', flameLookedAt);

	assert.equal(looked.focus.length, 4);
	assert.equal(looked.selected.length, 6);
	assert.equal(await evaluate(() => memattach.metric.key), 'bytes');
	assert.ok((await tab.locator('#flame-stage .match').count()) > 0, 'matches are shown');
	assert.ok(await evaluate(isFoundUnderOtherNames), 'frames get their names');
	/* Out of sight, too. */
	await tab.click('#tab-threads');
	await moves();
	await tab.click('#tab-flame');
	assert.deepEqual((await evaluate(flameLookedAt)).focus, looked.focus);
}

async function momentStays() {
	await tab.click('#tab-overview'); /* which takes less time to draw */
	await tab.keyboard.press('[');
	await tab.keyboard.press('[');
	await stays('the moment', () => memattach.markedTime());
	await tab.fill('#moment', await tab.getAttribute('#moment', 'max'));
	await moves();
	assert.ok(await evaluate(() => memattach.moment === memattach.model.lastMoment), 'the end');
	assert.match(await tab.textContent('#moment-text'), /^end, /);
}

async function themeStays() {
	await tab.keyboard.press('t');
	await stays('the theme', () => document.documentElement.dataset.theme);
	await tab.keyboard.press('t');
}

/* Nothing is asked for as long as four answers usually take. */
async function asksNothing(what) {
	const before = requests.length;

	await tab.waitForTimeout(2000);
	assert.equal(requests.length, before, what);
}

async function pauses() {
	await tab.keyboard.press('p');
	await says(/^paused$/);
	assert.equal(await tab.textContent('#live-button'), 'Continue');
	const before = await calls();

	await tab.waitForFunction(() => !memattach.live.asking);
	await asksNothing('paused');
	assert.equal(await calls(), before);
	await tab.focus('#live-button');
	await tab.keyboard.press('Enter');
	await says(/^live$/);
	await moves();
}

async function hiddenIsQuiet() {
	const hide = (hidden) =>
		evaluate((value) => {
			Object.defineProperty(document, 'hidden', {
				configurable: true,
				get: () => value,
			});
			document.dispatchEvent(new Event('visibilitychange'));
		}, hidden);

	await hide(true);
	await tab.waitForFunction(() => !memattach.live.asking && memattach.live.missed);
	await asksNothing('hidden');
	await hide(false);
	await moves();
}

async function selectionStays() {
	await tab.click('#tab-sites');
	await evaluate(() =>
		getSelection().selectAllChildren(document.querySelector('#site-detail .stack')),
	);
	const before = await calls();

	await want('grow');
	await says(/^waits while text is selected$/);
	assert.equal(await calls(), before);
	await evaluate(() => getSelection().removeAllRanges());
	await tab.waitForFunction(
		(count) => memattach.model.document.totals.alloc_count > count,
		before,
	);
	await says(/^live$/);
}

async function isReadable(what) {
	for (let theme = 0; theme < 2; theme++) {
		assert.deepEqual(await evaluate(tooFaint), [], what);
		await tab.click('#theme');
	}
}

async function saysWhoIsAway() {
	await isReadable('live');
	await want('away');
	await says(/^not reachable since \d\d:\d\d:\d\d, tries again$/);
	await isReadable('away');
	await want('back');
	await says(/^live$/);
	await moves();
	await context.setExtraHTTPHeaders({});
	await says(/^answers 401 since /);
	await context.setExtraHTTPHeaders(authorization);
	await says(/^live$/);
	assert.ok(await evaluate(() => globalThis.sameLoad), 'loaded once');
}

async function otherSession() {
	await want('restart');
	await says(/^the session ended, another one has begun$/);
	await isReadable('another session');
	assert.equal(await tab.textContent('#live-button'), 'Load again');
	await Promise.all([tab.waitForEvent('load'), tab.click('#live-button')]);
	await says(/^live$/);
	await evaluate(() => {
		memattach.live.seconds = 0.5;
		memattach.live.later(0.5);
	});
}

async function saysWhatEnded() {
	const before = await calls();

	await want('end');
	await says(/^the session ended, seen \d\d:\d\d:\d\d$/);
	assert.ok((await calls()) >= before, 'what was known stays');
}

const steps = [
	opens,
	named,
	figuresMove,
	timelineStays,
	sitesStay,
	flameStays,
	momentStays,
	themeStays,
	pauses,
	hiddenIsQuiet,
	selectionStays,
	saysWhoIsAway,
	otherSession,
	saysWhatEnded,
];

try {
	for (const step of steps) {
		const begin = performance.now();

		await step();
		assert.deepEqual(complaints, [], step.name);
		console.log(`${step.name}: ${Math.round(performance.now() - begin)} ms`);
	}
	assert.deepEqual(
		requests.filter((each) => each.split('#')[0] !== url),
		[],
		'nothing else was asked for',
	);
} catch (error) {
	console.log(error, await tab.textContent('header'), requests.length, complaints);
	throw error;
} finally {
	await context.close();
}
console.log('driven');
process.exit(0);
