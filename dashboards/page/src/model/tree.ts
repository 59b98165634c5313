// The process tree as rows: parents before their children, many children of one role folded into one row.
import type { Process } from "../data/types.ts";
import { fileName } from "../text/printable.ts";

export interface Row {
    kind: "process" | "group";
    key: string;
    depth: number;
    processes: Process[];  // one process, or all processes of a group
    first: Process;
    open: boolean | null;  // null: the row cannot be folded
}

export function keyOf(process: Process): string {
    return `${process.pid}:${process.start_time}`;
}

export function ownOf(process: Process): number | null {
    const own = process.own_anon_bytes ?? process.rss_anon_bytes ?? null;
    return own;
}

/** Inherited pages: the process shares them with the process from which it was forked, and they are counted there. */
export function inheritedOf(process: Process): number | null {
    const { rss_anon_bytes: all, own_anon_bytes: own } = process;
    return typeof all === "number" && typeof own === "number" ? Math.max(0, all - own) : null;
}

export function sumOf(processes: readonly Process[], read: (process: Process) => number | null): number | null {
    let sum: number | null = null;
    for (const process of processes) {
        const value = read(process);
        if (value !== null) sum = (sum ?? 0) + value;
    }
    return sum;
}

export function roleText(role: string, rank: number | null | undefined): string {
    const words = role.replace(/_/g, " ");
    return typeof rank === "number" ? `${words} ${rank}` : words;
}

/** The command without the folders of programs and scripts, because these are the same for all processes of a job. */
export function shortCommand(command: string): string {
    return command
        .slice(0, 2000)
        .split(" ")
        .map((word) => (/^\/.*[^/]$/.test(word) ? fileName(word) : word))
        .join(" ");
}

/** `unfolded` and `folded`: keys of groups that the user opened, and of processes that the user closed. */
export function processRows(processes: readonly Process[], unfolded: ReadonlySet<string>, folded: ReadonlySet<string>, mostAlike = 4): Row[] {
    const byPid = new Map(processes.map((process) => [process.pid, process]));
    const children = new Map<number | null, Process[]>();
    for (const process of processes) {
        const parent = byPid.has(process.parent_pid) && process.parent_pid !== process.pid ? process.parent_pid : null;
        const list = children.get(parent);
        if (list) list.push(process);
        else children.set(parent, [process]);
    }
    const rows: Row[] = [];
    const seen = new Set<number>();
    const size = (list: readonly Process[]) => sumOf(list, ownOf) ?? 0;

    const place = (process: Process, depth: number): void => {
        if (seen.has(process.pid)) return;  // pids of a recorded tick may form a ring
        seen.add(process.pid);
        const below = children.get(process.pid) ?? [];
        const open = below.length > 0 ? !folded.has(keyOf(process)) : null;
        rows.push({ kind: "process", key: keyOf(process), depth, processes: [process], first: process, open });
        if (open) placeAll(below, depth + 1, keyOf(process));
    };
    const placeAll = (list: readonly Process[], depth: number, parent: string): void => {
        const byRole = new Map<string, Process[]>();
        for (const process of list) {
            const alike = byRole.get(roleText(process.role, process.rank));
            if (alike) alike.push(process);
            else byRole.set(roleText(process.role, process.rank), [process]);
        }
        const groups = [...byRole.entries()].sort((a, b) => size(b[1]) - size(a[1]));
        for (const [role, alike] of groups) {
            alike.sort((a, b) => (ownOf(b) ?? 0) - (ownOf(a) ?? 0));
            if (alike.length > mostAlike) {
                const key = `${parent}/${role}`;
                const open = unfolded.has(key);
                rows.push({ kind: "group", key, depth, processes: alike, first: alike[0] as Process, open });
                if (open) for (const process of alike) place(process, depth + 1);
                else for (const process of alike) seen.add(process.pid);
            } else {
                for (const process of alike) place(process, depth);
            }
        }
    };
    placeAll(children.get(null) ?? [], 0, "");
    // Processes whose parents form a ring have no root.
    for (const process of processes) if (!seen.has(process.pid) && !isBelowFolded(process)) place(process, 0);
    return rows;

    function isBelowFolded(process: Process): boolean {
        const visited = new Set<number>();
        for (let at: Process | undefined = process; at && !visited.has(at.pid); at = byPid.get(at.parent_pid)) {
            visited.add(at.pid);
            if (at !== process && seen.has(at.pid)) return true;
        }
        return false;
    }
}
