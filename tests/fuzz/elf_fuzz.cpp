// ELF files. A watched process can run and map any file.
#include <sys/mman.h>

#include "fuzz.h"
#include "sources/elf/demangle.h"
#include "sources/elf/symbol_table.h"

namespace memscope::fuzz {
namespace {

Fd file_of(std::string_view bytes) {
    Fd file(::memfd_create("fuzz", MFD_CLOEXEC));
    require(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "the file is whole");
    return file;
}

}  // namespace

void one(std::string_view bytes) {
    const std::string name = demangled(bytes.substr(0, bytes.find('\0')));
    require(name.size() <= std::max<std::size_t>(bytes.size(), 4096 + 3), "a name is bounded");

    const auto opened = ElfFile::open(file_of(bytes));
    if (!opened) {
        const std::string message = opened.error().message();
        require(!message.empty() && is_clean(message), "an error is one clean line", message);
        return;
    }
    const ElfFile& elf = *opened;
    (void)elf.load_address();
    if (const auto id = elf.build_id()) require(!id->empty() && id->size() <= 128, "a build-id is bounded");
    const std::string_view names[] = {"malloc", "_PyRuntime", "f"};
    require(elf.find_symbols(names).size() == std::size(names), "as many answers as names");
    require(elf.find_exports(names).size() == std::size(names), "as many answers as names");
    for (const ElfSection& section : elf.sections()) {
        require(elf.read(section, 0, 1 << 16).size() <= bytes.size(), "a section is in its file");
        const auto text = elf.find_text(section, "f", 8);
        require(!text || (text->starts_with('f') && text->size() <= 8), "text begins with its marker");
    }
    for (const ElfSegment& segment : elf.segments())
        if (segment.file_size > 0)
            require(address_in(elf.segments(), segment.offset, segment.executable).has_value(),
                    "what is loaded has an address");

    const auto table = parsed(SymbolTable::load(elf));
    if (!table) return;
    for (const ElfSection& section : elf.sections())
        for (const std::uint64_t address : {section.address, section.address + section.size / 2})
            if (const auto found = table->find(address)) require(!found->empty(), "a found name is one");
}

}  // namespace memscope::fuzz
