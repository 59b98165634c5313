#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/sharing_change.h"
#include "model/page_sharing.h"
#include "model/sharing.h"

namespace memscope {

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
