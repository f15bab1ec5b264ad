/* SPDX-License-Identifier: MIT */
/* What is lost and what is suspect, who holds it, and frees that were wrong. */
import { h, fill, facts } from './dom.js';
import * as format from './format.js';
import { stackList } from './sites.js';

const bytes = format.bytes;
const UNSEARCHED =
	'Memory was not searched: these blocks were allocated while it was watched ' +
	'and not freed, which is no proof that they are lost.';
const SUMS = [
	['definitely_lost', 'Definitely lost'],
	['indirectly_lost', 'Indirectly lost'],
	['possibly_lost', 'Possibly lost'],
	['still_reachable', 'Still reachable'],
	['suppressed', 'Suppressed'],
];

/* As frame_json.c has it. */
function frameOf(frame) {
	return {
		title:
			frame.function ??
			`${format.baseName(frame.module ?? '')}+0x` +
				(frame.offset ?? 0).toString(16),
		file: frame.file,
		line: frame.line ?? 0,
		column: frame.column ?? 0,
		module: frame.module ?? '',
		offset: frame.offset ?? 0,
		inlined: frame.inlined,
	};
}

export class Leaks {
	constructor(app, root) {
		this.app = app;
		this.root = root;
		this.draw();
	}

	draw() {
		const { leaks, wrong_frees: wrong } = this.app.model.document;

		fill(
			this.root,
			this.sums(leaks),
			h(
				'section',
				{ class: 'panel' },
				h('h2', { text: 'Groups' }),
				this.explain(leaks),
				h(
					'div',
					{ id: 'leak-groups' },
					this.app.model.leakGroups.map((group) => this.group(group)),
				),
			),
			wrong?.length
				? h(
						'section',
						{ class: 'panel' },
						h('h2', { text: 'Wrong frees' }),
						wrong.map((free) => this.wrong(free)),
					)
				: null,
		);
	}

	show() {}
	hide() {}
	refresh() {}

	/* Which are open. */
	state() {
		return Array.from(
			this.root.querySelectorAll('details[open]'),
			(details) => details.dataset.name,
		);
	}

	restore(open) {
		this.draw();
		this.root.querySelectorAll('details').forEach((details) => {
			details.open = open.includes(details.dataset.name);
		});
	}

	sums(leaks) {
		const known = SUMS.filter(([key]) => leaks?.[key]);

		return known.length
			? h(
					'div',
					{ class: 'cards' },
					known.map(([key, name]) =>
						h(
							'div',
							{ class: 'card' },
							h('div', {
								class: 'card-name',
								text: name,
							}),
							h('div', {
								class: 'card-value',
								text: format.bytes(
									leaks[key].bytes,
								),
							}),
							h('div', {
								class: 'muted',
								text: format.some(
									leaks[key].count,
									'block',
								),
							}),
						),
					),
				)
			: null;
	}

	explain(leaks) {
		const empty = this.app.model.leakGroups.length === 0;
		const text = !leaks
			? 'Nobody looked for leaks: record with --leaks.'
			: leaks.definitely_lost === null
				? UNSEARCHED
				: empty
					? 'Nothing is lost and nothing is suspect.'
					: '';
		const said = this.app.model.missingOfMoment('Leaks') ?? text;

		return said ? h('p', { class: 'hint', text: said }) : null;
	}

	group(group) {
		const site = this.app.model.bySiteId.get(group.site);
		const title =
			group.type ??
			(site === undefined
				? 'allocated before the attach'
				: this.app.model.caller(site).title);

		return h(
			'details',
			{ class: `leak ${group.verdict}`, 'data-name': nameOf(group) },
			h(
				'summary',
				null,
				h('span', { class: 'badge', text: group.verdict }),
				h('strong', { text: format.bytes(group.bytes) }),
				h('span', { class: 'muted', text: blocksOf(group) }),
				h('span', { class: 'function', text: title }),
			),
			group.held_by
				? h(
						'p',
						{ class: 'held' },
						h('span', { class: 'muted', text: 'held by ' }),
						h('code', { text: group.held_by }),
					)
				: null,
			facts(groupFacts(group)),
			site === undefined ? null : this.siteOf(group, site),
		);
	}

	siteOf(group, site) {
		return h(
			'div',
			null,
			h('h3', {
				text: group.isLikely
					? 'Probably allocated here'
					: 'Allocated here, innermost first',
			}),
			stackList(this.app.model.stack(site)),
			h('button', {
				type: 'button',
				text: 'Show the site',
				onclick: () => this.app.showSite(site),
			}),
		);
	}

	wrong(free) {
		const call = (name, of) =>
			of
				? h(
						'div',
						null,
						h('h3', {
							text: `${name}, ${format.seconds(of.time)}`,
						}),
						stackList(of.frames.map(frameOf)),
					)
				: null;

		return h(
			'details',
			{
				class: 'leak definitely-lost',
				'data-name': `${free.call} ${free.address}`,
			},
			h(
				'summary',
				null,
				h('span', { class: 'badge', text: `${free.kind} free` }),
				h('strong', { text: `${format.exact(free.count)} ×` }),
				h('span', {
					class: 'function',
					text: `${free.call}(${free.address}): ` + free.reason,
				}),
			),
			call('Freed', free.freed),
			call('Freed first', free.freed_first),
			call('Allocated', free.allocated),
		);
	}
}

/* The same in later data. */
function nameOf({ verdict, site, type, variable, held_by: holder }) {
	return [verdict, site, type, variable, holder].join('\n');
}

function blocksOf(group) {
	const indirect = bytes(group.indirect_bytes ?? 0);

	return (
		format.some(group.count, 'block') +
		(group.indirect_bytes ? `, and ${indirect} lost with them` : '')
	);
}

function groupFacts(group) {
	return [
		['Variable', group.variable],
		['Size', group.size ? `${format.exact(group.size)} B each` : null],
		[
			'Lost with them',
			group.indirect_count
				? `${format.bytes(group.indirect_bytes)} in ` +
					format.some(group.indirect_count, 'block')
				: null,
		],
		['Last held by', group.last_held_by],
		[
			'Growth',
			group.growth_per_hour
				? `${format.bytes(group.growth_per_hour)} an hour`
				: null,
		],
		[
			'Oldest',
			group.oldest_seconds ? `${format.seconds(group.oldest_seconds)} ago` : null,
		],
		['Examples', (group.addresses ?? []).join(' ')],
	];
}
