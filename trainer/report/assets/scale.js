// Axes: from values to pixels, and where the ticks stand.

function makeScale(low, high, from, to, isLog) {
  const map = isLog ? Math.log10 : (v) => v;
  const unmap = isLog ? (v) => 10 ** v : (v) => v;
  const a = map(low);
  const width = map(high) - a || 1;
  return {
    low, high, isLog,
    toPixel: (value) => from + (map(value) - a) / width * (to - from),
    toValue: (pixel) => unmap(a + (pixel - from) / (to - from) * width),
  };
}

// Room above and below, and a width where there is none.
function padDomain(low, high, isLog) {
  if (isLog) {
    const ratio = high / low;
    const room = ratio > 1.0001 ? ratio ** 0.05 : 1.5;
    return [low / room, high * room];
  }
  const room = high > low ? (high - low) * 0.06 : Math.abs(low) * 0.1 || 1;
  return [low - room, high + room];
}

function niceStep(width, count) {
  const rough = width / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((f) => f * power >= rough * 0.999) || 10;
  return factor * power;
}

function linearTicks(low, high, count, isWhole) {
  let gap = niceStep(high - low, count);
  if (isWhole) gap = Math.max(1, Math.round(gap));
  const ticks = [];
  for (let i = Math.ceil(low / gap - 1e-9); i <= high / gap + 1e-9 && ticks.length < 50; ++i) {
    ticks.push({value: i * gap, text: formatTick(i * gap, gap)});
  }
  return ticks;
}

function logTicks(low, high, count) {
  const decades = Math.log10(high / low);
  if (decades < 0.7) return linearTicks(low, high, count).filter((tick) => tick.value > 0);
  const every = Math.max(1, Math.ceil(decades / count));
  const factors = decades <= 1.5 ? [1, 2, 3, 5] : decades <= count / 2 ? [1, 3] : [1];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    if (power % every !== 0) continue;
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push({value, text: formatPower(factor, power)});
    }
  }
  return ticks;
}

function formatPower(factor, power) {
  if (power >= -3 && power <= 4) return trimZeros((factor * 10 ** power).toFixed(Math.max(0, -power)));
  return `${factor}e${power < 0 ? "\u2212" : ""}${Math.abs(power)}`;
}

function makeTicks(scale, count, isWhole) {
  return scale.isLog ? logTicks(scale.low, scale.high, count) : linearTicks(scale.low, scale.high, count, isWhole);
}
