/* SPDX-License-Identifier: MIT */
/*
 * check_ajv.mjs MODULES SCHEMA DOCUMENT...
 *
 * Is every document valid, says ajv in its strict mode (a word in the schema that means nothing is
 * an error)? One document a file, or one a line. Each member that the schema requires at the top is
 * then left out: what is still valid then has a schema that would let anything pass.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [modules, schemaPath, ...paths] = process.argv.slice(2);
const Ajv = createRequire(`${modules}/`)('ajv').default;
const schema = JSON.parse(readFileSync(schemaPath, 'utf8'));
const ajv = new Ajv({ strict: true, strictRequired: false, allowUnionTypes: true });
const valid = ajv.compile(schema);
let documents = 0,
	refused = 0;

function parsed(text) {
	try {
		return [JSON.parse(text)];
	} catch {
		return text
			.split('\n')
			.filter((line) => line.trim())
			.map((line) => JSON.parse(line));
	}
}

function fail(text) {
	console.log(`${schemaPath}: ${text}`);
	process.exit(1);
}

for (const path of paths) {
	for (const document of parsed(readFileSync(path, 'utf8'))) {
		documents++;
		if (!valid(document)) {
			const [{ instancePath, message }] = valid.errors;

			fail(`${path}: ${instancePath || '/'} ${message}`);
		}
		for (const member of Object.keys(document)) {
			const { [member]: without, ...rest } = document;

			if (!valid(rest)) refused++;
		}
	}
}
if (documents === 0) fail('no document');
if (refused === 0) fail('documents without their members are valid, too');
console.log(`${documents} documents are valid, ${refused} that lack a member are not`);
