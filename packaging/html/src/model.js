/* SPDX-License-Identifier: MIT */
/*
 * The recording as the page holds it: columns as they came, in typed arrays where there are many.
 *
 * Nothing is believed about the figures but their types; numbers that index something are checked
 * once, here.
 */

export const KINDS = ['malloc', 'mmap', 'custom'];

/* key: of the metric; column: of sites; levels: is it known at each moment? */
const METRICS = [
	{ key: 'live', name: 'live bytes', column: 'live_bytes', bytes: true, levels: true },
	{ key: 'live-count', name: 'live blocks', column: 'live_count', levels: true },
	{ key: 'bytes', name: 'allocated bytes', column: 'alloc_bytes', bytes: true, levels: true },
	{ key: 'calls', name: 'allocations', column: 'alloc_count', levels: true },
	{
		key: 'peak',
		name: 'live at the peak',
		column: 'at_peak_bytes',
		bytes: true,
		needs: (m) => m.known.peak,
	},
	{
		key: 'temporary',
		name: 'temporary blocks',
		column: 'temporary_count',
		needs: (m) => m.known.temporary,
	},
	{
		key: 'leaks',
		name: 'leaks',
		column: 'leak_bytes',
		bytes: true,
		needs: (m) => m.leakGroups.some((group) => group.site),
	},
];

/* What stands in the page. */
export function block(id) {
	return JSON.parse(document.getElementById(id).textContent);
}

function checkIndexes(values, limit, what) {
	for (const value of values) {
		if (!(value >= 0 && value < limit))
			throw new Error(`${what} ${value} is not there`);
	}
}

function groupsOf(leaks) {
	return (leaks?.groups ?? []).map((group) => ({
		...group,
		site: group.site ?? group.likely_site ?? null,
		isLikely: !group.site && Boolean(group.likely_site),
	}));
}

export class Model {
	/* The two documents, of the page (block) or of a later answer. */
	constructor(report, data) {
		this.document = report;
		this.known = data.known;
		this.texts = data.texts;
		this.functions = data.functions;
		this.frames = data.frames;
		this.sites = data.sites;
		this.threads = data.threads ?? null;
		this.siteCount = data.sites.id.length;
		this.cut = data.nodes.cut;
		this.parent = Int32Array.from(data.nodes.up, (up, node) => node - up);
		this.frame = Int32Array.from(data.nodes.frame);
		this.leakGroups = groupsOf(this.document.leaks);
		this.check();
		this.bySiteId = new Map(this.sites.id.map((id, index) => [id, index]));
		this.sites.leak_bytes = this.leakBytes();
		this.leaksName = this.leakGroups.every((group) => group.verdict === 'not-freed')
			? 'Not freed'
			: 'Leaks';
		this.metrics = METRICS.filter((metric) => !metric.needs || metric.needs(this)).map(
			(metric) =>
				metric.key === 'leaks'
					? { ...metric, name: this.leaksName.toLowerCase() }
					: metric,
		);
		this.takeMoments(data.moments, data.changes);
	}

	check() {
		checkIndexes(this.frames.function, this.functions.title.length, 'function');
		checkIndexes(this.parent, this.parent.length, 'node');
		checkIndexes(this.frame.subarray(1), this.frames.function.length, 'frame');
		checkIndexes(this.sites.node, this.parent.length, 'stack');
		for (let node = 1; node < this.parent.length; node++) {
			if (this.parent[node] >= node)
				throw new Error(`node ${node} has no caller`);
		}
	}

	leakBytes() {
		const sum = new Array(this.siteCount).fill(0);

		for (const group of this.leakGroups) {
			const site = this.bySiteId.get(group.site);

			if (site !== undefined) sum[site] += group.bytes;
		}
		return sum;
	}

	/* --- names -------------------------------------------------------------------- */

	title(fn) {
		return this.texts[this.functions.title[fn]] ?? '?';
	}
	file(fn) {
		return this.texts[this.functions.file[fn]] ?? null;
	}
	module(fn) {
		return this.texts[this.functions.module[fn]] ?? '';
	}
	buildId(fn) {
		return this.texts[this.functions.build_id[fn]] ?? '';
	}

	/* The same in data that come later, where numbers are others. */
	nameOf(fn) {
		return [this.title(fn), this.file(fn), this.module(fn)].join('\n');
	}

	/* Innermost first. */
	stack(site) {
		const frames = [];

		for (let node = this.sites.node[site]; node > 0; node = this.parent[node])
			frames.push(this.describe(this.frame[node]));
		return frames;
	}

	describe(frame) {
		const fn = this.frames.function[frame];

		return {
			title: this.title(fn),
			file: this.file(fn),
			module: this.module(fn),
			line: this.frames.line[frame],
			column: this.frames.column[frame],
			offset: this.frames.offset[frame],
			inlined: this.frames.inlined[frame] === 1,
		};
	}

	/*
	 * The function that stands for a site's stack: the innermost that does not merely allocate
	 * for its own caller. What is left of a cut stack: none.
	 */
	caller(site) {
		let node = this.sites.node[site];

		for (let up = this.sites.caller[site]; up > 0 && this.parent[node] > 0; up--)
			node = this.parent[node];

		return node > 0 ? this.describe(this.frame[node]) : { title: '?', module: '' };
	}

	/* --- moments --------------------------------------------------------------------- */

	/*
	 * Those at which sites are known; the last is the recording's end. first: into changes.
	 */
	takeMoments(moments, changes) {
		let first = 0;

		this.changes = changes;
		this.moments = [];
		moments.time.forEach((time, index) => {
			first += moments.changes[index];
			if (moments.changes[index])
				this.moments.push({
					time,
					end: first,
					live: moments.live_bytes[index],
				});
		});
		this.moments.pop();
		this.moments.push({
			time: this.end(),
			end: null,
			live: this.document.totals.live_bytes,
		});
		this.changeSite = Int32Array.from(
			changes.site,
			(id) => this.bySiteId.get(id) ?? -1,
		);
	}

	/* The last interval may end in the middle of the detach, after what was watched. */
	end() {
		const { session, timeline } = this.document;

		return Math.max(session.duration, timeline.at(-1)?.time ?? 0);
	}

	/* An export of FILE@60s: what only a recording's end knows is not here. */
	get isMoment() {
		return this.document.session.recorded_seconds > 0;
	}

	/* The nearest moment of which sites are known. */
	momentAt(seconds) {
		let nearest = 0;

		this.moments.forEach(({ time }, moment) => {
			if (
				Math.abs(time - seconds) <
				Math.abs(this.moments[nearest].time - seconds)
			)
				nearest = moment;
		});
		return nearest;
	}

	/* Why sizes, threads or leaks are not here, or null. */
	missingOfMoment(what) {
		if (!this.isMoment) return null;
		return `${what} are known of the end only: export without the moment.`;
	}

	get lastMoment() {
		return this.moments.length - 1;
	}

	/* A figure for each site; what has no levels is of the end at every moment. */
	values(metric, moment) {
		const end = this.moments[moment].end;

		if (end === null || !metric.levels)
			return Float64Array.from(this.sites[metric.column]);
		const values = new Float64Array(this.siteCount);
		const column = this.changes[metric.column];

		for (let i = 0; i < end; i++) {
			if (this.changeSite[i] >= 0) values[this.changeSite[i]] = column[i];
		}
		return values;
	}

	/* How a site's live bytes went: [[seconds...], [bytes...]]. */
	historyOf(site) {
		const history = [[0], [0]];
		let i = 0,
			level = 0;

		for (const moment of this.moments) {
			for (; moment.end !== null && i < moment.end; i++) {
				if (this.changeSite[i] === site) level = this.changes.live_bytes[i];
			}
			history[0].push(moment.time);
			history[1].push(moment.end === null ? this.sites.live_bytes[site] : level);
		}
		return history;
	}

	metric(key) {
		return this.metrics.find((metric) => metric.key === key) ?? this.metrics[0];
	}

	/* --- search --------------------------------------------------------------------- */

	/* Which functions have all the words in their name, file or module? 1 or 0 for each. */
	matchFunctions(words) {
		const match = new Uint8Array(this.functions.title.length);
		const texts = this.texts.map((text) => text.toLowerCase());
		const at = (index) => (index >= 0 ? texts[index] : '');

		for (let fn = 0; fn < match.length; fn++) {
			const text =
				at(this.functions.title[fn]) +
				'\n' +
				at(this.functions.file[fn]) +
				'\n' +
				at(this.functions.module[fn]);

			match[fn] = words.every((word) => text.includes(word)) ? 1 : 0;
		}
		return match;
	}

	/* Which sites have such a function in their stack? */
	matchSites(words) {
		const functions = this.matchFunctions(words);
		const nodes = new Uint8Array(this.parent.length);

		for (let node = 1; node < nodes.length; node++) {
			nodes[node] =
				nodes[this.parent[node]] |
				functions[this.frames.function[this.frame[node]]];
		}
		return Uint8Array.from(this.sites.node, (node) => nodes[node]);
	}
}

export function wordsOf(text) {
	return text
		.toLowerCase()
		.split(/\s+/)
		.filter((word) => word);
}
