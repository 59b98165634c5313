// What a terminal shows, as an element: the text of `tmux capture-pane -e` with its colours. Runs in the browser.

const basic = ["#3b4048", "#f2777a", "#7bc98f", "#f0c674", "#6fb3e8", "#c792ea", "#70c8c8", "#d6d3cc"];
const bright = ["#7a818c", "#ff9a9c", "#9be0ac", "#ffd98a", "#95cbf5", "#ddb2f5", "#93dede", "#ffffff"];

function indexed(n) {
    if (n < 8) return basic[n];
    if (n < 16) return bright[n - 8];
    if (n > 231) return `rgb(${Array(3).fill(8 + (n - 232) * 10)})`;
    const level = (value) => (value ? 55 + value * 40 : 0);
    const cube = n - 16;
    return `rgb(${level(Math.floor(cube / 36))},${level(Math.floor(cube / 6) % 6)},${level(cube % 6)})`;
}

/** Applies the numbers of one escape sequence to a style. */
function applied(style, numbers) {
    const next = { ...style };
    for (let i = 0; i < numbers.length; ++i) {
        const n = numbers[i];
        if (n === 0) Object.assign(next, { bold: false, dim: false, reverse: false, fore: null, back: null });
        else if (n === 1) next.bold = true;
        else if (n === 2) next.dim = true;
        else if (n === 22) next.bold = next.dim = false;
        else if (n === 7) next.reverse = true;
        else if (n === 27) next.reverse = false;
        else if (n === 39) next.fore = null;
        else if (n === 49) next.back = null;
        else if (n >= 30 && n < 38) next.fore = basic[n - 30];
        else if (n >= 40 && n < 48) next.back = basic[n - 40];
        else if (n >= 90 && n < 98) next.fore = bright[n - 90];
        else if (n >= 100 && n < 108) next.back = bright[n - 100];
        else if (n === 38 || n === 48) {
            const colour = numbers[i + 1] === 5 ? indexed(numbers[i + 2]) : `rgb(${numbers.slice(i + 2, i + 5)})`;
            next[n === 38 ? "fore" : "back"] = colour;
            i += numbers[i + 1] === 5 ? 2 : 4;
        }
    }
    return next;
}

/** [text, style] of each piece of a captured screen. */
export function pieces(captured) {
    const found = [];
    let style = { bold: false, dim: false, reverse: false, fore: null, back: null };
    for (const part of captured.split(/(\x1b\[[0-9;]*m)/)) {
        const escape = /^\x1b\[([0-9;]*)m$/.exec(part);
        if (escape) style = applied(style, (escape[1] || "0").split(";").map(Number));
        else if (part) found.push([part.replace(/\x1b[^m]*?[A-Za-z\\]|\x0f|\x0e/g, ""), style]);
    }
    return found;
}
