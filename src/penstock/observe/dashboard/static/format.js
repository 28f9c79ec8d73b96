// Numbers and times as people read them.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const TENTHS = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const TWO_DIGITS = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const SIZES = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];
const CLOCK = new Intl.DateTimeFormat("en", { timeStyle: "medium", hourCycle: "h23" });

export const twoDigits = (number) => TWO_DIGITS.format(number);

export const count = (number) => WHOLE.format(number);

export function short(number) {
  if (number >= 10000) return COMPACT.format(number);
  return (number >= 10 ? WHOLE : TENTHS).format(number);
}

export function size(bytes) {
  // What rounds to a thousand of one size is one of the next.
  const found = SIZES.find(([each]) => bytes >= each * 0.99995);
  return found ? `${TENTHS.format(bytes / found[0])} ${found[1]}` : `${WHOLE.format(bytes)} B`;
}

export const stateInWords = ({ rows, bytes }) => `${count(rows)} rows (${size(bytes)})`;

const ONE = { elements: "element", rows: "row", batches: "batch" };

// A number with what it counts; nothing is nothing of anything.
export const counted = (figure, unit) =>
  !unit || figure === "0" ? figure : `${figure} ${figure === "1" ? ONE[unit] : unit}`;

export const hasUnits = ({ units }) => Boolean(units.taken || units.given || units.between);

export const rate = (perSecond, unit = "") => `${counted(short(Math.max(perSecond, 0)), unit)} /s`;

export const share = (part) => `${WHOLE.format(part * 100)}%`;

export function seconds(value) {
  if (value < 1) return `${short(value * 1000)} ms`;
  if (value < 60) return `${TENTHS.format(value)} s`;
  return duration(value);
}

export function duration(value) {
  const whole = Math.floor(Math.max(value, 0));
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

export const clock = (at) => CLOCK.format(new Date(at * 1000));

export const demand = (edge, unit = "") =>
  edge.requested === null
    ? "all"
    : counted(short(Math.max(edge.requested - edge.delivered, 0)), unit);

export const inFlight = (edge, unit = "") =>
  edge.capacity === null
    ? counted(short(edge.in_flight), unit)
    : `${short(edge.in_flight)} of ${counted(short(edge.capacity), unit)}`;
