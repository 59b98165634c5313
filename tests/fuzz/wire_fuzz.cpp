// Records of the kernel, and the counters made from them. For any records in any order, processes = starts - exits.
#include <algorithm>
#include <map>

#include "fuzz.h"
#include "kernel/features/decode.h"
#include "model/processes/nesting.h"
#include "model/processes/role_ledger.h"
#include "watch/actions/action_wire.h"
#include <memscope/shared/wire.h>

namespace memscope::fuzz {
namespace {

constexpr std::uint64_t kPage = 4096;

std::span<const std::byte> as_bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

// Four targets: 2 lies in 1, 3 and 4 stand alone.
Nesting some_targets() {
    Nesting nesting;
    nesting.add(CgroupId{1}, kNoCgroup);
    nesting.add(CgroupId{2}, CgroupId{1});
    nesting.add(CgroupId{3}, kNoCgroup);
    nesting.add(CgroupId{4}, kNoCgroup);
    return nesting;
}

// Few pids, targets and times, so that several records are about the same process.
void narrow(auto& of) {
    of.id.pid = of.id.pid % 4 + 4;
    of.id.start_ns %= 3;
    of.time_ns %= 64;
    of.target = CgroupId{static_cast<std::uint64_t>(of.target) % 5};
}

using Ledgers = std::map<CgroupId, RoleLedger>;

void count_and_check(ProcessTable& table, Ledgers& ledgers, const Nesting& nesting) {
    const LedgersAround around = [&](CgroupId innermost) {
        std::vector<RoleLedger*> found;
        for (const CgroupId id : nesting.around(innermost)) found.push_back(&ledgers[id]);
        return found;
    };
    std::map<CgroupId, std::uint64_t> living;
    for (const TrackedProcess& process : table.ended()) count_process(process, {}, around);
    table.forget_ended();
    for (auto& [pid, process] : table.living()) {
        if (process.has_news()) {
            count_process(process, {}, around);
            process.settle();
        }
        for (const CgroupId id : nesting.around(process.task.target)) ++living[id];
    }
    for (std::uint64_t n = 1; n < 5; ++n) {
        if (!nesting.has(CgroupId{n})) continue;
        std::uint64_t difference = 0;
        for (const auto& [key, counters] : ledgers[CgroupId{n}].all()) difference += counters.starts - counters.exits;
        require(difference == living[CgroupId{n}], "processes = starts - exits");
    }
}

void remove_target(CgroupId gone, ProcessTable& table, Ledgers& ledgers, Nesting& nesting) {  // as WatchState does
    table.retarget(gone, nesting.enclosing(gone));
    ledgers.erase(gone);
    nesting.remove(gone);
}

}  // namespace

void one(std::string_view bytes) {
    parsed(decode_tree_event(as_bytes(bytes), kPage));
    DecodedScan scan;
    parsed(decode_tasks(as_bytes(bytes), kPage, scan));
    if (const auto request = parsed(decode_request(bytes))) {
        for (const std::string& variable : request->environment)
            require(variable.starts_with("MEMSCOPE_"), "no variable but ours", variable);
        const auto again = encode_request(*request);
        require(again && *again == bytes, "a request reads back as itself");
    }

    ProcessTable table(1);
    Ledgers ledgers;
    Nesting nesting = some_targets();
    for (Input input(bytes); !input.empty();) {
        const std::uint8_t step = input.number();
        if (step % 8 == 6) count_and_check(table, ledgers, nesting);
        if (step == 0xFF) remove_target(CgroupId{1 + input.number() % 4U}, table, ledgers, nesting);
        if (step % 8 < 5) {
            auto event =
                decode_tree_event(as_bytes(input.take(step % 8 == 4 ? sizeof(ms_exec) : sizeof(ms_exit))), kPage);
            if (!event) continue;
            std::visit(
                [](auto& e) {
                    if constexpr (requires { e.target; }) narrow(e);
                },
                *event);
            table.apply(*event);
        }
        if (step % 8 == 5) {
            if (!decode_tasks(as_bytes(input.take(sizeof(ms_task) * (step / 64U))), kPage, scan)) continue;
            for (ScannedTask& scanned : scan.tasks) narrow(scanned.task);
            std::erase_if(scan.tasks, [](const ScannedTask& scanned) { return scanned.task.target == kNoCgroup; });
            table.reconcile(scan.tasks, input.number() % 64U);
        }
    }
    count_and_check(table, ledgers, nesting);
}

}  // namespace memscope::fuzz
