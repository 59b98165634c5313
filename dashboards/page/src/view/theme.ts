// Light and dark. The colours are in page.css; canvases read them from there.

type Listener = () => void;
const listeners: Listener[] = [];
const key = "memscope-theme";
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function stored(): string | null {
    try {
        const value = localStorage.getItem(key);
        return value === "dark" || value === "light" ? value : null;
    } catch {
        return null;  // a page from a file, or a browser without storage
    }
}

export function isDark(): boolean {
    return document.documentElement.dataset.theme === "dark";
}

export function onTheme(listener: Listener): void {
    listeners.push(listener);
}

/** The theme is always an attribute of the root element, so that page.css needs each palette only once. */
function apply(): void {
    const chosen = stored() ?? kept;
    document.documentElement.dataset.theme = chosen ?? (prefersDark.matches ? "dark" : "light");
    cache.clear();
    for (const listener of listeners) listener();
}

let kept: string | null = null;  // the choice in a browser that stores nothing

export function toggleTheme(): void {
    kept = isDark() ? "light" : "dark";
    try {
        localStorage.setItem(key, kept);
    } catch {
        // The browser stores nothing, so the choice lasts until the page is closed.
    }
    apply();
}

export function startTheme(): void {
    prefersDark.addEventListener("change", apply);
    apply();
}

const cache = new Map<string, string>();

/** The value of a custom property of page.css, such as `--ink`. */
export function colour(property: string): string {
    let value = cache.get(property);
    if (value === undefined) {
        value = getComputedStyle(document.documentElement).getPropertyValue(property).trim();
        cache.set(property, value);
    }
    return value;
}

/** Parts of a stack, in the order in which they are drawn. */
export const partCount = 8;
export function partColour(index: number): string {
    return colour(`--part-${(index % partCount) + 1}`);
}

/** Fills that can also be distinguished without colour: lines in different directions, dots. */
export function partFill(index: number): CanvasPattern | string {
    const base = partColour(index);
    if (index % partCount === 0) return base;
    const side = 8;
    const ratio = Math.min(2, devicePixelRatio || 1);
    const tile = document.createElement("canvas");
    tile.width = tile.height = side * ratio;
    const draw = tile.getContext("2d");
    if (!draw) return base;
    draw.scale(ratio, ratio);
    draw.fillStyle = base;
    draw.fillRect(0, 0, side, side);
    draw.strokeStyle = draw.fillStyle = colour("--pattern");
    draw.lineWidth = 1;
    draw.beginPath();
    switch (index % partCount) {
        case 1:
            for (const at of [-side, 0, side]) draw.moveTo(at - 1, side + 1), draw.lineTo(at + side + 1, -1);
            break;
        case 2:
            draw.moveTo(0, 2.5), draw.lineTo(side, 2.5);
            break;
        case 3:
            draw.arc(2, 2, 0.9, 0, 7), draw.moveTo(7, 6), draw.arc(6, 6, 0.9, 0, 7);
            break;
        case 4:
            for (const at of [-side, 0, side]) draw.moveTo(at - 1, -1), draw.lineTo(at + side + 1, side + 1);
            break;
        case 5:
            draw.moveTo(2.5, 0), draw.lineTo(2.5, side);
            break;
        case 6:
            draw.moveTo(0, 2.5), draw.lineTo(side, 2.5), draw.moveTo(2.5, 0), draw.lineTo(2.5, side);
            break;
        default:
            draw.arc(4, 4, 1.6, 0, 7);
    }
    draw.stroke();
    return draw.createPattern(tile, "repeat") ?? base;
}
