#!/bin/sh
# imports.sh ROOT: includes run one way between the rooms, and third-party headers stay in theirs.
#
# A room may include itself and lower ranks. Rooms of one rank do not include each other. The
# floors of a room, its folders, do the same among themselves. The file src/rooms lists both.
# Programs (examples, tools, benches) see public headers and their own files alone; but
# bench/bench_memory*.c time the blocks of arrays, which have no public function; of tools/oracle
# kernels.* and cuda_text.c compile what a graph on a device would run; and tools/pith/text.c
# shares the source of base/bytes.h, which needs libc only.
set -eu
ranks=$(cd "$(dirname "$0")/../../../src" && pwd)/rooms
cd "$1"

find src include/pith examples tools bench -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' -o -name '*.inc' \) \
    2>/dev/null | sort | xargs awk -v ranks="$ranks" '
BEGIN {
    while ((getline line <ranks) > 0)
        if (line !~ /^#/ && split(line, word, " ") == 2) {
            if ((slash = index(word[1], "/")) > 0) {
                floor_rank[word[1]] = word[2]
                has_floors[substr(word[1], 1, slash - 1)] = 1
            } else
                rank[word[1]] = word[2]
        }
    room_of_header["derive"] = "trace"
    room_of_header["jit"] = "trace"
    room_of_header["vmap"] = "trace"
    room_of_header["shard"] = "tree"
    room_of_header["debug"] = "assert"
    room_of_header["control"] = "trace"
    room_of_header["mpi"] = "mesh"
    room_of_header["runtime"] = "gpu"
    room_of_header["kernel"] = "gpu" # the text of kernels, and what makes it
    room_of_header["kernel_checked"] = "gpu"
    room_of_header["kernel_lanes"] = "gpu"
    room_of_header["kernel_macros"] = "gpu"
    room_of_header["kernel_types"] = "gpu"
    room_of_header["memory"] = "gpu"
    room_of_header["memory_request"] = "gpu"
    room_of_header["memory_host"] = "gpu"
    room_of_header["memory_allocator"] = "gpu"
    room_of_header["memory_statistics"] = "gpu"
    room_of_header["node"] = "tree" # declarations of nodes
    room_of_header["memory_hint"] = "capacity"
    for (r in rank) room_of_header[r] = r
}
# The floor of a file or header by the parts of its path from the room on.
function floor_of(room, folder, inside_folder) { return room "/" (inside_folder ? folder : ".") }
function rank_of_floor(f) { return f in floor_rank ? floor_rank[f] : 1000 }
# ROOM.h, ROOM_FAMILY.h, or a header of the list above; "" where it is none.
function header_room(header) {
    if (header in room_of_header) return room_of_header[header]
    sub(/_.*/, "", header)
    return header in rank ? header : ""
}
function complain(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
function same_or_lower(from, to) {
    if (from != to && rank[to] >= rank[from])
        complain("room " from " includes room " to ", which is " (rank[to] == rank[from] ? "beside" : "above") " it")
}
function same_or_lower_floor(from, to) {
    if (from != to && rank_of_floor(to) >= rank_of_floor(from))
        complain("floor " from " includes floor " to ", which is " \
                 (rank_of_floor(to) == rank_of_floor(from) ? "beside" : "above") " it")
}
FNR == 1 {
    n = split(FILENAME, part, "/")
    room = ""; program = 0; umbrella = 0
    inside = FILENAME ~ /^(bench\/bench_memory[^\/]*\.c|tools\/oracle\/(kernels\.[ch]|cuda_text\.c)|tools\/pith\/text\.c)$/
    if (part[1] == "src") {
        room = part[2]
        if (!(room in rank)) complain("src/" room " is no room of src/rooms")
        floor = floor_of(room, part[3], n > 3)
        if (room in has_floors && n > 3 && !(floor in floor_rank))
            complain("src/" floor " is no floor of src/rooms")
    } else if (part[1] == "include") {
        header = part[3]; sub(/\.h$/, "", header)
        if (header == "pith") umbrella = 1
        else if ((room = header_room(header)) == "") complain("the header belongs to no room of src/rooms")
    } else
        program = 1
}
/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    quoted = index($0, "\"") > 0 && (index($0, "<") == 0 || index($0, "\"") < index($0, "<"))
    name = $0
    sub(/^[^<"]*[<"]/, "", name); sub(/[>"].*$/, "", name)
    if (index(name, "..")) { complain("include by a path that climbs: " name); next }

    if (name ~ /^(cuda[a-z_A-Z0-9]*|nvrtc|cub\/.*|cublas.*)\.(h|cuh)$/ && FILENAME !~ /^src\/gpu\/(cuda|compile)\// && !inside)
        complain(name " belongs to src/gpu/cuda and src/gpu/compile")
    if (name ~ /^mpi[a-z]*\.h$/ && FILENAME !~ /^(src\/mesh\/mpi\/|include\/pith\/mpi\.h$)/)
        complain(name " belongs to src/mesh/mpi and to include/pith/mpi.h")
    if (name ~ /^nccl[a-z_]*\.h$/ && FILENAME !~ /^src\/gpu\/cuda\/nccl_check\.c$/)
        complain(name ": NCCL is opened at run time, with declarations of our own")
    if (name ~ /^jansson(_config)?\.h$/ && FILENAME !~ /^(src\/checkpoint|tools\/oracle)\//)
        complain(name " belongs to src/checkpoint and to the reader of golden cases, tools/oracle")

    if (name ~ /^pith\//) {
        header = name; sub(/^pith\//, "", header); sub(/\.h$/, "", header)
        if (program || umbrella) next
        if (header == "pith") complain("a room includes the umbrella header")
        else if ((to_room = header_room(header)) == "") complain("unknown public header " name)
        else same_or_lower(room, to_room)
    } else if (quoted && (parts = split(name, to, "/")) > 1 && to[1] in rank) {
        if (program && !inside) complain("a program includes the internal header " name)
        else if (program) next
        else if (part[1] == "include") complain("a public header includes the internal header " name)
        else {
            same_or_lower(room, to[1])
            if (room == to[1] && room in has_floors)
                same_or_lower_floor(floor, floor_of(room, to[2], parts > 2))
        }
    } else if (quoted && part[1] == "src" && (room "/" to[1]) in floor_rank)
        complain("include with a path from src: " room "/" name)
    else if (quoted && program && !inside && name ~ /_internal\.h$/)
        complain("a program includes the internal header " name)
}
END { exit bad }
' || { echo "imports: the includes above are not allowed"; exit 1; }
echo "imports: one way"
