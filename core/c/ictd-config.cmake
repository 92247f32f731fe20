# ictd as it was installed: find_package(ictd REQUIRED), target_link_libraries(app PRIVATE ictd::ictd)
if(NOT TARGET ictd::ictd)
  get_filename_component(prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
  add_library(ictd::ictd STATIC IMPORTED)
  set_target_properties(ictd::ictd PROPERTIES
    IMPORTED_LOCATION ${prefix}/lib/libictd_c.a
    INTERFACE_INCLUDE_DIRECTORIES ${prefix}/include)
  if(UNIX)
    set_target_properties(ictd::ictd PROPERTIES INTERFACE_LINK_LIBRARIES "m;pthread;dl")
  endif()
endif()
