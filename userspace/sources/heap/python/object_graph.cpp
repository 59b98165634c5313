#include "sources/heap/python/object_graph.h"

#include <algorithm>
#include <bit>

#include "sources/python/python_code.h"

namespace memscope {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kLeastCopy = 8 * kMiB;
// Bytes that dominators and paths need beside the graph itself, for each node and edge.
constexpr std::uint64_t kLaterPerNode = 48, kLaterPerEdge = 4;
constexpr std::uint64_t kPerNode = 8 + 8 + 4 + 4 + 4, kPerEdge = 4;

bool is_library_file(std::string_view file) {
    return file.empty() || file.starts_with('<') || file.find("/site-packages/") != std::string_view::npos ||
           file.find("/dist-packages/") != std::string_view::npos ||
           file.find("/lib/python3") != std::string_view::npos;
}

}  // namespace

NodeIndex::NodeIndex(std::size_t expected) : table_(std::bit_ceil(std::max<std::size_t>(2 * expected, 1 << 12))) {
    mask_ = table_.size() - 1;
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(table_.size()));
}

ObjectGraph::ObjectGraph(ObjectReader& reader, TorchObjects& torch, PythonPools& pools, std::uint64_t most_bytes)
    : reader_(reader),
      data_(reader.data()),
      memory_(reader.memory()),
      torch_(torch),
      pools_(pools),
      most_bytes_(most_bytes),
      running_(reader.types().add_pseudo_type("frame", ObjectKind::running)),
      index_(std::size_t{1} << 16) {
    address_.push_back(0);  // node 0 stands for all roots
    bytes_.push_back(0);
    type_.push_back(0);
    found_.push_back(0);
    edges_.next_node();
}

bool ObjectGraph::is_full() const {
    const std::uint64_t needed = address_.size() * (kPerNode + kLaterPerNode) +
                                 edges_.size() * (kPerEdge + kLaterPerEdge) + index_.bytes() * 3 / 2;
    return needed + kLeastCopy + 4 * kMiB > most_bytes_ || edges_.size() >= ~std::uint32_t{0} - kMostItems;
}

void ObjectGraph::count(const PythonType& type, std::uint64_t bytes) {
    if (by_type_.size() <= type.index) by_type_.resize(type.index + 1);
    ++by_type_[type.index].count;
    by_type_[type.index].bytes += bytes;
}

void ObjectGraph::note(Address object, const PythonType& type) {
    constexpr std::size_t kMost = std::size_t{1} << 20;
    if (type.kind == ObjectKind::tensor) {
        if (tensors_.size() < kMost)
            tensors_.push_back(object);
        else
            ++gaps_.left_out;
    }
    if (type.kind == ObjectKind::ndarray) {
        if (arrays_.size() < kMost)
            arrays_.push_back(object);
        else
            ++gaps_.left_out;
        const NumpyArray array = reader_.arrays().read(object);
        if (array.owns_data && array.bytes > 0 && array_data_.size() < kMost) array_data_.insert(array.data);
    }
}

// Counts all objects in pools by type. If their copy fits into memory, it is made first, within the shortest time.
void ObjectGraph::read_pools() {
    std::uint64_t bytes = 0;
    for (const HeapRange& arena : pools_.arenas()) bytes += arena.size();
    const bool fits = bytes <= memory_.limit() * 3 / 4;
    if (fits) memory_.copy(pools_.arenas());
    for (std::size_t i = 0; i < pools_.arenas().size(); ++i) {
        if (!fits) memory_.copy(pools_.arenas().subspan(i, 1));
        gaps_.torn += pools_.read(memory_, i, [&](const PythonPools::Block& block) {
            Address object = 0;
            const PythonType* type = reader_.object_in(block, object);
            if (type == nullptr) return;
            count(*type, reader_.size_of(object, *type));
            note(object, *type);
        });
    }
}

NodeNumber ObjectGraph::add(Address address, const PythonType& type) {
    if (is_full() || count() >= ObjectEdges::kMostNodes) {
        ++gaps_.left_out;
        return 0;
    }
    const NodeNumber node = count();
    address_.push_back(address);
    bytes_.push_back(0);
    type_.push_back(type.index);
    found_.push_back(0);
    index_.add(node, address_of());
    if (node % 65536 == 0) {  // the graph takes memory from the copy
        const std::uint64_t own = address_.size() * kPerNode + edges_.bytes() + index_.bytes();
        memory_.limit_to(std::max(kLeastCopy, most_bytes_ - std::min(most_bytes_, own + 4 * kMiB)));
    }
    return node;
}

// The node of an object. 0: there is no object, or it is a number or a string that only `referrer` holds.
NodeNumber ObjectGraph::node_of(Address target, NodeNumber referrer) {
    if (target < ObjectData::kLowest || target % 8 != 0 || target >> 56U != 0) return 0;
    if (const NodeNumber known = index_.find(target, address_of()); known != 0) return known;
    if (is_closed_) return 0;
    const PythonType* type = reader_.types().of(target);
    if (type == nullptr || !data_.is_alive(target) || !reader_.has_sound_place(target, *type)) return 0;
    const bool in_pool = pools_.contains(target);
    if (type->kind == ObjectKind::leaf) {
        const MappedRange* range = in_pool ? nullptr : memory_.maps().at(target);
        if (range != nullptr && range->inode != 0) return 0;  // None, True and the like
        if (data_.references(target) == 1) {
            const std::uint64_t size = reader_.size_of(target, *type);
            bytes_[referrer] += size;
            if (!in_pool) count(*type, size);
            return 0;
        }
    }
    const NodeNumber node = add(target, *type);
    if (!in_pool && node != 0) {
        count(*type, reader_.size_of(target, *type));
        note(target, *type);
    }
    if (node == 0 && data_.references(target) == 1) bytes_[referrer] += reader_.size_of(target, *type);
    return node;
}

NodeNumber ObjectGraph::native_node_of(Address target, const PythonType& type) {
    const NodeNumber known = index_.find(target, address_of());
    return known != 0 || is_closed_ ? known : add(target, type);
}

void ObjectGraph::link(NodeNumber from, NodeNumber target, Slot slot) {
    if (slot.kind == Slot::maybe_stack) {
        constexpr std::size_t kMostUncertain = std::size_t{1} << 20;
        constexpr std::uint8_t kCost = 6;
        if (uncertain_.size() < kMostUncertain)
            uncertain_.push_back({ObjectRoot::temporary, kCost, target, address_[from]});
        return;
    }
    ++found_[target];
    // A module has a name of its own, which tells more than the name of a module that imported it.
    const std::uint32_t cost = type(target).kind == ObjectKind::module ? ObjectEdges::kHighestCost : cost_of(slot.kind);
    if (target == from || edges_.merge_with_last(target, cost)) return;
    if (is_full())
        ++gaps_.left_out;
    else
        edges_.add(target, cost);
}

// Bytes that are freed with the object itself.
void ObjectGraph::weigh(NodeNumber node) {
    const PythonType& its = type(node);
    const Address object = address_[node];
    if (its.kind == ObjectKind::storage_impl) {
        const auto storage = torch_.storage(object);
        if (!storage) return;
        if (storage->on_device)
            device_[node] = storage->bytes;
        else if (!array_data_.contains(storage->data))
            bytes_[node] += storage->bytes;
    } else if (is_native(its.kind)) {
        bytes_[node] += torch_.chunk_size(object);
    } else {
        bytes_[node] += reader_.size_of(object, its) + reader_.values_size(object, its);
    }
}

void ObjectGraph::expand_node(NodeNumber node) {
    edges_.next_node();
    if (memory_.late()) {
        gaps_.late = true;
        return;
    }
    const PythonType& its = type(node);
    const Address object = address_[node];
    // The copy may be newer than the one in which it was found.
    if (its.address != 0 && memory_.word(object + object_offsets::kType) != its.address) {
        ++gaps_.torn;
        return;
    }
    // Without pools, tensors are only found on the way.
    if (its.kind == ObjectKind::tensor && !torch_.is_ready() && tensors_.size() >= next_calibration_) {
        next_calibration_ = 2 * tensors_.size();
        torch_.calibrate(tensors_);
    }
    weigh(node);
    if (its.kind != ObjectKind::leaf)
        references_of(node, [&](NodeNumber target, Slot slot) { link(node, target, slot); });
}

void ObjectGraph::expand() {
    while (edges_.nodes() < count()) expand_node(static_cast<NodeNumber>(edges_.nodes()));
}

void ObjectGraph::add_root(ObjectRoot::Kind kind, std::uint8_t cost, Address address, std::uint64_t detail) {
    if (const NodeNumber node = node_of(address, 0); node != 0) roots_.push_back({kind, cost, node, detail});
}

void ObjectGraph::add_threads(Address interpreter) {
    constexpr int kMostThreads = 4096, kMostFrames = 20000;
    constexpr std::size_t kLongestFile = 250;
    constexpr std::uint8_t kOwn = 1, kOfLibrary = 4;
    const ms_python& stack = reader_.layout().stack;
    Address thread = memory_.word(interpreter + stack.interpreter_threads);
    for (int threads = 0; threads < kMostThreads && thread != 0;
         ++threads, thread = memory_.word(thread + stack.thread_next)) {
        Address frame = memory_.word(thread + stack.thread_frame);
        if (stack.cframe_frame != MS_PYTHON_NO_OFFSET) frame = memory_.word(frame + stack.cframe_frame);
        for (int frames = 0; frames < kMostFrames && frame >= ObjectData::kLowest && !memory_.late();
             ++frames, frame = memory_.word(frame + stack.frame_previous)) {
            const Address code = reader_.frame_code(frame);
            if (!reader_.is_code(code)) continue;
            const bool of_library = is_library_file(data_.text(memory_.word(code + stack.code_file), kLongestFile));
            const std::uint8_t cost = of_library ? kOfLibrary : kOwn;
            if (reader_.layout().version == 310)
                add_root(ObjectRoot::frame, cost, frame, frame);
            else if (index_.find(frame, address_of()) == 0)
                if (const NodeNumber node = add(frame, running_); node != 0)
                    roots_.push_back({ObjectRoot::frame, cost, node, frame});
        }
    }
}

void ObjectGraph::add_interpreters() {
    constexpr int kMostInterpreters = 64;
    constexpr std::size_t kLongestFile = 250, kLongestName = 100;
    constexpr std::uint8_t kMain = 0, kOwn = 1, kOfLibrary = 4, kOther = 5;
    const ObjectLayout& layout = reader_.layout();
    Address state = memory_.word(layout.stack.runtime + layout.stack.runtime_interpreters);
    for (int i = 0; i < kMostInterpreters && state != 0; ++i) {
        data_.dict_entries(memory_.word(state + layout.interpreter_modules), [&](Address key, Address module) {
            const PythonType* type = reader_.types().of(module);
            if (type == nullptr) return;
            std::uint8_t cost = kOther;
            if (type->kind == ObjectKind::module) {
                const Address dict = memory_.word(module + object_offsets::kModuleDict);
                const std::string file = data_.text(data_.dict_get(dict, "__file__"), kLongestFile);
                cost = data_.text(key, kLongestName) == "__main__" ? kMain : is_library_file(file) ? kOfLibrary : kOwn;
            }
            add_root(ObjectRoot::module, cost, module, key);
        });
        add_threads(state);
        state = memory_.word(state + layout.stack.interpreter_next);
    }
}

// Statics of the interpreter and of libraries are full of stale pointers: free lists, caches. They are roots only of
// objects that nothing else holds.
void ObjectGraph::add_uncertain_roots(std::span<const HeapRange> statics) {
    constexpr std::uint8_t kInterpreter = 30, kLibrary = 35;
    constexpr std::uint64_t kStateWords = 2048, kThreadWords = 32, kMostStatics = 64 * kMiB;
    constexpr int kMostThreads = 4096, kMostInterpreters = 64;
    const auto offer = [&](ObjectRoot::Kind kind, std::uint8_t cost, Address target) {
        if (target < ObjectData::kLowest || target % 8 != 0 || index_.find(target, address_of()) != 0) return;
        const PythonType* type = reader_.types().of(target);
        if (type == nullptr || type->kind == ObjectKind::leaf) return;
        add_root(kind, cost, target, 0);
        expand();
    };
    const ObjectLayout& layout = reader_.layout();
    Address state = memory_.word(layout.stack.runtime + layout.stack.runtime_interpreters);
    for (int i = 0; i < kMostInterpreters && state != 0; ++i) {
        Address thread = memory_.word(state + layout.stack.interpreter_threads);
        for (int t = 0; t < kMostThreads && thread != 0; ++t, thread = memory_.word(thread + layout.stack.thread_next))
            memory_.for_words(thread, kThreadWords, [&](std::uint64_t, Address target) {
                offer(ObjectRoot::interpreter, kInterpreter, target);
            });
        memory_.for_words(state, kStateWords,
                          [&](std::uint64_t, Address target) { offer(ObjectRoot::interpreter, kInterpreter, target); });
        state = memory_.word(state + layout.stack.interpreter_next);
    }
    std::vector<std::byte> buffer(kMiB);
    std::uint64_t left = kMostStatics;
    for (const HeapRange& range : statics) {
        if (range.size() > left) continue;
        left -= range.size();
        for (Address at = range.start; at < range.end; at += buffer.size()) {
            const std::span<std::byte> part(buffer.data(), std::min<std::uint64_t>(buffer.size(), range.end - at));
            if (!memory_.read_past(at, part)) continue;
            for (std::size_t i = 0; i + 8 <= part.size(); i += 8) {
                Address target = 0;
                std::memcpy(&target, part.data() + i, sizeof target);
                if (pools_.contains(target)) offer(ObjectRoot::library, kLibrary, target);
            }
        }
    }
}

// Objects that nothing known refers to: C code holds a reference, or they wait for the collector.
void ObjectGraph::add_unreached() {
    constexpr std::uint8_t kNative = 40, kGarbage = 50;
    for (std::size_t i = 0; i < pools_.arenas().size() && !gaps_.late && !is_full(); ++i)
        pools_.read(memory_, i, [&](const PythonPools::Block& block) {
            Address object = 0;
            const PythonType* type = reader_.object_in(block, object);
            if (type == nullptr || type->kind == ObjectKind::leaf || index_.find(object, address_of()) != 0) return;
            add(object, *type);
        });
    expand();
    std::vector<bool> reached(count());
    std::vector<NodeNumber> waiting;
    const auto reach = [&](NodeNumber from) {
        if (reached[from]) return;
        reached[from] = true;
        waiting.push_back(from);
        while (!waiting.empty()) {
            const NodeNumber node = waiting.back();
            waiting.pop_back();
            for (std::uint32_t e = edges_.begin(node); e < edges_.end(node); ++e)
                if (const NodeNumber target = edges_.target(e); !reached[target]) {
                    reached[target] = true;
                    waiting.push_back(target);
                }
        }
    };
    for (const ObjectRoot& root : roots_) reach(root.node);
    const auto add_unless_reached = [&](const ObjectRoot& root) {
        if (reached[root.node]) return;
        roots_.push_back(root);
        reach(root.node);
    };
    for (const ObjectRoot& root : uncertain_) add_unless_reached(root);  // temporary values of running frames
    std::vector<NodeNumber> held;  // first all that are held from outside, because they may refer to one another
    for (NodeNumber node = 1; node < count(); ++node)
        if (!reached[node] && !is_native(type(node).kind) && data_.references(address_[node]) > found_[node])
            held.push_back(node);
    for (const NodeNumber node : held) roots_.push_back({ObjectRoot::native, kNative, node, 0});
    for (const NodeNumber node : held) reach(node);
    for (NodeNumber node = 1; node < count(); ++node) add_unless_reached({ObjectRoot::garbage, kGarbage, node, 0});
}

void ObjectGraph::build(std::span<const HeapRange> statics) {
    read_pools();
    if (!tensors_.empty()) {
        torch_.calibrate(tensors_);
        next_calibration_ = 2 * tensors_.size();
    }
    add_interpreters();
    expand();
    add_uncertain_roots(statics);
    expand();
    add_unreached();
    constexpr std::uint64_t kImmortal = std::uint64_t{1} << 30;
    for (NodeNumber node = 1; node < count(); ++node) {
        const ObjectKind kind = type(node).kind;
        if (is_native(kind) || kind == ObjectKind::running || kind == ObjectKind::type || kind == ObjectKind::leaf ||
            kind == ObjectKind::tensor)
            continue;  // C++ knows tensors without counting, and strings are no nodes
        const std::uint64_t references = data_.references(address_[node]);
        if (references >= kImmortal) continue;
        ++asked_;
        explained_ += references == found_[node] ? 1 : 0;
        if (node % 1024 == 0 && memory_.late()) break;
    }
    gaps_.late |= memory_.late();
    is_closed_ = true;
}

double ObjectGraph::references_explained() const {
    return asked_ == 0 ? 0 : static_cast<double>(explained_) / static_cast<double>(asked_);
}

std::uint32_t ObjectGraph::cost_of(Slot::Kind kind) {
    switch (kind) {
        case Slot::dict_of:
            return 0;
        case Slot::item:
        case Slot::value:
        case Slot::attribute:
        case Slot::closure:
        case Slot::content:
        case Slot::local:
        case Slot::cache:
        case Slot::impl:
        case Slot::storage:
            return 1;
        case Slot::key:
        case Slot::member:
        case Slot::function_dict:
        case Slot::defaults:
        case Slot::base:
        case Slot::type_dict:
        case Slot::gradient:
        case Slot::python:
            return 2;
        case Slot::field:
        case Slot::wrapped:
        case Slot::grad_fn:
        case Slot::saved:
            return 3;
        case Slot::callback:
            return 5;
        case Slot::module_state:
        case Slot::maybe_stack:
        case Slot::stack:
            return 6;
        case Slot::code:
            return 8;
        case Slot::function_other:
            return 12;
        case Slot::type_of:
        case Slot::type_other:
        case Slot::globals:
            return 20;
    }
    return 20;
}

}  // namespace memscope
