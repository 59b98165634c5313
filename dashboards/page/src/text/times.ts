// Times of day, in the time zone of the reader.

function two(number: number): string {
    return String(number).padStart(2, "0");
}

export function clock(time: number): string {
    const date = new Date(time * 1000);
    return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export function day(time: number): string {
    const date = new Date(time * 1000);
    return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

export function dayAndClock(time: number): string {
    return `${day(time)} ${clock(time)}`;
}

/** The shortest text that distinguishes a time from other times of the same run. */
export function inRun(time: number, began: number, ended: number): string {
    return day(began) === day(ended) ? clock(time) : dayAndClock(time);
}

export function zone(): string {
    try {
        return Intl.DateTimeFormat().resolvedOptions().timeZone;
    } catch {
        return "local time";
    }
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

/** Round times of day for an axis: at most `most` of them between `from` and `to`. */
export function timeTicks(from: number, to: number, most: number): number[] {
    if (!(to > from) || most < 1) return [];
    const wanted = (to - from) / most;
    const step = steps.find((each) => each >= wanted) ?? Math.ceil(wanted / 604800) * 604800;
    // Multiples of local time, so that a step of six hours falls on midnight.
    const offset = new Date(from * 1000).getTimezoneOffset() * 60;
    const ticks: number[] = [];
    for (let at = Math.ceil((from - offset) / step) * step + offset; at <= to; at += step) ticks.push(at);
    return ticks;
}

export function axisTime(time: number, span: number): string {
    const text = clock(time);
    if (span <= 300) return text;
    const short = text.slice(0, 5);
    return short === "00:00" ? day(time).slice(5) : short;
}
