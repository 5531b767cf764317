// How numbers, times and sizes are written.

function trimZeros(text) {
  return text.includes(".") ? text.replace(/\.?0+($|e)/, "$1") : text;
}

function groupThousands(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

// The data writes what JSON has no number for as a text.
function toNumber(value) {
  if (typeof value === "number") return value;
  if (value === "inf") return Infinity;
  return value === "-inf" ? -Infinity : NaN;
}

function formatNumber(raw, digits = 5) {
  const value = toNumber(raw);
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "\u221e" : "\u2212\u221e";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e9) return minus(groupThousands(size), value);
  if (size >= 1e9 || size < 1e-3) return minus(trimZeros(size.toExponential(digits - 1)), value);
  if (size >= 10 ** (digits - 1)) return minus(groupThousands(Math.round(size)), value);
  return minus(trimZeros(size.toPrecision(digits)), value);
}

function minus(text, value) {
  return value < 0 ? "\u2212" + text : text;
}

// A tick of an axis whose neighbour is `gap` away.
function formatTick(value, gap) {
  const size = Math.abs(value);
  const zero = size < gap * 1e-6;
  if (zero) return "0";
  if (size >= 1e12) return minus(trimZeros(size.toExponential(2)), value);
  const units = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [unit, letter] of units) {
    if (size >= unit * (unit === 1e3 ? 10 : 1)) return minus(tickDigits(size / unit, gap / unit) + letter, value);
  }
  if (gap < 1e-5 && size < 0.01) return minus(trimZeros(size.toExponential(3)), value);
  return minus(tickDigits(size, gap), value);
}

function tickDigits(size, gap) {
  const decimals = Math.max(0, Math.min(8, Math.ceil(-Math.log10(gap) - 1e-9)));
  return trimZeros(size.toFixed(decimals));
}

function formatBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    ++unit;
  }
  return (unit === 0 ? value : value.toFixed(1)) + " " + units[unit];
}

function formatSeconds(seconds) {
  if (!(seconds >= 0)) return "";
  if (seconds < 1) return formatNumber(seconds * 1000, 3) + " ms";
  if (seconds < 60) return formatNumber(seconds, 3) + " s";
  const whole = Math.round(seconds);
  const parts = [[Math.floor(whole / 86400), "d"], [Math.floor(whole / 3600) % 24, "h"],
                 [Math.floor(whole / 60) % 60, "min"], [whole % 60, "s"]];
  const first = parts.findIndex(([count]) => count > 0);
  return parts.slice(first, first + 2).map(([count, unit]) => count + "\u00a0" + unit).join(" ");
}

// "2026-01-31T23:59:59Z" -> "2026-01-31 23:59 UTC"
function formatTime(iso) {
  const match = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})/.exec(iso);
  return match ? `${match[1]} ${match[2]} UTC` : iso;
}

function secondsBetween(start, end) {
  const seconds = (Date.parse(end) - Date.parse(start)) / 1000;
  return seconds >= 0 ? seconds : NaN;
}

function formatShare(share) {
  return trimZeros((100 * share).toFixed(share < 0.1 ? 1 : 0)) + "\u00a0%";
}

function plural(count, word) {
  return `${groupThousands(count)} ${word}${count === 1 ? "" : "s"}`;
}
