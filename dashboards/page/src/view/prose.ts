// Sentences of memscope. They quote names of the watched job, some of them in backquotes.
import { printable } from "../text/printable.ts";
import { h } from "./dom.ts";

const longest = 4000;

/** Shows `quoted` names as code. All other text is shown as it is. */
export function prose(text: string): DocumentFragment {
    const fragment = document.createDocumentFragment();
    printable(text.slice(0, longest))
        .split("`")
        .forEach((part, i, parts) => {
            if (!part) return;
            const quoted = i % 2 === 1 && i < parts.length - 1;
            fragment.append(quoted ? h("code", {}, h("bdi", {}, part)) : part);
        });
    return fragment;
}

/** The first sentence, and the rest. A dot inside a name or a number does not end a sentence. */
export function firstSentence(text: string): [string, string] {
    const found = /^([\s\S]*?[.!?])\s+(?=[A-Z`"'(])([\s\S]*)$/.exec(text.slice(0, longest));
    return found ? [found[1] ?? "", found[2] ?? ""] : [text, ""];
}
