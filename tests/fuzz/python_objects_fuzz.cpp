// A CPython process with valid objects, in which the input changes some words. No content of a process's memory may
// crash the census of objects, keep it busy for long, or make it exceed its memory limit.
#include "fuzz.h"
#include "sources/heap/python/container_lengths.h"
#include "support/fake_python.h"

namespace memscope::fuzz {
namespace {

struct Process {
    explicit Process(Input& input) {
        constexpr int kObjects = 60;
        if (input.flag()) python.use_pools();
        const std::uint64_t deque_type = python.add_type("collections.deque", 0, 80, 0);
        const std::uint64_t set_type = python.add_type("set", 0, 200, 0);
        const std::uint64_t function_type = python.add_type("function", 0, 144, 0);
        const std::uint64_t cell_type = python.add_type("cell", 0, 24, 0);
        const std::uint64_t array_type = python.add_type("numpy.ndarray", 0, 80, 0);
        const std::uint64_t tensor_type = python.add_type("torch._C._TensorBase", 0, 48, 0);
        const std::uint64_t generator_type = python.add_type("generator", 0, 160, 8);
        const std::uint64_t local_type = python.add_type("_thread._local", 0, 64, 0);
        const std::uint64_t other_type = python.add_type("other", 0, 64, 8);
        const std::uint64_t code_type = python.add_type("code", 0, 200, 2);
        std::vector<std::uint64_t> objects{python.number(), python.text("name")};
        const auto any = [&] { return objects[input.number() % objects.size()]; };
        for (int i = 0; i < kObjects; ++i) {
            std::uint64_t made = 0;
            const auto words = [&](std::uint64_t type, std::uint64_t size) {
                const std::uint64_t object = python.object(type, size);
                for (std::uint64_t at = 16; at + 8 <= size; at += 8)
                    if (input.flag()) python.pages.put(object + at, any());
                return object;
            };
            switch (input.number() % 15) {
                case 0:
                    made = python.list({any(), any(), any()});
                    break;
                case 1:
                    made = python.tuple({any(), any()});
                    break;
                case 2:
                    made = python.dict({{python.text("losses"), any()}, {any(), any()}});
                    break;
                case 3:
                    made = words(deque_type, 80);
                    python.pages.put(made + 16, input.number());
                    break;
                case 4:
                    made = words(set_type, 200);
                    python.pages.put(made + 32, 7);
                    python.pages.put(made + 40, made + 64);
                    break;
                case 5:
                    made = words(function_type, 144);
                    break;
                case 6:
                    made = words(cell_type, 24);
                    break;
                case 7:
                    made = words(array_type, 80);
                    break;
                case 8:
                    made = words(tensor_type, 48);
                    break;
                case 9:
                    made = words(generator_type, 400);
                    break;
                case 10:
                    made = words(local_type, 64);
                    break;
                case 11:
                    made = words(other_type, 128);
                    python.pages.put(made + 16, input.number());
                    break;
                case 12:
                    made = words(code_type, 400);
                    break;
                case 13:
                    made = words(other_type, 64);
                    for (int blocks = input.number() % 4; blocks >= 0; --blocks) {
                        const std::uint64_t earlier = places.empty() ? 0 : places[input.number() % places.size()];
                        const std::uint64_t block =
                            python.native(16 + 16 * std::uint64_t{input.number()}, {earlier, any()});
                        python.pages.put(made + 24 + 8 * static_cast<std::uint64_t>(blocks), block);
                        places.push_back(block);
                    }
                    break;
                default:
                    made = python.module({{"x", any()}});
            }
            objects.push_back(made);
            places.push_back(made);
        }
        std::vector<std::pair<std::string, std::uint64_t>> names;
        for (std::size_t i = 0; i < objects.size(); ++i) names.emplace_back("v" + std::to_string(i), objects[i]);
        const std::uint64_t main = python.module(names);
        python.set_modules({{"__main__", main}, {"other", any()}});
        for (const std::uint64_t place :
             {main, python.type_type, python.dict_type, python.list_type, FakePython::kRuntime,
              FakePython::kRuntime + 40, FakePython::kInterpreter + FakePython::kModules, deque_type, other_type,
              array_type, python.pages.at(FakePython::kInterpreter + FakePython::kModules), FakePython::kPools,
              FakePython::kPools + FakePython::kPoolBytes, FakePython::kPools + 2 * FakePython::kPoolBytes})
            places.push_back(place);
    }

    void spoil(Input& input) {
        for (int i = 0; i < 64 && !input.empty(); ++i) {
            const std::uint64_t place = places[input.number() % places.size()] + 8 * (input.number() % 64);
            const std::uint64_t other = places[input.number() % places.size()];
            switch (input.number() % 7) {
                case 0:
                    python.pages.put(place, input.number<std::uint64_t>());
                    break;
                case 1:
                    python.pages.put(place, other);
                    break;
                case 2:
                    python.pages.put(place, place);
                    break;
                case 3:
                    python.pages.put(place, python.pages.at(place) ^ std::uint64_t{1} << (input.number() % 64));
                    break;
                case 4:
                    python.pages.put(place, ~std::uint64_t{0} >> (input.number() % 64));
                    break;
                case 5:
                    python.pages.put(place, python.pages.at(place) + 8 * std::uint64_t{input.number()} - 1024);
                    break;
                case 6:
                    python.pages.drop(place);
                    break;
            }
        }
    }

    FakePython python{};
    std::vector<std::uint64_t> places{};
};

}  // namespace

void one(std::string_view bytes) {
    constexpr std::uint64_t kMostReads = 3'000'000;
    Input input(bytes);
    Process process(input);
    process.spoil(input);
    const int version = 310 + input.number() % 5;
    const ObjectCensus census = process.python.census(std::uint64_t{32} << 20, version, Seconds{2});
    require(census.refusal == ObjectsRefusal::none || census.holders.empty(), "nothing is said after a refusal");
    require(census.references_explained >= 0 && census.references_explained <= 1, "a share");
    require(census.sampled > 0 && census.sampled <= 1, "a share");
    if (census.owners) {
        const HeapOwners& owners = *census.owners;
        require(owners.attributed <= owners.live && owners.probable <= owners.live, "parts of the live memory");
        require(owners.read >= 0 && owners.read <= 1, "a share");
        require(census.native_unreached && census.native_unreached->bytes <= owners.live, "a part of it is lost");
    }
    for (std::size_t i = 0; i < census.holders.size(); ++i) {
        const Holder& holder = census.holders[i];
        require(!holder.path.empty() && holder.path.size() <= 400, "a path is bounded", holder.path);
        require(holder.length > 0 || holder.kind != HolderKind::container, "a container has items");
        require(holder.within <= census.holders.size() && holder.within != i + 1, "a holder is not within itself");
    }
    require(process.python.pages.reads < kMostReads, "the number of reads is bounded");

    // Lengths are read again after the process has changed its heap.
    const std::vector<ContainerPlace>& places = process.python.places;
    process.spoil(input);
    const std::vector<ContainerReading> readings =
        read_container_lengths(process.python.pages, places, ReadDeadline(Seconds{2}));
    require(readings.size() == places.size(), "a reading for each place");
    require(process.python.pages.reads < kMostReads, "the number of reads is bounded");
}

}  // namespace memscope::fuzz
