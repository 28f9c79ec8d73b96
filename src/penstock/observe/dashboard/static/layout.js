// Where stages stand: each one column after the last of those that give to it.

import { lanes } from "./lanes.js";

export function columns(stages, edges) {
  const givers = new Map(stages.map((stage) => [stage.name, []]));
  for (const edge of edges) givers.get(edge.taker)?.push(edge.giver);
  const places = new Map();

  function place(name) {
    if (!places.has(name)) {
      places.set(name, 0); // A circle, which there should not be, ends here.
      places.set(name, Math.max(0, ...givers.get(name).filter((g) => givers.has(g)).map(after)));
    }
    return places.get(name);
  }

  const after = (name) => place(name) + 1;

  const result = [];
  for (const stage of stages) (result[place(stage.name)] ??= []).push(stage.name);
  return result;
}

// The points where the edges leave and reach the boxes: spread along a side that several share.
export function ends(edges, box, vertical, isTall) {
  const beside = vertical ? lanes(edges, box, isTall) : new Map();
  const others = edges.filter((edge) => !beside.has(edge));
  const leaving = spread(others, "giver");
  const reaching = spread(others, "taker");
  return edges.map((edge) => {
    if (beside.has(edge)) return { lane: beside.get(edge) };
    return {
      from: onSide(box(edge.giver), leaving.get(edge), vertical, true),
      to: onSide(box(edge.taker), reaching.get(edge), vertical, false),
      // Where edges come together they bend late, where they part they bend early.
      early: !edges.some((other) => other !== edge && other.taker === edge.taker),
    };
  });
}

function spread(edges, end) {
  const shares = new Map();
  for (const edge of edges) {
    const sharing = edges.filter((other) => other[end] === edge[end]);
    shares.set(edge, (sharing.indexOf(edge) + 1) / (sharing.length + 1));
  }
  return shares;
}

function onSide(box, part, vertical, far) {
  return vertical
    ? { x: box.x + box.width * part, y: box.y + (far ? box.height : 0) }
    : { x: box.x + (far ? box.width : 0), y: box.y + box.height * part };
}
