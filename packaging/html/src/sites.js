/* SPDX-License-Identifier: MIT */
/* The table of sites: only the rows in sight exist. Beside it the stack of the selected one. */
import {
	Virtualizer,
	elementScroll,
	observeElementOffset,
	observeElementRect,
} from '@tanstack/virtual-core';
import { h, fill, facts, settled } from './dom.js';
import * as format from './format.js';
import { KINDS, wordsOf } from './model.js';
import { chart, renew } from './timeline.js';

const ROW = 42; /* as in style.css */
const bytes = format.bytes,
	count = format.count;

/* value: of a site's index; moment: does it change with the chosen moment? */
const COLUMNS = [
	{ key: 'live', name: 'Live', show: bytes, share: true },
	{ key: 'live-count', name: 'Blocks', show: count },
	{ key: 'bytes', name: 'Allocated', show: bytes },
	{ key: 'calls', name: 'Calls', show: count },
	{ key: 'peak', name: 'At peak', show: bytes },
	{ key: 'temporary', name: 'Temporary', show: count },
	{ key: 'leaks', name: 'Leaks', show: bytes },
	{
		key: 'growth',
		name: 'Growth/s',
		column: 'growth',
		show: (value) => (value > 0 ? '+' : '') + bytes(value),
	},
	{ key: 'threads', name: 'Threads', column: 'threads', show: format.exact },
];

export class Sites {
	constructor(app, root) {
		this.app = app;
		this.root = root;
		this.columns = this.columnsKnown();
		this.sort = { key: 'live', down: true };
		this.selected = -1;
		this.row = -1;
		this.looked = { row: -1, top: 0 }; /* when it was last shown */
		this.build();
	}

	columnsKnown() {
		const { metrics, leaksName } = this.app.model;
		const have = new Set(metrics.map((metric) => metric.key));

		/* what is not freed is what is live */
		if (leaksName !== 'Leaks') have.delete('leaks');
		return COLUMNS.filter((column) => column.column || have.has(column.key));
	}

	/* --- building --------------------------------------------------------------------- */

	build() {
		this.search = h('input', {
			type: 'search',
			id: 'site-search',
			class: 'search',
			placeholder: 'Filter: words in functions, files, modules of the stack',
			'aria-label': 'Filter sites',
			oninput: settled(() => this.refresh(), 120),
		});
		this.found = h('output', { class: 'muted', id: 'site-found' });
		this.header = h('div', { class: 'row head', role: 'row' });
		this.body = h('div', { class: 'rows' });
		this.scroller = h(
			'div',
			{
				class: 'scroller',
				id: 'site-rows',
				tabindex: 0,
				role: 'grid',
				'aria-label':
					'Sites: arrows choose one, its stack is beside the table',
			},
			this.body,
		);
		this.scroller.addEventListener('keydown', (event) => this.key(event));
		this.body.addEventListener('click', (event) => this.clicked(event));
		this.detail = h('aside', {
			class: 'detail',
			id: 'site-detail',
			'aria-live': 'polite',
		});
		fill(
			this.root,
			h('div', { class: 'toolbar' }, this.search, this.found),
			h(
				'div',
				{ class: 'split' },
				h('div', { class: 'table' }, this.header, this.scroller),
				this.detail,
			),
		);
		this.buildHeader();
		this.virtual = new Virtualizer({
			count: 0,
			getScrollElement: () => this.scroller,
			estimateSize: () => ROW,
			overscan: 10,
			scrollToFn: elementScroll,
			observeElementRect,
			observeElementOffset,
			onChange: () => this.paint(),
		});
		this.virtual._didMount();
	}

	buildHeader() {
		const head = (column) =>
			h('button', {
				type: 'button',
				role: 'columnheader',
				'data-sort': column.key,
				'aria-sort':
					column.key !== this.sort.key
						? 'none'
						: this.sort.down
							? 'descending'
							: 'ascending',
				text: column.name,
				onclick: () => this.sortBy(column.key),
			});

		this.header.parentElement.style.setProperty('--columns', this.columns.length);
		fill(
			this.header,
			head({ key: 'function', name: 'Function' }),
			this.columns.map(head),
		);
	}

	/* --- which rows, in which order ----------------------------------------------------- */

	show() {
		this.visible = true;
		this.virtual._willUpdate();
		this.settle(this.looked);
		this.describe(); /* the theme may have changed meanwhile */
	}

	hide() {
		this.looked = this.position();
		this.visible = false;
	}

	/* --- other data have come ------------------------------------------------------------- */

	/* The row that is selected, and what is in sight. */
	position() {
		return { row: this.row, top: this.scroller.scrollTop };
	}

	state() {
		return {
			id: this.selected >= 0 ? this.app.model.sites.id[this.selected] : null,
			detailTop: this.detail.scrollTop,
		};
	}

	restore({ id, detailTop }) {
		const columns = this.columnsKnown();
		const isOther = columns.length !== this.columns.length;
		const selected = this.app.model.bySiteId.get(id) ?? -1;

		this.columns = columns;
		this.selected = selected;
		if (isOther) this.buildHeader();
		if (!this.visible) return;
		this.settle(this.position());
		this.detail.setAttribute('aria-live', 'off');
		this.describe(this.selected === selected ? this.plot : null);
		this.detail.scrollTop = detailTop;
	}

	/*
	 * What was in sight is so again: the selected row where it was. Without one, and at the
	 * top, where the first ones are looked at, the table stays where it is.
	 */
	settle({ row, top }) {
		const at = row * ROW - top;
		const lowest = this.scroller.clientHeight - ROW;
		const isInSight = row >= 0 && at >= 0 && at <= lowest;
		const { selected } = this;

		this.refresh();
		this.scroller.scrollTop =
			isInSight && top > 0 && this.selected === selected
				? this.row * ROW - at
				: top;
		/* A table that was hidden is told nothing when it is scrolled again. */
		this.scroller.dispatchEvent(new Event('scroll'));
	}

	figures(column) {
		const { model } = this.app;

		return column.column
			? Float64Array.from(model.sites[column.column])
			: model.values(model.metric(column.key), this.app.moment);
	}

	refresh() {
		if (!this.visible) return;
		const words = wordsOf(this.search.value);
		const { model } = this.app;
		const all = format.some(model.siteCount, 'site');
		const match = words.length ? model.matchSites(words) : null;

		this.values = this.columns.map((column) => this.figures(column));
		this.total = this.values[0].reduce((sum, value) => sum + value, 0);
		this.order = [];
		for (let site = 0; site < model.siteCount; site++) {
			if (!match || match[site]) this.order.push(site);
		}
		this.found.textContent = match
			? `${format.exact(this.order.length)} of ${all}`
			: all;
		this.arrange();
	}

	arrange() {
		const { key, down } = this.sort;
		const column = this.columns.findIndex((c) => c.key === key);
		const { model } = this.app;
		const sign = down ? -1 : 1;

		if (column >= 0) {
			const values = this.values[column];

			this.order.sort((a, b) => sign * (values[a] - values[b]) || a - b);
		} else {
			const titles = Array.from(
				{ length: model.siteCount },
				(_, site) => model.caller(site).title,
			);

			this.order.sort(
				(a, b) =>
					sign *
						(titles[a] < titles[b]
							? -1
							: titles[a] > titles[b]
								? 1
								: 0) || a - b,
			);
		}
		this.virtual.setOptions({ ...this.virtual.options, count: this.order.length });
		this.scroller.setAttribute('aria-rowcount', this.order.length);
		this.virtual.measure();
		this.virtual._willUpdate();
		this.row = this.order.indexOf(this.selected);
		if (this.row < 0) this.choose(this.order.length ? 0 : -1);
		else this.paint();
	}

	sortBy(key) {
		this.sort = {
			key,
			down: this.sort.key === key ? !this.sort.down : key !== 'function',
		};
		this.buildHeader();
		this.arrange();
		this.scroller.scrollTop = 0;
		this.header.querySelector(`[data-sort="${key}"]`).focus();
	}

	/* --- rows -------------------------------------------------------------------------- */

	paint() {
		if (!this.visible || !this.order) return;
		this.body.style.height = `${this.virtual.getTotalSize()}px`;
		const scrollbar = this.scroller.offsetWidth - this.scroller.clientWidth;

		this.header.style.paddingRight = `${10 + scrollbar}px`;
		fill(
			this.body,
			this.virtual.getVirtualItems().map((item) => this.rowOf(item)),
			this.order.length
				? []
				: h('p', { class: 'empty', text: 'No site matches.' }),
		);
	}

	rowOf(item) {
		const site = this.order[item.index];
		const frame = this.app.model.caller(site);
		const cells = this.columns.map((column, i) =>
			this.cell(column, this.values[i][site]),
		);

		return h(
			'div',
			{
				class: 'row' + (site === this.selected ? ' selected' : ''),
				role: 'row',
				'data-row': item.index,
				'aria-rowindex': item.index + 1,
				'aria-selected': site === this.selected ? 'true' : 'false',
				style: { transform: `translateY(${item.start}px)` },
			},
			h(
				'div',
				{ class: 'cell name', role: 'gridcell', title: frame.title },
				h('span', { class: 'function', text: frame.title }),
				h('span', { class: 'muted', text: where(frame) }),
			),
			cells,
		);
	}

	cell(column, value) {
		const cell = h('div', {
			class: 'cell number' + (value ? '' : ' zero'),
			role: 'gridcell',
			text: column.show(value),
		});

		if (column.share && this.total > 0)
			cell.style.setProperty('--share', `${(100 * value) / this.total}%`);
		cell.classList.toggle('bar', Boolean(column.share));
		return cell;
	}

	/* --- selecting ---------------------------------------------------------------------- */

	clicked(event) {
		const row = event.target.closest('[data-row]');

		if (row) this.choose(Number(row.dataset.row));
	}

	choose(row) {
		this.row = row;
		this.selected = row >= 0 ? this.order[row] : -1;
		this.detail.setAttribute('aria-live', 'polite');
		if (row >= 0) this.virtual.scrollToIndex(row);
		this.paint();
		this.describe();
	}

	/* A site that another view names. */
	showSite(site) {
		this.search.value = '';
		this.selected = site;
		this.app.showView('sites');
		this.choose(this.order.indexOf(site));
		this.scroller.focus();
	}

	key(event) {
		const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 1);
		const last = this.order.length - 1;
		const rows = {
			ArrowDown: this.row + 1,
			ArrowUp: this.row - 1,
			PageDown: this.row + page,
			PageUp: this.row - page,
			Home: 0,
			End: last,
		};

		if (!(event.key in rows) || last < 0) return;
		this.choose(Math.min(last, Math.max(0, rows[event.key])));
		event.preventDefault();
	}

	/* kept: a chart that goes on. */
	describe(kept) {
		const site = this.selected;

		if (site < 0) {
			fill(this.detail);
			return;
		}
		const { model } = this.app;
		const history = kept?.root.parentElement ?? h('div', { class: 'history' });

		fill(
			this.detail,
			h('h2', { text: model.caller(site).title }),
			facts(siteFacts(model, site)),
			history,
			h('h3', { text: 'Stack, innermost first' }),
			stackList(model.stack(site)),
			model.sites.cut[site]
				? h('p', {
						class: 'muted',
						text: 'The stack is not known further out.',
					})
				: null,
		);
		if (kept) renew([kept], [model.historyOf(site)]);
		else if (model.moments.length > 2) this.drawHistory(history, site);
	}

	drawHistory(parent, site) {
		this.plot?.destroy();
		this.plot = chart(parent, {
			title: 'Live bytes of this site',
			height: 130,
			data: this.app.model.historyOf(site),
			show: bytes,
			series: [{ label: 'live', color: '--series-1', fill: '--series-1-fill' }],
			marks: () => this.app.markedTime(),
			onmark: (seconds) => this.app.chooseTime(seconds),
		});
	}
}

export function where(frame) {
	if (frame.file)
		return `${format.baseName(frame.file)}${frame.line ? `:${frame.line}` : ''}`;
	return format.baseName(frame.module);
}

function siteFacts(model, site) {
	const s = (column) => model.sites[column][site];
	const lived = s('lifetime_max') > 0;
	const range = (key, show) => {
		const text = format.interval(s(`${key}_low`), s(`${key}_high`), show);

		return text && ` (${text})`;
	};

	return [
		[
			'Live',
			`${bytes(s('live_bytes'))}` +
				range('live_bytes') +
				` in ${format.some(s('live_count'), 'block')}` +
				range('live_count', count),
		],
		[
			'Allocated',
			`${bytes(s('alloc_bytes'))}` +
				range('alloc_bytes') +
				` in ${format.some(s('alloc_count'), 'call')}` +
				range('alloc_count', count),
		],
		['Freed', format.some(s('free_count'), 'block') + range('free_count', count)],
		['Most at once', bytes(s('peak_live_bytes')) + range('peak_live_bytes')],
		[
			'Lived',
			lived
				? `half within ${format.seconds(s('lifetime_p50'))}, 90 % within ` +
					`${format.seconds(s('lifetime_p90'))}, longest ` +
					`${format.seconds(s('lifetime_max'))}`
				: null,
		],
		['Threads', format.exact(s('threads'))],
		['Verdict', s('verdict')],
		['Kind', KINDS[s('kind')] ?? ''],
		['Site', `${s('id')}, ${format.some(s('samples'), 'sample')}`],
	];
}

export function stackList(frames) {
	return h(
		'ol',
		{ class: 'stack' },
		frames.map((frame) =>
			h(
				'li',
				null,
				h(
					'div',
					{ class: 'function' },
					frame.title,
					frame.inlined
						? h('span', { class: 'badge', text: 'inlined' })
						: null,
				),
				h('div', { class: 'place', text: placeOf(frame) }),
			),
		),
	);
}

function placeOf(frame) {
	const module = `${frame.module || 'no module'}+0x${frame.offset.toString(16)}`;

	return frame.file
		? `${frame.file}:${frame.line}` +
				(frame.column ? `:${frame.column}` : '') +
				` · ${format.baseName(module)}`
		: module;
}
