#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/sharing.h"
#include "model/snapshot.h"

namespace memscope {

// The data about a process with memory of its own that is needed to find un-sharing.
struct Sharer {
    ProcessId id{};
    Bytes anon{};
    Bytes mapped{};  // file and shmem
    Bytes swap{};
    pid_t parent = 0;
    bool forked = false;  // forked without exec: it shares pages with its parent
    std::uint64_t minor_faults = 0;
};
using Sharers = std::vector<Sharer>;  // by id

Sharers sharers_of(std::span<const Process> processes);  // `processes` are sorted by pid
const Sharer* find_sharer(const Sharers& all, const ProcessId& id);
const Sharer* find_sharer(const Sharers& all, pid_t pid);
Bytes summed_anon(const Sharers& all);

// The processes that started and ended between two ticks, and their effect on D, the memory that is counted more than
// once (see UnsharingTracker). A fork adds the memory of the parent to D. An exit removes the memory that the process
// shared. The size of that memory is not known.
struct SharingChange {
    std::map<ProcessId, Bytes> born{};  // forked since then by a known parent: upper bound of the inherited memory
    Bytes added{};                      // memory that these forks added
    Bytes taken{};                      // upper bound of the memory that exits removed
    bool blind = false;                 // more changed than can be explained, so the sums of this tick are not used
};
// `before_ns`: start of the previous scan, on the boot clock. `page`: size of a page.
SharingChange compare(const Sharers& before, std::uint64_t before_ns, const Sharers& now, Bytes page);

// Builds the sentence about un-sharing: about the kind of forked processes that copied most.
class UnsharingStory {
  public:
    struct Copier {
        Role role = Role::other;
        Role parent = Role::other;
        Bytes copied{};
        bool since_fork = true;
        bool confirmed = true;
    };
    void add(const Copier& process);
    // True if the copies are large enough to report for a target of that size.
    bool is_material(Bytes target) const;
    std::string text() const;  // one sentence
    std::optional<Copiers> copiers() const;

  private:
    struct Kind {
        Role role = Role::other;
        Role parent = Role::other;
        auto operator<=>(const Kind&) const = default;
    };
    struct Sum {
        Bytes copied{};
        std::uint64_t processes = 0;
        bool since_fork = true;  // all of them were watched since their fork
        bool confirmed = true;   // all of them are confirmed
    };
    std::map<Kind, Sum> kinds_{};

    std::map<Kind, Sum>::const_iterator most() const;
};

// Finds copy-on-write un-sharing in one target, tick by tick: forked workers share their parent's pages until a process
// writes to them, and each written page becomes a copy. No process gets larger because of these copies.
//
// There are two sources. The first are sums: D = summed RssAnon - anon of the cgroup is the memory that is counted more
// than once. Each copy reduces D, and a reduction is attributed to the workers that had page faults. The sums cover all
// memory at once, but cannot distinguish a copy from shared memory that was freed, and do not show which worker copied.
// The second are the workers' own pages, which are read now and then: memory that became private since the fork and is
// not growth. They show which worker copied, but also count pages as private that other processes stopped sharing. So
// the figure of a worker is the amount from the last reading of its pages plus what the sums have attributed to it
// since then. The amounts from readings together never exceed what the sums allow. The figure never falls while the
// worker runs, except that a reading of its pages can correct what only the sums had attributed.
class UnsharingTracker {
  public:
    struct Tick {
        std::uint64_t time_ns = 0;  // boot clock: start of the scan of the processes
        std::span<const Process> processes{};
        std::optional<Bytes> cgroup_anon{};  // none: not known for this target alone
        Bytes usage{};                       // of the target, to decide whether un-sharing is material
    };

    explicit UnsharingTracker(Bytes page) : page_(page) {}

    Sharing take(const Tick& tick, const SharingReadings& readings);
    // Bytes that the sums have attributed to a process and that were not in its pages yet when they were last read.
    Bytes copied_since_read(const ProcessId& id) const;

  private:
    struct Worker {
        RoleKey role{};
        Role parent_role = Role::other;
        bool since_fork = false;  // false: only since its pages were first read
        std::uint64_t faults_began = 0;
        // Bytes that the worker faulted in, and the part of them that is not growth. Both decay over some seconds,
        // because the numbers of the cgroup are late.
        double faulted = 0;
        double unexplained = 0;
        double attributed = 0;  // attributed by the sums
        double possible = 0;    // `attributed` plus all its faults while the sums were not usable
        struct Baseline {
            Bytes own{};
            Bytes anon{};
        };
        std::optional<Baseline> baseline{};
        std::uint64_t read_ns = 0;
        bool just_read = false;
        std::optional<double> copied{};    // according to its own pages
        double attributed_last_tick = 0;   // `attributed` at the previous tick
        double attributed_until_read = 0;  // the part of `attributed` from before the last reading of its pages
        bool has_children = false;         // has forked children, whose copies make its own pages private
        double confirmed = 0;              // the highest value that both sources confirmed
        double shown = 0;

        double since_read() const { return attributed - attributed_until_read; }
        bool is_confirmed() const;
    };
    using Workers = std::map<ProcessId, Worker>;

    void follow_workers(const Tick& tick, const Sharers& now, const SharingChange& change);
    void count_faults(const Sharers& now, Seconds passed);
    void attribute(std::optional<Bytes> fall);
    void read(const SharingReadings& readings, const Sharers& now);
    void show();
    std::optional<Bytes> fall_of_sharing(const Tick& tick, const Sharers& now, const SharingChange& change);
    void describe_unshared(Sharing& out, Bytes usage);

    Bytes page_;
    std::optional<std::uint64_t> before_ns_{};  // none before the first tick
    Sharers before_{};
    std::optional<Bytes> cgroup_anon_before_{};
    double debt_ = 0;  // unexplained rise of D: noise, which a fall of D has to exceed first
    Workers workers_{};
    bool material_ = false;
};

}  // namespace memscope
