# What a plug-in needs to be built: the target inboxd::handler (a header, nothing to link with) and INBOXD_MODULE_DIR, where
# inboxd looks for plug-ins as long as `module_path` says nothing else.
get_filename_component(INBOXD_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(INBOXD_MODULE_DIR lib/inboxd/modules)
if(NOT TARGET inboxd::handler)
    add_library(inboxd::handler INTERFACE IMPORTED)
    set_target_properties(inboxd::handler PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${INBOXD_PREFIX}/include")
endif()
