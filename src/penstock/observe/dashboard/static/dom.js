// Making and changing nodes. Values of the pipeline become text here, never markup.

export const byId = (id) => document.getElementById(id);

export function element(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}

export function svg(tag, className = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  if (className) node.setAttribute("class", className);
  return node;
}

export function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

// A text that stays the same must not cost a layout.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// An address comes from the pipeline as well: it may lead to nothing but a page.
export function setLink(node, address) {
  const known = address !== null && /^https?:\/\//.test(address);
  setHidden(node, !known);
  if (known) node.href = address;
}

export function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}
