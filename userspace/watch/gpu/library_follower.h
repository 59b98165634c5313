#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernel/session.h"
#include "model/processes/process_table.h"
#include "model/processes/tree_event.h"
#include "sources/proc/process_maps.h"
#include "watch/helpers/probe_holder.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {

// Follows the libraries of one kind that watched processes have mapped: each library has user probes while a process
// maps it. Probe holders attach, hold and detach the probes, so nothing here waits for a watched process.
class LibraryFollower {
  public:
    struct Kind {
        std::string name{};  // a plural for messages: "copies of PyTorch"
        LibraryKind kind{};
        std::string_view probe{};  // what its probes are called in SelfSample::probes
        std::string_view loss{};   // what libraries that cannot be followed are called in SelfSample::dropped
        std::string file_name{};   // prefix of the file names
        using Probes = std::function<Result<ProbeRequest>(Session&, const LibraryAnswer&)>;
        Probes probes{};
        Probes probes_in_pause{};         // none: there are no probes between pause() and resume()
        bool reports_from_start = false;  // the caller uses take_followed_from_start()
    };
    LibraryFollower(Kind kind, std::shared_ptr<ReadHelpers> reads, bool on)
        : kind_(std::move(kind)), reads_(std::move(reads)), on_(on) {}
    LibraryFollower(const LibraryFollower&) = delete;
    LibraryFollower& operator=(const LibraryFollower&) = delete;
    ~LibraryFollower() = default;  // does not wait: the probe holders detach the probes

    void begin(const TrackedProcess& process);  // starts to follow the libraries of a process
    void executed(const ProcessId& process);
    // A process has mapped a library of this kind. Call check_libraries() soon, because calls before the probes are
    // attached are not seen. `watched`: the process was watched when it mapped the library.
    void mapped(const LibraryMapped& event, bool watched) { check_soon(event.id, watched ? event.time_ns : 0); }
    void check_libraries(Session& session, std::uint64_t now_ns);  // boot clock
    void tick(Session& session, const ProcessTable& processes, std::uint64_t now_ns);

    // Replaces all probes by `probes_in_pause` until resume().
    void pause() { attach_anew(true); }
    void resume() { attach_anew(false); }
    // Number of times that probes were detached without pause(), because the process that held them has ended.
    std::uint64_t losses() const { return losses_; }

    // Processes that have mapped such libraries since the last call, and whose calls have all been seen.
    std::vector<ProcessId> take_followed_from_start() { return std::exchange(followed_from_start_, {}); }
    // Processes that were followed from their start, and whose later calls were missed because the probes were detached
    // for some time.
    std::vector<ProcessId> take_interrupted() { return std::exchange(interrupted_, {}); }
    // True if the libraries of the process were followed before it could use them.
    bool is_followed_from_its_start(const ProcessId& process) const;
    bool has_any() const;                   // a process has mapped such a library
    bool is_following() const;              // at least one such library is followed, and not paused
    void describe(SelfSample& self) const;  // its probes, and libraries that cannot be followed
    std::vector<Error> take_refusals() { return std::exchange(refusals_, {}); }  // why libraries were refused

  private:
    using FileKey = std::tuple<unsigned, unsigned, std::uint64_t>;  // as /proc/PID/maps has it
    struct User {
        ProcessId id{};
        std::uint64_t mapped_ns = 0;  // boot clock: when it mapped the library; 0: not known
        bool from_start = false;      // the process did not use the library before the probes were attached
    };
    struct Library {
        std::optional<LibraryAnswer> file{};  // none: it was refused
        std::optional<ProbeHolder> holder{};  // none: refused, or no holder runs and retry_ns has not come
        std::uint64_t attached_ns = 0;        // boot clock: when the holder had attached all probes; 0: not yet
        bool reported_late = false;           // a message was sent: attaching takes too long, or is retried later
        unsigned losses = 0;                  // number of holders that have ended
        std::uint64_t retry_ns = 0;           // boot clock: when the next holder is started
        std::map<pid_t, User> users{};
        std::uint64_t followed_ns = 0;  // boot clock: calls of processes that started later are all seen
        std::uint64_t used_ns = 0;      // boot clock: the last tick at which it had users
    };

    void check_soon(const ProcessId& process, std::uint64_t mapped_ns);
    struct ToCheck {
        std::uint64_t mapped_ns = 0;  // boot clock: when the process mapped such a library; 0: not known
        std::uint64_t number = 0;     // of the MapsJob that is under way; 0: none
        std::uint64_t next_ns = 0;    // boot clock: earliest retry after a failed read
        std::optional<std::vector<MappedRange>> mappings{};
    };
    bool check_maps(Session& session, const ProcessId& process, ToCheck& check, std::uint64_t now_ns);
    void attach_anew(bool paused);
    Status follow(Session& session, Library& library, std::uint64_t now_ns);
    void follow_or_refuse(Session& session, Library& library, std::uint64_t now_ns);
    void refuse(Library& library, Error why);
    void update(Session& session, Library& library, std::uint64_t now_ns);
    static bool is_used_from_start(const Library& library, std::uint64_t mapped_ns);
    void attached(Library& library);
    void lost(Library& library, std::uint64_t now_ns);
    void note_if_from_start(const ProcessId& process);
    void recheck(const ProcessTable& processes, std::uint64_t now_ns);
    void leave_unused(const ProcessTable& processes, std::uint64_t now_ns);

    Kind kind_;
    std::shared_ptr<ReadHelpers> reads_;
    bool on_;
    bool paused_ = false;
    std::uint64_t losses_ = 0;
    std::map<ProcessId, ToCheck> to_check_{};
    std::uint64_t numbers_ = 0;
    struct Recheck {
        std::uint64_t next_ns = 0;
        std::uint64_t wait_ns = 0;
    };
    std::map<ProcessId, Recheck> rechecks_{};  // when to check each process, if there are no events for mapped files
    std::map<FileKey, Library> libraries_{};
    std::vector<ProcessId> followed_from_start_{};
    std::vector<ProcessId> interrupted_{};
    std::uint64_t refused_ = 0;
    std::vector<Error> refusals_{};
};

}  // namespace memscope
