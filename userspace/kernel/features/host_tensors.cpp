#include "kernel/features/host_tensors.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "host_tensors.skel.h"
#include "host_tensors_plain.skel.h"
#include "kernel/bpf/bpf_object.h"
#include "kernel/bpf/map_entries.h"

namespace memscope {
namespace {

constexpr const char* kDelete = "host_delete";
constexpr const char* kOutOfMemory = "host_out_of_memory";

// A process can pass any size to the function.
std::int64_t number(std::uint64_t bytes) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, std::numeric_limits<std::int64_t>::max()));
}

// Deletes entries without bytes when their map is more than half full, because a process can make new stacks all the
// time. Deletes only entries that were empty at two readings in a row: if a BPF program adds bytes to an entry at the
// moment of its deletion, these bytes are attributed to no stack.
template <class Key, class Value>
class EmptyEntries {
  public:
    void make_room(const bpf_map* map, std::size_t used, const std::vector<Key>& empty) {
        const auto before = std::exchange(before_, {});
        if (used <= bpf_map__max_entries(map) / 2) return;
        for (const Key& key : empty) {
            std::string bytes(reinterpret_cast<const char*>(&key), sizeof key);
            if (before.contains(bytes))
                remove(bpf_map__fd(map), key);
            else
                before_.insert(std::move(bytes));
        }
    }

  private:
    static void remove(int map, const Key& key) {
        Value value{};
        if (bpf_map_lookup_elem(map, &key, &value) == 0 && value.bytes <= 0) bpf_map_delete_elem(map, &key);
    }
    std::set<std::string> before_{};  // keys as bytes
};

}  // namespace

struct HostTensors::State {
    BpfObject<host_tensors_bpf> object;
    std::string_view new_program;
    bool many_at_once = false;
    MapSweep sweep{};
    EmptyEntries<ms_host_site_key, ms_host_site> empty_sites{};
    EmptyEntries<ms_host_calls_key, ms_host_calls> empty_calls{};

    int map(const bpf_map* map) const { return bpf_map__fd(map); }
    const volatile host_tensors_bpf::host_tensors_bpf__bss& counters() const { return *object->bss; }
};

HostTensors::HostTensors(std::unique_ptr<State> state) : state_(std::move(state)) {}
HostTensors::~HostTensors() = default;

Result<std::unique_ptr<HostTensors>> HostTensors::start(const Plan& plan, const FeatureSettings& settings) {
    const auto new_program = program_of(plan, kName, "calls");
    if (new_program.empty()) return plain_error("this kernel offers no hook for the host tensors of PyTorch");
    if (!settings.follow_growth) return plain_error("host tensors are not followed, because growth is not recorded");
    auto object = BpfObject<host_tensors_bpf>::load(
        kName, {host_tensors_bpf__create_skeleton, host_tensors_plain_bpf__elf_bytes}, settings,
        {new_program, kDelete, kOutOfMemory}, [&](host_tensors_bpf& skeleton) {
            if (settings.host_storages > 0)
                for (bpf_map* map : {skeleton.maps.host_storages, skeleton.maps.host_sites, skeleton.maps.host_calls})
                    bpf_map__set_max_entries(map, std::min(bpf_map__max_entries(map), settings.host_storages));
            if (!settings.many_user_probes) return;
            for (const std::string_view name : {new_program, std::string_view(kDelete), std::string_view(kOutOfMemory)})
                prepare_for_many(bpf_object__find_program_by_name(skeleton.obj, std::string(name).c_str()));
        });
    if (!object) return object.error();
    return std::unique_ptr<HostTensors>(new HostTensors(std::make_unique<State>(
        State{.object = std::move(*object), .new_program = new_program, .many_at_once = settings.many_user_probes})));
}

// The probe of New is attached last and detached first, so that the Delete of each recorded storage is seen.
Result<ProbeRequest> HostTensors::probes(const Fd& library, std::span<const HostTensorPlace> places,
                                         Calls calls) const {
    ProbeRequest request{.purpose = "follow the host tensors of PyTorch", .many_at_once = state_->many_at_once};
    request.library = Fd(::fcntl(library.get(), F_DUPFD_CLOEXEC, 0));
    if (!request.library) return system_error(errno, request.purpose);
    const std::pair<ms_host_tensor_call, std::string_view> programs[] = {
        {MS_HOST_OUT_OF_MEMORY, kOutOfMemory}, {MS_HOST_DELETE, kDelete}, {MS_HOST_NEW, state_->new_program}};
    for (const auto& [call, program] : programs) {
        if (calls == Calls::failures && call != MS_HOST_OUT_OF_MEMORY) continue;
        std::vector<ProbePoint> points;
        for (const HostTensorPlace& place : places)
            if (place.call == call) points.push_back({.offset = place.offset});
        auto group = probe_group(state_->object.program(program), ProbeAt::call, std::move(points));
        if (!group) return group.error();
        request.groups.push_back(std::move(*group));
    }
    return request;
}

bool HostTensors::exists(const ms_host_account_key& key, __u32 pid) const {
    ms_space space{};
    return key.period == state_->counters().period &&
           bpf_map_lookup_elem(state_->map(state_->object->maps.spaces), &pid, &space) == 0 && space.id == key.space;
}

std::vector<HostTensorAccount> HostTensors::accounts() {
    const int map = state_->map(state_->object->maps.host_accounts);
    std::vector<HostTensorAccount> accounts;
    std::vector<ms_host_account_key> gone;
    for_each_entry<ms_host_account_key, ms_host_account>(
        map, std::size_t{2} * MS_HOST_ACCOUNTS, [&](const ms_host_account_key& key, const ms_host_account& account) {
            if (!exists(key, account.pid)) return gone.push_back(key);
            accounts.push_back({.process = {static_cast<pid_t>(account.pid), account.start_ns},
                                .space = SpaceId{key.space},
                                .bytes = number(not_below_zero(account.bytes)),
                                .storages = not_below_zero(account.storages),
                                .lost = number(account.lost_bytes)});
        });
    for (const ms_host_account_key& key : gone) bpf_map_delete_elem(map, &key);
    return accounts;
}

// The accounts that accounts() has not deleted. Looks up each account in the BPF map only once.
class HostTensors::LivingAccounts {
  public:
    explicit LivingAccounts(const State& state) : map_(state.map(state.object->maps.host_accounts)) {}
    bool contains(const ms_host_account_key& key) {
        const auto [known, fresh] = known_.try_emplace({key.space, key.period});
        ms_host_account account{};
        if (fresh) known->second = bpf_map_lookup_elem(map_, &key, &account) == 0;
        return known->second;
    }

  private:
    int map_;
    std::map<std::pair<__u64, __u32>, bool> known_{};
};

std::vector<HostTensorSite> HostTensors::sites(LivingAccounts& living) {
    const int map = state_->map(state_->object->maps.host_sites);
    std::vector<HostTensorSite> sites;
    std::vector<ms_host_site_key> gone, empty;
    const auto take = [&](const ms_host_site_key& key, const ms_host_site& site) {
        if (!living.contains(key.account)) return gone.push_back(key);
        if (site.bytes <= 0) empty.push_back(key);
        sites.push_back({.space = SpaceId{key.account.space},
                         .stack = StackId{key.stack},
                         .calls = CallsId{site.calls},
                         .bytes = number(not_below_zero(site.bytes))});
    };
    for_each_entry<ms_host_site_key, ms_host_site>(map, std::size_t{2} * MS_HOST_SITES, take);
    for (const ms_host_site_key& key : gone) bpf_map_delete_elem(map, &key);
    state_->empty_sites.make_room(state_->object->maps.host_sites, sites.size(), empty);
    return sites;
}

// The sites are read first, because the calls of a site are created before the site.
HostTensorReading HostTensors::read() {
    const __u32 reading_number = __atomic_fetch_add(&state_->object->data->reading, 1, __ATOMIC_RELAXED);
    LivingAccounts living(*state_);
    HostTensorReading reading{.sites = sites(living)};
    const int map = state_->map(state_->object->maps.host_calls);
    std::set<HostTensorReading::Calls> used;
    for (const HostTensorSite& site : reading.sites) used.insert({site.space, site.calls});
    std::vector<ms_host_calls_key> gone, unused;
    for_each_entry<ms_host_calls_key, ms_host_calls>(
        map, std::size_t{2} * MS_HOST_CALLS, [&](const ms_host_calls_key& key, const ms_host_calls& calls) {
            if (!living.contains(key.account)) return gone.push_back(key);
            const HostTensorReading::Calls id{SpaceId{key.account.space}, CallsId{key.calls}};
            auto& frees = reading.calls[id];
            if (calls.bytes <= 0 && !used.contains(id)) unused.push_back(key);
            // Frees from now on count for the next reading.
            if (const ms_host_frees& noted = calls.frees[reading_number % 2]; noted.reading == reading_number)
                frees = {.low = number(not_below_zero(noted.low)),
                         .high = number(not_below_zero(noted.high)),
                         .fall = number(not_below_zero(noted.fall))};
        });
    for (const ms_host_calls_key& key : gone) bpf_map_delete_elem(map, &key);
    state_->empty_calls.make_room(state_->object->maps.host_calls, reading.calls.size(), unused);
    return reading;
}

// An account is created before its first storage. So if the account is missing after the storage was read, the account
// has been deleted.
void HostTensors::sweep(std::size_t most) {
    LivingAccounts living(*state_);
    const auto is_gone = [&](const ms_host_storage_key& key, const ms_host_storage&) {
        return !living.contains(key.account);
    };
    const __s64 swept = state_->sweep.next<ms_host_storage_key, ms_host_storage>(
        state_->map(state_->object->maps.host_storages), most, is_gone);
    __atomic_fetch_sub(&state_->object->bss->storage_entries, swept, __ATOMIC_RELAXED);
}

std::uint64_t HostTensors::entries() const {
    return not_below_zero(__atomic_load_n(&state_->object->bss->storage_entries, __ATOMIC_RELAXED));
}

void HostTensors::begin_period(bool on) {
    __atomic_fetch_add(&state_->object->bss->period, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&state_->object->data->recording, on ? 1 : 0, __ATOMIC_RELAXED);
}

HostTensors::Cost HostTensors::cost() const {
    const auto& counters = state_->counters();
    return {.allocated = counters.storages_allocated, .calls = counters.calls, .ns = counters.call_ns};
}

Losses HostTensors::losses() const { return state_->object.losses(); }
Bytes HostTensors::map_memory() const { return state_->object.map_memory(); }

}  // namespace memscope
