/* SPDX-License-Identifier: MIT */
/* Allocations by requested size: powers of two, or the most frequent exact sizes. */
import { h, fill } from './dom.js';
import * as format from './format.js';

const bytes = format.bytes;

const MOST = 200; /* exact sizes that are shown */

/* [{ label, count, bytes }] by power of two: sizes from 2^n to 2^(n+1) - 1. */
function powers(bars) {
	const sums = new Map();

	for (const { size, count } of bars) {
		const power = size < 1 ? -1 : Math.floor(Math.log2(size));
		const sum = sums.get(power) ?? { count: 0, bytes: 0 };

		sums.set(power, { count: sum.count + count, bytes: sum.bytes + size * count });
	}
	return [...sums.keys()]
		.sort((a, b) => a - b)
		.map((power) => ({
			label:
				power < 0
					? '0 B'
					: `${bytes(2 ** power)} – ${bytes(2 * 2 ** power - 1)}`,
			...sums.get(power),
		}));
}

function sizes(bars, by) {
	const all = bars.map(({ size, count }) => ({
		label: `${format.exact(size)} B`,
		count,
		bytes: size * count,
		size,
	}));

	return all.sort((a, b) => b[by] - a[by]).slice(0, MOST);
}

export class Histogram {
	constructor(app, root) {
		this.app = app;
		this.root = root;
		this.by = 'count';
		this.exactly = false;
		this.table = h('div', { id: 'histogram' });
		const choice = (name, text, set) =>
			h(
				'label',
				{ class: 'choice' },
				h('input', {
					type: 'radio',
					name,
					value: text,
					checked: set.checked,
					onchange: () => {
						set.to();
						this.draw();
					},
				}),
				text,
			);

		fill(
			root,
			h(
				'div',
				{ class: 'toolbar' },
				h('h2', { text: 'Requested sizes' }),
				choice('sizes', 'powers of two', {
					checked: true,
					to: () => {
						this.exactly = false;
					},
				}),
				choice('sizes', 'exact sizes', {
					to: () => {
						this.exactly = true;
					},
				}),
				h('span', { class: 'divider' }),
				choice('by', 'calls', {
					checked: true,
					to: () => {
						this.by = 'count';
					},
				}),
				choice('by', 'bytes', {
					to: () => {
						this.by = 'bytes';
					},
				}),
			),
			h('section', { class: 'panel' }, this.table),
		);
	}

	show() {
		this.draw();
	}
	hide() {}
	refresh() {}
	restore() {
		if (!this.root.hidden) this.draw();
	}

	get bars() {
		return this.app.model.document.histogram;
	}

	draw() {
		const { bars } = this;
		const rows = this.exactly ? sizes(bars, this.by) : powers(bars);
		const most = rows.reduce((high, row) => Math.max(high, row[this.by]), 0);
		const total = bars.reduce(
			(sum, { size, count }) =>
				sum + (this.by === 'count' ? count : size * count),
			0,
		);

		if (!rows.length) {
			fill(
				this.table,
				h('p', {
					class: 'empty',
					text:
						this.app.model.missingOfMoment('Sizes') ??
						'No sizes were recorded.',
				}),
			);
			return;
		}
		fill(
			this.table,
			h(
				'table',
				{ class: 'plain histogram' },
				h(
					'thead',
					null,
					h(
						'tr',
						null,
						h('th', { text: 'Size' }),
						h('th', { class: 'number', text: 'Calls' }),
						h('th', { class: 'number', text: 'Bytes' }),
						h('th', { class: 'number', text: 'Share' }),
						h('th'),
					),
				),
				h(
					'tbody',
					null,
					rows.map((row) => this.row(row, most, total)),
				),
			),
			this.exactly && bars.length > MOST
				? h('p', {
						class: 'hint',
						text: `${MOST} of ${bars.length} sizes.`,
					})
				: null,
		);
	}

	row(row, most, total) {
		return h(
			'tr',
			null,
			h('td', { class: 'number', text: row.label }),
			h('td', { class: 'number', text: format.count(row.count) }),
			h('td', { class: 'number', text: format.bytes(row.bytes) }),
			h('td', { class: 'number', text: format.share(row[this.by], total) }),
			h(
				'td',
				{ class: 'bars' },
				h('div', {
					class: 'barfill',
					style: { width: `${(100 * row[this.by]) / (most || 1)}%` },
				}),
			),
		);
	}
}
