# every_call.sh NM LIBRARY API
#
# Writes C for every_call.h: a call of every function that LIBRARY exports, by its
# declaration in the public headers, which the program API (scripts/api) lists, in which one
# pointer can be replaced by another. A function that is exported but declared in no header is
# an error, so what is added later is tested or noticed.
set -eu
nm=$1 library=$2 api=$3
exported=$("$nm" -D --defined-only "$library" | awk '$2 == "T" && $3 ~ /^pith_/ {print $3}' | sort -u)
[ -n "$exported" ] || { echo "every_call.sh: $library exports nothing" >&2; exit 1; }
opaque=$("$api" --opaque)

"$api" --list | awk -F '\t' -v exported="$exported" -v opaque_types="$opaque" '
BEGIN {
    count = split(opaque_types, names, "\n")
    for (i = 1; i <= count; i++) opaque[names[i]] = 1
}
{ declared[$2] = $0 }

function name_of(p) {
    if (match(p, /\(\*[a-z_0-9]+\)/)) return substr(p, RSTART + 2, RLENGTH - 3)
    sub(/\[.*/, "", p)
    match(p, /[A-Za-z_0-9]+$/)
    return substr(p, RSTART)
}
function type_of(p,    n) {
    if (p ~ /\(\*/) return "function"
    n = name_of(p)
    if (p ~ /\[/) { sub(/\[.*/, "", p); p = substr(p, 1, length(p) - length(n)) "*" }
    else p = substr(p, 1, length(p) - length(n))
    gsub(/\<const\>/, "", p); gsub(/const /, "", p); gsub(/struct /, "", p); gsub(/ /, "", p)
    return p
}
# What a pointer is: S a scope, R a runtime, O an object, I objects in an array, N anything
# that only NULL can spoil, F a function.
function category(type, name) {
    if (type == "function" || type == "pith_log_hook" || type ~ /^pith_(leaf|fold)_function$/ || type ~ /^pith_lens_(getter|setter|modifier|predicate)$/) return "F"
    if (type == "pith_scope*") return "S"
    if (type == "pith_runtime*") return "R"
    if (type == "void*") return name ~ /^(data|host|value|closure|bytes)$/ ? "N" : "O"
    if (type ~ /\*\*$/ && name ~ /^(exponent|compensation)$/) return "N" # set by the call
    if ((type == "pith_array**" && name == "sorted") || (type == "void**" && (name == "outs" || name == "data"))) return "N" # written, not read
    if (type == "pith_array**" || type == "void**" || type == "pith_lens**") return "I"
    if (base_of(type) in opaque || type == "pith_index*") return "O"
    return type ~ /\*$/ ? "N" : ""
}
function base_of(type) { sub(/\*$/, "", type); return type }
function takes_integers(f, name) {
    return f ~ /bitwise|shift_|population|count_leading|trunc_divide|scatter_(and|or)$/ || (f == "pith_ldexp" && name == "b")
}
function good(type, name, kind) {
    if (kind == "S") return "g->scope"
    if (kind == "R") return "g->runtime"
    if (type == "pith_route*") return of == "pith_route_make" ? "NULL" : "g->route"
    if (kind == "F") { return type ~ /_(leaf|fold)_function$/ || type ~ /_(getter|setter|modifier)$/ ? "GOOD_" substr(type, match(type, /(leaf|fold|getter|setter|modifier)/), RLENGTH) : "NULL" }
    if (kind == "I") return type == "pith_lens**" ? "g->lenses" : "g->items"
    if (type == "pith_array*" && of ~ /^pith_(cond|switch|fori_between|fori_between_passing|fori_with)$/) return of == "pith_cond" ? "g->flag" : "g->number"
    if (type == "pith_function*" && name == "cond") return "g->test"
    if (type == "pith_function*" && of ~ /^pith_scan/) return "g->of_row"
    if (type == "pith_function*" && name == "body" && of !~ /^pith_while/) return "g->of_two"
    if (type == "pith_function*" && (of == "pith_partial" || name ~ /^(rule|backward)$/)) return "g->of_two"
    if (type == "pith_function**") return "g->functions"
    # Integers where the parameter or the function wants them.
    if (type == "pith_array*" && (name ~ /^(index|at|starts|ids|data)$/ || takes_integers(of, name)))
        return "g->index"
    if (type == "pith_array*" && name == "condition") return "g->condition"
    if (type == "pith_array*" && name ~ /^(key|counts)$/) return "g->key"
    if (type == "pith_array*" || (kind == "O" && type == "void*")) return "g->array"
    if (type == "pith_type*" && of ~ /^pith_(run|advance|propagate|run_chunked)_any$/) return "NULL"
    if (kind == "O") { needed[base_of(type)] = 1; return "GOOD_" base_of(type) }
    if (type ~ /_options\*$/) return "NULL"
    if (type == "char*") return "g->text"
    if (type == "char**") return "g->texts"
    if (type == "FILE*") return "g->file"
    if (type == "void*" && name == "value") return "g->value"
    if (type == "pith_function*") return "g->function"
    if (kind == "N") return "g->bytes"
    if (type == "pith_dtype") return draws_integers ? "PITH_U32" : "PITH_F64"
    if (type == "pith_shape") return "PITH_SHAPE(1)"
    if (type == "bool") return "true"
    if (type == "double") return name == "upper" ? "2" : "1"
    if (type ~ /^pith_/) return "(" type "){0}"
    return name ~ /^(axis|first|second|source|destination|index|leaf|node|number|parameter_count)$/ ? "0" : type == "size_t" ? "8" : "1"
}
# A call of the function of a line, and the rows of its pointers.
function emit(line,    name, all, n, i, type, kind, call, rows, scoped) {
    n = split(line, all, "\t") - 3
    of = name = all[2]
    for (i = 1; i <= n; i++) all[i] = all[i + 3]
    scoped = 0
    draws_integers = name ~ /_(bits|integers)$/
    for (i = 1; i <= n; i++) {
        if (all[i] == "..." || all[i] == "void") continue
        type = type_of(all[i])
        kind = category(type, name_of(all[i]))
        call = call (i > 1 ? ", " : "")
        if (kind == "" || kind == "F") { call = call good(type, name_of(all[i]), kind); continue }
        call = call "at == " i - 1 " ? bad : (void *)(uintptr_t)" good(type, name_of(all[i]), kind)
        if (kind == "S") scoped = 1
        rows = rows sprintf("    {\"%s\", \"%s\", call_%s, %d, \047%s\047, %d, %d},\n",
                            name, name_of(all[i]), name, i - 1, kind, scoped,
                            kind ~ /[OI]/ && type ~ /^(pith_array|void)\*/)
    }
    if (rows == "") return
    calls = calls "static void call_" name "(const good *g, int at, void *bad) {\n" \
        "    (void)g, (void)at, (void)bad;\n    (void)(" name ")(" call ");\n}\n"
    table = table rows
}
END {
    count = split(exported, names, "\n")
    for (i = 1; i <= count; i++) {
        if (names[i] in declared) emit(declared[names[i]])
        else {
            print "every_call.sh: " names[i] " is exported and declared in no header" > "/dev/stderr"
            failed = 1
        }
    }
    for (type in needed) # of types that the test has no good value for yet
        printf "#ifndef GOOD_%s\n#    define GOOD_%s g->bytes\n#endif\n", type, type
    printf "%s", calls
    printf "static const row rows[] = {\n%s};\n", table
    exit failed
}'
