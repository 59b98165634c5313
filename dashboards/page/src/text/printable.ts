// Names of processes, functions and files come from the watched job and can be any text. The page shows them as text
// only, and replaces characters that can deceive a reader by escape sequences.

// Controls, right-to-left marks and overrides, zero-width characters, separators (as userspace/base/text.cpp).
const deceiving = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

export function printable(text: string): string {
    return text.replace(deceiving, (character) => {
        if (character === "\n") return "\\n";
        if (character === "\t") return "\\t";
        const code = character.charCodeAt(0);
        return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
    });
}

/** At most `longest` characters, the last one an ellipsis if the text is cut. */
export function cut(text: string, longest: number): string {
    if (text.length <= longest) return text;
    let end = Math.max(0, longest - 1);
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last < 0xdc00) --end;  // not inside a character
    return `${text.slice(0, end)}\u2026`;
}

/** A name in one line. It is cut before characters are escaped, because an escape sequence is six characters long. */
export function name(text: string, longest = 80): string {
    return cut(printable(text.slice(0, longest + 1)), longest);
}

export const longestDetail = 600;
export function detail(text: string): string {
    return name(text, longestDetail);
}

/** Cuts the beginning of a path, because its end distinguishes files. */
export function pathEnd(path: string, longest: number): string {
    const safe = printable(path.slice(-longest * 2));
    if (safe.length <= longest && path.length <= longest * 2) return safe;
    for (let slash = safe.indexOf("/", 1); slash >= 0; slash = safe.indexOf("/", slash + 1))
        if (safe.length - slash < longest) return `\u2026${safe.slice(slash)}`;
    return cut(safe.slice(safe.lastIndexOf("/") + 1), longest);
}

export function fileName(path: string): string {
    return path.slice(path.lastIndexOf("/") + 1);
}
