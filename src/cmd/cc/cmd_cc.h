/* cmd_cc.h - the ways to ask for stemma cc. */
#ifndef STEMMA_CMD_CC_CMD_CC_H
#define STEMMA_CMD_CC_CMD_CC_H

#include "cmd/cmd.h"

/* `stemma c++`, `stemma fc`, ...: the compiler that the command stands for; NULL: it is none of them. */
const char *cc_compiler_of(const char *command);
/* A link to this program: stemma-gcc, or gcc itself. The compiler that it stands for; NULL: it is called stemma. */
const char *cc_link_name(const char *program);
/* How many of the arguments (argv[1] on) are options of ours, which stand before the compiler's. */
int cc_own_options(int argc, char **argv);

#endif
