// What `memscope web` serves and what a report embeds. Sizes are bytes, times seconds since 1970; what memscope does not
// know is null or left out.

export type Maybe<T> = T | null | undefined;

export interface Death {
    time: number;
    pid: number;
    comm: string;
    role?: Maybe<string>;
    cause: string;
    text: string;
}

export interface Summary {
    verdict?: Maybe<string>;
    sentence?: Maybe<string>;
    peak_bytes?: Maybe<number>;
    peak_time?: Maybe<number>;
    kernel_peak_bytes?: Maybe<number>;
    limit_bytes?: Maybe<number>;
    limit_owner?: Maybe<string>;
    floor_bytes?: Maybe<number>;
    slope_bytes_per_second?: Maybe<number>;
    advice?: string[];
    deaths?: Death[];
    deaths_left_out?: Maybe<number>;
    warmup_ended?: Maybe<number>;
    leak_started?: Maybe<number>;
}

export interface Forecast {
    basis: string;
    limit_bytes: number;
    limit_owner?: Maybe<string>;
    eta_seconds: number;
    earliest_seconds?: Maybe<number>;
    latest_seconds?: Maybe<number>;
}

export interface Phase {
    kind: string;
    from: number;
    to: number;
}

export interface RunEvent {
    time: number;
    kind: string;
    text: string;
}

export interface Run {
    mode: "live" | "recording" | "report";
    target: string;
    version: string;
    recording?: Maybe<string>;
    began: number;
    ended?: Maybe<number>;
    last?: Maybe<number>;  // time of the last tick
    ticks: number;
    interval: number;  // seconds between ticks; 0: not known yet
    summary: Summary;
    forecast?: Maybe<Forecast>;
    phases: Phase[];
    events: RunEvent[];
    growth_times: number[];
    heap_times: number[];
    complete: boolean;
    with_commands?: boolean;
    history?: Maybe<string>;  // live: a sentence about where the older ticks come from
}

export interface Series {
    id: string;
    label: string;
    group: string;
    low?: (number | null)[];
    high?: (number | null)[];
    mean?: (number | null)[];
}

export interface Curves {
    from: number;
    to: number;
    bin: number;
    time: number[];
    complete: boolean;
    series: Series[];
}

export interface LiveTick {
    time: number;
    held?: Maybe<number>;
    floor?: Maybe<number>;
    usage?: Maybe<number>;
    limit?: Maybe<number>;
    kinds?: Record<string, Maybe<number>>;
    roles?: Record<string, Maybe<number>>;
    gpus?: Record<string, Maybe<number> | Record<string, Maybe<number>>>;
    processes?: Maybe<number>;
}

export interface Live {
    ticks: LiveTick[];
    events: RunEvent[];
    summary: Summary;
    forecast?: Maybe<Forecast>;
    ended: boolean;
}

export interface Process {
    pid: number;
    parent_pid: number;
    start_time: number;
    comm: string;
    command?: Maybe<string>;
    role: string;
    rank?: Maybe<number>;
    slot?: Maybe<number>;
    rss_anon_bytes?: Maybe<number>;
    own_anon_bytes?: Maybe<number>;
    rss_file_bytes?: Maybe<number>;
    rss_shmem_bytes?: Maybe<number>;
    swap_bytes?: Maybe<number>;
    threads?: Maybe<number>;
}

export interface Verdict {
    scope: string;
    role?: Maybe<string>;
    rank?: Maybe<number>;
    gpu?: Maybe<string>;
    verdict: string;
    confidence?: Maybe<number>;
    floor_bytes?: Maybe<number>;
    floor_slope_bytes_per_second?: Maybe<number>;
    explanation: string;
    grower?: Maybe<{
        pid: number;
        comm: string;
        role: string;
        rank?: Maybe<number>;
        grown_bytes: number;
        share_ratio: number;
        over_seconds: number;
    }>;
    lines?: Maybe<{ most: string; share_ratio: number; keeps: boolean }>;
    holders?: Maybe<string>;
}

export interface GpuDevice {
    gpu: string;
    index: number;
    name: string;
    part_of?: Maybe<string>;
    used_bytes?: Maybe<number>;
    total_bytes?: Maybe<number>;
    target_bytes?: Maybe<number>;
    others_bytes?: Maybe<number>;
    utilization_ratio?: Maybe<number>;
    trouble?: Maybe<string>;
}

export interface GpuUse {
    gpu?: Maybe<string>;
    pid?: number;
    role?: string;
    rank?: Maybe<number>;
    used_bytes?: Maybe<number>;
    reserved_bytes?: Record<string, Maybe<number>>;
    tensor_bytes?: Maybe<number>;
    cached_bytes?: Maybe<number>;
}

export interface Tick {
    time: number;
    target: { name: string; kind?: string; cgroup_version?: Maybe<number | string>; up?: boolean };
    memory: {
        usage_bytes?: Maybe<number>;
        peak_bytes?: Maybe<number>;
        limit_bytes?: Maybe<number>;
        effective_limit_bytes?: Maybe<number>;
        limit_owner?: Maybe<string>;
        headroom_bytes?: Maybe<number>;
        unreclaimable_bytes?: Maybe<number>;
        swap_bytes?: Maybe<number>;
        by_kind?: Record<string, Maybe<number>>;
    };
    processes: Process[];
    verdicts?: Verdict[];
    precursors?: { precursor: string; since: number; reason: string }[];
    sharing?: Maybe<{ explanation?: Maybe<string> }>;
    gpu?: Maybe<{ devices: GpuDevice[]; roles?: GpuUse[]; processes?: GpuUse[] }>;
    heap?: HeapProcess[];
}

export interface PythonFrame {
    function?: Maybe<string>;
    file?: Maybe<string>;
    line?: Maybe<number>;
}

export interface NativeFrame {
    symbol?: Maybe<string>;
    module?: Maybe<string>;
    offset?: Maybe<number>;
}

export interface Site {
    bytes: number;
    role: string;
    rank?: Maybe<number>;
    pids?: number[];
    python: PythonFrame[];
    native: NativeFrame[];
}

export const planes = ["tensors_host", "mapped", "resident", "gpu", "pinned"] as const;
export type Plane = (typeof planes)[number];

export interface Growth extends Partial<Record<Plane, Site[]>> {
    time: number;
    since_seconds?: Maybe<number>;
    sentence?: Maybe<string>;
    owner?: Maybe<{ plane: string; line: string; bytes: number; share: number; role: string; rank?: Maybe<number> }>;
    resident_method?: string;
    left_out?: Partial<Record<Plane, { sites: number; bytes: number }>>;
    unattributed?: { plane: string; reason: string; bytes: number }[];
}

export interface HeapPart {
    part: string;
    bytes: number;
    change_bytes?: Maybe<number>;
}

export interface Counted {
    count: number;
    bytes: number;
    count_change?: Maybe<number>;
    bytes_change?: Maybe<number>;
}

export interface Holder {
    path: string;
    root?: string;
    type: string;
    element?: Maybe<string>;
    length?: Maybe<number>;
    retained_bytes?: Maybe<number>;
    retained_device_bytes?: Maybe<number>;
    length_change?: Maybe<number>;
    retained_change?: Maybe<number>;
    retained_device_change?: Maybe<number>;
}

export interface HeldObjects {
    time?: number;
    since_seconds?: Maybe<number>;
    sentence?: Maybe<string>;
    holders?: Holder[];
}

export interface HeapProcess {
    pid: number;
    role: string;
    rank?: Maybe<number>;
    taken_seconds?: Maybe<number>;
    python?: Maybe<string>;
    anon_bytes?: Maybe<number>;
    parts: HeapPart[];
    allocator?: Maybe<{ name: string; version?: Maybe<string>; arenas?: Maybe<number>; trimmable_bytes?: Maybe<number> }>;
    incomplete?: Record<string, number>;
    // In a census this is a number, in a tick it is a summary.
    objects?: Maybe<number | HeldObjects>;
    refused?: Maybe<string>;
    inherited_bytes?: Maybe<number>;
    types?: (Counted & { type: string })[];
    tensors?: (Counted & { device: string; dtype: string; shape: number[]; only_native?: boolean })[];
    tensor_totals?: (Counted & { device: string })[];
    arrays?: (Counted & { dtype: string; shape: number[] })[];
    holders?: Holder[];
}

export interface Heap {
    time?: Maybe<number>;
    since_seconds?: Maybe<number>;
    processes: HeapProcess[];
}

export interface Embedded {
    run: Run;
    curves: Curves[];
    ticks: Tick[];
    growth: { at: number; growth: Growth }[];
    heap: { at: number; heap: Heap }[];
}
