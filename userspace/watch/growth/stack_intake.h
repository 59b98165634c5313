#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "kernel/features/growth_stacks.h"
#include "model/processes/process_table.h"
#include "sources/elf/native_symbols.h"
#include "watch/growth/growth_ledger.h"
#include "watch/growth/python_codes.h"
#include "watch/growth/python_watch.h"
#include "watch/growth/resident_recorder.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {

// Turns the stacks that the kernel sends into call sites, while their processes run. A record waits until a helper has
// read the data of the process that is needed to name it. Belongs to the thread of the ticks.
class StackIntake {
  public:
    StackIntake(std::shared_ptr<ReadHelpers> reads, GrowthStacks& stacks, ResidentRecorder& resident,
                GrowthLedger& ledger, bool python);

    // Records of a process are taken in the order in which they were sent, because a stack refers to code objects that
    // were sent before it.
    void take(const ms_code& code) { take_or_defer(static_cast<pid_t>(code.h.pid), code); }
    void take(const RawStack& stack) { take_or_defer(stack.process.pid, stack); }
    void take_deferred();

    // Reads the maps of a process while it lives, because its stacks may be named after its end.
    void read(const ProcessId& process);
    void find_python(const ProcessId& process) { python_.check(process); }
    void find_python_again() { python_.check_waiting(); }
    int find_python_fd() const { return python_.retry_fd(); }  // readable when find_python_again() is due

    // Call this after an exec. Until the maps of the process are read again, the known maps are those of the previous
    // program.
    void executed(pid_t pid) { replaced_.insert(pid); }
    // Names the records of the program that the process ran before the exec. The records of its present program wait
    // until the maps of this program are read.
    void name_before_exec(pid_t pid);
    // Names all records of a process that has ended, with what is known. Call it before forget().
    void name_ended(pid_t pid);
    void forget(pid_t pid);
    void forget(SpaceId space) { codes_.forget(space); }

    NativeSymbols& symbols() { return symbols_; }
    // Losses of names: of Python code, stacks, mappings and modules.
    std::uint64_t unnamed() const;

  private:
    // Events of a process, in the order of their arrival, that wait until a helper has read data of the process.
    using Deferred = std::variant<ms_code, RawStack>;
    enum class Names { when_read, as_known };

    template <class Record>
    void take_or_defer(pid_t pid, const Record& record);
    bool name(const ms_code& code, Names names);
    bool name(const RawStack& stack, Names names);
    bool name(const Deferred& record, Names names);
    bool name_if_known(const RawStack& stack);
    void learn(const RawStack& stack, std::vector<NativeLocation> native);
    void forget(const RawStack& stack);
    void make_room();
    void make_room(pid_t pid);
    void expect_names(const ms_code&) {}
    void expect_names(const RawStack& stack);
    std::optional<std::vector<NativeLocation>> located(const RawStack& stack, Names names);

    GrowthStacks& stacks_;
    ResidentRecorder& resident_;
    GrowthLedger& ledger_;
    NativeSymbols symbols_;
    PythonWatch python_;
    PythonCodes codes_;
    std::map<pid_t, std::deque<Deferred>> deferred_{};
    std::size_t deferred_count_ = 0;
    std::set<pid_t> replaced_{};  // processes whose known maps are of the program before an exec
    // Stacks that were not named: of processes that ended while a helper read their address space, and stacks that were
    // forgotten because too many records waited.
    std::uint64_t unread_stacks_ = 0;
};

}  // namespace memscope
