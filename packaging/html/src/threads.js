/* SPDX-License-Identifier: MIT */
/* Who allocates, who frees what others allocated, and who frees whose. */
import { h, fill } from './dom.js';
import * as format from './format.js';

const MOST = 500; /* rows that are shown */

const COLUMNS = [
	{ key: 'number', name: 'Thread', show: String },
	{ key: 'tid', name: 'Id', show: (value) => (value ? String(value) : '–') },
	{ key: 'alloc_count', name: 'Allocations', show: format.count },
	{ key: 'alloc_bytes', name: 'Allocated', show: format.bytes },
	{ key: 'free_count', name: 'Frees', show: format.count },
	{ key: 'free_bytes', name: 'Freed', show: format.bytes },
	{ key: 'freed_others', name: 'Of others’', show: format.count },
	{ key: 'live_count', name: 'Live', show: format.count },
	{ key: 'live_bytes', name: 'Live bytes', show: format.bytes },
];

/* [{ number, tid, ... }] of columns. */
function rowsOf(columns) {
	return columns.number.map((_, index) =>
		Object.fromEntries(Object.keys(columns).map((key) => [key, columns[key][index]])),
	);
}

function table(id, head, rows) {
	return h(
		'table',
		{ class: 'plain', id },
		h('thead', null, h('tr', null, head)),
		h('tbody', null, rows),
	);
}

export class Threads {
	constructor(app, root) {
		this.app = app;
		this.root = root;
		this.by = 'alloc_bytes';
		this.read();
	}

	read() {
		this.data = this.app.model.threads;
		this.rows = this.data ? rowsOf(this.data.rows) : [];
		this.names = new Map(this.rows.map((row) => [row.number, row.name]));
	}

	show() {
		this.draw();
	}
	hide() {}
	refresh() {}
	restore() {
		this.read();
		if (!this.root.hidden) this.draw();
	}

	draw() {
		if (!this.rows.length) {
			fill(
				this.root,
				h('p', {
					class: 'empty',
					text:
						this.app.model.missingOfMoment('Threads') ??
						'No threads were recorded.',
				}),
			);
			return;
		}
		const rows = [...this.rows].sort((a, b) =>
			this.by === 'number' || this.by === 'tid'
				? a[this.by] - b[this.by]
				: b[this.by] - a[this.by],
		);

		fill(
			this.root,
			h('div', { class: 'toolbar' }, h('h2', { text: 'Threads' })),
			h(
				'section',
				{ class: 'panel' },
				table('threads', this.head(), rows.slice(0, MOST).map(rowOf)),
				this.shown(Math.min(MOST, rows.length)),
			),
			this.handovers(),
		);
	}

	/* What is left out of the table, if anything is. */
	shown(count) {
		const all = format.some(this.data.total, 'thread');

		return this.data.total > count
			? h('p', { class: 'hint', text: `${count} of ${all}.` })
			: null;
	}

	/* Numbers ascend, figures descend. */
	order(key) {
		if (key !== this.by) return 'none';
		return key === 'number' || key === 'tid' ? 'ascending' : 'descending';
	}

	column({ key, name }) {
		const sort = () => {
			this.by = key;
			this.draw();
		};

		return h(
			'th',
			{ class: 'number', 'aria-sort': this.order(key) },
			h('button', { type: 'button', class: 'sort', text: name, onclick: sort }),
		);
	}

	head() {
		return [
			...COLUMNS.map((column) => this.column(column)),
			h('th', { text: 'Name' }),
		];
	}

	nameOf(number) {
		const name = this.names.get(number);

		return name ? `${number} (${name})` : String(number);
	}

	handovers() {
		const rows = rowsOf({ number: this.data.handovers.owner, ...this.data.handovers });
		const head = [
			h('th', { class: 'number', text: 'Blocks' }),
			h('th', { class: 'number', text: 'Bytes' }),
			h('th', { text: 'Allocated by' }),
			h('th', { text: 'Freed by' }),
		];
		const shown = rows.slice(0, MOST).map((row) => this.handover(row));
		const none = 'No thread freed what another had allocated.';

		return h(
			'section',
			{ class: 'panel' },
			h('h2', { text: 'Who freed whose blocks' }),
			rows.length
				? table('handovers', head, shown)
				: h('p', { class: 'hint', text: none }),
		);
	}

	handover({ owner, freer, count, bytes }) {
		const who = (number) => (number ? this.nameOf(number) : 'others');

		return h(
			'tr',
			null,
			h('td', { class: 'number', text: format.count(count) }),
			h('td', { class: 'number', text: format.bytes(bytes) }),
			h('td', { text: who(owner) }),
			h('td', { text: who(freer) }),
		);
	}
}

function rowOf(row) {
	const before = row.ids > 1 ? `and ${format.some(row.ids - 1, 'thread')} before it` : null;

	return h(
		'tr',
		null,
		COLUMNS.map(({ key, show }) => h('td', { class: 'number', text: show(row[key]) })),
		h('td', { text: row.name || '–', title: before }),
	);
}
