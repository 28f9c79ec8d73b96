// On a narrow window three stages or more of one column stand one below another. Edges to the lower
// ones would pass behind the upper ones: they run beside them instead, each in a lane of its own.

const LEFT = 10;
const WIDTH = 34;
const WIDEST = 10;
const TURN = 14;
const TEXT = { x: 0, y: 27 };

// The ways of those edges that need a lane, by edge.
export function lanes(edges, box, isTall) {
  const ways = new Map();
  for (const edge of edges) {
    if (isTall(edge.taker)) {
      const group = edges.filter((other) => other.giver === edge.giver && isTall(other.taker));
      // The first stage is reached first: its lane is the one next to it.
      const slot = group.length - 1 - group.indexOf(edge);
      ways.set(edge, wayIn(box(edge.giver), box(edge.taker), lane(slot, group.length), isTall(edge.giver)));
    } else if (isTall(edge.giver)) {
      const group = edges.filter((other) => other.taker === edge.taker && isTall(other.giver));
      ways.set(edge, wayOut(box(edge.giver), box(edge.taker), lane(group.indexOf(edge), group.length)));
    }
  }
  return ways;
}

const lane = (slot, count) => LEFT + slot * Math.min(WIDEST, WIDTH / count);

function wayIn(giver, taker, x, besides) {
  const y = taker.y + taker.height / 2;
  const start = besides ? side(giver) : below(giver, x);
  const turn = { x: start.x, y: start.y + (besides ? 0 : TURN) };
  return {
    points: [start, turn, { x, y: turn.y }, { x, y }, { x: taker.x, y }],
    text: { x: taker.x + TEXT.x, y: taker.y - TEXT.y },
    sideways: true,
  };
}

function wayOut(giver, taker, x) {
  const start = side(giver);
  const end = { x: within(taker, x), y: taker.y };
  const turn = end.y - 2 * TURN;
  return {
    points: [start, { x, y: start.y }, { x, y: turn }, { x: end.x, y: turn }, end],
    text: { x: giver.x + TEXT.x, y: giver.y + giver.height + TEXT.y },
    sideways: false,
  };
}

const side = (box) => ({ x: box.x, y: box.y + box.height / 2 });

const below = (box, x) => ({ x: within(box, x), y: box.y + box.height });

// In the lane if the box reaches there, else in its middle.
const within = (box, x) => (box.x <= x && x <= box.x + box.width ? x : box.x + box.width / 2);
