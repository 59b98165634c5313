// Sizes, rates and durations as memscope prints them everywhere else (userspace/base/units.cpp).

const names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function size(bytes: number): string {
    let value = Math.abs(bytes);
    let unit = 0;
    while (value >= 1023.5 && unit + 1 < names.length) {
        value /= 1024;
        ++unit;
    }
    const number = value < 10 && unit > 0 ? value.toFixed(1) : value.toFixed(0);
    return `${bytes < 0 && Number(number) !== 0 ? "\u2212" : ""}${number} ${names[unit]}`;
}

/** A change: always with its sign, 0 without one. */
export function change(bytes: number): string {
    return bytes > 0 ? `+${size(bytes)}` : size(bytes);
}

export function rate(bytesPerSecond: number): string {
    const perHour = Math.abs(bytesPerSecond) * 3600;
    const fast = perHour > 10 * 1024 ** 3;
    const shown = size(Math.round(fast ? perHour / 60 : perHour));
    return `${bytesPerSecond < 0 ? "\u2212" : ""}${shown}/${fast ? "min" : "h"}`;
}

export function duration(seconds: number): string {
    if (seconds < 1) return `${(seconds * 1000).toFixed(0)} ms`;
    if (seconds < 120) return `${seconds.toFixed(0)} s`;
    if (seconds < 7200) return `${(seconds / 60).toFixed(0)} min`;
    if (seconds < 48 * 3600) return `${(seconds / 3600).toFixed(1)} h`;
    return `${(seconds / 86400).toFixed(1)} days`;
}

export function percent(ratio: number): string {
    const value = ratio * 100;
    return value > 0 && value < 1 ? "<1 %" : `${value.toFixed(0)} %`;
}

export function count(number: number): string {
    return Math.round(number).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function countChange(number: number): string {
    return number > 0 ? `+${count(number)}` : number < 0 ? `\u2212${count(-number)}` : "0";
}

/** Steps of an axis of sizes: 1, 2 or 5 times a power of ten of the unit that suits the largest value. */
export function sizeTicks(low: number, high: number, most: number): number[] {
    if (!(high > low) || most < 1) return [];
    let unit = 1;
    while (unit * 1024 <= high) unit *= 1024;
    const wanted = (high - low) / unit / most;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const factor = [1, 2, 5, 10].find((each) => each * power >= wanted) ?? 10;
    // Below one unit the steps are powers of two, because a tenth of a GiB is no round number of MiB.
    const step = factor * power >= 1 ? factor * power * unit : unit / 2 ** Math.floor(Math.log2(1 / wanted));
    const ticks: number[] = [];
    for (let at = Math.ceil(low / step) * step; at <= high && ticks.length <= 4 * most; at += step) ticks.push(at);
    return ticks;
}
