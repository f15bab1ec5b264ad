/* SPDX-License-Identifier: MIT */
/* In the page: texts whose colour is too near to their ground, as WCAG 2.1 (1.4.3) has it. */
export function tooFaint() {
	const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
	const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
	const luminance = ([r, g, b]) =>
		0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
	const over = ([r, g, b, a = 1], under) =>
		[r, g, b].map((c, i) => c * a + under[i] * (1 - a));
	const groundOf = (element) => {
		const rect = element.closest('g.frame')?.querySelector('rect');
		const above = [];

		if (rect) return channels(getComputedStyle(rect).fill);

		for (let each = element; each; each = each.parentElement)
			above.unshift(channels(getComputedStyle(each).backgroundColor));
		return above.reduce((under, colour) => over(colour, under), [255, 255, 255]);
	};
	const opacityOf = (element) =>
		element ? getComputedStyle(element).opacity * opacityOf(element.parentElement) : 1;
	const ownText = (element) =>
		[...element.childNodes]
			.filter((node) => node.nodeType === Node.TEXT_NODE)
			.map((node) => node.textContent.trim())
			.join('');
	const faint = [];

	for (const element of document.body.querySelectorAll('*')) {
		const said = ownText(element);

		if (!said || element.closest('script, style, [aria-disabled=true], :disabled'))
			continue;
		if (!element.checkVisibility()) continue;
		const style = getComputedStyle(element);
		const ground = groundOf(element);
		const [r, g, b, a = 1] = channels(style.color);
		const colour = over([r, g, b, a * opacityOf(element)], ground);
		const [light, dark] = [luminance(colour), luminance(ground)].sort((a, b) => b - a);
		const ratio = (light + 0.05) / (dark + 0.05);
		const size = parseFloat(style.fontSize);
		const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);

		if (ratio < (large ? 3 : 4.5))
			faint.push(
				`${ratio.toFixed(2)} ${element.className} "${said.slice(0, 30)}"`,
			);
	}
	return faint;
}
