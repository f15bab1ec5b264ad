/* SPDX-License-Identifier: MIT */
/*
 * A page that memattachd serves follows the process: it asks for itself again, takes the data out
 * of the answer and gives them to the app. One in a file has nothing that says how often, and its
 * policy lets it ask nobody.
 */
import { h } from './dom.js';

const PATIENCE = 90; /* seconds for an answer; memattachd itself gives up after 60 */
const REST = 4; /* a recording is read for each answer: so many times as long nothing is asked */
const BLOCKS = ['document', 'sites'];
const PAUSE = 200; /* milliseconds between two looks at whether the page can be redrawn */

const clock = () => new Date().toTimeString().slice(0, 8);
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/* The text of a block: they are behind all else in the page, and < and > are escaped in them. */
function blockOf(page, id) {
	const mark = `id="${id}">`;
	const at = page.lastIndexOf(mark);
	const end = page.indexOf('<', at);

	if (at < 0 || end < 0) throw new Error('no report');
	return page.slice(at + mark.length, end);
}

/* It names the script, so another version of the page has another one. */
const policy = () => document.querySelector('meta[http-equiv="Content-Security-Policy"]').content;

/* Of a session; another one of the same process has other sites. */
const nameOf = ({ target, session }) => `${target.pid} ${session.begin_time}`;

export class Live {
	/* null: this page follows nobody. */
	static of(app) {
		const block = document.getElementById('live-block');

		if (!block || !/^https?:$/.test(location.protocol)) return null;
		return new Live(app, JSON.parse(block.textContent).seconds);
	}

	constructor(app, seconds) {
		this.app = app;
		this.seconds = seconds;
		this.texts = BLOCKS.map((id) => document.getElementById(id).textContent);
		this.updated = clock();
		this.since = null; /* when it began to fail */
		this.ended = null; /* when that was seen */
		this.paused = this.over = this.asking = this.missed = this.held = false;
		this.build();
		this.say('live', 'live');
		document.addEventListener('visibilitychange', () => this.missed && this.turn());
		/* Of a release over a scroll bar only the next move tells. */
		for (const type of ['pointerdown', 'pointermove', 'pointerup', 'pointercancel'])
			addEventListener(type, (event) => (this.held = event.buttons !== 0), true);
		this.later(seconds);
	}

	/* --- in the head ------------------------------------------------------------------- */

	build() {
		this.state = h('output', { id: 'live-state' });
		this.time = h('span', { class: 'muted', id: 'live-time' });
		this.button = h('button', {
			type: 'button',
			id: 'live-button',
			text: 'Pause',
			title: 'Key p',
			onclick: () => this.press(),
		});
		this.root = h('div', { class: 'live' }, this.state, this.time, this.button);
	}

	/* The time alone is not read out: it changes with each answer. */
	say(state, text) {
		this.root.dataset.state = state;
		if (this.state.textContent !== text) this.state.textContent = text;
		this.time.textContent = `updated ${this.updated}`;
		this.button.textContent = this.over
			? 'Load again'
			: this.paused
				? 'Continue'
				: 'Pause';
	}

	sayHow() {
		if (this.paused) this.say('paused', 'paused');
		else if (this.ended) this.say('ended', `the session ended, seen ${this.ended}`);
		else this.say('live', 'live');
	}

	press() {
		if (this.over) {
			location.reload();
			return;
		}
		this.paused = !this.paused;
		this.sayHow();
		if (!this.paused) this.turn();
	}

	/* --- asking ------------------------------------------------------------------------- */

	later(seconds) {
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.turn(), seconds * 1000);
	}

	/* One at a time, and none that nobody would see. */
	async turn() {
		if (this.asking || this.over || this.paused) return;
		this.missed = document.hidden;
		if (this.missed) return;
		const begun = performance.now();

		clearTimeout(this.timer);
		this.asking = true;
		try {
			const page = await this.ask();
			const took = (performance.now() - begun) / 1000;

			this.later(Math.max(this.seconds, REST * took));
			await this.answered(page);
		} catch (error) {
			this.later(this.seconds);
			this.fails(error.message);
		}
		this.asking = false;
	}

	/* The page, or null: nobody watches the process. */
	async ask() {
		const abort = new AbortController();
		const timer = setTimeout(() => abort.abort(), PATIENCE * 1000);

		try {
			const answer = await fetch(location.href.split('#')[0], {
				cache: 'no-store',
				redirect: 'error',
				signal: abort.signal,
			}).catch(() => {
				throw new Error('not reachable');
			});

			if (answer.status === 404) return null;
			if (!answer.ok) throw new Error(`answers ${answer.status}`);
			return await answer.text().catch(() => {
				throw new Error('not reachable');
			});
		} finally {
			clearTimeout(timer);
		}
	}

	fails(why) {
		this.since ??= clock();
		if (!this.paused) this.say('away', `${why} since ${this.since}, tries again`);
	}

	/* --- answers ------------------------------------------------------------------------ */

	async answered(page) {
		if (page === null) this.ended ??= clock();
		else if (!this.paused) await this.take(page);
		this.since = null;
		if (!this.over) this.sayHow();
	}

	async take(page) {
		const texts = BLOCKS.map((id) => blockOf(page, id));
		const report = JSON.parse(texts[0]);

		if (!page.slice(0, 4096).includes(policy())) {
			this.stop('memattachd has another version now');
			return;
		}
		if (nameOf(report) !== nameOf(this.app.model.document)) {
			this.stop('the session ended, another one has begun');
			return;
		}
		/* Names come between two snapshots, too. */
		if (texts.some((text, i) => text !== this.texts[i])) {
			await this.untilFree();
			if (this.paused) return;
			this.app.take(report, JSON.parse(texts[1]));
			this.texts = texts;
		}
		this.updated = clock();
		this.ended = report.session.detached ? (this.ended ?? clock()) : null;
	}

	/* What is shown stays; the new would not fit to it. */
	stop(why) {
		this.over = true;
		clearTimeout(this.timer);
		this.say('ended', why);
	}

	/* Who drags in a chart, or has selected text to copy it, would lose that. */
	isBusy() {
		const selection = getSelection();

		return (
			this.held ||
			(selection.type === 'Range' &&
				!document.activeElement?.matches('input') &&
				document.querySelector('main').contains(selection.anchorNode))
		);
	}

	async untilFree() {
		while (this.isBusy() && !this.paused) {
			if (!this.held) this.say('paused', 'waits while text is selected');
			await sleep(PAUSE);
		}
	}
}
