/* SPDX-License-Identifier: MIT */
/*
 * build.mjs - makes report.html from src/ and the packages of package-lock.json:
 *	npm ci && npm run build
 * The same sources give the same bytes. `node build.mjs FILE` writes there instead.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const read = (...path) => readFileSync(join(here, ...path), 'utf8');
const sha256 = (text, encoding) => createHash('sha256').update(text).digest(encoding);

/* As tests/lint/html_bundle.sh computes it: sha256sum of sha256sum's lines, files by name. */
function sourcesHash() {
	const files = [
		'build.mjs',
		'package-lock.json',
		'package.json',
		...readdirSync(join(here, 'src'))
			.sort()
			.map((name) => `src/${name}`),
	];

	return sha256(
		files.map((file) => `${sha256(read(file), 'hex')}  ${file}\n`).join(''),
		'hex',
	);
}

function packagesOf(metafile) {
	const names = Object.keys(metafile.inputs)
		.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
		.filter((name) => name);

	return [...new Set(names)].sort();
}

/* Every licence of what is bundled goes with it. */
function licenceOf(name) {
	const { version, license } = JSON.parse(read('node_modules', name, 'package.json'));
	const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'LICENCE'].find((each) =>
		existsSync(join(here, 'node_modules', name, each)),
	);

	if (!file) throw new Error(`${name} ${version} (${license}) has no licence text`);
	return `${name} ${version} (${license})\n\n${read('node_modules', name, file).trim()}\n`;
}

const { outputFiles, metafile } = await build({
	absWorkingDir: here,
	entryPoints: ['src/main.js'],
	bundle: true,
	minify: true,
	write: false,
	outdir: 'out',
	format: 'iife',
	target: ['chrome100', 'firefox100', 'safari15'],
	charset: 'ascii',
	metafile: true,
	legalComments: 'none',
	keepNames: true /* d3-flame-graph knows d3-hierarchy's nodes by their class's name */,
});
const output = (suffix) => outputFiles.find(({ path }) => path.endsWith(suffix)).text.trim();
const script = output('.js'),
	style = output('.css');
const licences = packagesOf(metafile)
	.map(licenceOf)
	.join(`\n${'-'.repeat(78)}\n\n`);

for (const text of [script, style, licences]) {
	if (/<\/(script|style)|<!--/i.test(text))
		throw new Error('a bundled text would end its element');
}
const values = {
	SCRIPT_HASH: `sha256-${sha256(script, 'base64')}`,
	STYLE_HASH: `sha256-${sha256(style, 'base64')}`,
	SOURCES: sourcesHash(),
	SCRIPT: script,
	STYLE: style,
	LICENCES: licences,
};
const page = read('src', 'index.html').replace(/@([A-Z_]+)@/g, (whole, name) => {
	if (!(name in values)) throw new Error(`${whole} in index.html is nothing`);
	return values[name];
});

writeFileSync(process.argv[2] ?? join(here, 'report.html'), page);
