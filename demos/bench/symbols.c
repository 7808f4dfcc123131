#define _GNU_SOURCE
#include "symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene_mesh.h"

#define MAX_FILES 128

typedef struct Mapping {
    void *bytes;
    size_t length;
} Mapping;

struct Symbols {
    Symbol *items;
    int count, capacity;
    Mapping files[MAX_FILES]; /* kept, as names point into them */
    int fileCount;
};

static void Add(Symbols *symbols, Symbol symbol)
{
    if (symbols->count == symbols->capacity) {
        symbols->capacity = symbols->capacity ? 2 * symbols->capacity : 4096;
        symbols->items =
            SceneReallocate(symbols->items, (size_t)symbols->capacity * sizeof *symbols->items);
    }
    symbols->items[symbols->count++] = symbol;
}

/* Within a table the static functions of a source file follow an entry with its name. */
static void AddTable(Symbols *symbols, const char *bytes, const ElfW(Shdr) * table,
                     const ElfW(Shdr) * strings, uintptr_t base)
{
    const ElfW(Sym) *entries = (const void *)(bytes + table->sh_offset);
    const char *names = bytes + strings->sh_offset, *file = "";
    size_t count = table->sh_size / sizeof *entries;
    for (size_t i = 0; i < count; ++i) {
        const ElfW(Sym) *entry = &entries[i];
        int type = ELF64_ST_TYPE(entry->st_info);
        if (entry->st_name >= strings->sh_size)
            continue;
        if (type == STT_FILE)
            file = names + entry->st_name;
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !entry->st_value || !entry->st_size)
            continue;
        bool local = ELF64_ST_BIND(entry->st_info) == STB_LOCAL;
        Add(symbols, (Symbol){base + entry->st_value, base + entry->st_value + entry->st_size,
                              names + entry->st_name, local ? file : ""});
    }
}

/* The full table where the file has one, else the one of exported functions. */
static void AddObject(Symbols *symbols, const char *bytes, size_t length, uintptr_t base)
{
    const ElfW(Ehdr) *head = (const void *)bytes;
    if (length < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
        head->e_shentsize != sizeof(ElfW(Shdr)) ||
        head->e_shoff + head->e_shnum * sizeof(ElfW(Shdr)) > length)
        return;
    const ElfW(Shdr) *sections = (const void *)(bytes + head->e_shoff), *best = NULL;
    for (int i = 0; i < head->e_shnum; ++i)
        if (sections[i].sh_type == SHT_SYMTAB || (!best && sections[i].sh_type == SHT_DYNSYM))
            best = &sections[i];
    if (!best || best->sh_link >= head->e_shnum)
        return;
    const ElfW(Shdr) *strings = &sections[best->sh_link];
    if (best->sh_offset + best->sh_size <= length &&
        strings->sh_offset + strings->sh_size <= length)
        AddTable(symbols, bytes, best, strings, base);
}

static int LoadFile(struct dl_phdr_info *info, size_t size, void *context)
{
    Symbols *symbols = context;
    (void)size;
    struct stat status;
    int file = open(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe", O_RDONLY);
    if (file < 0 || symbols->fileCount == MAX_FILES)
        return 0; /* the kernel's part of the program has no file */
    if (!fstat(file, &status) && status.st_size > 0) {
        Mapping *mapping = &symbols->files[symbols->fileCount];
        mapping->length = (size_t)status.st_size;
        mapping->bytes = mmap(NULL, mapping->length, PROT_READ, MAP_PRIVATE, file, 0);
        if (mapping->bytes != MAP_FAILED) {
            ++symbols->fileCount;
            AddObject(symbols, mapping->bytes, mapping->length, info->dlpi_addr);
        }
    }
    close(file);
    return 0;
}

static int CompareSymbols(const void *a, const void *b)
{
    const Symbol *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

Symbols *SymbolsLoad(void)
{
    Symbols *symbols = SceneReallocate(NULL, sizeof *symbols);
    memset(symbols, 0, sizeof *symbols);
    dl_iterate_phdr(LoadFile, symbols);
    qsort(symbols->items, (size_t)symbols->count, sizeof *symbols->items, CompareSymbols);
    return symbols;
}

void SymbolsFree(Symbols *symbols)
{
    for (int i = 0; i < symbols->fileCount; ++i)
        munmap(symbols->files[i].bytes, symbols->files[i].length);
    free(symbols->items);
    free(symbols);
}

const Symbol *SymbolsFind(const Symbols *symbols, uintptr_t address)
{
    int low = 0, high = symbols->count; /* the last that starts at or before the address */
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (symbols->items[middle].start <= address)
            low = middle;
        else
            high = middle;
    }
    if (high == low)
        return NULL;
    const Symbol *symbol = &symbols->items[low];
    return symbol->start <= address && address < symbol->end ? symbol : NULL;
}
