#include "kernel/tasks_signal.h"

#include <unistd.h>

#include "base/fd.h"
#include "kernel/decode.h"
#include "tasks.skel.h"
#include <memscope/shared/wire.h>

namespace memscope {

struct TasksSignal::State {
    std::unique_ptr<tasks_bpf, Release<tasks_bpf__destroy>> skeleton;
    std::vector<Link> links;
    std::vector<std::byte> buffer;  // kept between scans: a thousand processes are 125 KiB
    std::uint64_t page_size = 4096;
};

TasksSignal::TasksSignal(std::unique_ptr<State> state) : state_(std::move(state)) {}
TasksSignal::TasksSignal(TasksSignal&&) noexcept = default;
TasksSignal& TasksSignal::operator=(TasksSignal&&) noexcept = default;
TasksSignal::~TasksSignal() = default;

Result<TasksSignal> TasksSignal::start(const Plan& plan, const SignalSettings& settings) {
    auto state = std::make_unique<State>();
    state->page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    state->skeleton.reset(tasks_bpf__open());
    if (!state->skeleton) return load_error("tasks", errno);
    tasks_bpf& skeleton = *state->skeleton;
    const auto cpus = static_cast<__u32>(std::max(libbpf_num_possible_cpus(), 1));
    apply_settings(skeleton, settings);
    skeleton.rodata->cpu_count = cpus;
    bpf_map__set_max_entries(skeleton.maps.cpu_offsets, cpus);
    if (!share_maps(skeleton, settings)) return load_error("tasks", errno);
    const auto programs = programs_of(plan, "tasks");
    load_only(skeleton.obj, programs);
    if (const int error = tasks_bpf__load(&skeleton)) return load_error("tasks", -error);
    auto links = attach(skeleton.obj, programs);
    if (!links) return links.error();
    state->links = std::move(*links);
    return TasksSignal(std::move(state));
}

Result<std::vector<TaskSample>> TasksSignal::scan() {
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
    return decode_tasks({buffer.data(), used}, state_->page_size);
}

Losses TasksSignal::losses() const { return read_losses(bpf_map__fd(state_->skeleton->maps.losses)); }
Bytes TasksSignal::map_memory() const { return map_bytes(state_->skeleton->obj); }

}  // namespace memscope
