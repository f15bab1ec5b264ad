/* SPDX-License-Identifier: MIT */
/*
 * The flame graph. d3-flame-graph draws; it is given only what is wide enough to be seen, with the
 * focus over the whole width, because its own zoom and search walk all of a tree for each click.
 */
import flamegraph from 'd3-flame-graph';
import { select } from 'd3-selection';
import { h, fill, settled } from './dom.js';
import * as format from './format.js';
import { wordsOf } from './model.js';
import { CallTree } from './tree.js';

const ROW = 20;
const NARROWEST = 0.8; /* pixels of a frame that is drawn */
const DEEPEST = 250; /* rows below the focus */

function hashOf(text) {
	let hash = 2166136261;

	for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
	return hash >>> 0;
}

export class Flame {
	/* app: state and what is shared; see main.js */
	constructor(app, root) {
		this.app = app;
		this.focus = 0;
		this.selected = 0;
		this.kept = { focus: { names: [] }, selected: { names: [] } };
		this.match = null;
		this.hues = new Map();
		this.root = root;
		this.build();
		new ResizeObserver(settled(() => this.resized(), 60)).observe(this.stage);
	}

	build() {
		this.search = h('input', {
			type: 'search',
			id: 'flame-search',
			class: 'search',
			placeholder: 'Search functions, files, modules',
			'aria-label': 'Search frames',
			oninput: settled(() => this.find(this.search.value), 120),
		});
		this.found = h('output', { class: 'muted', id: 'flame-found' });
		this.back = h('button', {
			type: 'button',
			id: 'flame-reset',
			text: 'Zoom out',
			onclick: () => this.zoom(0),
		});
		this.stage = h('div', {
			class: 'flame',
			id: 'flame-stage',
			tabindex: 0,
			role: 'tree',
			'aria-label': 'Flame graph: arrows move, Enter zooms, Escape zooms out',
		});
		this.details = h('div', {
			class: 'flame-details',
			id: 'flame-details',
			'aria-live': 'polite',
		});
		/* Ours instead of d3-flame-graph's, which binds to each frame. */
		this.stage.addEventListener('click', (event) => this.clicked(event), true);
		this.stage.addEventListener('mouseover', (event) => this.hovered(event));
		this.stage.addEventListener('mouseleave', () => this.describe(this.selected));
		this.stage.addEventListener('keydown', (event) => this.key(event));
		fill(
			this.root,
			h(
				'div',
				{ class: 'toolbar' },
				this.app.metricPicker('flame'),
				this.search,
				this.found,
				h('span', { class: 'grow' }),
				this.back,
			),
			this.details,
			this.stage,
		);
	}

	show() {
		this.visible = true;
		if (!this.tree) this.grow();
		this.refresh();
	}

	/* A tree of the present data, zoomed as the last one was. */
	grow() {
		this.tree = new CallTree(this.app.model);
		this.focus = this.tree.find(this.kept.focus);
		this.selected = this.tree.find(this.kept.selected);
	}

	/* What is looked at. */
	state() {
		if (!this.tree) return this.kept;
		return {
			focus: this.tree.place(this.focus),
			selected: this.tree.place(this.selected),
		};
	}

	/* Other data have come. */
	restore(state) {
		this.kept = state;
		this.tree = null;
		if (!this.visible) return;
		this.grow();
		const { selected } = this;

		this.details.setAttribute('aria-live', 'off');
		this.refresh();
		if (this.tree.total[selected] > 0) this.select(selected, false);
	}

	hide() {
		this.visible = false;
	}

	/* Its height follows what is drawn. */
	resized() {
		if (this.visible && this.stage.clientWidth !== this.width) this.draw();
	}

	/* The metric or the moment changed. */
	refresh() {
		if (!this.visible) return;
		this.tree.weigh(this.app.values());
		while (this.focus && this.tree.total[this.focus] === 0)
			this.focus = this.tree.parent[this.focus];
		this.selected = this.focus;
		this.find(this.search.value);
	}

	/* --- drawing ------------------------------------------------------------------- */

	/* For d3-flame-graph: ancestors, each with one child, the focus and what is below. */
	data() {
		const path = this.tree.path(this.focus);
		const value = this.tree.total[this.focus];
		let below = this.below(this.focus, (value * NARROWEST) / this.width, DEEPEST);

		for (const at of path.slice(1))
			below = {
				at,
				name: this.tree.name(at),
				value,
				fade: true,
				children: [below],
			};
		return below;
	}

	below(at, least, rows) {
		const children = rows > 0 ? this.tree.children(at, least) : [];

		return {
			at,
			name: this.tree.name(at),
			value: this.tree.total[at],
			children: children.map((child) => this.below(child, least, rows - 1)),
		};
	}

	draw() {
		this.width = Math.max(200, this.stage.clientWidth);
		if (this.tree.total[0] === 0) {
			fill(
				this.stage,
				h('p', { class: 'empty', text: 'Nothing of this kind here.' }),
			);
			this.describe(0);
			return;
		}
		this.stage.replaceChildren();
		this.chart = flamegraph()
			.width(this.width)
			.cellHeight(ROW)
			.inverted(true)
			.transitionDuration(0)
			.setColorMapper((d) => this.color(d.data.at))
			.setLabelHandler((d) => this.label(d.data.at));
		select(this.stage).datum(this.data()).call(this.chart);
		this.frames = new Map();
		for (const g of this.stage.querySelectorAll('g.frame')) {
			const at = g.__data__.data.at;

			g.setAttribute('role', 'treeitem');
			g.dataset.node = at;
			g.classList.toggle('match', this.isMatch(at));
			this.frames.set(at, g);
		}
		this.stage.classList.toggle('searching', this.match !== null);
		this.back.disabled = this.focus === 0;
		this.select(this.selected, false);
	}

	isMatch(at) {
		return this.match !== null && at !== 0 && this.match[this.tree.fn[at]] === 1;
	}

	/* Modules in the order in which they are met, a golden angle apart. */
	hueOf(module) {
		if (!this.hues.has(module))
			this.hues.set(module, (28 + this.hues.size * 137.5) % 360);
		return this.hues.get(module);
	}

	/* By module: a library is one colour; a function varies it a little. */
	color(at) {
		if (at === 0) return 'var(--flame-root)';
		if (this.isMatch(at)) return 'var(--match)';
		const fn = this.tree.fn[at];
		const hue = this.hueOf(this.app.model.module(fn));
		const shade = hashOf(this.app.model.title(fn)) % 12;

		return `hsl(${hue} var(--flame-s) calc(var(--flame-l) + ${shade - 6}%))`;
	}

	label(at) {
		const value = this.tree.total[at];
		const { bytes } = this.app.metric;

		return (
			`${this.tree.name(at)}\n${format.figure(value, bytes)} (` +
			`${format.share(value, this.tree.total[0])})`
		);
	}

	describe(at) {
		const { tree, app } = this;
		const show = (figure) => format.figure(figure, app.metric.bytes);
		const value = tree.total[at];
		const fn = tree.fn[at];
		const where =
			at === 0
				? ''
				: (app.model.file(fn) ?? format.baseName(app.model.module(fn)));

		fill(
			this.details,
			h('strong', { text: tree.name(at) }),
			h('span', {
				text: `${show(value)} ${app.metric.name}`,
			}),
			h('span', { text: `${format.share(value, tree.total[0])} of all` }),
			tree.self[at] > 0 && at !== 0
				? h('span', {
						text: `${show(tree.self[at])} itself`,
					})
				: null,
			h('span', { class: 'muted', text: where }),
			at === 0
				? null
				: h('button', {
						type: 'button',
						class: 'link',
						text: 'its sites',
						onclick: () => app.showSitesOf(tree.name(at)),
					}),
		);
	}

	/* --- what users do ---------------------------------------------------------------- */

	frameOf(event) {
		return event.target.closest?.('g.frame')?.__data__.data.at;
	}

	clicked(event) {
		const at = this.frameOf(event);

		event.stopPropagation();
		if (at !== undefined) this.zoom(at);
		this.stage.focus({ preventScroll: true });
	}

	hovered(event) {
		const at = this.frameOf(event);

		if (at !== undefined) this.describe(at);
	}

	zoom(at) {
		this.details.setAttribute('aria-live', 'polite');
		this.focus = at;
		this.selected = at;
		this.draw();
	}

	select(at, scroll = true) {
		this.frames?.get(this.selected)?.classList.remove('selected');
		this.selected = at;
		const g = this.frames?.get(at);

		g?.classList.add('selected');
		if (scroll) g?.scrollIntoView({ block: 'nearest' });
		this.describe(at);
	}

	/* Of the frames that are drawn. */
	sibling(step) {
		if (this.selected === 0) return undefined;
		const shown = this.tree
			.children(this.tree.parent[this.selected], 0)
			.filter((at) => this.frames.has(at));

		return shown[shown.indexOf(this.selected) + step];
	}

	key(event) {
		const { tree } = this;
		const moves = {
			ArrowDown: () =>
				tree.children(this.selected, 0).find((at) => this.frames.has(at)),
			ArrowUp: () => (this.selected ? tree.parent[this.selected] : undefined),
			ArrowLeft: () => this.sibling(-1),
			ArrowRight: () => this.sibling(1),
			Home: () => this.focus,
		};

		if (event.key in moves) {
			const at = moves[event.key]();

			this.details.setAttribute('aria-live', 'polite');
			if (at !== undefined) this.select(at);
		} else if (event.key === 'Enter') {
			this.zoom(this.selected);
		} else if (event.key === 'Escape' || event.key === 'Backspace') {
			this.zoom(event.key === 'Escape' ? 0 : tree.parent[this.focus]);
		} else {
			return;
		}
		event.preventDefault();
	}

	find(text) {
		const words = wordsOf(text);

		this.match = words.length ? this.app.model.matchFunctions(words) : null;
		this.found.textContent = '';
		if (this.match) {
			const { sum, frames } = this.tree.matched(this.match);

			this.found.textContent =
				frames === 0
					? 'no frame matches'
					: `${format.exact(frames)} frames, ` +
						`${format.figure(sum, this.app.metric.bytes)} ` +
						`(${format.share(sum, this.tree.total[0])})`;
		}
		this.draw();
	}
}
