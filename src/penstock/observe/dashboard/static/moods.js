// Who waits for whom at an edge.

import { demand, inFlight, rate, share } from "./format.js";

// From this share of the time on a wait is worth a word, as in the sentence.
const NOTICEABLE = 0.3;

export function mood(edge) {
  if (edge.held_up_share >= NOTICEABLE) return "held-up";
  if (edge.idle_share >= NOTICEABLE) return "idle";
  return "moving";
}

export function wait(edge) {
  return {
    "held-up": `held up ${share(edge.held_up_share)}`,
    idle: `idle ${share(edge.idle_share)}`,
    moving: "",
  }[mood(edge)];
}

export function inWords(edge, hasUnits) {
  const unit = hasUnits ? edge.unit : "";
  const words = [rate(edge.rate, unit), `asked for ${demand(edge, unit)}`];
  return [...words, `${inFlight(edge, unit)} waiting`, wait(edge)].filter(Boolean).join(", ");
}
