// Lists of names with what belongs to each, which change in place.

import { element, setText } from "./dom.js";

export function fit(parent, length, make) {
  while (parent.children.length > length) parent.lastChild.remove();
  while (parent.children.length < length) parent.append(make());
}

export function showPairs(list, pairs) {
  fit(list, pairs.length, () => {
    const pair = element("div");
    pair.append(element("dt"), element("dd"));
    return pair;
  });
  pairs.forEach(([name, text], index) => {
    setText(list.children[index].children[0], name);
    setText(list.children[index].children[1], text);
  });
}
