#include "analysis/heap/missed_holders.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/heap/object_growth.h"

namespace memscope {
namespace {

constexpr std::uint64_t kLeastSize = 256 << 10;  // bytes; the growth of a smaller container does not matter
constexpr std::size_t kMostAdded = 1000;

const std::vector<Holder>* holders_of(const HeapCensus* census) {
    if (!census || !census->objects || census->objects->refusal != ObjectsRefusal::none) return nullptr;
    return &census->objects->holders;
}

using ByAddress = std::map<std::uint64_t, std::size_t>;

ByAddress by_address(const std::vector<Holder>& holders) {
    ByAddress all;
    for (std::size_t i = 0; i < holders.size(); ++i)
        if (holders[i].address != 0) all.emplace(holders[i].address, i);
    return all;
}

using NamedKey = std::pair<std::string, std::string>;
NamedKey named_key(const Holder& holder) { return {path_without_lines(holder.path), holder.type}; }

// The same holder in a census that has read it. Null: there is none.
const Holder* find(const std::vector<Holder>* holders, const ByAddress& places, const Holder& wanted) {
    if (!holders) return nullptr;
    const auto place = places.find(wanted.address);
    if (place == places.end()) return nullptr;
    const Holder& found = (*holders)[place->second];
    return found.type == wanted.type && found.reading == HolderReading::whole ? &found : nullptr;
}

class Completion {
  public:
    Completion(const HeapCensus& now, const HeapCensus* before, const HeapCensus* first, const ContainerCurves& lengths)
        : now_(now), before_(before), first_(first), lengths_(lengths) {}

    std::shared_ptr<const ObjectCensus> complete() {
        const std::vector<Holder>* is = holders_of(&now_);
        was_ = holders_of(before_);
        began_ = holders_of(first_);
        if (!is || (!was_ && !began_)) return now_.objects;
        if (began_) began_places_ = by_address(*began_);
        if (was_) was_places_ = by_address(*was_);
        holders_ = *is;
        places_ = by_address(holders_);
        for (Holder& holder : holders_)
            if (holder.reading == HolderReading::torn) estimate_torn(holder);
        for (std::size_t i = 0; i < holders_.size(); ++i)
            if (holders_[i].kind == HolderKind::container) keys_.emplace(named_key(holders_[i]), i);
        add_from(was_, before_);
        if (began_ != was_) add_from(began_, first_);
        if (!changed_) return now_.objects;
        ObjectCensus census = *now_.objects;
        census.holders = std::move(holders_);
        return std::make_shared<const ObjectCensus>(std::move(census));
    }

  private:
    // The size that a container with this length has if its items are as large as before.
    void estimate(const Holder& known, std::uint64_t length, Holder& into) const {
        const Holder* older = find(began_, began_places_, known);
        const auto size = [&](Bytes Holder::* memory) {
            const double more = static_cast<double>(length) - static_cast<double>(known.length);
            const double each =
                more < 0 ? bytes_per_item(known, nullptr, memory) : bytes_per_item(known, older, memory);
            return Bytes{
                static_cast<std::uint64_t>(std::max(static_cast<double>((known.*memory).n) + more * each, 0.0))};
        };
        into.length = length;
        into.retained = size(&Holder::retained);
        into.retained_device = size(&Holder::retained_device);
        into.reading = HolderReading::estimated;
    }

    void estimate_torn(Holder& holder) {
        const Holder* known = find(was_, was_places_, holder);
        if (!known) known = find(began_, began_places_, holder);
        if (!known || holder.length == 0) return;
        Holder estimated = holder;
        estimate(*known, holder.length, estimated);
        if (size_of(estimated) < size_of(holder)) return;
        holder = std::move(estimated);
        changed_ = true;
    }

    void add_from(const std::vector<Holder>* holders, const HeapCensus* census) {
        if (!holders) return;
        for (const Holder& holder : *holders) {
            if (holder.kind != HolderKind::container || holder.address == 0 || size_of(holder) < kLeastSize ||
                holder.reading == HolderReading::missed || added_ == kMostAdded || places_.contains(holder.address) ||
                keys_.contains(named_key(holder)))
                continue;
            const auto length = lengths_.length(holder.address);
            if (!length) continue;  // it is gone, or does not grow
            Holder added = holder;
            if (length->same_since <= census->time && length->read > census->time)
                estimate(holder, length->items, added);
            else
                added.reading = HolderReading::missed;
            added.within = around(*holders, holder);
            holders_.push_back(std::move(added));
            places_.emplace(holder.address, holders_.size() - 1);
            changed_ = true;
            ++added_;
        }
    }

    // 1 + index of the nearest container around it that the census has.
    std::uint64_t around(const std::vector<Holder>& earlier, const Holder& holder) const {
        std::uint64_t outer = holder.within;
        for (std::size_t i = 0; i < earlier.size() && outer > 0 && outer <= earlier.size(); ++i) {
            const Holder& each = earlier[outer - 1];
            if (const auto place = places_.find(each.address); place != places_.end()) return place->second + 1;
            if (const auto named = keys_.find(named_key(each)); named != keys_.end()) return named->second + 1;
            outer = each.within;
        }
        return 0;
    }

    const HeapCensus& now_;
    const HeapCensus* before_;
    const HeapCensus* first_;
    const ContainerCurves& lengths_;
    const std::vector<Holder>* was_ = nullptr;
    const std::vector<Holder>* began_ = nullptr;
    ByAddress was_places_{}, began_places_{};
    std::vector<Holder> holders_{};
    ByAddress places_{};
    std::map<NamedKey, std::size_t> keys_{};
    std::size_t added_ = 0;
    bool changed_ = false;
};

}  // namespace

double bytes_per_item(const Holder& now, const Holder* before, Bytes Holder::* memory) {
    if (before && before->length < now.length && (before->*memory) < (now.*memory))
        return static_cast<double>((now.*memory).n - (before->*memory).n) /
               static_cast<double>(now.length - before->length);
    return now.length == 0 ? 0 : static_cast<double>((now.*memory).n) / static_cast<double>(now.length);
}

std::shared_ptr<const ObjectCensus> with_missed_holders(const HeapCensus& now, const HeapCensus* before,
                                                        const HeapCensus* first, const ContainerCurves* lengths) {
    return lengths ? Completion(now, before, first, *lengths).complete() : now.objects;
}

}  // namespace memscope
