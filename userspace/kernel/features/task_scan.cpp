#include "kernel/features/task_scan.h"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/features/decode.h"
#include "tasks.skel.h"
#include "tasks_plain.skel.h"
#include <memscope/shared/wire.h>

namespace memscope {

namespace {

constexpr std::size_t kRowsBytes = MS_SCAN_ROWS * sizeof(ms_task);

using Skeleton = std::unique_ptr<tasks_bpf, Release<tasks_bpf__destroy>>;

struct Unmap {
    void operator()(const std::byte* rows) const { ::munmap(const_cast<std::byte*>(rows), kRowsBytes); }
};
using Rows = std::unique_ptr<const std::byte, Unmap>;

// `quick`: the program of the quick scan, empty for none.
Result<Skeleton> load(const FeatureSettings& settings, std::string_view iterator, std::string_view quick) {
    Skeleton skeleton(
        open_object(settings, tasks_bpf__create_skeleton, tasks_bpf__destroy, tasks_plain_bpf__elf_bytes));
    if (!skeleton) return load_error("tasks", errno);
    const auto cpus = static_cast<__u32>(std::max(libbpf_num_possible_cpus(), 1));
    apply_settings(*skeleton, settings);
    skeleton->rodata->cpu_count = cpus;
    bpf_map__set_max_entries(skeleton->maps.cpu_offsets, cpus);
    if (quick.empty()) bpf_map__set_max_entries(skeleton->maps.scan_rows, 1);  // 2.3 MiB that nobody would use
    if (!share_maps(skeleton->obj, settings.shared)) return load_error("tasks", errno);
    load_only(skeleton->obj, {iterator, quick});
    if (const int error = tasks_bpf__load(skeleton.get())) return load_error("tasks", -error);
    return skeleton;
}

Result<Rows> map_rows(const tasks_bpf& skeleton) {
    void* rows = ::mmap(nullptr, kRowsBytes, PROT_READ, MAP_SHARED, bpf_map__fd(skeleton.maps.scan_rows), 0);
    if (rows == MAP_FAILED) return system_error(errno, "map the rows of the scan");
    return Rows(static_cast<const std::byte*>(rows));
}

}  // namespace

struct TaskScan::State {
    Skeleton skeleton;
    SharedMaps shared;
    std::vector<Link> links;
    Rows rows;                       // none: no quick scan
    std::optional<Error> refusal{};  // why not, if the plan had one
    std::vector<std::byte> buffer;   // kept between scans: a thousand processes are 300 KiB
    DecodedScan scan;                // likewise
    std::uint64_t page_size = 4096;

    // What the plan has, or without the quick scan: what a verifier takes differs between kernels more than facts tell.
    Status start_programs(const Plan& plan, const FeatureSettings& settings) {
        const auto iterator = program_of(plan, "tasks", "scan");
        const auto quick = program_of(plan, "tasks", "quick_scan");
        auto loaded = load(settings, iterator, quick);
        if (!loaded && !quick.empty()) {
            refusal = loaded.error();
            loaded = load(settings, iterator, {});
        }
        if (!loaded) return loaded.error();
        skeleton = std::move(*loaded);
        shared = settings.shared;
        if (!quick.empty() && !refusal) {
            auto mapped = map_rows(*skeleton);
            if (!mapped) return mapped.error();
            rows = std::move(*mapped);
        }
        auto attached = attach(skeleton->obj, {iterator});
        if (!attached) return attached.error();
        links = std::move(*attached);
        return Done{};
    }
};

TaskScan::TaskScan(std::unique_ptr<State> state) : state_(std::move(state)) {}
TaskScan::TaskScan(TaskScan&&) noexcept = default;
TaskScan& TaskScan::operator=(TaskScan&&) noexcept = default;
TaskScan::~TaskScan() = default;

Result<TaskScan> TaskScan::start(const Plan& plan, const FeatureSettings& settings) {
    auto state = std::make_unique<State>();
    state->page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    if (auto started = state->start_programs(plan, settings); !started) return started.error();
    return TaskScan(std::move(state));
}

Result<std::span<const ScannedTask>> TaskScan::scan() {
    if (!is_quick()) return read_iterator();
    bpf_test_run_opts options{};
    options.sz = sizeof options;
    if (bpf_prog_test_run_opts(bpf_program__fd(state_->skeleton->progs.tasks_procs), &options) != 0)
        return system_error(errno, "run the scan of processes");
    const std::uint64_t wanted = state_->skeleton->bss->rows_wanted;
    if (wanted > MS_SCAN_ROWS) return read_iterator();
    return decoded({state_->rows.get(), wanted * sizeof(ms_task)});
}

Result<std::span<const ScannedTask>> TaskScan::read_iterator() {
    constexpr std::size_t kStep = 256 * sizeof(ms_task);
    const Fd iterator(bpf_iter_create(bpf_link__fd(state_->links.front().get())));
    if (!iterator) return system_error(errno, "open the task iterator");
    auto& buffer = state_->buffer;
    std::size_t used = 0;
    for (;;) {
        if (buffer.size() < used + kStep) buffer.resize(used + kStep);
        const ssize_t n = ::read(iterator.get(), buffer.data() + used, buffer.size() - used);
        if (n == 0) break;
        if (n > 0)
            used += static_cast<std::size_t>(n);
        else if (errno != EINTR && errno != EAGAIN)  // EAGAIN: the kernel gave way after a million visits; go on
            return system_error(errno, "read the task iterator");
    }
    return decoded({buffer.data(), used});
}

Result<std::span<const ScannedTask>> TaskScan::decoded(std::span<const std::byte> rows) {
    if (auto done = decode_tasks(rows, state_->page_size, state_->scan); !done) return done.error();
    return std::span<const ScannedTask>(state_->scan.tasks);
}

bool TaskScan::is_quick() const { return state_->rows != nullptr; }
const std::optional<Error>& TaskScan::refusal() const { return state_->refusal; }
Losses TaskScan::losses() const { return read_losses(state_->skeleton->bss->losses); }
Bytes TaskScan::map_memory() const { return map_bytes(state_->skeleton->obj, state_->shared); }

}  // namespace memscope
