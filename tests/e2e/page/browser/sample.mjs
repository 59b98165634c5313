// A generated run with data for every part of the page, and with names that could break the page. The numbers are the
// same each time.
const MiB = 1 << 20;
const GiB = 1024 * MiB;

export const hostileNames = {
    script: "<script>alert(1)</script>",
    image: '"><img src=x onerror=alert(1)>',
    rightToLeft: "evil\u202egnp.exe\u2066\u200b",
    long: "n".repeat(4096),
    end: "</script><!--",
};

function noise(seed) {
    let state = seed;
    return () => {
        state = (state * 1664525 + 1013904223) >>> 0;
        return state / 2 ** 32;
    };
}

/**
 * Options: seconds, death (at the end), gpus, hostile, workers, bins. `embedded` is the data of a report; the functions
 * answer for other spans and times.
 */
export function sample(options = {}) {
    const { seconds = 1800, death = false, gpus = 2, hostile = false, limitOwner = "own", workers = 6, bins = 600, mode = "report" } = options;
    const began = 1763388000;
    const ended = began + seconds;
    const warmup = seconds * 0.2;
    const limit = 3 * GiB;
    const level = (t) => (t < warmup ? 1 * GiB * (1 - Math.exp((-4 * t) / warmup)) : 1 * GiB + ((t - warmup) / (seconds - warmup)) * (death ? 1.98 : 1.2) * GiB);
    const spike = (t) => (t % 180 > 160 ? 180 * MiB : 0);
    const groupOf = (id) => ({ kind: "kind", role: "role", gpu: "gpu", processes: "count" })[id.split(":")[0]] ?? "main";
    const labels = { held: "cannot be reclaimed", floor: "floor", usage: "used", limit: "limit" };
    const valuesAt = (t, random) => {
        const held = level(t) + random() * 20 * MiB;
        const values = {
            held: held + spike(t) * 0.4, floor: t < 20 ? null : level(t), usage: held + 500 * MiB + 40 * MiB * random(), limit,
            "kind:anon": held * 0.93, "kind:shmem": held * 0.04, "kind:file": 480 * MiB, "kind:kernel": held * 0.03, "kind:other": 2 * MiB,
            "role:trainer 0": held * 0.8, "role:dataloader_worker 0": held * 0.16, "role:launcher": 12 * MiB, processes: 2 + workers,
        };
        for (let gpu = 0; gpu < gpus; ++gpu) {
            const tensors = (20 + gpu * 6) * GiB * Math.min(1, t / warmup);
            const target = tensors * 1.25 + 500 * MiB;
            const others = gpu ? 9 * GiB : 0;
            Object.assign(values, { [`gpu:${gpu}:tensors`]: tensors, [`gpu:${gpu}:reserved`]: tensors * 1.25, [`gpu:${gpu}:target`]: target, [`gpu:${gpu}:others`]: others, [`gpu:${gpu}:used`]: target + others, [`gpu:${gpu}:total`]: 80 * GiB });
        }
        for (const id of Object.keys(values)) if (values[id] !== null) values[id] = Math.round(values[id]);
        return values;
    };
    const curves = (from = began, to = ended, width = bins) => {
        const random = noise(Math.round(from + to));
        const time = [];
        const all = new Map();
        for (let i = 0; i < width; ++i) {
            const t = from - began + (i * (to - from)) / width;
            time.push(began + t);
            for (const [id, value] of Object.entries(valuesAt(t, random))) {
                if (!all.has(id)) all.set(id, { id, label: labels[id] ?? (id.startsWith("gpu:") ? `GPU ${id.split(":")[1]} (NVIDIA H200)` : id.slice(id.indexOf(":") + 1)), group: groupOf(id), mean: [] });
                all.get(id).mean.push(value);
            }
        }
        const held = all.get("held");
        held.low = held.mean.map((value, i) => value - 8 * MiB - Math.round(spike(time[i] - began) * 0.4));
        held.high = held.mean.map((value, i) => value + Math.round(spike(time[i] - began) * 0.6) + Math.round(20 * MiB * random()));
        return { from, to, bin: (to - from) / width, time, complete: true, series: [...all.values()] };
    };
    const liveTick = (t) => {
        const values = valuesAt(t, noise(Math.round(t)));
        const tick = { time: began + t, kinds: {}, roles: {}, gpus: {} };
        for (const [id, value] of Object.entries(values)) {
            const [first, second, third] = id.split(":");
            if (first === "kind") tick.kinds[second] = value;
            else if (first === "role") tick.roles[second] = value;
            else if (first === "gpu") (tick.gpus[second] ??= {})[third] = value;
            else tick[id] = value;
        }
        return tick;
    };
    const names = Object.values(hostileNames);
    const tick = (t) => {
        const held = level(t);
        const processes = [
            { pid: 20082, parent_pid: 1, start_time: began - 1, comm: "torchrun", role: "launcher", rank: null, slot: null, rss_anon_bytes: 12 * MiB, own_anon_bytes: 12 * MiB, rss_file_bytes: 3 * MiB, rss_shmem_bytes: 0, threads: 1 },
            { pid: 20083, parent_pid: 20082, start_time: began, comm: "python3", command: "python3 train.py --config base.yaml", role: "trainer", rank: 0, slot: 0, rss_anon_bytes: Math.round(held * 0.8), own_anon_bytes: Math.round(held * 0.8), rss_file_bytes: 180 * MiB, rss_shmem_bytes: 40 * MiB, threads: 24 },
        ];
        for (let i = 0; i < workers; ++i)
            processes.push({
                pid: 20090 + i, parent_pid: 20083, start_time: began + 2, comm: hostile ? names[i % names.length] : "pt_data_worker",
                role: hostile ? "other" : "dataloader_worker", rank: 0, slot: i, rss_anon_bytes: Math.round(held * 0.16 / workers) + 300 * MiB,
                own_anon_bytes: Math.round(held * 0.16 / workers), rss_file_bytes: 12 * MiB, rss_shmem_bytes: 6 * MiB, threads: 2,
            });
        return {
            time: began + t,
            target: { name: "train", kind: "cgroup", cgroup_version: 2, up: true },
            memory: { usage_bytes: Math.round(held + 500 * MiB), limit_bytes: limit, effective_limit_bytes: limit, limit_owner: "own", headroom_bytes: Math.round(limit - held), unreclaimable_bytes: Math.round(held), by_kind: {} },
            processes,
            verdicts: [{
                scope: "target", role: null, rank: null, gpu: null, verdict: "leaking", explanation: "", holders: null,
                grower: { pid: 20083, comm: hostile ? names[0] : "python3", role: "trainer", rank: 0, grown_bytes: 154 * MiB, share_ratio: 0.93, over_seconds: 190, levels_below_top: 1, top: "torchrun" },
                lines: { most: "validate (train.py:60)", share_ratio: 0.9, repeated_ratio: 1, keeps: true },
            }],
            gpu: gpus
                ? {
                      devices: Array.from({ length: gpus }, (_, i) => ({ gpu: `GPU-${i}`, index: i, name: "NVIDIA H200", used_bytes: 30 * GiB, total_bytes: 80 * GiB, target_bytes: 25 * GiB, others_bytes: i ? 9 * GiB : 0, utilization_ratio: 0.87, trouble: null })),
                      roles: [],
                      processes: [{ pid: 20083, gpu: "GPU-0", used_bytes: 25 * GiB }],
                  }
                : null,
            heap: [],
        };
    };
    const python = (f, file, line) => ({ function: f, file, line });
    const site = (bytes, frames, native = ["mmap", "__default_morecore"], role = "trainer") => ({
        bytes: Math.round(bytes), role, rank: 0, pids: [20083], python: frames,
        native: [...native.map((symbol) => ({ symbol, module: "/lib/libc.so.6", offset: 4096 })), { symbol: "_PyEval_EvalFrameDefault", module: "/usr/bin/python3.11", offset: 99 }],
    });
    const job = hostile ? `/job/${hostileNames.script}` : "/job/train.py";
    const main = python("<module>", job, 120);
    const growth = (t) => {
        const g = Math.max(0, level(t) - 900 * MiB);
        return {
            time: began + t, since_seconds: t, at: "now", resident_method: "sampled",
            sentence: g > 0 ? `validate (train.py:60) keeps ${Math.round(g / MiB)} MiB more than ${Math.round(t / 60)} min ago; it grew in 8 of the last 10 minutes.` : null,
            owner: { plane: "tensors_host", line: "validate (train.py:60)", bytes: Math.round(g), share: 0.9, role: "trainer", rank: 0 },
            tensors_host: [
                site(g * 0.6, [python("stack", "/usr/lib/python3.11/site-packages/torch/functional.py", 10), python("validate", job, 60), python("run_epoch", job, 88), main]),
                site(g * 0.3, [python("cat", "/usr/lib/python3.11/site-packages/torch/functional.py", 30), python("validate", job, 60), python("run_epoch", job, 88), main]),
                site(40 * MiB, [python("load_weights", job, 33), main]),
            ],
            mapped: [site(g, [python("validate", job, 60), python("run_epoch", job, 88), main]), site(120 * MiB, [python("__init__", "/usr/lib/python3.11/site-packages/torch/nn/module.py", 5), python("build", job, 21), main])],
            resident: [
                site(g * 0.7, [python("validate", job, 60), python("run_epoch", job, 88), main]),
                site(200 * MiB, [python("forward", "/usr/lib/python3.11/site-packages/torch/nn/module.py", 15), python("train_step", job, 44), python("run_epoch", job, 80), main]),
                site(90 * MiB, [], ["alloc_block", "worker_main", "start_thread"], "dataloader_worker"),
            ],
            gpu: [], pinned: [], left_out: {}, unattributed: [{ plane: "resident", reason: "below_step", bytes: 14 * MiB }],
        };
    };
    const path = hostile ? `__main__.${hostileNames.image}` : "__main__.trainer.val_outputs";
    const heap = (t) => ({
        time: began + t, target: "train", since_seconds: 300,
        processes: [{
            pid: 20083, role: "trainer", rank: 0, taken_seconds: 0.2, python: "3.11.2", anon_bytes: Math.round(level(t) * 0.8), swap_bytes: 0,
            parts: [["malloc_live", 0.62], ["malloc_free", 0.18], ["python_live", 0.1], ["python_free", 0.02], ["mapped", 0.05], ["stacks", 0.01], ["other", 0.02]].map(([part, share]) => ({ part, bytes: Math.round(level(t) * 0.8 * share), change_bytes: part === "malloc_live" ? 104 * MiB : 0 })),
            allocator: { name: "glibc", version: "2.36", arenas: 4, trimmable_bytes: 120 * MiB }, mappings: [], incomplete: {},
            objects: 945000, object_bytes: 300 * MiB, refused: null,
            types: [{ type: "torch.Tensor", count: 9831, bytes: 327 * MiB, count_change: 416, bytes_change: 104 * MiB }, { type: "dict", count: 120000, bytes: 44 * MiB, count_change: 30, bytes_change: 6000 }],
            tensors: [{ device: "cpu", dtype: "float32", shape: [64, 1000], only_native: false, count: 416, bytes: 104 * MiB, count_change: 416, bytes_change: 104 * MiB }],
            tensor_totals: [], arrays: [{ dtype: "uint8", shape: [224, 224, 3], count: 900, bytes: 129 * MiB, count_change: null, bytes_change: null }],
            holders: [
                { path, root: "module", type: "list", element: "tuple", length: 1605, retained_bytes: 620 * MiB, retained_device_bytes: 0, length_change: 416, retained_change: 104 * MiB, other_holders: 0 },
                { path: "run (train.py:88) history['losses']", root: "frame", type: "list", element: "float", length: 9000, retained_bytes: 300000, retained_device_bytes: 0, length_change: 300, retained_change: 9600, other_holders: 0 },
            ],
        }],
        processes_left_out: 0,
    });
    const at = (share) => Math.round(seconds * share);
    const killed = "the kernel's OOM killer killed python3 (pid 20083, trainer 0) at its own limit of 3.0 GiB, it held 2.4 GiB";
    const events = [
        { time: began + at(0.02), kind: "verdict", text: "warming_up: it has grown since its start" },
        { time: began + at(0.2), kind: "notice", text: "the warm-up ended" },
        { time: began + at(0.42), kind: "verdict", text: "leaking: the floor has risen steadily by 7.2 GiB/h" },
        { time: began + at(0.8), kind: "precursor", text: "eta: the limit is reached in less than 10 min" },
        { time: began + at(0.81), kind: "action", text: "ran save-checkpoint.sh: exit status 0 after 2 s" },
        ...(hostile ? [{ time: began + at(0.85), kind: "notice", text: `${hostileNames.script} ${hostileNames.rightToLeft}` }] : []),
        ...(death ? [{ time: ended - 2, kind: "death", text: killed }, { time: ended, kind: "end", text: "the target has no processes" }] : []),
    ];
    const growthTimes = [0.25, 0.42, 0.6, 0.8, 0.98].map((share) => began + at(share));
    const heapTimes = [0.43, 0.8].map((share) => began + at(share));
    const slope = ((death ? 1.98 : 1.2) * GiB) / (seconds - warmup);
    const run = {
        mode, target: hostile ? hostileNames.script : "train", version: "0.9", recording: "train.memscope", began, ended, ticks: seconds, interval: 1,
        summary: {
            verdict: "leaking",
            sentence: `The floor has risen steadily by ${(slope * 3600 / GiB).toFixed(1)} GiB/h since 6 min and is now ${(level(seconds) / GiB).toFixed(1)} GiB: find the objects that the job keeps from one step to the next. Most of it is the trainer: it grew by 154 MiB in 3 min (pid 20083, python3, 1 level below torchrun). \`${path}\` (list) has grown by 416 tuples and 104 MiB in 5 min; 98 % of the growth.`,
            peak_bytes: Math.round(level(seconds)), peak_time: ended - 3, kernel_peak_bytes: limit, limit_bytes: limit, limit_owner: "own", floor_bytes: Math.round(level(seconds)), slope_bytes_per_second: slope,
            advice: ["It was leaking, and validate (train.py:60) keeps most of the growth that is attributed: find the objects that are kept there from one step to the next (lists of losses, caches, hooks, tensors with their graph)."],
            deaths: death ? [{ time: ended - 2, pid: 20083, comm: "python3", role: "trainer 0", cause: "oom_kill", text: killed }] : [],
            warmup_ended: began + warmup, leak_started: began + warmup,
        },
        forecast: death ? null : { basis: "leak", limit_bytes: limitOwner === "own" ? limit : 24 * GiB, limit_owner: limitOwner, eta_seconds: (limit - level(seconds)) / slope, earliest_seconds: ((limit - level(seconds)) / slope) * 0.8, latest_seconds: ((limit - level(seconds)) / slope) * 1.4 },
        phases: [{ kind: "warmup", from: began, to: began + warmup }, { kind: "leak", from: began + warmup, to: ended }],
        events, growth_times: growthTimes, heap_times: heapTimes, complete: true, with_commands: true,
    };
    const embedded = {
        run,
        curves: [curves()],
        ticks: Array.from({ length: 60 }, (_, i) => tick(Math.round((i * (seconds - 3)) / 59))),
        growth: growthTimes.map((t) => ({ at: t, growth: growth(t - began) })),
        heap: heapTimes.map((t) => ({ at: t, heap: heap(t - began) })),
    };
    return { embedded, curves, tick, growth, heap, liveTick };
}

export function sampleRun(options = {}) {
    return sample(options).embedded;
}
