/* SPDX-License-Identifier: MIT */
/* Elements made of text, never of HTML: names come from a program that may be hostile. */

/* h('p', { class: 'note', onclick: f, text: '...' }, child, 'text', ...); null: no child */
export function h(tag, properties, ...children) {
	const element = document.createElement(tag);

	for (const [key, value] of Object.entries(properties ?? {})) set(element, key, value);
	element.append(...children.flat().filter((child) => child !== null && child !== undefined));
	return element;
}

function set(element, key, value) {
	if (key === 'text') element.textContent = value;
	else if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
	else if (key === 'style')
		Object.entries(value).forEach(([name, text]) =>
			element.style.setProperty(name, text),
		);
	else if (value === true) element.setAttribute(key, '');
	else if (value !== false && value !== null && value !== undefined)
		element.setAttribute(key, value);
}

export function fill(element, ...children) {
	element.replaceChildren(...children.flat().filter((child) => child !== null));
	return element;
}

/* A table of two columns: [[name, text], ...]; rows without a text are left out. */
export function facts(rows) {
	return h(
		'dl',
		{ class: 'facts' },
		rows
			.filter(([, text]) => text !== null && text !== undefined && text !== '')
			.map(([name, text]) =>
				h('div', null, h('dt', { text: name }), h('dd', { text })),
			),
	);
}

/* Where an element is: the nearest id around it, from there which child of which. */
function placeOf(element) {
	const way = [];

	for (; element && !element.id; element = element.parentElement)
		way.unshift(Array.from(element.parentElement?.children ?? []).indexOf(element));
	return { id: element?.id, way };
}

/* Calls f, which may make elements anew: what is in the place of the one with the focus gets it. */
export function keepFocus(f) {
	const element = document.activeElement;
	const { id, way } = placeOf(element);

	f();
	if (!id || element.isConnected) return;
	way.reduce((at, index) => at?.children[index], document.getElementById(id))?.focus({
		preventScroll: true,
	});
}

/* Calls f once things have been quiet for some milliseconds. */
export function settled(f, milliseconds) {
	let timer = 0;

	return (...args) => {
		clearTimeout(timer);
		timer = setTimeout(() => f(...args), milliseconds);
	};
}
