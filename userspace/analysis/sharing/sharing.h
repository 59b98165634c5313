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

// What un-sharing needs to know of the processes of a target that have memory of their own.
struct Sharer {
    ProcessId id{};
    Bytes anon{};
    Bytes mapped{};  // file and shmem
    Bytes swap{};
    pid_t parent = 0;
    bool forked = false;  // without exec since: it shares with its parent
    std::uint64_t minor_faults = 0;
};
using Sharers = std::vector<Sharer>;  // by id

Sharers sharers_of(std::span<const Process> processes);  // which are sorted by pid
const Sharer* find_sharer(const Sharers& all, const ProcessId& id);
const Sharer* find_sharer(const Sharers& all, pid_t pid);
Bytes summed_anon(const Sharers& all);

// What came and went between two ticks, and what that does to the memory that is counted more than once: a fork adds
// to it what the parent has, an exit takes away what the process shared, which nobody knows.
struct SharingChange {
    std::map<ProcessId, Bytes> born{};  // forked since, by a parent we know: at most that much was inherited
    Bytes added{};                      // by those
    Bytes taken{};                      // by exits, at most
    bool blind = false;                 // more happened than can be explained: the sums tell nothing this time
};
// `before_ns`: when the look before began, on the boot clock.
SharingChange compare(const Sharers& before, std::uint64_t before_ns, const Sharers& now);

// What people are told about un-sharing: of those forked processes of one kind that copied most.
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
    // Enough to speak of, in a target of that size.
    bool is_material(Bytes target) const;
    std::string tell() const;  // one sentence
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
        bool since_fork = true;  // all of them were seen from their fork on
        bool confirmed = true;   // all of them
    };
    std::map<Kind, Sum> kinds_{};

    std::map<Kind, Sum>::const_iterator most() const;
};

// Finds copy-on-write un-sharing in one target, tick by tick: forked workers share their parent's pages until somebody
// writes to them, and each page that is written becomes a copy. No process gets larger by that.
//
// Two witnesses are heard. The sums: D = summed RssAnon - anon of the cgroup is what is counted more than once; it
// falls by every copy, and a fall is booked to the workers that had page faults. They see everything at once, but
// cannot tell a copy from shared memory that somebody freed, nor whose it is. And the workers' own pages, read now and
// then: what became private since the fork and is no growth. They name the worker, but also call private what others
// stopped sharing. So a worker's figure is what its own pages said when they were last read, and what the sums booked
// to it since; the former together never exceed what the sums allow. It never falls while the worker lives, except that
// its pages may take back what only the sums had said.
class SharingBook {
  public:
    struct Tick {
        std::uint64_t time_ns = 0;  // boot clock: when the look at the processes began
        std::span<const Process> processes{};
        std::optional<Bytes> cgroup_anon{};  // none: not of this target alone
        Bytes usage{};                       // of the target: what un-sharing is material against
    };

    explicit SharingBook(Bytes page) : page_(page) {}

    Sharing take(const Tick& tick, const SharingReadings& readings);
    // Bytes that the sums say a process has copied and that its pages, when they were read last, did not show yet.
    Bytes copied_since_read(const ProcessId& id) const;

  private:
    struct Worker {
        RoleKey role{};
        Role parent_role = Role::other;
        bool since_fork = false;  // else since the first time its pages were read
        std::uint64_t faults_began = 0;
        // Decaying over some seconds, as the cgroup's numbers are late: bytes it faulted in, and those of them that are
        // no growth.
        double faulted = 0;
        double unexplained = 0;
        double booked = 0;    // by the sums
        double possible = 0;  // the same, and all its faults while the sums told nothing
        struct Baseline {
            Bytes own{};
            Bytes anon{};
        };
        std::optional<Baseline> baseline{};
        std::uint64_t read_ns = 0;
        bool just_read = false;
        std::optional<double> copied{};  // as its own pages say
        double booked_last_tick = 0;     // when its pages had not been read yet
        double booked_until_read = 0;    // what of `booked` its pages have judged
        bool parents = false;            // has forked children: what they copy makes its own pages private
        double confirmed = 0;            // the most that both witnesses said
        double shown = 0;

        double since_read() const { return booked - booked_until_read; }
        bool is_confirmed() const;
    };
    using Workers = std::map<ProcessId, Worker>;

    void follow_workers(const Tick& tick, const Sharers& now, const SharingChange& change);
    void count_faults(const Sharers& now, Seconds passed);
    void book(std::optional<Bytes> fall);
    void read(const SharingReadings& readings, const Sharers& now);
    void show();
    std::optional<Bytes> fall_of_sharing(const Tick& tick, const Sharers& now, const SharingChange& change);
    void describe_unshared(Sharing& out, Bytes usage);

    Bytes page_;
    std::optional<std::uint64_t> before_ns_{};  // none before the first tick
    Sharers before_{};
    std::optional<Bytes> cgroup_anon_before_{};
    double debt_ = 0;  // how much more is shared than was explained: noise that a fall has to make up for first
    Workers workers_{};
    bool material_ = false;
};

}  // namespace memscope
