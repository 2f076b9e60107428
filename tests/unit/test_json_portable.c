/* The same promises without the machine's vector instructions. */
#define JSON_PORTABLE 1
/* Definitions here come before those of the library, whose objects are then not linked. */
#include "../../src/base/json.c"
#include "../../src/base/json_lex.c"
#include "../../src/base/json_text.c"
#include "test_json.c"
