/* SPDX-License-Identifier: MIT */
/*
 * Memory over time: two charts by uPlot with one cursor and one zoom. Dragging zooms, so do + and -
 * and the arrows on a chart that has the focus; a click or Enter chooses the moment there.
 */
import uPlot from 'uplot';
import { h, fill } from './dom.js';
import * as format from './format.js';

function css(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* Round figures of bytes are powers of two. */
const BYTE_STEPS = Array.from({ length: 50 }, (_, power) => 2 ** power);

function axes(show) {
	const look = {
		stroke: css('--muted'),
		grid: { stroke: css('--grid'), width: 1 },
		ticks: { stroke: css('--grid'), width: 1 },
		font: '12px system-ui, sans-serif',
	};

	return [
		{ ...look, values: (u, splits) => splits.map((s) => format.seconds(s)) },
		{
			...look,
			size: 76,
			...(show === format.bytes ? { incrs: BYTE_STEPS } : {}),
			values: (u, splits) => splits.map(show),
		},
	];
}

/* spec: { label, color, show, fill, dash } */
function line(spec, show) {
	return {
		label: spec.label,
		stroke: css(spec.color),
		width: 1.75,
		show: spec.show ?? true,
		fill: spec.fill ? css(spec.fill) : undefined,
		dash: spec.dash,
		points: { show: false },
		value: (u, value) => (value === null ? '–' : show(value)),
	};
}

/* What all charts of this page have in common. series: specs; onmark: seconds that were chosen. */
export function chart(parent, { title, data, series, show, height, sync, marks, onmark }) {
	const plot = new uPlot(
		{
			title,
			width: Math.max(280, parent.clientWidth),
			height,
			scales: {
				x: { time: false },
				y: { range: (u, low, high) => [0, (high || 1) * 1.06] },
			},
			cursor: {
				sync: sync ? { key: sync } : undefined,
				drag: { x: true, y: false },
			},
			legend: { live: true },
			axes: axes(show),
			series: [
				{
					label: 'time',
					value: (u, value) =>
						value === null ? '–' : format.seconds(value),
				},
				...series.map((spec) => line(spec, show)),
			],
			hooks: { draw: marks ? [(u) => drawMark(u, marks())] : [] },
		},
		data,
		parent,
	);

	if (onmark) choosing(plot, onmark);
	return plot;
}

/* Other data for charts: what is shown of the time stays, all of it where it was all. */
export function renew(plots, data) {
	const { min, max } = plots[0].scales.x;
	const [time] = plots[0].data;
	const isZoomed = min > time[0] || max < time[time.length - 1];

	plots.forEach((plot, i) => {
		plot.setData(data[i], !isZoomed);
		if (isZoomed) plot.setScale('x', { min, max });
	});
}

function drawMark(u, seconds) {
	const x = u.valToPos(seconds, 'x', true);
	const { left, top, width, height } = u.bbox;

	if (seconds === null || x < left || x > left + width) return;
	u.ctx.save();
	u.ctx.strokeStyle = css('--accent');
	u.ctx.lineWidth = 2 * devicePixelRatio;
	u.ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
	u.ctx.beginPath();
	u.ctx.moveTo(x, top);
	u.ctx.lineTo(x, top + height);
	u.ctx.stroke();
	u.ctx.restore();
}

/*
 * A press and release at one place is a choice; with a way between them uPlot zooms, with a second
 * one soon after it shows all.
 */
function choosing(plot, onmark) {
	let down = null,
		choice = 0;

	plot.over.addEventListener('mousedown', (event) => {
		clearTimeout(choice);
		down = event.clientX;
	});
	plot.over.addEventListener('mouseup', (event) => {
		clearTimeout(choice);
		if (down !== null && event.detail < 2 && Math.abs(event.clientX - down) < 4)
			choice = setTimeout(onmark, 250, plot.posToVal(event.offsetX, 'x'));
		down = null;
	});
}

export class Timeline {
	constructor(app, root) {
		this.app = app;
		this.root = root;
		this.points = app.model.document.timeline;
		this.plots = [];
		root.tabIndex = 0;
		root.setAttribute('role', 'group');
		root.setAttribute(
			'aria-label',
			'Memory over time: plus and minus zoom, arrows move, ' +
				'0 shows all, Enter chooses the moment in the middle',
		);
		root.addEventListener('keydown', (event) => this.key(event));
		new ResizeObserver(() => this.resize()).observe(root);
	}

	get range() {
		const { min, max } = this.plots[0].scales.x;

		return [min, max];
	}

	get time() {
		return this.points.map((p) => p.time);
	}

	/* Other data may have come. */
	take() {
		const points = this.app.model.document.timeline;

		if (points === this.points) return;
		this.points = points;
		if (this.plots.length) renew(this.plots, this.columns());
		else this.draw();
	}

	/* Of each chart. */
	columns() {
		const { points, time } = this;
		const known = (key) => points.map((p) => p[key] || null);
		const rate = (key) =>
			points.map(
				(p, i) =>
					p[key] /
					Math.max(1e-6, p.time - (i ? points[i - 1].time : 0)),
			);

		return [
			[
				time,
				points.map((p) => p.live_bytes),
				known('rss_bytes'),
				known('vsz_bytes'),
			],
			[time, rate('alloc_count'), rate('free_count')],
		];
	}

	draw() {
		const { points } = this;
		const zoom = this.plots.length ? this.range : null;
		const [memory, calls] = this.columns();

		this.plots.forEach((plot) => plot.destroy());
		if (points.length === 0) {
			fill(
				this.root,
				h('p', { class: 'empty', text: 'No interval was recorded.' }),
			);
			return;
		}
		const shared = {
			sync: 'timeline',
			marks: () => this.app.markedTime(),
			onmark: (seconds) => this.app.chooseTime(seconds),
		};

		this.plots = [
			chart(this.root, {
				...shared,
				title: 'Memory',
				height: 260,
				show: format.bytes,
				data: memory,
				series: [
					{
						label: 'live',
						color: '--series-1',
						fill: '--series-1-fill',
					},
					{ label: 'RSS', color: '--series-2' },
					{ label: 'VSZ', color: '--series-3', show: false },
				],
			}),
			chart(this.root, {
				...shared,
				title: 'Calls per second',
				height: 190,
				show: format.count,
				data: calls,
				series: [
					{ label: 'allocations', color: '--series-1' },
					{ label: 'frees', color: '--series-4', dash: [5, 4] },
				],
			}),
		];
		if (zoom && zoom[0] !== null) this.zoom(...zoom);
	}

	resize() {
		for (const plot of this.plots) {
			const width = Math.max(280, this.root.clientWidth);

			if (width !== plot.width) plot.setSize({ width, height: plot.height });
		}
	}

	redraw() {
		this.plots.forEach((plot) => plot.redraw(false));
	}

	zoom(min, max) {
		this.plots.forEach((plot) => plot.setScale('x', { min, max }));
	}

	key(event) {
		if (!this.plots.length || event.ctrlKey || event.metaKey || event.altKey) return;
		const [min, max] = this.range;
		const middle = (min + max) / 2,
			span = max - min;
		const { time } = this;
		const all = [time[0], time[time.length - 1]];
		const clamp = (low, high) =>
			this.zoom(Math.max(all[0], low), Math.min(all[1], high));
		const keys = {
			'+': () => clamp(middle - span / 4, middle + span / 4),
			'=': () => clamp(middle - span / 4, middle + span / 4),
			'-': () => clamp(middle - span, middle + span),
			ArrowLeft: () => min > all[0] && clamp(min - span / 5, max - span / 5),
			ArrowRight: () => max < all[1] && clamp(min + span / 5, max + span / 5),
			0: () => this.zoom(...all),
			Escape: () => this.zoom(...all),
			Enter: () => this.app.chooseTime(middle),
		};

		if (!(event.key in keys)) return;
		keys[event.key]();
		event.preventDefault();
		event.stopPropagation();
	}
}
