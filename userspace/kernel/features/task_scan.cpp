#include "kernel/features/task_scan.h"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/bpf/bpf_object.h"
#include "kernel/features/decode.h"
#include "tasks.skel.h"
#include "tasks_plain.skel.h"
#include <memscope/shared/wire.h>

namespace memscope {

namespace {

constexpr std::size_t kRowsBytes = MS_SCAN_ROWS * sizeof(ms_task);

struct Unmap {
    void operator()(const std::byte* rows) const { ::munmap(const_cast<std::byte*>(rows), kRowsBytes); }
};
using Rows = std::unique_ptr<const std::byte, Unmap>;

// `quick`: the program of the quick scan; empty: none.
Result<BpfObject<tasks_bpf>> load(const FeatureSettings& settings, std::string_view iterator, std::string_view quick) {
    return BpfObject<tasks_bpf>::load(TaskScan::kName, {tasks_bpf__create_skeleton, tasks_plain_bpf__elf_bytes},
                                      settings, {iterator, quick}, [&](tasks_bpf& skeleton) {
                                          const auto cpus = static_cast<__u32>(std::max(libbpf_num_possible_cpus(), 1));
                                          skeleton.rodata->cpu_count = cpus;
                                          bpf_map__set_max_entries(skeleton.maps.cpu_offsets, cpus);
                                          if (quick.empty())
                                              bpf_map__set_max_entries(skeleton.maps.scan_rows, 1);  // saves 2.3 MiB
                                      });
}

Result<Rows> map_rows(const BpfObject<tasks_bpf>& object) {
    void* rows = ::mmap(nullptr, kRowsBytes, PROT_READ, MAP_SHARED, bpf_map__fd(object->maps.scan_rows), 0);
    if (rows == MAP_FAILED) return system_error(errno, "map the rows of the process scan into memory");
    return Rows(static_cast<const std::byte*>(rows));
}

}  // namespace

struct TaskScan::State {
    BpfObject<tasks_bpf> object;
    Rows rows{};                      // null: no quick scan
    std::optional<Error> refusal{};   // why the quick scan of the plan was not loaded
    std::vector<std::byte> buffer{};  // kept between scans: a thousand processes are 300 KiB
    DecodedScan scan{};               // kept between scans, because most mappings do not change
};

TaskScan::TaskScan(std::unique_ptr<State> state) : state_(std::move(state)) {}
TaskScan::~TaskScan() = default;

Result<std::unique_ptr<TaskScan>> TaskScan::start(const Plan& plan, const FeatureSettings& settings) {
    const auto iterator = program_of(plan, kName, "scan");
    const auto quick = program_of(plan, kName, "quick_scan");
    auto object = load(settings, iterator, quick);
    // Verifiers differ more between kernels than the facts show. If loading fails, it is tried again without the quick
    // scan.
    std::optional<Error> refusal;
    if (!object && !quick.empty()) {
        refusal = object.error();
        object = load(settings, iterator, {});
    }
    if (!object) return object.error();
    auto state = std::make_unique<State>(State{.object = std::move(*object), .refusal = std::move(refusal)});
    if (!quick.empty() && !state->refusal) {
        auto mapped = map_rows(state->object);
        if (!mapped) return mapped.error();
        state->rows = std::move(*mapped);
    }
    if (auto attached = state->object.attach({iterator}); !attached) return attached.error();
    return std::unique_ptr<TaskScan>(new TaskScan(std::move(state)));
}

Result<std::span<const ScannedTask>> TaskScan::scan() {
    if (!is_quick()) return read_iterator();
    bpf_test_run_opts options{};
    options.sz = sizeof options;
    if (bpf_prog_test_run_opts(bpf_program__fd(state_->object->progs.tasks_procs), &options) != 0)
        return system_error(errno, "run the process scan");
    const std::uint64_t wanted = state_->object->bss->rows_wanted;
    if (wanted > MS_SCAN_ROWS) return read_iterator();
    return decoded({state_->rows.get(), wanted * sizeof(ms_task)});
}

Result<std::span<const ScannedTask>> TaskScan::read_iterator() {
    constexpr std::size_t kStep = 256 * sizeof(ms_task);
    const Fd iterator(bpf_iter_create(bpf_link__fd(state_->object.links().front().get())));
    if (!iterator) return system_error(errno, "open the task iterator");
    auto& buffer = state_->buffer;
    std::size_t used = 0;
    for (;;) {
        if (buffer.size() < used + kStep) buffer.resize(used + kStep);
        const ssize_t n = ::read(iterator.get(), buffer.data() + used, buffer.size() - used);
        if (n == 0) break;
        if (n > 0)
            used += static_cast<std::size_t>(n);
        else if (errno != EINTR && errno != EAGAIN)  // EAGAIN: the kernel pauses after a million visits; read on
            return system_error(errno, "read the task iterator");
    }
    return decoded({buffer.data(), used});
}

Result<std::span<const ScannedTask>> TaskScan::decoded(std::span<const std::byte> rows) {
    if (auto done = decode_tasks(rows, page_bytes(), state_->scan); !done) return done.error();
    return std::span<const ScannedTask>(state_->scan.tasks);
}

bool TaskScan::is_quick() const { return state_->rows != nullptr; }
bool TaskScan::uses(std::string_view hook) const { return hook != "quick_scan" || is_quick(); }
std::optional<Error> TaskScan::refusal() const { return state_->refusal; }
Losses TaskScan::losses() const { return state_->object.losses(); }
Bytes TaskScan::map_memory() const { return state_->object.map_memory(); }

}  // namespace memscope
