#!/bin/sh
# planted.sh CC NM: each check finds what it is there to find, in small trees with one fault each.
set -eu
cc=$1 nm=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0 count=0

# A sound tree to plant faults in.
fresh() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/src/base" "$work/tree/src/tree" "$work/tree/src/lens" "$work/tree/src/checkpoint" \
        "$work/tree/include/pith" "$work/tree/examples" "$work/tree/tests/base" "$work/tree/docs/internals"
    cd "$work/tree"
    printf '#include "base/base_internal.h"\n#include "pith/tree.h"\n' >src/tree/walk.c
    mkdir -p src/checkpoint/document src/checkpoint/store src/checkpoint/save src/checkpoint/migrate
    printf '#include <jansson.h>\n#include "tree/tree_internal.h"\n' >src/checkpoint/document/parse.c
    printf '#include "checkpoint/document/document.h"\n#include "checkpoint/save/saving.h"\n' >src/checkpoint/save/save.c
    printf '#include "checkpoint/save/saving.h"\n' >src/checkpoint/checkpoint_internal.h
    printf '#include <pith/pith.h>\n' >examples/melt.c
    cat >include/pith/base.h <<'END'
PITH_API pith_scope *pith_call_site(pith_scope *s, const char *site);
PITH_API const pith_array *pith_full(pith_scope *s,
                                     double value);
/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_full(s, ...) pith_full(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */
END
    printf 'Test(walk, visits_all) {\n}\n' >tests/base/test_walk.c
    printf 'pith_test(walk test_walk.c)\n' >tests/base/CMakeLists.txt
    printf '| Name | pith | Test |\n|---|---|---|\n| `a` | b | `walk::visits_all` |\n| `c` | - | planned: lens |\n' >docs/internals/models.md
}

# must pass|fail CHECK TITLE [ARGUMENTS...]: run a check on the tree as it is now.
must() {
    count=$((count + 1))
    expected=$1 check=$2 title=$3
    shift 3
    if sh "$here/$check.sh" "$work/tree" "$@" >"$work/out" 2>&1; then verdict=pass; else verdict=fail; fi
    [ "$verdict" = "$expected" ] && return
    echo "planted: $check should $expected: $title"
    cat "$work/out"
    bad=1
}

fresh
for check in imports macros machine_paths sites models environment; do must pass $check "a sound tree"; done

printf '#include "tree/tree_internal.h"\n' >src/base/scope.c
must fail imports "a room includes one above it"
fresh; printf '#include <pith/tree.h>\n' >>src/base/scope.c
must fail imports "a room includes a public header above it"
fresh; printf '#include "checkpoint/checkpoint_internal.h"\n' >src/lens/lens.c
must fail imports "rooms of one rank include each other"
fresh; printf '#include "checkpoint/store/file.h"\n' >>src/checkpoint/document/parse.c
must fail imports "a floor includes one above it"
fresh; printf '#include "checkpoint/migrate/edit.h"\n' >>src/checkpoint/save/save.c
must fail imports "floors of one rank include each other"
fresh; printf '#include "checkpoint/checkpoint_internal.h"\n' >>src/checkpoint/save/save.c
must fail imports "a floor includes the header of its room"
fresh; mkdir src/checkpoint/attic; printf '\n' >src/checkpoint/attic/a.c
must fail imports "an unknown floor"
fresh; printf '#include "store/file.h"\n' >>src/checkpoint/checkpoint_internal.h
must fail imports "a floor by a path that begins in its room"
fresh; printf '#include <jansson.h>\n' >>src/tree/walk.c
must fail imports "jansson outside its room"
fresh; mkdir -p tools/oracle; printf '#include <jansson.h>\n' >tools/oracle/golden.c
must pass imports "the reader of golden cases takes jansson"
fresh; mkdir -p tools/pith; printf '#include <jansson.h>\n' >tools/pith/show.c
must fail imports "another program takes jansson"
fresh; printf '#  include <cuda_runtime_api.h>\n' >>src/tree/walk.c
must fail imports "CUDA outside its rooms"
fresh; printf '#include "tree/tree_internal.h"\n' >>examples/melt.c
must fail imports "an example includes an internal header"
fresh; printf '#include "../base/scope.h"\n' >>src/tree/walk.c
must fail imports "a path that climbs"
fresh; mkdir src/attic; printf '\n' >src/attic/a.c
must fail imports "an unknown room"

fresh; printf 'char *a = getenv("PITH_A");\n' >>src/tree/walk.c
must fail environment "getenv in a room"
fresh; printf 'char *a = secure_getenv ("PITH_A");\n' >>src/lens/lens.c
must fail environment "secure_getenv in a room"
fresh; printf 'char *a = getenv("PITH_A");\n' >src/base/environment.c; printf 'fegetenv(&m);\n' >>src/tree/walk.c
must pass environment "the one reader, and another function"

fresh; { printf '#define ALL(x) \\\n'; yes '    x; \' | head -50; printf '\n'; } >src/tree/all.h
must fail macros "a macro that defines code in 52 lines"
fresh; { printf '#define LIST(X) \\\n'; yes '    X(1) \' | head -50; printf '\n'; } >src/tree/list.h
must pass macros "a long list"

fresh
must pass phrases "a sound tree"
printf '/* A request that is none. */\n' >src/lens/a.c
must fail phrases "a phrase of the old dialect"
fresh; printf '/* Read by no\n * thread, so\n * many times. */\n' >src/lens/a.c
must fail phrases "a phrase across lines"
fresh; printf '#define PITH_API extern\n/** A function. */\nPITH_API int pith_a(int a);\n' >include/pith/base.h
must pass documented "a function with a comment"
printf 'PITH_API int pith_b(int a);\n' >>include/pith/base.h
must fail documented "a function without a comment of its own"

for path in ho''me/someone/x roo''t/x tm''p/x wor''k/x; do
    fresh; printf 'read "/%s"\n' "$path" >>docs/internals/models.md
    must fail machine_paths "/$path"
done
fresh; printf 'sh </dev/null >/dev/null; ls /usr/bin/env "${TMPDIR:-/tmp}" a/home/b\n' >docs/a.md
must pass machine_paths "paths that every system has"

fresh; printf 'PITH_API void pith_lose(pith_scope *s);\n' >>include/pith/base.h
must fail sites "a maker without a site"
fresh; printf '#    define pith_gone(s, ...) pith_gone(PITH_AT(s), __VA_ARGS__)\n' >>include/pith/base.h
must fail sites "a site without a maker"
fresh; sed -i 's/double value)/double value, int n)/; s/pith_full(pith/pith_fill(pith/' include/pith/base.h
must fail sites "the site of a function that has another name now"
fresh; sed -i '/End of call sites/d' include/pith/base.h
must fail sites "call sites without an end mark"

fresh; printf '| `d` | e | `walk::visits_none` |\n' >>docs/internals/models.md
must fail models "a test that does not exist"
fresh; printf '| `d` | e | |\n' >>docs/internals/models.md
must fail models "a row without test or plan"
fresh; printf '| `d` | e | planned: cellar |\n' >>docs/internals/models.md
must fail models "a plan for an unknown room"

fresh; printf '[the models](internals/models.md)\n' >docs/index.md
must pass docs "an index that names every page"
printf '[nothing](nowhere.md)\n' >>docs/index.md
must fail docs "a link that leads nowhere"
fresh; printf 'nothing\n' >docs/index.md
must fail docs "a page that the index leaves out"

fresh; printf 'struct pith_size {\n    int x;\n};\n' >include/pith/base.h
printf '#include <pith/base.h>\n' >include/pith/pith.h
must fail headers "a header without a guard" c "$cc"
printf '#ifndef PITH_BASE_H\n#define PITH_BASE_H\ntypedef size_t pith_size;\n#endif\n' >include/pith/base.h
must fail headers "a header that does not include what it names" c "$cc"
printf '#ifndef PITH_BASE_H\n#define PITH_BASE_H\n#include <stddef.h>\ntypedef size_t pith_size;\n#endif\n' >include/pith/base.h
must pass headers "a sound header" c "$cc"
printf '\n' >include/pith/runtime.h
must fail headers "a header that the umbrella leaves out" c "$cc"

fresh; printf 'int pith_call_site(void);\nint pith_call_site(void) { return 1; }\nint pith_full(void);\nint pith_full(void) { return 1; }\n' >src/base/a.c
"$cc" -shared -fPIC -o lib.so src/base/a.c
must pass symbols "a library that exports what is declared" "$nm" "$work/tree/lib.so"
printf 'int helper(void);\nint helper(void) { return 1; }\n' >>src/base/a.c
"$cc" -shared -fPIC -o lib.so src/base/a.c
must fail symbols "an export that no header declares" "$nm" "$work/tree/lib.so"
"$cc" -c -o lib.a src/base/a.c
must fail symbols "a global name of the archive that is not ours" "$nm" "$work/tree/lib.a"

# objects: compile the sources of two rooms, as the library does.
objects() {
    for source in src/*/*.c; do
        object=build/pith.dir/${source#src/}.o
        mkdir -p "${object%/*}"
        "$cc" -c -o "$object" "$source"
        printf '%s\n' "$work/tree/$object"
    done >list
}
fresh; rm -r src; mkdir -p src/base src/tree src/lens
printf 'int pithp_low(void);\nint pithp_low(void) { return 1; }\n' >src/base/a.c
printf 'int pithp_low(void);\nint pithp_high(void);\nint pithp_high(void) { return pithp_low(); }\n' >src/lens/a.c
objects; must pass layers "a symbol from below" "$nm" "$work/tree/list"
printf 'int pithp_high(void);\nint pithp_mid(void);\nint pithp_mid(void) { return pithp_high(); }\n' >src/tree/a.c
objects; must fail layers "a symbol from above" "$nm" "$work/tree/list"
rm src/tree/a.c; mkdir src/trace
printf 'int pithp_high(void);\nint pithp_side(void);\nint pithp_side(void) { return pithp_high(); }\n' >src/trace/a.c
objects; must fail layers "a symbol of a peer" "$nm" "$work/tree/list"
fresh; printf '\n' >list
must fail layers "no objects" "$nm" "$work/tree/list"

fresh; printf 'typedef struct pithp_a pithp_a;\ntypedef struct {\n    int pithp_b;\n} pithp_b;\n' >src/tree/a.h
printf 'struct pithp_a {\n    int x;\n};\ntypedef int local;\n' >src/tree/a.c
printf 'typedef struct { char x; } local;\n' >src/tree/b.c
must pass types "types that are defined once, and names of one file"
printf '#include "pith/base.h"\ntypedef struct {\n    struct { int x; } inner;\n} pithp_b;\n' >src/lens/a.h
must fail types "a struct without a tag in two headers"
printf 'typedef void (*pithp_a)(int x);\n' >src/lens/a.h
must fail types "a pointer to a function with the name of a struct"
printf 'struct pithp_a { int x; };\n' >src/lens/a.h
must fail types "a tag in two files"

op() {
    fresh
    printf 'bool f(const pithp_call *call) {\n    return %s;\n}\n' "$1" >src/tree/op.c
}
op 'call->primitive == PITHP_OP_ADD || call->primitive >= PITHP_PRIMITIVE_COUNT || 1 << PITHP_OP_ADD'
must pass ops "one primitive, the number of primitives, and a bit by number"
op 'call->primitive >= PITHP_OP_SUM'
must fail ops "a comparison with a primitive by order"
op 'PITHP_OP_SUM <=
           call->primitive'
must fail ops "a comparison that goes on in the next line"
op 'kinds[call->primitive - (int)PITHP_OP_SUM]'
must fail ops "a difference of primitives"
op '(pithp_primitive)(PITHP_OP_SUM + 1)'
must fail ops "the primitive after another"
op 'call->primitive > first'
must fail ops "a primitive that is compared with another by order"

[ $bad -eq 0 ] || exit 1
echo "planted: $count trees judged rightly"
