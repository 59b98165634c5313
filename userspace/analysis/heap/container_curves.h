#pragma once
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "model/heap/container_places.h"

namespace memscope {

// The lengths of the containers of one process, from one look to the next. Containers are identified by their address,
// not by their path, and each one is known or unknown by itself: a look that has lost one says nothing about the
// others. A container needs 80 bytes. Those that gain need more; of them at most kMostGaining are followed.
class ContainerCurves {
  public:
    static constexpr std::size_t kMostGaining = 4096;

    // The containers of a census. Those that were known keep their curve. A container that gains, or that was never
    // looked at, stays, even if this census has missed it. `time`: seconds since 1970.
    void begin(double time, std::span<const ContainerPlace> places);
    // The containers to read at the next look: all of them at the first look after a census, later all that gain and a
    // part of the others, in rotation, so that each one is read once in kRotation looks.
    std::vector<ContainerPlace> next_look();
    // `places` and `readings`: of one look; a reading for each place.
    void add(double time, std::span<const ContainerPlace> places, std::span<const ContainerReading> readings);

    // Those that gain, if they have gained at two looks at least.
    std::vector<GrowingContainer> growing() const;  // by address
    bool gains() const { return !gaining_.empty(); }
    std::size_t size() const { return curves_.size(); }

    // None if the container is not known, or has been looked at less than twice.
    std::optional<double> items_per_second(std::uint64_t address) const;
    // Time of the first census that has the container. None if it is not known.
    std::optional<double> first_seen(std::uint64_t address) const;
    struct Length {
        std::uint64_t items = 0;
        double read = 0;        // when
        double same_since = 0;  // each reading since this time has proved that it is the same container
    };
    std::optional<Length> length(std::uint64_t address) const;  // none: it is not known, or is gone

  private:
    static constexpr std::size_t kRotation = 8;
    struct Curve {
        ContainerPlace place{};  // with the last length
        double first_seen = 0;   // by a census, or since it may be another container
        double read = 0;         // the last reading, or the census
        double first_look = 0;
        std::uint64_t first_length = 0;  // at the first look
    };
    // Since it began to gain.
    struct Gain {
        double since = 0, gained_at = 0;
        std::uint64_t from = 0;  // length
        std::uint64_t looks = 0;
        Seconds longest_pause{};
        bool pauses = false;  // it has not gained at the last look
    };
    const Curve* find(std::uint64_t address) const;
    void add(double time, const ContainerReading& reading, Curve& curve);
    void note(double time, std::uint64_t length, Curve& curve);
    void restart(double time, const ContainerReading& reading, Curve& curve);

    std::vector<Curve> curves_{};  // by address
    std::map<std::uint64_t, Gain> gaining_{};
    std::size_t next_ = 0;  // of the rotation
    bool all_ = false;      // the next look reads all
};

}  // namespace memscope
