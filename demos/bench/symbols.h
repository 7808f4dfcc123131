/* The functions of the running program and its libraries, static ones too, as their files' symbol
 * tables have them. For ELF systems. */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stdint.h>

typedef struct Symbol {
    uintptr_t start, end; /* where it is in memory */
    const char *name;
    const char *file; /* the source file of a static function, else "" */
} Symbol;

typedef struct Symbols Symbols;

Symbols *SymbolsLoad(void);
void SymbolsFree(Symbols *symbols);
/* The function that holds the address, or NULL. */
const Symbol *SymbolsFind(const Symbols *symbols, uintptr_t address);

#endif
