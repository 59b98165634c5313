// The layout of a flame graph: frames below their callers, as wide as their bytes.
import type { Site } from "../data/types.ts";
import { framesOf, type Frame } from "./own_lines.ts";

export interface Node {
    text: string;
    kind: Frame["kind"] | "root";
    bytes: number;
    before: number;  // bytes in the growth that this growth is compared with; 0: no comparison
    children: Map<string, Node>;
}

const deepest = 200;

function add(root: Node, sites: readonly Site[], member: "bytes" | "before"): void {
    for (const site of sites) {
        if (site.bytes <= 0) continue;
        let node = root;
        node[member] += site.bytes;
        for (const frame of framesOf(site).slice(0, deepest)) {
            const key = `${frame.kind} ${frame.text}`;
            let child = node.children.get(key);
            if (!child) {
                child = { text: frame.text, kind: frame.kind, bytes: 0, before: 0, children: new Map() };
                node.children.set(key, child);
            }
            child[member] += site.bytes;
            node = child;
        }
    }
}

export function flameTree(sites: readonly Site[], before: readonly Site[] = []): Node {
    const root: Node = { text: "all", kind: "root", bytes: 0, before: 0, children: new Map() };
    add(root, sites, "bytes");
    add(root, before, "before");
    return root;
}

export interface Box {
    node: Node;
    depth: number;
    left: number;  // 0 to 1
    width: number;
    parent: Box | null;
}

/** Boxes that are at least `narrowest` wide (a share of the whole width). Callers come before the frames that they called. */
export function layout(root: Node, narrowest: number): Box[] {
    const boxes: Box[] = [];
    if (root.bytes <= 0) return boxes;
    const place = (node: Node, depth: number, left: number, width: number, parent: Box | null): void => {
        const box: Box = { node, depth, left, width, parent };
        boxes.push(box);
        let at = left;
        for (const child of [...node.children.values()].sort((a, b) => b.bytes - a.bytes)) {
            const wide = (child.bytes / node.bytes) * width;
            if (wide >= narrowest) place(child, depth + 1, at, wide, box);
            at += wide;
        }
    };
    place(root, 0, 0, 1, null);
    return boxes;
}

export function boxAt(boxes: readonly Box[], x: number, depth: number): Box | null {
    return boxes.find((box) => box.depth === depth && x >= box.left && x < box.left + box.width) ?? null;
}
