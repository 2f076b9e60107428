# embed_files(SYMBOL FILE...): compiles the files into the program as
#     const struct embedded SYMBOL[];  const size_t SYMBOL_count;
# in the order of their names without suffix, so that a comes before a-b (src/base/embedded.h). One entry: file name, bytes
# (NUL-terminated), length.
set(EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_write.cmake)
function(embed_files symbol)
    set(output ${CMAKE_BINARY_DIR}/embedded/${symbol}.c)
    set(sorted ${ARGN})
    list(TRANSFORM sorted REPLACE "\\.([a-z]+)$" "!\\1") # "!" is less than all that names are made of
    list(SORT sorted)
    list(TRANSFORM sorted REPLACE "!([a-z]+)$" ".\\1")
    string(REPLACE ";" "|" files "${sorted}")
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DSYMBOL=${symbol} "-DFILES=${files}" -DOUTPUT=${output} -P ${EMBED_SCRIPT}
        DEPENDS ${ARGN} ${EMBED_SCRIPT} VERBATIM)
    set(EMBEDDED_SOURCES ${EMBEDDED_SOURCES} ${output} PARENT_SCOPE)
endfunction()
