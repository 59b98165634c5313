// Events as marks on the time axis. Each kind has its own shape, so that it can be recognized without colour.
import { colour } from "./theme.ts";

interface Mark {
    glyph: string;
    colour: string;
    words: string;
    drawn: boolean;  // false: the event is in the list only, not on the plot
}

const marks: Record<string, Mark> = {
    death: { glyph: "\u2715", colour: "--death", words: "death", drawn: true },
    precursor: { glyph: "\u25b2", colour: "--warning", words: "precursor", drawn: true },
    precursor_over: { glyph: "\u25bd", colour: "--muted", words: "precursor is over", drawn: false },
    action: { glyph: "\u25c6", colour: "--accent", words: "action", drawn: true },
    verdict: { glyph: "\u25cf", colour: "--held", words: "verdict", drawn: true },
    end: { glyph: "\u25a0", colour: "--muted", words: "end", drawn: true },
    notice: { glyph: "\u2013", colour: "--muted", words: "notice", drawn: false },
};
const other: Mark = { glyph: "\u2013", colour: "--muted", words: "event", drawn: false };

function markOf(kind: string): Mark {
    return Object.prototype.hasOwnProperty.call(marks, kind) ? (marks[kind] ?? other) : other;
}

export function glyphOf(kind: string): string {
    return markOf(kind).glyph;
}
export function wordsOf(kind: string): string {
    return markOf(kind).words;
}
export function isMark(kind: string): boolean {
    return markOf(kind).drawn;
}
export function markColour(kind: string): string {
    return colour(markOf(kind).colour);
}

export function drawGlyph(ctx: CanvasRenderingContext2D, kind: string, x: number, y: number, radius: number): void {
    ctx.fillStyle = ctx.strokeStyle = markColour(kind);
    ctx.beginPath();
    switch (kind) {
        case "death":
            ctx.lineWidth = radius * 0.5;
            ctx.moveTo(x - radius, y - radius);
            ctx.lineTo(x + radius, y + radius);
            ctx.moveTo(x + radius, y - radius);
            ctx.lineTo(x - radius, y + radius);
            ctx.stroke();
            return;
        case "precursor":
            ctx.moveTo(x, y - radius);
            ctx.lineTo(x + radius, y + radius);
            ctx.lineTo(x - radius, y + radius);
            break;
        case "action":
            ctx.moveTo(x, y - radius);
            ctx.lineTo(x + radius, y);
            ctx.lineTo(x, y + radius);
            ctx.lineTo(x - radius, y);
            break;
        case "end":
            ctx.rect(x - radius * 0.8, y - radius * 0.8, radius * 1.6, radius * 1.6);
            break;
        default:
            ctx.arc(x, y, radius * 0.8, 0, 7);
    }
    ctx.closePath();
    ctx.fill();
}
