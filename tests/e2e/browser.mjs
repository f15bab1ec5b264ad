/* SPDX-License-Identifier: MIT */
/*
 * browser.mjs - a headless Chromium for the tests of pages: of the playwright-core in the folder
 * modules. It asks nobody by itself.
 */
import { createRequire } from 'node:module';

/* options: of launchPersistentContext(); its args come on top. [context, its first tab] */
export async function openBrowser(modules, executablePath, profile, options) {
	const { chromium } = createRequire(`${modules}/`)('playwright-core');
	const context = await chromium.launchPersistentContext(profile, {
		executablePath,
		headless: true,
		...options,
		args: [
			'--no-sandbox',
			'--disable-quic',
			'--no-first-run',
			'--disable-background-networking',
			'--disable-component-update',
			'--disable-sync',
			...options.args,
		],
	});

	return [context, context.pages()[0] ?? (await context.newPage())];
}
