/* SPDX-License-Identifier: MIT */
/*
 * speedscope_drive.mjs MODULES BROWSER EXPORT REPORT PROFILE [PICTURES]
 *
 * Opens an export in speedscope's own page, as its users do, and compares what it shows of each
 * profile (its sum; of each function, total and self) with REPORT, the document of
 * `report --json`. An error on the page's console, or a request to a network, fails. PICTURES: a
 * folder for pictures.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { openBrowser } from './browser.mjs';

const [modules, executablePath, file, reportPath, profile, pictures] = process.argv.slice(2);
const sites = JSON.parse(readFileSync(reportPath, 'utf8')).sites.filter(
	(site) => site.kind !== 'mmap',
);
const PATIENCE_MS = 60000; /* what takes a second, on a slow machine */
const COLUMNS = {
	'live bytes': 'live_bytes',
	'live blocks': 'live_count',
	'allocated bytes': 'alloc_bytes',
	calls: 'alloc_count',
};
const complaints = [];

const [context, tab] = await openBrowser(modules, executablePath, profile, {
	/* All functions are in sight: the table draws no others. */
	viewport: { width: 1360, height: Number(process.env.HEIGHT ?? 3000) },
	args: ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
});

context.on('request', (request) => {
	if (!/^(file|data|blob):/.test(request.url())) complaints.push(request.url());
});
tab.on('console', (message) => {
	if (message.type() === 'error') complaints.push(message.text());
});
tab.on('pageerror', (error) => complaints.push(error.stack));
tab.setDefaultTimeout(PATIENCE_MS);

/* "1.23 MB" or "10,222", and how much of it may have been rounded away. */
function figure(text) {
	const found = /^([\d,.]+)(?: ([KMGT]?)B)?$/.exec(text.trim());

	assert.ok(found, `not a figure: ${text}`);
	const unit = found[2] ? 1024 ** (1 + 'KMGT'.indexOf(found[2])) : 1;

	return {
		value: Number(found[1].replaceAll(',', '')) * unit,
		tolerance: unit === 1 ? 0.5 : 0.0051 * unit,
	};
}

function same(text, wanted, what) {
	const { value, tolerance } = figure(text);

	assert.ok(Math.abs(value - wanted) <= tolerance, `${what} is ${text}, ours ${wanted}`);
}

const title = (frame) =>
	frame.function ??
	`${(frame.module ?? '').split('/').at(-1)}+0x${frame.offset.toString(16)}`;

/* name -> { total, self }: functions of one name in two files are two rows, of one sum here. */
function expected(column) {
	const functions = new Map();
	const add = (name, key, value) => {
		const known = functions.get(name) ?? { total: 0, self: 0 };

		known[key] += value;
		functions.set(name, known);
	};

	for (const site of sites.filter((each) => each[column] > 0)) {
		const seen = new Map(site.frames.map((f) => [`${title(f)}\n${f.file}`, title(f)]));

		for (const name of seen.values()) add(name, 'total', site[column]);
		add(title(site.frames[0]), 'self', site[column]);
	}
	return functions;
}

/* Total, self and name of each row, as they are read. */
const rows = () =>
	tab.evaluate(() =>
		[...document.querySelectorAll('tr')]
			.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.innerText))
			.filter((cells) => cells.length === 3 && /%\)/.test(cells[0])),
	);

function compare(shown, column) {
	const wanted = expected(column);
	const names = new Map();

	for (const [total, self, name] of shown) {
		const known = names.get(name.trim()) ?? [];

		names.set(name.trim(), [...known, [total, self]]);
	}
	assert.deepEqual([...names.keys()].sort(), [...wanted.keys()].sort(), `${column}: names`);
	for (const [name, cells] of names) {
		if (cells.length > 1) continue; /* two files */
		const [total, self] = cells[0].map((text) => text.split('(')[0]);

		same(total, wanted.get(name).total, `${column}: total of ${name}`);
		same(self, wanted.get(name).self, `${column}: self of ${name}`);
	}
	return names.size;
}

/* The page draws its table some frames after it has named the profile. */
async function comparedOnceDrawn(column) {
	const end = performance.now() + 30000;

	for (;;) {
		try {
			return compare(await rows(), column);
		} catch (error) {
			if (performance.now() > end) throw error;
			await tab.waitForTimeout(50);
		}
	}
}

/* How many colours the flame graph has: 1 is an empty canvas. */
async function coloursInSight() {
	const picture = (await tab.screenshot()).toString('base64');

	return tab.evaluate(async (data) => {
		const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
		const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
		const canvas = new OffscreenCanvas(bitmap.width, 400);
		const draw = canvas.getContext('2d');

		draw.drawImage(bitmap, 0, -150);
		const { data: pixels } = draw.getImageData(0, 0, bitmap.width, 400);

		return new Set(new Uint32Array(pixels.buffer)).size;
	}, picture);
}

/* Waits for a picture of more colours. */
async function drawnBeyond(empty) {
	const end = Date.now() + PATIENCE_MS;
	let colours;

	do {
		await tab.waitForTimeout(100);
		colours = await coloursInSight();
	} while (colours <= empty && Date.now() < end);
	assert.ok(colours > empty, `${colours} colours of a flame graph, ${empty} before`);
}

async function picture(name) {
	if (pictures) await tab.screenshot({ path: `${pictures}/${name}.png` });
}

try {
	await tab.goto(
		pathToFileURL(`${modules}/node_modules/speedscope/dist/release/index.html`).href,
	);
	const empty = await coloursInSight();

	await tab.setInputFiles('input[type=file]', file);
	await tab.waitForFunction(() => document.body.innerText.includes('(1/4)'));
	await tab.keyboard.press('3'); /* the table of functions */
	for (const [i, [name, column]] of Object.entries(COLUMNS).entries()) {
		await tab.waitForFunction(
			([wanted, number]) =>
				document.body.innerText.includes(`${wanted} (${number}/4)`),
			[name, i + 1],
		);
		const sum = sites.reduce((total, site) => total + site[column], 0);

		same(await tab.textContent(`tr[title="${name}"] td:last-child`), sum, name);
		const count = await comparedOnceDrawn(column);

		console.log(`speedscope: ${name}: ${count} functions, ${sum} in all`);
		await picture(`speedscope-${column}`);
		await tab.keyboard.press('n');
	}
	await tab.keyboard.press('1'); /* the graph; of calls there always are some */
	await drawnBeyond(empty); /* the canvas is drawn some frames later */
	await picture('speedscope-flame');
	assert.deepEqual(complaints, []);
} finally {
	await context.close();
}
