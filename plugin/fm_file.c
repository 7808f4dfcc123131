#define _DEFAULT_SOURCE /* madvise beside POSIX */
#include "fm_file.h"

#include "fm_hash.h"
#include "fm_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read at once and summed up while it is near: well within a second level cache. A multiple of a stripe. */
#define CHUNK ((size_t)1 << 18)

/* Of memory; where it has another size, the wish for pages is not heard. */
#define PAGE ((size_t)4096)

/* ---- the checksum ---------------------------------------------------------------------------- */

/* Four sums side by side, so that the processor need not wait for one; a stripe is a word for each. Every step
 * is a permutation of the sum: a change within one word always shows. */
#define SUMS 4
#define STRIPE (SUMS * sizeof(uint64_t))

typedef struct Checksum {
    uint64_t sums[SUMS];
} Checksum;

static const Checksum kNoBytes = {{1, 2, 3, 4}};

static uint64_t addWord(uint64_t sum, uint64_t word)
{
    const uint64_t golden = 0x9e3779b97f4a7c15u; /* odd */
    sum = (sum ^ word) * golden;
    return sum << 29 | sum >> 35; /* what a product shifts up only comes down again */
}

/* Of whole stripes. */
static void addStripes(Checksum *checksum, const void *bytes, size_t count)
{
    uint64_t sums[SUMS], words[SUMS];
    memcpy(sums, checksum->sums, sizeof sums);
    for (const char *at = bytes, *end = at + count; at < end; at += STRIPE) {
        memcpy(words, at, sizeof words);
        for (int i = 0; i < SUMS; ++i)
            sums[i] = addWord(sums[i], words[i]);
    }
    memcpy(checksum->sums, sums, sizeof sums);
}

static size_t wholeStripes(size_t bytes)
{
    return bytes - bytes % STRIPE;
}

static uint64_t closeChecksum(const Checksum *checksum)
{
    return fmHash3(checksum->sums[0], checksum->sums[1],
                   fmHash3(checksum->sums[2], checksum->sums[3], SUMS));
}

/* ---- what a file is -------------------------------------------------------------------------- */

typedef struct Head {
    _Alignas(STRIPE) char magic[8];
    uint32_t version, byteOrder;
    uint64_t layout, bytes, checksum;
    fmFileContent content; /* pointers blank */
} Head;

static const char kMagic[8] = "fmcooked";
#define BYTE_ORDER_MARK 0x01020304u

/* The structs that have arrays. */
#define MOST_BLOCKS FM_MESH_BLOCKS
typedef struct Part {
    size_t place; /* in the content */
    int (*list)(const void *owner, fmBlock *blocks);
} Part;

static int listMesh(const void *owner, fmBlock *blocks)
{
    return fmMeshBlocks(owner, blocks);
}

static int listTree(const void *owner, fmBlock *blocks)
{
    return fmTreeBlocks(owner, blocks);
}

static int listLanes(const void *owner, fmBlock *blocks)
{
    return fmConeTableBlocks(owner, blocks);
}

static int listCoarse(const void *owner, fmBlock *blocks)
{
    return fmCoarseBlocks(owner, blocks);
}
_Static_assert(FM_TREE_BLOCKS <= MOST_BLOCKS && FM_CONE_TABLE_BLOCKS <= MOST_BLOCKS &&
                   FM_COARSE_BLOCKS <= MOST_BLOCKS,
               "any list fits");

static const Part kParts[] = {
    {offsetof(fmFileContent, mesh), listMesh},
    {offsetof(fmFileContent, tree), listTree},
    {offsetof(fmFileContent, lanes), listLanes},
    {offsetof(fmFileContent, coarse.mesh), listMesh},
    {offsetof(fmFileContent, coarse.tree), listTree},
    {offsetof(fmFileContent, coarse), listCoarse},
};

/* Does something with every array of the content; false as soon as that says so. */
typedef bool Visit(void *context, void *owner, const fmBlock *block);

static bool visitBlocks(fmFileContent *content, Visit *visit, void *context)
{
    for (size_t part = 0; part < FM_COUNT_OF(kParts); ++part) {
        fmBlock blocks[MOST_BLOCKS];
        void *owner = (char *)content + kParts[part].place;
        int count = kParts[part].list(owner, blocks);
        for (int i = 0; i < count; ++i)
            if (!visit(context, owner, &blocks[i]))
                return false;
    }
    return true;
}

static bool addLayout(void *context, void *owner, const fmBlock *block)
{
    uint64_t *layout = context;
    (void)owner;
    *layout = fmHash3(*layout, block->place, block->elementBytes);
    return true;
}

/* Another one where anything stored has another size or place. */
static uint64_t layoutMark(void)
{
    fmFileContent none = {0};
    uint64_t layout = fmHash3(sizeof(Head), sizeof(void *), offsetof(Head, content));
    visitBlocks(&none, addLayout, &layout);
    return layout;
}

static bool addLength(void *context, void *owner, const fmBlock *block)
{
    uint64_t *bytes = context;
    (void)owner;
    *bytes += wholeStripes(block->bytes + STRIPE - 1);
    return true;
}

static bool blank(void *context, void *owner, const fmBlock *block)
{
    (void)context;
    fmBlockSet(owner, block, NULL);
    return true;
}

static uint64_t fileBytes(fmFileContent *content)
{
    uint64_t bytes = sizeof(Head);
    visitBlocks(content, addLength, &bytes);
    return bytes;
}

/* Of bytes, with whatever is between the members. */
static void addHead(Checksum *checksum, const void *head)
{
    char copy[sizeof(Head)];
    memcpy(copy, head, sizeof copy);
    memset(copy + offsetof(Head, checksum), 0, sizeof(uint64_t));
    addStripes(checksum, copy, sizeof copy);
}

void fmFileSetChecksum(void *file, size_t bytes)
{
    if (bytes < sizeof(Head))
        return;
    char *at = file;
    Checksum checksum = kNoBytes;
    addHead(&checksum, at);
    addStripes(&checksum, at + sizeof(Head), wholeStripes(bytes - sizeof(Head)));
    uint64_t sum = closeChecksum(&checksum);
    memcpy(at + offsetof(Head, checksum), &sum, sizeof sum);
}

void fmFileContentFree(fmFileContent *content)
{
    fmCoarseFree(&content->coarse);
    fmConeTableFree(&content->lanes);
    fmTreeFree(&content->tree);
    fmMeshFree(&content->mesh);
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* The end of an array, filled up; true when it has one that is no whole stripe. */
static bool lastStripe(const void *owner, const fmBlock *block, char last[STRIPE])
{
    size_t whole = wholeStripes(block->bytes);
    memset(last, 0, STRIPE);
    if (whole < block->bytes)
        memcpy(last, (const char *)fmBlockItems(owner, block) + whole, block->bytes - whole);
    return whole < block->bytes;
}

static bool sumBlock(void *context, void *owner, const fmBlock *block)
{
    char last[STRIPE];
    size_t whole = wholeStripes(block->bytes);
    if (whole > 0)
        addStripes(context, fmBlockItems(owner, block), whole);
    if (lastStripe(owner, block, last))
        addStripes(context, last, sizeof last);
    return true;
}

static bool writeBlock(void *context, void *owner, const fmBlock *block)
{
    char last[STRIPE];
    size_t whole = wholeStripes(block->bytes);
    return (whole == 0 || fwrite(fmBlockItems(owner, block), whole, 1, context) == 1) &&
           (!lastStripe(owner, block, last) || fwrite(last, sizeof last, 1, context) == 1);
}

static bool writeFile(FILE *file, const fmFileContent *content)
{
    fmFileContent full = *content;
    Head head;
    memset(&head, 0, sizeof head);
    memcpy(head.magic, kMagic, sizeof head.magic);
    head.version = FM_FILE_VERSION;
    head.byteOrder = BYTE_ORDER_MARK;
    head.layout = layoutMark();
    head.bytes = fileBytes(&full);
    head.content = full;
    visitBlocks(&head.content, blank, NULL);
    head.content.tree.serial = head.content.coarse.tree.serial = 0;
    if (full.coarse.mesh.faceCount == 0)
        memset(&head.content.coarse, 0, sizeof head.content.coarse);
    Checksum checksum = kNoBytes;
    addHead(&checksum, &head);
    visitBlocks(&full, sumBlock, &checksum);
    head.checksum = closeChecksum(&checksum);
    return fwrite(&head, sizeof head, 1, file) == 1 && visitBlocks(&full, writeBlock, file);
}

int fmFileSave(const char *path, const fmFileContent *content)
{
    /* a name nobody else writes to, in the same directory */
    size_t nameBytes = strlen(path) + 64;
    char *name = fmAlloc(nameBytes);
    if (!name)
        return dFastMeshErrorMemory;
    snprintf(name, nameBytes, "%s.%ld-%llu.part", path, (long)getpid(),
             (unsigned long long)fmNextSerial());
    int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    bool written = file && writeFile(file, content);
    if (file)
        written = fclose(file) == 0 && written;
    else if (descriptor >= 0)
        close(descriptor);
    written = written && rename(name, path) == 0;
    if (descriptor >= 0 && !written)
        unlink(name);
    fmFree(name, nameBytes);
    return written ? dFastMeshOk : dFastMeshErrorFile;
}

/* ---- loading --------------------------------------------------------------------------------- */

typedef struct Reader {
    int descriptor;
    Checksum checksum;
    int status;
} Reader;

/* All of it, or a status. */
static bool readAll(Reader *reader, void *into, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = read(reader->descriptor, (char *)into + done, bytes - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            reader->status = got < 0 ? dFastMeshErrorFile : dFastMeshErrorFormat;
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

/* Fresh memory comes page by page as it is written to, which takes longer than reading: asked for a chunk at once
 * it takes less. A wish: where the system does not know it, or the pages are there, nothing is lost. */
static void wishPages(char *items, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    size_t before = (size_t)items % PAGE;
    if (bytes >= PAGE)
        madvise(items - before, before + bytes, MADV_POPULATE_WRITE);
#else
    (void)items;
    (void)bytes;
#endif
}

static bool readBlock(void *context, void *owner, const fmBlock *block)
{
    Reader *reader = context;
    if (!fmBlockMake(owner, block)) {
        reader->status = dFastMeshErrorMemory;
        return false;
    }
    char *items = fmBlockItems(owner, block);
    size_t whole = wholeStripes(block->bytes), rest = block->bytes - whole;
    for (size_t done = 0; done < whole; done += CHUNK) {
        size_t bytes = whole - done < CHUNK ? whole - done : CHUNK;
        wishPages(items + done, bytes);
        if (!readAll(reader, items + done, bytes))
            return false;
        addStripes(&reader->checksum, items + done, bytes);
    }
    if (rest > 0) {
        char last[STRIPE];
        if (!readAll(reader, last, sizeof last))
            return false;
        addStripes(&reader->checksum, last, sizeof last);
        memcpy(items + whole, last, rest);
    }
    return true;
}

static bool isEmpty(const fmCoarse *coarse)
{
    static const fmCoarse none; /* a file has pointers blank and nothing in between */
    return memcmp(coarse, &none, sizeof none) == 0;
}

/* Everything that the length of the file depends on, before it is believed. */
static const char *checkCounts(const fmFileContent *content)
{
    const fmCoarse *coarse = &content->coarse;
    const char *fault = fmMeshValidateCounts(&content->mesh);
    if (!fault)
        fault = fmTreeValidateCounts(&content->tree, &content->mesh);
    if (!fault && content->lanes.nodeCount != 0 &&
        content->lanes.nodeCount != content->tree.nodeCount)
        fault = "the cones belong to another tree";
    if (fault || isEmpty(coarse))
        return fault;
    fault = fmMeshValidateCounts(&coarse->mesh);
    return fault ? fault : fmTreeValidateCounts(&coarse->tree, &coarse->mesh);
}

static int readHead(Reader *reader, Head *head)
{
    struct stat about;
    if (fstat(reader->descriptor, &about) != 0 || !S_ISREG(about.st_mode))
        return dFastMeshErrorFile;
    if (!readAll(reader, head, sizeof *head))
        return reader->status;
    addHead(&reader->checksum, head);
    if (memcmp(head->magic, kMagic, sizeof kMagic) != 0 || head->version != FM_FILE_VERSION ||
        head->byteOrder != BYTE_ORDER_MARK || head->layout != layoutMark())
        return dFastMeshErrorFormat;
    visitBlocks(&head->content, blank, NULL);
    if (checkCounts(&head->content) || head->bytes != fileBytes(&head->content) ||
        (uint64_t)about.st_size != head->bytes)
        return dFastMeshErrorFormat;
    return dFastMeshOk;
}

/* Moving the vertices places the points by them, every one. */
static int checkPlaces(const fmMesh *mesh)
{
    size_t bytes = (size_t)mesh->pointCount;
    uint8_t *placed = fmAlloc(bytes);
    if (!placed)
        return dFastMeshErrorMemory;
    memset(placed, 0, bytes);
    for (int32_t v = 0; v < mesh->vertexCount; ++v)
        if (mesh->vertexPoint[v] >= 0)
            placed[mesh->vertexPoint[v]] = 1;
    bool all = !memchr(placed, 0, bytes);
    fmFree(placed, bytes);
    return all ? dFastMeshOk : dFastMeshErrorFormat;
}

static bool areSound(const float *numbers, size_t count, float most)
{
    bool sound = true;
    for (size_t i = 0; i < count; ++i)
        sound &= fabsf(numbers[i]) <= most;
    return sound;
}

/* All that the counts do not tell. */
static int checkContent(const fmFileContent *content)
{
    const fmCoarse *coarse = &content->coarse;
    const fmSpmRoot *root = &content->root;
    size_t coneFloats = fmConeTableBytes(&content->lanes) / sizeof(float);
    if (fmMeshValidateLinks(&content->mesh) || fmTreeValidateLinks(&content->tree) ||
        !areSound((const float *)content->lanes.cones, coneFloats, 2) ||
        !areSound(root->support[0][0], sizeof root->support / sizeof(float),
                  2 * (float)FM_MESH_MAX_SIZE) ||
        !(fmMaxAbs(root->center) <= FM_MESH_MAX_SIZE) || !fmIsFinite(root->center))
        return dFastMeshErrorFormat;
    if (coarse->mesh.faceCount > 0 &&
        (fmMeshValidateLinks(&coarse->mesh) || fmTreeValidateLinks(&coarse->tree) ||
         fmCoarseValidate(coarse, &content->mesh)))
        return dFastMeshErrorFormat;
    int status = checkPlaces(&content->mesh);
    return status == dFastMeshOk && coarse->mesh.faceCount > 0 ? checkPlaces(&coarse->mesh)
                                                               : status;
}

static int readFile(Reader *reader, fmFileContent *content)
{
    Head head;
    int status = readHead(reader, &head);
    if (status != dFastMeshOk)
        return status;
    *content = head.content;
    if (!visitBlocks(content, readBlock, reader))
        return reader->status;
    if (closeChecksum(&reader->checksum) != head.checksum)
        return dFastMeshErrorFormat;
    content->tree.serial = fmNextSerial();
    content->coarse.tree.serial = content->coarse.mesh.faceCount > 0 ? fmNextSerial() : 0;
    return checkContent(content);
}

int fmFileLoad(const char *path, fmFileContent *content)
{
    /* without waiting: who names a pipe is told so */
    Reader reader = {.descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC),
                     .checksum = kNoBytes};
    if (reader.descriptor < 0)
        return dFastMeshErrorFile;
    fmFileContent loaded = {0};
    int status = readFile(&reader, &loaded);
    close(reader.descriptor);
    if (status == dFastMeshOk)
        *content = loaded;
    else
        fmFileContentFree(&loaded);
    return status;
}
