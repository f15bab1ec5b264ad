/* SPDX-License-Identifier: MIT */
/*
 * The call tree of functions, outermost first, in arrays: parents have lower numbers than their
 * children, so that sums take one pass. Its shape is made once, figures change.
 */

export class CallTree {
	constructor(model) {
		const functions = model.functions.title.length;
		const known = new Map();

		this.model = model;
		this.parent = [0];
		this.fn = [-1];
		this.ofNode = new Int32Array(model.parent.length);
		for (let node = 1; node < model.parent.length; node++) {
			const parent = this.ofNode[model.parent[node]];
			const fn = model.frames.function[model.frame[node]];
			const key = parent * functions + fn;
			let at = known.get(key);

			if (at === undefined) {
				at = this.parent.length;
				this.parent.push(parent);
				this.fn.push(fn);
				known.set(key, at);
			}
			this.ofNode[node] = at;
		}
		this.count = this.parent.length;
		this.linkChildren();
	}

	linkChildren() {
		this.firstChild = new Int32Array(this.count);
		this.next = new Int32Array(this.count);
		for (let at = this.count - 1; at > 0; at--) {
			this.next[at] = this.firstChild[this.parent[at]];
			this.firstChild[this.parent[at]] = at;
		}
	}

	/* values: of sites. Sets self and total. */
	weigh(values) {
		this.self = new Float64Array(this.count);
		values.forEach((value, site) => {
			this.self[this.ofNode[this.model.sites.node[site]]] += value;
		});
		this.total = Float64Array.from(this.self);
		for (let at = this.count - 1; at > 0; at--)
			this.total[this.parent[at]] += this.total[at];
	}

	/* Children with at least so much, largest first. */
	children(at, least) {
		const found = [];

		for (let child = this.firstChild[at]; child; child = this.next[child]) {
			if (this.total[child] > 0 && this.total[child] >= least) found.push(child);
		}
		return found.sort((a, b) => this.total[b] - this.total[a]);
	}

	name(at) {
		return at === 0 ? 'all' : this.model.title(this.fn[at]);
	}

	/* Names from the root's child to at. */
	names(at) {
		return this.path(at)
			.slice(0, -1)
			.map((each) => this.model.nameOf(this.fn[each]))
			.reverse();
	}

	/*
	 * Where find() finds at in another tree: its names; and a site whose stack goes through it,
	 * for when frames get their names.
	 */
	place(at) {
		const { id, node } = this.model.sites;
		const site = node.findIndex((each) => this.isWithin(this.ofNode[each], at));

		return { names: this.names(at), site: id[site] };
	}

	/* Parents have lower numbers. */
	isWithin(child, at) {
		while (child > at) child = this.parent[child];
		return child === at;
	}

	/* As far as names are there; else what is as deep in the site's stack. */
	find({ names, site }) {
		let at = 0;

		for (const name of names) {
			let child = this.firstChild[at];

			while (child && this.model.nameOf(this.fn[child]) !== name)
				child = this.next[child];
			if (!child) return this.onStack(site, names.length) ?? at;
			at = child;
		}
		return at;
	}

	/* undefined: no such site, or it is not so deep. */
	onStack(id, depth) {
		const site = this.model.bySiteId.get(id);

		if (site === undefined) return undefined;
		return this.path(this.ofNode[this.model.sites.node[site]]).reverse()[depth];
	}

	/* From at to the root, which is the last. */
	path(at) {
		const path = [at];

		while (at !== 0) path.push((at = this.parent[at]));
		return path;
	}

	/* What all matching functions hold together, each stack once. match: by function. */
	matched(match) {
		const inside = new Uint8Array(this.count);
		let sum = 0,
			frames = 0;

		for (let at = 1; at < this.count; at++) {
			const own = match[this.fn[at]];

			if (own && !inside[this.parent[at]]) sum += this.total[at];
			frames += own && this.total[at] > 0 ? 1 : 0;
			inside[at] = inside[this.parent[at]] | own;
		}
		return { sum, frames };
	}
}
