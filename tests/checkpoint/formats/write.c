/* checkpoint_formats FOLDER: write the checkpoints of formats/, in the newest format,
 * into a folder that is empty. Those of a new format are added so, once, and then kept.
 */
#include "state.h"

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: checkpoint_formats FOLDER\n");
        return 2;
    }
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
    pith_scope *s = pith_scope_open(rt);
    for (int i = 0; i < FORMATS_ROWS; i++)
        if (formats_rows[i].format == FORMATS_NEWEST)
            formats_save(s, &formats_rows[i], argv[1]);
    const bool failed = pith_failed(s);
    if (failed)
        fprintf(stderr, "%s\n", pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    return failed;
}
