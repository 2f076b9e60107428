# embed_files(SYMBOL FILE...): compiles the files into the program as
#     const struct embedded SYMBOL[];  const size_t SYMBOL_count;
# in the order of their names (src/base/embedded.h). One entry: file name, bytes (NUL-terminated), length.
set(EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_write.cmake)
function(embed_files symbol)
    set(output ${CMAKE_BINARY_DIR}/embedded/${symbol}.c)
    string(REPLACE ";" "|" files "${ARGN}")
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DSYMBOL=${symbol} "-DFILES=${files}" -DOUTPUT=${output} -P ${EMBED_SCRIPT}
        DEPENDS ${ARGN} ${EMBED_SCRIPT} VERBATIM)
    set(EMBEDDED_SOURCES ${EMBEDDED_SOURCES} ${output} PARENT_SCOPE)
endfunction()
