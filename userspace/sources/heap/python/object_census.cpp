#include "sources/heap/python/object_census.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "sources/heap/library_bss.h"
#include "sources/heap/native_blocks.h"
#include "sources/heap/python/container_places.h"
#include "sources/heap/python/dominators.h"
#include "sources/heap/python/item_names.h"
#include "sources/heap/python/native_owners.h"
#include "sources/heap/python/object_graph.h"
#include "sources/heap/python/object_paths.h"

namespace memscope {
namespace {

constexpr std::uint64_t kLeastCopy = std::uint64_t{8} << 20;
constexpr std::size_t kMostGroups = 5000;         // types, tensors, arrays
constexpr std::size_t kMostHolders = 4000;        // by retained bytes, and as many by length
constexpr std::size_t kMostNamed = 32;            // types of garbage, of lost blocks, of unexplained references
constexpr std::uint64_t kLeastObject = 64 << 10;  // retained bytes of a holder that is no container
constexpr std::uint64_t kUnit = 16;               // of native memory: 32 bits of them are 64 GiB
constexpr std::uint64_t kMostUnits = ~std::uint32_t{0};
constexpr std::uint64_t kItemsOfOne = 10;  // a holder retains at least 1/10 of the container that it is in

class ObjectCensusTaker {
  public:
    // `blocks` and `owners`: null if the blocks of malloc are not known.
    ObjectCensusTaker(const PythonHeap& heap, ObjectGraph& graph, const NativeBlocks* blocks, NativeOwners* owners,
                      const NativeOwners::Roots& roots, const ReadDeadline& deadline, ObjectCensus& census)
        : heap_(heap),
          graph_(graph),
          blocks_(blocks),
          owners_(owners),
          roots_(roots),
          reader_(graph.reader()),
          torch_(graph.torch()),
          names_(reader_, torch_),
          deadline_(deadline),
          census_(census) {}

    void take() {
        census_.references_explained = graph_.references_explained();
        count_tensors();
        count_arrays();
        count_types();
        if (!deadline_.has_passed()) find_holders();
    }
    std::uint64_t left_out() const { return left_out_; }
    std::vector<ContainerPlace> take_places() { return std::move(places_); }

  private:
    // Keeps the largest groups.
    template <class Group>
    void keep_largest(std::vector<Group>& groups) {
        std::ranges::stable_sort(groups, [](const Group& a, const Group& b) {
            return std::tuple(a.bytes, a.count) > std::tuple(b.bytes, b.count);
        });
        if (groups.size() <= kMostGroups) return;
        left_out_ += groups.size() - kMostGroups;
        groups.resize(kMostGroups);
    }

    void count_tensors() {
        if (!torch_.is_ready()) {
            if (!graph_.tensors().empty()) census_.tensors_refused = torch_.refusal();
            return;
        }
        using Key = std::tuple<std::string, std::string, std::vector<std::uint64_t>, bool>;
        std::map<Key, TensorGroup> groups;
        std::map<std::string, TensorTotal> totals;
        std::unordered_set<Address> storages, with_object;
        const auto add = [&](Address impl, bool only_native) -> std::uint64_t {
            const auto tensor = torch_.tensor(impl);
            if (!tensor || graph_.is_inherited(impl)) return 0;
            TensorGroup& group = groups[{tensor->device, tensor->dtype, tensor->shape, only_native}];
            TensorTotal& total = totals[tensor->device];
            ++group.count;
            ++total.tensors;
            if (tensor->storage == 0 || !storages.insert(tensor->storage).second) return 0;
            const auto storage = torch_.storage(tensor->storage);
            std::uint64_t bytes = storage ? storage->bytes : 0;
            if (storage && !storage->on_device) bytes = graph_.own_bytes(storage->data, bytes);
            group.bytes.n += bytes;
            total.bytes.n += bytes;
            ++total.storages;
            return storage && !storage->on_device ? bytes : 0;
        };
        for (const Address object : graph_.tensors()) {
            const Address impl = torch_.impl_of(object);
            if (!with_object.insert(impl).second) continue;
            const std::uint64_t host = add(impl, false);
            if (const PythonType* type = reader_.types().of(object)) host_bytes_[type->index] += host;
        }
        for (NodeNumber node = 1; node < graph_.count(); ++node)
            if (graph_.type(node).kind == ObjectKind::tensor_impl && !with_object.contains(graph_.address(node)))
                add(graph_.address(node), !torch_.has_python_object(graph_.address(node)));
        for (auto& [key, group] : groups) {
            std::tie(group.device, group.dtype, group.shape, group.only_native) = key;
            census_.tensors.push_back(std::move(group));
        }
        for (auto& [device, total] : totals) {
            total.device = device;
            census_.tensor_totals.push_back(std::move(total));
        }
        keep_largest(census_.tensors);
    }

    void count_arrays() {
        std::map<std::pair<std::string, std::vector<std::uint64_t>>, ArrayGroup> groups;
        for (const Address object : graph_.arrays()) {
            const NumpyArray array = reader_.arrays().read(object);
            if (!array.owns_data || graph_.is_inherited(object)) continue;
            ArrayGroup& group = groups[{array.dtype, array.shape}];
            ++group.count;
            group.bytes.n += graph_.own_bytes(array.data, array.bytes);
        }
        for (auto& [key, group] : groups) {
            std::tie(group.dtype, group.shape) = key;
            census_.arrays.push_back(std::move(group));
        }
        keep_largest(census_.arrays);
    }

    void count_types() {
        std::map<std::string, ObjectsOfType> by_name;  // several types can have one name
        for (std::uint32_t i = 1; i < graph_.by_type().size(); ++i) {
            const PythonType& type = reader_.types()[i];
            const ObjectGraph::OfType& found = graph_.by_type()[i];
            if (found.count == 0 || type.address == 0) continue;
            const auto host = host_bytes_.find(i);
            const std::uint64_t bytes = found.bytes + (host != host_bytes_.end() ? host->second : 0);
            ObjectsOfType& row = by_name[type.name];
            row.count += found.count;
            row.bytes.n += bytes;
            census_.objects += found.count;
            census_.bytes.n += bytes;
        }
        for (auto& [name, row] : by_name) {
            row.type = name;
            census_.types.push_back(std::move(row));
        }
        keep_largest(census_.types);
    }

    struct Candidate {
        NodeNumber node = 0;
        std::uint64_t length = 0, host = 0, device = 0;
        bool native = false;  // most of `host` are blocks of native code
        std::uint64_t retained() const { return host + device; }
    };

    // Types, modules, code and the like hold the program itself, and frames have no name.
    static bool can_hold(ObjectKind kind) {
        switch (kind) {
            case ObjectKind::type:
            case ObjectKind::module:
            case ObjectKind::function:
            case ObjectKind::cell:
            case ObjectKind::frame:
            case ObjectKind::running:
            case ObjectKind::weakref:
            case ObjectKind::lru_cache:
            case ObjectKind::lru_link:
            case ObjectKind::thread_data:
            case ObjectKind::context_node:
                return false;
            default:
                return !is_native(kind);
        }
    }

    // Bytes that would be freed with each object that the roots reach.
    struct Retained {
        std::vector<std::uint32_t> place{};           // by node; kNoNode: not reached
        std::vector<std::uint64_t> host{}, device{};  // by place; `device` is empty if there is nothing on a device
        std::vector<bool> native{};  // by place: more than half of `host` are blocks of native code; empty: not known

        bool is_native(NodeNumber node) const {
            return !native.empty() && place[node] != kNoNode && native[place[node]];
        }
        std::uint64_t host_of(NodeNumber node) const { return place[node] == kNoNode ? 0 : host[place[node]]; }
        std::uint64_t device_of(NodeNumber node) const {
            return place[node] == kNoNode || device.empty() ? 0 : device[place[node]];
        }
        std::uint64_t of(NodeNumber node) const { return host_of(node) + device_of(node); }
    };
    Retained find_retained() {
        std::vector<NodeNumber> roots;
        roots.reserve(graph_.roots().size());
        for (const ObjectRoot& root : graph_.roots()) roots.push_back(root.node);
        Dominators dominators = find_dominators(graph_.edges(), roots);
        Retained retained;
        retained.host.resize(dominators.order.size());
        for (std::size_t i = 1; i < retained.host.size(); ++i) retained.host[i] = graph_.bytes(dominators.order[i]);
        std::vector<std::uint32_t> native;  // by place, in units of kUnit
        if (owners_ != nullptr) {
            owners_->read_words();  // not earlier: its tables take as much memory as the search for dominators
            owners_->find(dominators, roots_);
            native.resize(retained.host.size());
            count_owners(dominators, retained.host, native);
        }
        dominators.add_up(retained.host);
        if (!native.empty()) {
            dominators.add_up(native);
            retained.native.resize(native.size());
            for (std::size_t i = 1; i < native.size(); ++i)
                retained.native[i] = 2 * kUnit * std::uint64_t{native[i]} > retained.host[i];
        }
        if (!graph_.devices().empty()) {
            retained.device.resize(dominators.order.size());
            for (const auto& [node, bytes] : graph_.devices())
                if (node < dominators.place.size() && dominators.place[node] != kNoNode)
                    retained.device[dominators.place[node]] = bytes;
            dominators.add_up(retained.device);
        }
        retained.place = std::move(dominators.place);
        return retained;
    }

    // Adds the blocks of malloc that an object owns to its bytes and to `native`, and sums up who owns the live memory.
    void count_owners(const Dominators& dominators, std::vector<std::uint64_t>& host,
                      std::vector<std::uint32_t>& native) {
        std::uint64_t all = 0, attributed = 0, probable = 0, freed = 0;
        const std::unordered_set<NativeBlocks::Number> freed_blocks = owners_->find_freed();
        for (NativeBlocks::Number block = 0; block < blocks_->size(); ++block) {
            const std::uint64_t bytes = owners_->resident(block);
            if (freed_blocks.contains(block)) {
                freed += bytes;
                continue;
            }
            const NodeNumber node = blocks_->node(block);
            all += bytes;
            if (node != 0) {
                attributed += is_garbage(node) ? 0 : bytes;
                continue;
            }
            const std::uint32_t owner = owners_->owner(block);
            if (owner == NativeOwners::kProbable) probable += bytes;
            if (owner == NativeOwners::kStack || owner == NativeOwners::kData) attributed += bytes;
            if (owner >= host.size()) continue;
            const NodeNumber holder = dominators.order[owner];
            if (holder == 0 || !is_garbage(holder)) attributed += bytes;
            if (holder == 0) continue;
            native[owner] += static_cast<std::uint32_t>(std::min(bytes / kUnit, kMostUnits - native[owner]));
            if (graph_.type(holder).image) continue;  // the size of an image counts its pixels
            const std::uint64_t own = graph_.own_bytes(blocks_->content(block) - NativeBlocks::kHead, bytes);
            host[owner] += own;
            if (is_garbage(holder)) native_bytes_[holder] += own;
        }
        // The pools of Python's allocator.
        std::uint64_t garbage = 0;
        for (NodeNumber node = 1; node <= graph_.pooled(); ++node)
            if (is_garbage(node)) garbage += graph_.bytes(node);
        const std::uint64_t python = heap_.python_live.n;
        attributed += python - std::min(python, garbage + graph_.raw_pool_bytes());
        HeapOwners& owners = census_.owners.emplace();
        owners.live = std::max(heap_.live - Bytes{std::min(heap_.live.n, freed)}, Bytes{all + python});
        owners.attributed = std::min(owners.live, Bytes{attributed + graph_.outside_bytes()});
        owners.probable = Bytes{probable};
        owners.read = owners_->is_complete() && owners.live.n > 0
                          ? static_cast<double>(all + python) / static_cast<double>(owners.live.n)
                          : 0;
        // An object that was left out of the graph can hold the block.
        if (graph_.gaps().left_out > 0) return;
        census_.native_unreached = owners_->unreached();
        if (census_.native_unreached->groups.size() > kMostNamed) census_.native_unreached->groups.resize(kMostNamed);
    }

    // Keeps the best kMostHolders of many candidates, with memory for twice as many.
    template <class Better>
    class Best {
      public:
        explicit Best(Better better) : better_(better) {}
        void offer(const Candidate& candidate) {
            if (all_.size() >= 2 * kMostHolders) shorten();
            all_.push_back(candidate);
        }
        std::vector<Candidate> take() {
            shorten();
            return std::move(all_);
        }

      private:
        void shorten() {
            if (all_.size() <= kMostHolders) return;
            std::nth_element(all_.begin(), all_.begin() + kMostHolders, all_.end(), better_);
            all_.resize(kMostHolders);
        }
        Better better_;
        std::vector<Candidate> all_{};
    };

    // Copies the pages of the next nodes that are containers together, because their lengths are needed.
    static constexpr NodeNumber kTogether = 1024;
    void copy_containers(NodeNumber from) {
        std::vector<Address> addresses;
        for (NodeNumber node = from; node < std::min(graph_.count(), from + kTogether); ++node)
            if (is_container(graph_.kind(node))) addresses.push_back(graph_.address(node));
        reader_.memory().prefetch(addresses);
    }
    // Likewise the items from which holders are described.
    void copy_items(std::span<const Candidate> candidates) {
        std::vector<Address> addresses;
        for (const Candidate& each : candidates)
            names_.for_items(graph_.address(each.node), graph_.type(each.node),
                             [&](Address item) { addresses.push_back(item); });
        reader_.memory().prefetch(addresses);
    }

    std::vector<Candidate> find_candidates(const Retained& retained, const ObjectPaths& paths) {
        const auto by_size = [](const Candidate& a, const Candidate& b) {
            return std::tuple(a.retained(), a.length, b.node) > std::tuple(b.retained(), b.length, a.node);
        };
        const auto by_length = [](const Candidate& a, const Candidate& b) {
            return std::tuple(a.length, a.retained(), b.node) > std::tuple(b.length, b.retained(), a.node);
        };
        Best largest(by_size);
        Best longest(by_length);  // a container with many items can grow although it retains little so far
        const ObjectLayout& layout = reader_.layout();
        HeapCopy& memory = reader_.memory();
        const Address modules = memory.word(memory.word(layout.stack.runtime + layout.stack.runtime_interpreters) +
                                            layout.interpreter_modules);
        for (NodeNumber node = 1; node < graph_.count(); ++node) {
            if (node % kTogether == 1) copy_containers(node);
            const PythonType& type = graph_.type(node);
            if (!can_hold(type.kind) || !paths.has_path(node) || is_garbage(node)) continue;
            const bool contains = is_container(type.kind);
            Candidate candidate{.node = node,
                                .host = retained.host_of(node),
                                .device = retained.device_of(node),
                                .native = retained.is_native(node)};
            if (!contains) {
                if (candidate.retained() >= kLeastObject && stands_out(node, retained, paths)) largest.offer(candidate);
                continue;
            }
            const Address object = graph_.address(node);
            if (object == modules || paths.is_namespace(node)) continue;
            candidate.length = reader_.length(object, type);
            if (candidate.length == 0 || (type.kind == ObjectKind::dict && reader_.is_interned_table(object))) continue;
            largest.offer(candidate);
            longest.offer(candidate);
        }
        std::vector<Candidate> all = largest.take();
        std::unordered_set<NodeNumber> known;
        for (const Candidate& each : all) known.insert(each.node);
        for (const Candidate& each : longest.take())
            if (known.insert(each.node).second) all.push_back(each);
        std::ranges::sort(all, by_size);
        return all;
    }

    // The next object above on the path that is no dict of attributes. 0: a root is above.
    NodeNumber owner_of(NodeNumber node, const ObjectPaths& paths) const {
        NodeNumber above = paths.parent(node);
        while (above != 0 && above != kNoNode && paths.is_namespace(above)) above = paths.parent(above);
        return above == kNoNode ? 0 : above;
    }

    // Whether an object is a holder of its own: not one of many items of a container, and not a later node of a linked
    // list, whose head holds it.
    bool stands_out(NodeNumber node, const Retained& retained, const ObjectPaths& paths) const {
        const NodeNumber above = owner_of(node, paths);
        if (above == 0) return true;
        const ObjectKind kind = graph_.type(above).kind;
        if ((is_container(kind) || kind == ObjectKind::tuple) && retained.of(node) < retained.of(above) / kItemsOfOne)
            return false;
        NodeNumber at = above;
        for (int alike = 0; at != 0 && &graph_.type(at) == &graph_.type(node); at = owner_of(at, paths))
            if (++alike == 2) return false;
        return true;
    }

    void find_holders() {
        Retained retained = find_retained();
        if (deadline_.has_passed()) return;
        ObjectPaths paths(graph_);
        const std::vector<Candidate> candidates = find_candidates(retained, paths);
        find_garbage();
        find_unexplained(retained);
        places_ = find_container_places(graph_, paths, [&](NodeNumber node) { return retained.of(node); });
        retained = {};
        std::vector<NodeNumber> nodes;
        nodes.reserve(candidates.size());
        for (const Candidate& each : candidates) nodes.push_back(each.node);
        paths.prepare(nodes);
        std::unordered_map<NodeNumber, std::uint64_t> places;  // 1 + index in the list of holders
        constexpr std::size_t kDescribed = 16;                 // at once
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            if (i % kDescribed == 0)
                copy_items(std::span(candidates).subspan(i, std::min(kDescribed, candidates.size() - i)));
            const Candidate& each = candidates[i];
            if (auto path = paths.path_of(each.node)) {
                census_.holders.push_back(describe(each, *std::move(path), paths));
                places[each.node] = census_.holders.size();
            }
        }
        for (const auto& [node, place] : places)
            for (NodeNumber at = paths.parent(node); at != 0 && at != kNoNode; at = paths.parent(at))
                if (const auto holder = places.find(at); holder != places.end()) {
                    census_.holders[place - 1].within = holder->second;
                    break;
                }
    }

    Holder describe(const Candidate& candidate, ObjectPath path, const ObjectPaths& paths) {
        Holder holder;
        holder.path = std::move(path.text);
        holder.root = path.root;
        const PythonType& type = graph_.type(candidate.node);
        holder.kind = kind_of(type.kind);
        if (holder.kind == HolderKind::object && candidate.native && candidate.device == 0)
            holder.kind = HolderKind::native;
        holder.address = graph_.address(candidate.node);
        holder.type = paths.is_lru_cache(candidate.node) ? graph_.type(paths.parent(candidate.node)).name : type.name;
        holder.length = candidate.length;
        holder.retained = Bytes{candidate.host};
        holder.retained_device = Bytes{candidate.device};
        const std::uint32_t references = graph_.references_found(candidate.node);
        holder.other_holders = references > 0 ? references - 1 : 0;
        if (graph_.is_torn(candidate.node)) holder.reading = HolderReading::torn;
        holder.element = names_.element_of(graph_.address(candidate.node), type);
        if (is_container(type.kind))
            holder.item_storage = names_.storages_of_items(graph_.address(candidate.node), type);
        return holder;
    }

    static HolderKind kind_of(ObjectKind kind) {
        if (is_container(kind)) return HolderKind::container;
        if (kind == ObjectKind::tensor) return HolderKind::tensor;
        return kind == ObjectKind::ndarray ? HolderKind::array : HolderKind::object;
    }

    // Each object counts for the first root that reaches it.
    void find_garbage() {
        if (graph_.gaps().late) return;
        Garbage garbage;
        std::map<std::string, ObjectsOfType> types;
        std::uint64_t through_native = 0;
        std::vector<bool> seen(graph_.count());
        std::vector<NodeNumber> waiting;
        const ObjectEdges& edges = graph_.edges();
        const auto visit = [&](NodeNumber node) {
            if (seen[node] || !is_garbage(node)) return;
            seen[node] = true;
            waiting.push_back(node);
        };
        for (const ObjectRoot& root : graph_.roots()) {
            if (root.kind != ObjectRoot::garbage && root.kind != ObjectRoot::cpp) continue;
            std::uint64_t host = 0, device = 0;
            for (visit(root.node); !waiting.empty();) {
                const NodeNumber node = waiting.back();
                waiting.pop_back();
                garbage.objects += is_native(graph_.type(node).kind) ? 0 : 1;
                host += graph_.bytes(node);
                if (const auto more = native_bytes_.find(node); more != native_bytes_.end()) host += more->second;
                if (const auto on_device = graph_.devices().find(node); on_device != graph_.devices().end())
                    device += on_device->second;
                for (std::uint32_t e = edges.begin(node), end = edges.end(node); e < end; ++e) visit(edges.target(e));
            }
            garbage.bytes.n += host;
            garbage.device_bytes.n += device;
            if (root.kind == ObjectRoot::cpp) through_native += host + device;
            ObjectsOfType& row = types[graph_.type(root.node).name];
            ++row.count;
            row.bytes.n += host + device;
        }
        garbage.through_native = 2 * through_native > garbage.bytes.n + garbage.device_bytes.n;
        garbage.types = largest_of(std::move(types));
        census_.garbage = std::move(garbage);
    }

    bool is_garbage(NodeNumber node) const {
        const auto held = graph_.held_by(node);
        return held == ObjectRoot::garbage || held == ObjectRoot::cpp;
    }

    static std::vector<ObjectsOfType> largest_of(std::map<std::string, ObjectsOfType> types) {
        std::vector<ObjectsOfType> rows;
        for (auto& [name, row] : types) {
            row.type = name;
            rows.push_back(std::move(row));
        }
        std::ranges::stable_sort(rows, std::greater{}, [](const ObjectsOfType& row) { return row.bytes; });
        if (rows.size() > kMostNamed) rows.resize(kMostNamed);
        return rows;
    }

    // Objects whose reference counts are higher than the number of references that were found, and that nothing else
    // holds: C code keeps references to them.
    void find_unexplained(const Retained& retained) {
        if (graph_.gaps().late || graph_.gaps().left_out > 0) return;
        std::map<std::string, UnexplainedReferences> types;
        for (const ObjectRoot& root : graph_.roots()) {
            if (root.kind != ObjectRoot::native) continue;
            const Address object = graph_.address(root.node);
            const std::uint64_t references = reader_.data().references(object),
                                found = graph_.references_found(root.node);
            constexpr std::uint64_t kMost = std::uint64_t{1} << 20U;  // more: immortal, or torn
            if (references <= found || references - found > kMost) continue;
            UnexplainedReferences& row = types[names_.name_of(object, graph_.type(root.node))];
            ++row.objects;
            row.references += references - found;
            row.bytes.n += retained.host_of(root.node);
        }
        if (owners_ != nullptr)
            for (const Address object : owners_->lost_objects()) {
                const PythonType& type = *reader_.types().of(object);
                UnexplainedReferences& row = types[names_.name_of(object, type)];
                ++row.objects;
                row.references += reader_.data().references(object);
                row.bytes.n += reader_.size_of(object, type);
            }
        for (auto& [name, row] : types) {
            row.type = name;
            census_.unexplained.push_back(std::move(row));
        }
        std::ranges::stable_sort(census_.unexplained, std::greater{}, &UnexplainedReferences::references);
        if (census_.unexplained.size() > kMostNamed) census_.unexplained.resize(kMostNamed);
    }

    const PythonHeap& heap_;
    ObjectGraph& graph_;
    const NativeBlocks* blocks_;
    NativeOwners* owners_;
    const NativeOwners::Roots& roots_;
    ObjectReader& reader_;
    TorchObjects& torch_;
    ItemNames names_;
    const ReadDeadline& deadline_;
    ObjectCensus& census_;
    std::unordered_map<NodeNumber, std::uint64_t> native_bytes_{};   // of blocks that garbage owns
    std::unordered_map<std::uint32_t, std::uint64_t> host_bytes_{};  // of storages, by index of the tensors' type
    std::vector<ContainerPlace> places_{};
    std::uint64_t left_out_ = 0;
};

// The present parts of the writable data of libraries.
std::vector<HeapRange> present_statics(const ProcessMaps& maps, const PresentPages& pages) {
    std::vector<HeapRange> statics;
    for (const MappedRange& range : maps.ranges) {
        if (!range.writable || range.shared || (range.inode == 0 && range.path != kBss)) continue;
        for (Address at = range.start; at < range.end;) {
            const Address end = std::min(pages.end_of_run(at), range.end);
            if (end > at) statics.push_back({at, end});
            at = std::max(end, at + HeapCopy::kPage);
        }
    }
    return statics;
}

std::vector<HeapRange> stacks_of(const PythonHeap& heap) {
    std::vector<HeapRange> stacks;
    for (const GlibcThread& thread : heap.threads) stacks.push_back(thread.stack);
    for (const MappedRange& range : heap.maps.ranges)
        if (range.path == "[stack]") stacks.push_back({range.start, range.end});
    return stacks;
}

ObjectCensus refused(ObjectsRefusal why) {
    ObjectCensus census;
    census.refusal = why;
    return census;
}

}  // namespace

ObjectCensus take_object_census(const PythonHeap& heap, std::uint64_t most_bytes, const ReadDeadline& deadline,
                                std::map<HeapGap, std::uint64_t>& incomplete, std::vector<ContainerPlace>& places) {
    if (heap.debug_build) return refused(ObjectsRefusal::debug_build);
    // The graph is built in two thirds of the time, because dominators and paths follow.
    const ReadDeadline for_graph = deadline.sooner(deadline.left() * 0.65);
    HeapCopy memory(heap.source, heap.maps, most_bytes * 7 / 8, for_graph, heap.read_file);
    const ObjectLayoutSearch search = find_object_layout(memory, heap.runtime, heap.version);
    if (search.refusal != ObjectsRefusal::none) return refused(search.refusal);
    const ms_python& stack = search.layout.stack;
    ObjectData data(memory, search.layout);
    PythonTypes types(data);
    const Address interpreter = memory.word(stack.runtime + stack.runtime_interpreters);
    const Address modules =
        interpreter != 0 ? memory.word(interpreter + search.layout.interpreter_modules) : Address{0};
    if (!types.start_from(modules)) return refused(ObjectsRefusal::not_found);
    // Only a debug build has this function.
    const Address sys = data.dict_get(modules, "sys");
    if (data.dict_get(memory.word(sys + object_offsets::kModuleDict), "gettotalrefcount") != 0)
        return refused(ObjectsRefusal::debug_build);

    PythonPools pools = heap.pymalloc != nullptr ? PythonPools(*heap.pymalloc) : PythonPools();
    // The mark that the debug hooks of the allocator (python -X dev) put before each block of objects.
    constexpr std::uint64_t kHookMark = 0xFDFDFDFDFDFDFD6F, kLinkBytes = 16;
    if (memory.word(modules - kLinkBytes - 8) == kHookMark) pools.expect_debug_hooks();
    types.set_pools(&pools);
    ObjectReader reader(data, types, pools);
    TorchObjects torch(reader, types);
    const std::vector<HeapRange> statics = present_statics(heap.maps, heap.pages);
    NativeBlocks blocks;
    if (heap.blocks != nullptr) blocks = NativeBlocks(std::move(*heap.blocks), heap.mapped_blocks, heap.mappings);
    NativeBlocks* known_blocks = blocks.empty() ? nullptr : &blocks;
    const std::uint64_t for_objects = most_bytes - std::min(most_bytes / 2, blocks.memory());
    ObjectGraph graph(reader, torch, pools, for_objects, heap.inherited, known_blocks);
    graph.build(statics);
    memory.extend(deadline);
    std::optional<NativeOwners> owners;
    const std::vector<HeapRange> stacks = stacks_of(heap);
    const NativeOwners::Roots roots{.stacks = stacks, .statics = statics};
    if (known_blocks != nullptr && !graph.gaps().late) {
        owners.emplace(graph, blocks, heap.source, heap.pages);
    }
    // Dominators and paths need memory, too.
    const std::uint64_t needed = graph.memory() + graph.later_memory() + blocks.memory() + (std::uint64_t{4} << 20);
    memory.limit_to(std::max(kLeastCopy, most_bytes - std::min(most_bytes, needed)));

    const std::uint64_t absent = reader.absent();
    ObjectCensus census;
    if (heap.inherited) census.inherited = Bytes{heap.inherited->total()};
    ObjectCensusTaker taker(heap, graph, known_blocks, owners ? &*owners : nullptr, roots, deadline, census);
    taker.take();
    places = taker.take_places();
    const ObjectGraph::Gaps& gaps = graph.gaps();
    const auto count = [&](HeapGap gap, std::uint64_t times) {
        if (times > 0) incomplete[gap] += times;
    };
    count(HeapGap::torn, gaps.torn);
    count(HeapGap::not_present, absent);
    count(HeapGap::too_many, gaps.left_out + taker.left_out());
    count(HeapGap::time_limit, gaps.late || deadline.has_passed() ? 1 : 0);
    const auto nodes = static_cast<double>(graph.count());
    if (gaps.left_out > 0) census.sampled = nodes / (nodes + static_cast<double>(gaps.left_out));
    return census;
}

}  // namespace memscope
