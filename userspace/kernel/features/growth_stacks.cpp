#include "kernel/features/growth_stacks.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/units.h"
#include "growth.skel.h"
#include "growth_plain.skel.h"
#include "kernel/bpf/bpf_object.h"
#include "kernel/bpf/event_ring.h"
#include "kernel/features/decode.h"

namespace memscope {
namespace {

// The kernel has served a page fault, without and with input or output.
constexpr std::uint64_t kServedFaults[] = {PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ};

Result<Fd> open_faults(std::uint64_t kind, int cpu) {
    perf_event_attr event{};
    event.type = PERF_TYPE_SOFTWARE;
    event.config = kind;
    event.size = sizeof event;
    event.sample_period = 1;
    event.sample_type = PERF_SAMPLE_ADDR;
    event.exclude_kernel = 0;  // counts faults in the kernel, too: read() into a new buffer makes the kernel touch it
    Fd fd(static_cast<int>(::syscall(SYS_perf_event_open, &event, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!fd) return system_error(errno, "count page faults");
    return fd;
}

// An event of page faults with a BPF program. It is opened once and then switched on and off, because opening it again
// may take capabilities that memscope has given up by then.
struct FaultEvent {
    Fd event{};
    Link link{};
};

Result<FaultEvent> attach_to_faults(bpf_program* program, std::uint64_t kind, int cpu) {
    auto event = open_faults(kind, cpu);
    if (!event) return event.error();
    Fd of_link(::fcntl(event->get(), F_DUPFD_CLOEXEC, 0));
    if (!of_link) return system_error(errno, "count page faults");
    FaultEvent fault{.event = std::move(*event), .link = Link(bpf_program__attach_perf_event(program, of_link.get()))};
    if (!fault.link) return system_error(errno, "attach to page faults");
    (void)of_link.release();  // the link closes it
    return fault;
}

// On all online CPUs or on none, because growth on a CPU without the program would have no stack.
Result<std::vector<FaultEvent>> attach_to_all_faults(bpf_program* program) {
    std::vector<FaultEvent> faults;
    Error last = plain_error("count page faults: no CPU is online");
    for (int cpu = 0; cpu < libbpf_num_possible_cpus(); ++cpu)
        for (const std::uint64_t kind : kServedFaults) {
            auto fault = attach_to_faults(program, kind, cpu);
            if (fault)
                faults.push_back(std::move(*fault));
            else if (fault.error().code.value() == ENODEV)
                last = fault.error();  // the CPU is not online
            else
                return fault.error();
        }
    if (faults.empty()) return last;
    return faults;
}

}  // namespace

struct GrowthStacks::State {
    BpfObject<growth_bpf> object;
    std::string_view resident{};  // program at the counter of pages
    std::string_view fault{};     // reads fault addresses, can be equal to `resident`; empty: net changes only
    ResidentMethod method = ResidentMethod::none;
    std::vector<FaultEvent> faults{};
    std::vector<Link> resident_links{};  // of `resident`
    Ring ring{};
    std::size_t most_at_once = 1;  // maximum number of events per drain()
    std::size_t left = 0;          // events that the current drain() may still read
    const KernelEvents* events = nullptr;
    std::uint64_t malformed = 0;
    const std::int64_t page_size = static_cast<std::int64_t>(page_bytes());

    int map(const bpf_map* map) const { return bpf_map__fd(map); }

    void dispatch(std::span<const std::byte> record) {
        ms_header header;
        if (record.size() < sizeof header) {
            ++malformed;
            return;
        }
        std::memcpy(&header, record.data(), sizeof header);
        if (header.kind == MS_EVENT_STACK) {
            const auto stack = decode_stack(record);
            stack ? events->stack(*stack) : void(++malformed);
        } else if (header.kind == MS_EVENT_CODE) {
            const auto code = decode_code(record);
            code ? events->code(*code) : void(++malformed);
        } else if (header.kind == MS_EVENT_SAMPLE) {
            const auto sample = decode_sample(record, static_cast<std::uint64_t>(page_size));
            sample ? events->sample(*sample) : void(++malformed);
        } else if (header.kind == MS_EVENT_GREW) {
            events->grew({static_cast<pid_t>(header.pid), header.start_ns});
        } else {
            ++malformed;
        }
    }

    static int receive(void* self, void* data, std::size_t size) {
        auto& state = *static_cast<State*>(self);
        state.dispatch({static_cast<const std::byte*>(data), size});
        return --state.left == 0 ? -ECANCELED : 0;
    }

    bpf_program* program(std::string_view name) const {
        return bpf_object__find_program_by_name(object.object(), std::string(name).c_str());
    }

    Status attach_resident() {
        if (method == ResidentMethod::none) return Done{};
        auto links = memscope::attach(object.object(), {resident});
        if (!links) return links.error();
        if (!fault.empty() && fault != resident && faults.empty()) {
            auto attached = attach_to_all_faults(program(fault));
            if (!attached) return attached.error();
            faults = std::move(*attached);
        }
        for (const FaultEvent& each : faults)
            if (::ioctl(each.event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
                return system_error(errno, "switch on the events of page faults");
        resident_links = std::move(*links);
        return Done{};
    }

    void detach_resident() {
        resident_links.clear();
        for (const FaultEvent& each : faults) (void)::ioctl(each.event.get(), PERF_EVENT_IOC_DISABLE, 0);
    }
};

GrowthStacks::GrowthStacks(std::unique_ptr<State> state) : state_(std::move(state)) {}
GrowthStacks::~GrowthStacks() = default;

Result<std::unique_ptr<GrowthStacks>> GrowthStacks::start(const Plan& plan, const FeatureSettings& settings) {
    const auto programs = programs_of(plan, kName);
    const auto resident = program_of(plan, kName, "resident");
    const auto fault = program_of(plan, kName, "fault");
    if (resident.empty()) return plain_error("this kernel offers no hook for the growth of resident memory");
    auto object = BpfObject<growth_bpf>::load(kName, {growth_bpf__create_skeleton, growth_plain_bpf__elf_bytes},
                                              settings, programs);
    if (!object) return object.error();
    auto state = std::make_unique<State>(State{.object = std::move(*object), .resident = resident, .fault = fault});
    // Without range events it is not known when a sampled page is unmapped, so resident growth is not measured.
    if (settings.follow_ranges) state->method = fault.empty() ? ResidentMethod::first_touch : ResidentMethod::live;
    state->ring.reset(
        ring_buffer__new(state->map(state->object->maps.stack_events), State::receive, state.get(), nullptr));
    if (!state->ring) return system_error(errno, "open the ring buffer of call stacks");
    state->most_at_once = most_events(state->map(state->object->maps.stack_events), sizeof(ms_header));
    auto others = programs;
    std::erase(others, resident);
    std::erase(others, fault);
    if (auto attached = state->object.attach(others); !attached) return attached.error();
    if (auto attached = state->attach_resident(); !attached) return attached.error();
    return std::unique_ptr<GrowthStacks>(new GrowthStacks(std::move(state)));
}

void GrowthStacks::pause() {
    state_->detach_resident();
    ++state_->object->bss->period;  // from now on changes are attributed to no stack
}

Status GrowthStacks::resume() { return state_->attach_resident(); }
bool GrowthStacks::is_paused() const {
    return state_->method != ResidentMethod::none && state_->resident_links.empty();
}
bool GrowthStacks::uses(std::string_view hook) const { return !is_paused() || (hook != "resident" && hook != "fault"); }

ResidentMethod GrowthStacks::method() const { return state_->method; }

SharedMaps GrowthStacks::shared_maps() const {
    return maps_of(state_->object.object(), {"spaces", "interpreters", "python_threads", "known_stacks", "known_codes",
                                             "more_stacks", "stack_events"});
}

bool GrowthStacks::follows(const ProcessId& process) const {
    ms_space known{};
    const int map = state_->map(state_->object->maps.spaces);
    return bpf_map_lookup_elem(map, &process.pid, &known) == 0 && known.start_ns == process.start_ns;
}

Status GrowthStacks::begin(const ProcessId& process, SpaceId space, Bytes start) {
    const ms_space fresh{.id = static_cast<std::uint64_t>(space),
                         .start_ns = process.start_ns,
                         .mm = 0,
                         .start_pages = static_cast<std::int64_t>(start.n) / state_->page_size,
                         .pages = static_cast<std::int64_t>(start.n) / state_->page_size,
                         .stacks = 0,
                         .grew_sent = 0,
                         .period = state_->object->bss->period,
                         .native_stacks = 0};
    const int map = state_->map(state_->object->maps.spaces);
    if (bpf_map_update_elem(map, &process.pid, &fresh, BPF_ANY) != 0)
        return system_error(errno, "add a process to the BPF map of growing processes");
    return Done{};
}

void GrowthStacks::forget(pid_t process) {
    bpf_map_delete_elem(state_->map(state_->object->maps.spaces), &process);
    bpf_map_delete_elem(state_->map(state_->object->maps.interpreters), &process);
    bpf_map_delete_elem(state_->map(state_->object->maps.more_stacks), &process);
}

Status GrowthStacks::set_python(pid_t process, const ms_python& python) {
    if (bpf_map_update_elem(state_->map(state_->object->maps.interpreters), &process, &python, BPF_ANY) != 0)
        return system_error(errno, "add a process to the BPF map of Python interpreters");
    return Done{};
}

std::optional<ms_python> GrowthStacks::python_of(pid_t process) const {
    ms_python python{};
    if (bpf_map_lookup_elem(state_->map(state_->object->maps.interpreters), &process, &python) != 0)
        return std::nullopt;
    return python;
}

std::vector<int> GrowthStacks::event_fds() const { return {ring_buffer__epoll_fd(state_->ring.get())}; }

void GrowthStacks::drain(const KernelEvents& events) {
    if (!events.code || !events.stack || !events.grew || !events.sample) return;
    // Reset before the events are read, so that a process that grows from now on wakes the collector again.
    state_->object->bss->growth_event_pending = 0;
    state_->events = &events;
    state_->left = state_->most_at_once;
    ring_buffer__consume(state_->ring.get());
    state_->events = nullptr;
}

void GrowthStacks::allow_stacks(pid_t process, std::uint32_t more) {
    const int map = state_->map(state_->object->maps.more_stacks);
    std::uint32_t allowed = 0;
    (void)bpf_map_lookup_elem(map, &process, &allowed);
    allowed += more;
    (void)bpf_map_update_elem(map, &process, &allowed,
                              BPF_ANY);  // if the map is full, the process keeps its current number
}

void GrowthStacks::forget_stack(StackId stack) {
    bpf_map_delete_elem(state_->map(state_->object->maps.known_stacks), &stack);
}

std::optional<FollowedSpace> GrowthStacks::read_space(pid_t process) const {
    ms_space space{};
    if (bpf_map_lookup_elem(state_->map(state_->object->maps.spaces), &process, &space) != 0) return std::nullopt;
    return FollowedSpace{.space = SpaceId{space.id},
                         .process = {process, space.start_ns},
                         .start_bytes = space.start_pages * state_->page_size};
}

Losses GrowthStacks::losses() const {
    Losses losses = state_->object.losses();
    losses["malformed_record"] = state_->malformed;
    return losses;
}

GrowthStacks::Cost GrowthStacks::cost() const {
    const auto* data = const_cast<const volatile growth_bpf::growth_bpf__bss*>(state_->object->bss);
    return {data->samples_sent, data->sampling_ns};
}

Bytes GrowthStacks::map_memory() const { return state_->object.map_memory(); }

}  // namespace memscope
