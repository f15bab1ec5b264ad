/* SPDX-License-Identifier: MIT */
/* The process as a whole: figures, what could have changed them, memory over time. */
import { h, fill, facts } from './dom.js';
import * as format from './format.js';
import { where } from './sites.js';
import { Timeline } from './timeline.js';

const bytes = format.bytes,
	count = format.count;
const TOP = 8;
const HINT =
	'Drag to zoom, double-click for all; a click chooses the moment that ' +
	'flame graph and sites show.';

/* Losses stand next to the figures that they could have changed. */
function doubts({ document: { session, totals }, cut }) {
	const { lost } = session;
	const { double_free_count: doubles, illegal_free_count: illegals } = totals;
	const some = format.some;
	const said = [];

	if (lost.alloc || lost.free || lost.map)
		said.push(
			`${some(lost.alloc, 'allocation')} (${bytes(lost.alloc_bytes)}), ` +
				`${some(lost.free, 'free')} and ${some(lost.map, 'mapping')} ` +
				'were lost: there was no room for them.',
		);
	if (lost.stack) said.push(`${some(lost.stack, 'stack')} lost.`);
	if (lost.gaps)
		said.push(
			`Recording was interrupted ${some(lost.gaps, 'time')}, for ` +
				`${format.seconds(lost.gap_seconds)}.`,
		);
	if (doubles || illegals)
		said.push(
			`${some(doubles, 'double free')} and ` +
				`${some(illegals, 'illegal free')}: see Leaks.`,
		);
	if (cut) said.push('More call paths than this page holds: some stacks are cut.');
	return said;
}

export class Overview {
	constructor(app, root) {
		this.app = app;
		this.charts = h('div', { class: 'charts', id: 'timeline' });
		this.cards = h('div', { class: 'cards', id: 'cards' });
		this.warnings = h('div');
		this.top = h('tbody');
		this.facts = h('div');
		this.timeline = null;
		fill(
			root,
			this.cards,
			this.warnings,
			h(
				'section',
				{ class: 'panel' },
				this.charts,
				h('p', {
					class: 'hint',
					text: HINT,
				}),
			),
			h(
				'section',
				{ class: 'panel' },
				h(
					'div',
					{ class: 'toolbar' },
					h('h2', { text: 'Top sites' }),
					app.metricPicker('overview'),
				),
				h('table', { class: 'plain', id: 'top-sites' }, this.top),
			),
			h(
				'section',
				{ class: 'panel' },
				h('h2', { text: 'Program and session' }),
				this.facts,
			),
		);
		this.draw();
	}

	/* What does not depend on metric and moment. */
	draw() {
		fill(this.cards, this.cardsOf());
		fill(this.warnings, this.warning());
		fill(this.facts, facts(this.sessionFacts()));
	}

	cardsOf() {
		const { totals: t, target, timeline } = this.app.model.document;
		const peakRss = timeline.reduce((most, p) => Math.max(most, p.rss_bytes), 0);
		const within = (key) => format.interval(t[`${key}_low`], t[`${key}_high`]);
		const noted = (...parts) => parts.filter(Boolean).join(' · ');
		const cards = [
			[
				'Live',
				bytes(t.live_bytes),
				noted(
					format.some(t.live_count, 'block'),
					within('live_bytes') || 'exact',
				),
			],
			[
				'Peak',
				bytes(t.peak_live_bytes),
				noted('live at once', within('peak_live_bytes')),
			],
			[
				'Allocated',
				bytes(t.alloc_bytes),
				noted(
					`${format.some(t.alloc_count, 'call')}, ` +
						`${bytes(t.alloc_bytes_avg)} on average`,
					within('alloc_bytes'),
				),
			],
			[
				'Freed',
				bytes(t.free_bytes),
				noted(format.some(t.free_count, 'block'), within('free_bytes')),
			],
			target.rss_bytes
				? ['RSS', bytes(target.rss_bytes), `at most ${bytes(peakRss)}`]
				: ['RSS', bytes(peakRss), 'at the most'],
		];

		if (t.temporary_count !== null)
			cards.push([
				'Temporary',
				count(t.temporary_count),
				`${format.share(t.temporary_count, t.alloc_count)} of allocations`,
			]);
		if (this.app.model.leakGroups.length)
			cards.push([
				this.app.model.leaksName,
				bytes(
					this.app.model.leakGroups.reduce(
						(sum, group) => sum + group.bytes,
						0,
					),
				),
				format.some(this.app.model.leakGroups.length, 'group'),
			]);
		return cards.map(([name, value, note]) =>
			h(
				'div',
				{ class: 'card' },
				h('div', { class: 'card-name', text: name }),
				h('div', { class: 'card-value', text: value }),
				h('div', { class: 'muted', text: note }),
			),
		);
	}

	warning() {
		const said = doubts(this.app.model);
		const lines = said.map((text) => h('p', { text }));

		return said.length ? h('div', { class: 'warning', role: 'note' }, lines) : null;
	}

	sessionFacts() {
		const { target, session, totals, map_totals: maps } = this.app.model.document;
		const allocators = target.allocators.map((a) =>
			`${a.name} ${a.version ?? ''}`.trim(),
		);

		return [
			['Command', target.cmdline],
			['Program', target.exe],
			['Process', `${target.pid}, ${format.some(target.threads, 'thread')}`],
			['Allocators', allocators.join(', ')],
			['Begin', new Date(session.begin_time * 1000).toLocaleString()],
			['Watched', format.seconds(session.duration)],
			[
				'Mode',
				session.mode +
					(session.sample_interval_bytes
						? `, one in ${bytes(session.sample_interval_bytes)}`
						: ''),
			],
			['Samples', format.exact(session.samples)],
			[
				'Cost',
				session.overhead_percent === null
					? null
					: `${session.overhead_percent.toFixed(2)} % of its time`,
			],
			['Longest stop', `${format.exact(session.attach_stop_us_max)} µs`],
			[
				'Allocator overhead',
				totals.overhead_bytes
					? `${bytes(totals.overhead_bytes)} beyond the requests`
					: null,
			],
			[
				'Mappings',
				`${bytes(maps.live_bytes)} live, of which allocators hold ` +
					bytes(maps.allocator_live_bytes),
			],
			['Left', session.detached],
			['Recorded by', `memattach ${session.version}`],
		];
	}

	show() {
		this.visible = true;
		this.refresh();
		if (!this.timeline) {
			this.timeline = new Timeline(this.app, this.charts);
			this.timeline.draw();
		} else {
			this.timeline.take();
		}
	}

	/* Other data have come. */
	restore() {
		this.draw();
		if (!this.visible) return;
		this.timeline.take();
		this.refresh();
	}

	hide() {
		this.visible = false;
	}

	refresh() {
		if (!this.visible) return;
		const values = this.app.values();
		const total = values.reduce((sum, value) => sum + value, 0);
		const sites = Array.from(values.keys())
			.filter((site) => values[site] > 0)
			.sort((a, b) => values[b] - values[a])
			.slice(0, TOP);

		fill(
			this.top,
			sites.map((site) => this.row(site, values[site], total)),
		);
		this.timeline?.redraw();
	}

	row(site, value, total) {
		const { model, metric } = this.app;
		const frame = model.caller(site);

		return h(
			'tr',
			null,
			h('td', { class: 'number', text: format.figure(value, metric.bytes) }),
			h('td', { class: 'number muted', text: format.share(value, total) }),
			h(
				'td',
				null,
				h('button', {
					type: 'button',
					class: 'link',
					text: frame.title,
					onclick: () => this.app.showSite(site),
				}),
				h('span', { class: 'muted', text: ` ${where(frame)}` }),
			),
		);
	}

	theme() {
		this.timeline?.draw();
	}
}
