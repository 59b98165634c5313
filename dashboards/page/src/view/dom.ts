// Elements are made here and nowhere else: text is always a text node, and no attribute carries style or script.
import { detail, name } from "../text/printable.ts";

export type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: Event) => void)>;

const forbidden = /^(style|on.*|src|srcdoc|formaction)$/;

function give(element: Element, attributes: Attributes): void {
    for (const [key, value] of Object.entries(attributes)) {
        if (value === null || value === undefined || value === false) continue;
        if (typeof value === "function") element.addEventListener(key, value);
        else if (forbidden.test(key)) throw new Error(`attribute ${key}`);
        else element.setAttribute(key, value === true ? "" : String(value));
    }
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    give(element, attributes);
    element.append(...children.filter((child): child is Node | string => Boolean(child)));
    return element;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Element[]): SVGElement {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    give(element, attributes);
    element.append(...children);
    return element;
}

/** A name that the watched job chose. Its text direction does not affect the text around it. The tooltip has the whole name. */
export function nameOf(text: string, longest = 80, className = "name"): HTMLElement {
    const shown = name(text, longest);
    return h("bdi", { class: className, title: shown === text ? null : detail(text) }, shown);
}

export function replace(parent: Element, ...children: Child[]): void {
    parent.replaceChildren(...children.filter((child): child is Node | string => Boolean(child)));
}

/** Replaces the text only if it differs, so that a screen reader does not repeat what it has read. */
export function setText(element: Element, text: string): void {
    if (element.textContent !== text) element.textContent = text;
}

export interface Column<Row> {
    title: string;
    numeric?: boolean;
    head?: boolean;  // the cell names the row
    className?: string;
    cell: (row: Row) => Child;
    hint?: string;
}

/** A table that a screen reader can announce: a caption, and headers with their scope. */
export function table<Row>(caption: string, columns: readonly Column<Row>[], rows: readonly Row[], rowClass?: (row: Row) => string): HTMLTableElement {
    const classOf = (column: Column<Row>) => [column.numeric ? "num" : "", column.className ?? ""].join(" ").trim() || null;
    return h(
        "table",
        {},
        h("caption", { class: "hidden" }, caption),
        h("thead", {}, h("tr", {}, ...columns.map((column) => h("th", { scope: "col", class: classOf(column), title: column.hint }, column.title)))),
        h(
            "tbody",
            {},
            ...rows.map((row) =>
                h(
                    "tr",
                    { class: rowClass?.(row) || null },
                    ...columns.map((column) =>
                        column.head ? h("th", { scope: "row", class: classOf(column) }, column.cell(row)) : h("td", { class: classOf(column) }, column.cell(row)),
                    ),
                ),
            ),
        ),
    );
}

/** A box that scrolls sideways with the keyboard, too. */
export function scrolling(label: string, ...children: Child[]): HTMLElement {
    return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, ...children);
}

export function section(id: string, title: string, ...rest: Child[]): HTMLElement {
    return h("section", { id, "aria-labelledby": `${id}-title` }, h("div", { class: "section-head" }, h("h2", { id: `${id}-title` }, title), ...rest));
}
