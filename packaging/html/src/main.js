/* SPDX-License-Identifier: MIT */
/* What views share - the metric, the moment, the theme - and the keys. */
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { h, fill, keepFocus } from './dom.js';
import * as format from './format.js';
import { Flame } from './flame.js';
import { Histogram } from './histogram.js';
import { Leaks } from './leaks.js';
import { Live } from './live.js';
import { Model, block } from './model.js';
import { Overview } from './overview.js';
import { Sites } from './sites.js';
import { Threads } from './threads.js';

const VIEWS = [
	{ key: 'overview', name: 'Overview', Class: Overview },
	{ key: 'flame', name: 'Flame graph', Class: Flame },
	{ key: 'sites', name: 'Sites', Class: Sites },
	{ key: 'histogram', name: 'Histogram', Class: Histogram },
	{ key: 'leaks', name: 'Leaks', Class: Leaks },
	{ key: 'threads', name: 'Threads', Class: Threads },
];

const KEYS = [
	['1 – 6', 'views'],
	['/', 'search in this view'],
	['m', 'next figure (live, allocated, …)'],
	['[ ]', 'previous, next snapshot'],
	['t', 'dark or light'],
	['?', 'this help'],
	['arrows, Enter, Esc', 'flame graph: move, zoom, zoom out'],
	['arrows, Page, Home, End', 'sites: choose one'],
	['+ − 0, arrows, Enter', 'charts: zoom, move, choose the moment in the middle'],
];

const LIVE_KEYS = [['p', 'pause, continue']];

class App {
	constructor() {
		this.model = new Model(block('document'), block('sites'));
		this.moment = this.model.lastMoment;
		this.metric =
			this.model.metrics.find((metric) => this.holds(metric)) ??
			this.model.metrics[0];
		this.views = {};
		this.pickers = [];
		this.live = Live.of(this);
		this.buildHeader();
		this.buildViews();
		document.addEventListener('keydown', (event) => this.key(event));
		this.showView(
			VIEWS.some((view) => `#${view.key}` === location.hash)
				? location.hash.slice(1)
				: 'overview',
		);
	}

	/* Where all was freed, live bytes show nothing. */
	holds(metric) {
		return this.model.values(metric, this.moment).some((value) => value > 0);
	}

	/* --- what is shown ------------------------------------------------------------------ */

	/* The metric of each site, at the moment. */
	values() {
		return this.model.values(this.metric, this.moment);
	}

	setMetric(key) {
		this.metric = this.model.metric(key);
		this.pickers.forEach((picker) => {
			picker.value = this.metric.key;
		});
		this.refresh();
	}

	setMoment(moment) {
		this.moment = Math.max(0, Math.min(this.model.lastMoment, moment));
		this.sayMoment();
		this.refresh();
	}

	/* The nearest moment. */
	chooseTime(seconds) {
		this.setMoment(this.model.momentAt(seconds));
	}

	/* Seconds for the line in charts. */
	markedTime() {
		return this.model.moments[this.moment].time;
	}

	refresh() {
		this.views[this.view]?.refresh();
	}

	showView(key) {
		if (this.view === key) return;
		this.views[this.view]?.hide();
		this.view = key;
		for (const { key: each } of VIEWS) {
			document.getElementById(`view-${each}`).hidden = each !== key;
			this.tabs[each].setAttribute('aria-selected', each === key);
			this.tabs[each].tabIndex = each === key ? 0 : -1;
		}
		const { Class } = VIEWS.find((view) => view.key === key);

		this.views[key] ??= new Class(this, document.getElementById(`view-${key}`));
		this.views[key].show();
		history.replaceState(null, '', `#${key}`);
	}

	showSite(site) {
		this.showView('sites');
		this.views.sites.showSite(site);
		this.views.sites.refresh();
	}

	showSitesOf(name) {
		this.showView('sites');
		this.views.sites.search.value = name;
		this.views.sites.refresh();
	}

	/* --- the same process, later ---------------------------------------------------------- */

	/*
	 * report, sites: the documents as in the page. What is looked at stays; who looks at the
	 * end goes on looking at the end.
	 */
	take(report, sites) {
		const model = new Model(report, sites);
		const main = document.querySelector('main');
		const { scrollTop } = main;
		const atEnd = this.moment === this.model.lastMoment;
		const seconds = this.markedTime();
		const states = Object.values(this.views).map((view) => [view, view.state?.()]);

		this.model = model;
		this.metric = model.metric(this.metric.key);
		this.moment = atEnd ? model.lastMoment : model.momentAt(seconds);
		keepFocus(() => {
			this.fillHeader();
			states.forEach(([view, state]) => view.restore(state));
		});
		main.scrollTop = scrollTop;
	}

	/* --- header --------------------------------------------------------------------------- */

	metricPicker(id) {
		const picker = h('select', {
			id: `metric-${id}`,
			'aria-label': 'Figure',
			onchange: () => this.setMetric(picker.value),
		});

		this.pickers.push(picker);
		this.fillPicker(picker);
		return picker;
	}

	/* One that is open would close if it got new options. */
	fillPicker(picker) {
		const { metrics } = this.model;
		const known = Array.from(picker.options, (option) => option.text);

		if (metrics.map((metric) => metric.name).join() !== known.join())
			fill(
				picker,
				metrics.map(({ key, name }) =>
					h('option', { value: key, text: name }),
				),
			);
		picker.value = this.metric.key;
	}

	buildHeader() {
		this.program = h('h1');
		this.facts = h('span', { class: 'muted' });
		this.slider = h('input', {
			type: 'range',
			id: 'moment',
			min: 0,
			'aria-label': 'Snapshot',
			oninput: () => this.setMoment(Number(this.slider.value)),
		});
		this.said = h('output', { id: 'moment-text' });
		this.chooser = h('label', { class: 'moment' }, 'Snapshot', this.slider, this.said);
		this.themeButton = h('button', {
			type: 'button',
			id: 'theme',
			onclick: () => this.toggleTheme(),
		});
		fill(
			document.querySelector('header'),
			h('div', { class: 'brand' }, this.program, this.facts),
			this.chooser,
			h('span', { class: 'grow' }),
			this.live?.root ?? null,
			this.themeButton,
			h('button', {
				type: 'button',
				id: 'help-button',
				text: 'Help',
				title: 'Keys (?)',
				onclick: () => this.help(),
			}),
		);
		this.fillHeader();
		this.followTheme();
	}

	fillHeader() {
		this.program.textContent = format.baseName(this.model.document.target.exe);
		document.title = `${this.program.textContent} – memattach`;
		this.facts.textContent = this.session();
		this.slider.max = this.model.lastMoment;
		this.chooser.hidden = this.model.lastMoment === 0;
		this.pickers.forEach((picker) => this.fillPicker(picker));
		this.sayMoment();
	}

	session() {
		const { target, session } = this.model.document;
		const watched = format.seconds(session.duration);
		const all = format.seconds(session.recorded_seconds);
		const time = this.model.isMoment ? `${watched} of ${all}` : watched;

		return `pid ${target.pid} · ${session.mode} · ${time}`;
	}

	sayMoment() {
		const { time, live } = this.model.moments[this.moment];

		this.slider.value = this.moment;
		this.said.textContent =
			this.moment === this.model.lastMoment && !this.model.isMoment
				? `end, ${format.bytes(live)} live`
				: `${format.seconds(time)}, ${format.bytes(live)} live`;
	}

	buildViews() {
		const nav = document.querySelector('nav'),
			main = document.querySelector('main');

		nav.setAttribute('role', 'tablist');
		this.tabs = {};
		VIEWS.forEach(({ key, name }, index) => {
			this.tabs[key] = h('button', {
				type: 'button',
				role: 'tab',
				id: `tab-${key}`,
				'aria-controls': `view-${key}`,
				title: `Key ${index + 1}`,
				text: name,
				onclick: () => this.showView(key),
			});
			nav.append(this.tabs[key]);
			main.append(
				h('section', {
					id: `view-${key}`,
					class: 'view',
					role: 'tabpanel',
					'aria-labelledby': `tab-${key}`,
					hidden: true,
				}),
			);
		});
		nav.addEventListener('keydown', (event) => this.tabKey(event));
	}

	tabKey(event) {
		const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];

		if (!step) return;
		const at = VIEWS.findIndex(({ key }) => key === this.view);
		const { key } = VIEWS[(at + step + VIEWS.length) % VIEWS.length];

		this.showView(key);
		this.tabs[key].focus();
		event.preventDefault();
	}

	/* --- theme ---------------------------------------------------------------------- */

	followTheme() {
		const dark = matchMedia('(prefers-color-scheme: dark)');

		this.setTheme(dark.matches ? 'dark' : 'light');
		dark.addEventListener('change', () =>
			this.setTheme(dark.matches ? 'dark' : 'light'),
		);
	}

	toggleTheme() {
		this.setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
	}

	setTheme(theme) {
		document.documentElement.dataset.theme = theme;
		this.themeButton.textContent = theme === 'dark' ? 'Light' : 'Dark';
		this.views.overview?.theme();
		if (this.view === 'sites') this.views.sites.describe();
	}

	/* --- keys ---------------------------------------------------------------------- */

	help() {
		const licences = document.getElementById('licences').textContent.trim();
		const dialog = h(
			'dialog',
			{ id: 'help' },
			h('h2', { text: 'Keys' }),
			h(
				'dl',
				{ class: 'facts' },
				[...KEYS, ...(this.live ? LIVE_KEYS : [])].map(([key, text]) =>
					h(
						'div',
						null,
						h('dt', null, h('kbd', { text: key })),
						h('dd', { text }),
					),
				),
			),
			h(
				'details',
				null,
				h('summary', { text: 'Licences' }),
				h('pre', { text: licences }),
			),
			h('button', {
				type: 'button',
				text: 'Close',
				onclick: () => dialog.close(),
			}),
		);

		dialog.addEventListener('close', () => dialog.remove());
		document.body.append(dialog);
		dialog.showModal();
	}

	key(event) {
		const typing = event.target.closest?.('input[type=search], select, dialog');

		if (
			event.target.matches?.('input[type=search]') &&
			(event.key === 'Escape' || event.key === 'Enter')
		) {
			this.leaveSearch(event);
			return;
		}
		if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
		const metrics = this.model.metrics;
		const keys = {
			'/': () => this.searchField()?.focus(),
			m: () =>
				this.setMetric(
					metrics[(metrics.indexOf(this.metric) + 1) % metrics.length]
						.key,
				),
			'[': () => this.setMoment(this.moment - 1),
			']': () => this.setMoment(this.moment + 1),
			t: () => this.toggleTheme(),
			'?': () => this.help(),
			...(this.live ? { p: () => this.live.button.click() } : {}),
		};

		VIEWS.forEach(({ key }, index) => {
			keys[index + 1] = () => this.showView(key);
		});
		if (!(event.key in keys)) return;
		keys[event.key]();
		event.preventDefault();
	}

	/* Enter goes on to what was found. */
	leaveSearch(event) {
		const found = event.target
			.closest('.view')
			.querySelector('#flame-stage, #site-rows');

		if (event.key === 'Enter') found.focus();
		else event.target.blur();
	}

	/* Where there is none: that of the sites. */
	searchField() {
		if (!document.querySelector('.view:not([hidden]) input[type=search]'))
			this.showView('sites');
		return document.querySelector('.view:not([hidden]) input[type=search]');
	}
}

function start() {
	try {
		globalThis.memattach = new App(); /* for who wants to compute in the console */
	} catch (error) {
		fill(
			document.querySelector('main'),
			h('p', {
				class: 'warning',
				role: 'alert',
				text: `This report is damaged: ${error.message}. Export it again.`,
			}),
		);
		throw error;
	}
}

/* The data come behind the page. */
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
else start();
