/* SPDX-License-Identifier: MIT */
/* Figures as `memattach report` prints them: binary units for bytes, decimal for counts. */

const BYTES = [' B', ' KiB', ' MiB', ' GiB', ' TiB', ' PiB'];
const COUNTS = ['', ' k', ' M', ' G', ' T'];

function scale(value, step, units) {
	let n = 0;
	let size = Math.abs(value);

	for (; size >= step - 0.5 && n + 1 < units.length; n++) size /= step;
	const digits = n === 0 ? 0 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
	return (value < 0 ? '−' : '') + size.toFixed(digits) + units[n];
}

export const bytes = (value) => scale(value, 1024, BYTES);
export const count = (value) => scale(value, 1000, COUNTS);
export const exact = (value) => Math.round(value).toLocaleString('en-US');
export const figure = (value, isBytes) => (isBytes ? bytes(value) : count(value));

/* '1 block', '2,000 blocks' */
export const some = (value, noun) => `${exact(value)} ${noun}${value === 1 ? '' : 's'}`;

/* What an estimate's 95 % interval adds to its figure; nothing where it is exact, or not known. */
export function interval(low, high, show = bytes) {
	return low < high ? `95 %: ${show(low)} – ${show(high)}` : '';
}

export function share(part, whole) {
	return (whole > 0 ? (100 * part) / whole : 0).toFixed(1) + ' %';
}

export function seconds(value) {
	if (value === null || value === undefined) return '';
	const size = Math.abs(value);

	if (size === 0) return '0 s';
	if (size < 1e-6) return (value * 1e9).toFixed(0) + ' ns';
	if (size < 1e-3) return (value * 1e6).toPrecision(3) + ' µs';
	if (size < 1) return (value * 1e3).toPrecision(3) + ' ms';
	if (size < 120) return value.toFixed(size < 10 ? 2 : 1) + ' s';
	if (size < 7200) return (value / 60).toFixed(1) + ' min';
	return (value / 3600).toFixed(1) + ' h';
}

export function baseName(path) {
	return path ? path.slice(path.lastIndexOf('/') + 1) : '';
}
