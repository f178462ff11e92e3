// The least contrast of any text with its ground (WCAG 2), and where it is.
const luminance = (colour) => {
  const v = colour.map((x) => (x / 255 <= 0.03928 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
};
const rgb = (text) => {
  const n = text.match(/[\d.]+/g).map(Number);
  return n.length > 3 && n[3] === 0 ? null : n.slice(0, 3);
};
const ground = (node) => {
  for (; node; node = node.parentElement) {
    const colour = rgb(getComputedStyle(node).backgroundColor);
    if (colour) return colour;
  }
  return [255, 255, 255];
};
const found = [];
const texts = "h1, h2, h3, p, td, th, dt, dd, button, label, figcaption, strong, li, summary, svg text";
for (const node of document.querySelectorAll(texts)) {
  if (!node.getBoundingClientRect().width || !node.textContent.trim()) continue;
  const style = getComputedStyle(node), drawn = node instanceof SVGElement;
  const ink = luminance(rgb(drawn ? style.fill : style.color));
  const paper = luminance(ground(drawn ? node.ownerSVGElement.parentElement : node));
  const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  found.push([contrast, node.tagName, node.textContent.trim().slice(0, 30)]);
}
return found.sort((a, b) => a[0] - b[0])[0];
