# Writes C from a page of the manual: every expression `pith_...` of its tables, run after the
# page's ```c setup; a name without arguments must be a function. Fails on what fails, and where
# there are fewer than `least`.
BEGIN {
    print "#include <pith/pith.h>"
    print "#include <math.h>"
    print "#define EXPRESSION(line, text, ...) \\"
    print "    do { (void)(__VA_ARGS__); pith_wait(s); \\"
    print "         if (pith_failed(s)) { \\"
    print "             printf(\"line %d: %s: %s\\n\", line, text, pith_message(s)); \\"
    print "             pith_clear(s); failed++; \\"
    print "         } ran++; } while (0)"
    print "int main(void) {"
    print "    pith_runtime *rt = pith_open(NULL);"
    print "    pith_scope *s = pith_scope_open(rt);"
    print "    int failed = 0, ran = 0;"
}
/^```$/ { setup = 0 }
setup { print }
/^```c setup$/ { setup = 1 }
/^\|/ && !/^\|---/ {
    cell = $0
    sub(/^\| *([^|]|\\\|)*\|/, "", cell) # the first column
    while (match(cell, /`[^`]*`/)) {
        text = substr(cell, RSTART + 1, RLENGTH - 2)
        cell = substr(cell, RSTART + RLENGTH)
        gsub(/\\\|/, "|", text)
        if (text !~ /^pith_[a-z0-9_]+(\(.*\))?$/) continue
        name = text
        gsub(/\\/, "\\\\", name); gsub(/"/, "\\\"", name)
        printf "    EXPRESSION(%d, \"%s\", %s);\n", NR, name, text
    }
}
END {
    print "    if (pith_failed(s)) failed++, puts(pith_message(s));"
    print "    pith_scope_close(s);"
    print "    pith_close(rt);"
    print "    printf(\"%d expressions, %d failed\\n\", ran, failed);"
    print "    return failed || ran < " least ";"
    print "}"
}
