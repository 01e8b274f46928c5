// Formats numbers, bytes, shares, durations and times.

const NUMBER = new Intl.NumberFormat("en");
const NONE = "–";
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const SPANS = [
  ["d", 86400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];

const isNone = (value) => value === null || value === undefined;

/** 12,345 */
export const count = (value) => (isNone(value) ? NONE : NUMBER.format(value));

/** 12.3 % */
export const share = (value) => (isNone(value) ? NONE : `${(100 * value).toFixed(1)}\u00a0%`);

/** 0.4321; very small or large values in scientific notation. Non-finite values arrive as null. */
export function value(number) {
  if (isNone(number)) return "not finite";
  const size = Math.abs(number);
  return size !== 0 && (size < 0.001 || size >= 1e6) ? number.toExponential(3) : String(Number(number.toPrecision(5)));
}

/** 1.5 MiB; on an axis with this end, in the unit of the end, so that its values can be compared. */
export function bytes(value, end) {
  if (isNone(value)) return NONE;
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, end ?? value)) / 10)));
  const amount = value / 1024 ** power;
  return `${end === undefined && power > 0 ? amount.toFixed(1) : Number(amount.toFixed(2))} ${UNITS[power]}`;
}

/** 250 ms, 1.5 s */
export const millis = (value) => (isNone(value) ? NONE : value < 1000 ? `${value} ms` : duration(value / 1000));

/** 38 s, 2 min 5 s, 3 d 4 h: the two largest units. */
export function duration(seconds) {
  if (isNone(seconds)) return NONE;
  if (seconds < 10) return `${Number(Math.max(0, seconds).toFixed(1))} s`;
  let left = Math.round(seconds);
  const parts = [];
  for (const [unit, size] of SPANS) {
    if (left >= size) parts.push([Math.floor(left / size), unit]);
    else if (parts.length > 0) parts.push([0, unit]);
    left %= size;
  }
  return parts
    .slice(0, 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(" ");
}

const TIME = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** 21 Nov 2026, 17:02:13, in the browser's time zone. */
export const time = (millis) => (millis ? TIME.format(millis) : NONE);

/** The same for seconds, the unit of page and visit records. */
export const seconds = (number) => time(number * 1000);

const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const MINUTES = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });

/** 17:02:13, or 17:02, in the browser's time zone. */
export const clock = (millis, isShort = false) => (millis ? (isShort ? MINUTES : CLOCK).format(millis) : NONE);

const DAY = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

const FULL_DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });

/** 24 Nov 2026 */
export const date = (millis) => FULL_DATE.format(millis);

/** 24 Nov */
export const day = (millis) => DATE.format(millis);

/** 17:02:13, with the day if that is not today: 17:02:13 on Tue 24 Nov. */
export const moment = (millis, now) =>
  DAY.format(millis) === DAY.format(now) ? clock(millis) : `${clock(millis)} on ${DAY.format(millis).replace(",", "")}`;

/** `back_off` as `back off`. */
export const words = (name) => (isNone(name) ? NONE : String(name).replaceAll("_", " "));

/** 1 page, 2 pages */
export const plural = (amount, one, many = `${one}s`) => `${count(amount)} ${amount === 1 ? one : many}`;
