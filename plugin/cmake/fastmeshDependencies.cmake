# Finds the libraries fastmesh stands on: as a CMake package when there is one, else by pkg-config.
# The build and the installed package both include this file, so both see the same targets.

# fastmesh_find(fastmesh::ode ODE ODE::ODE ode): makes the target, or appends ode to fastmesh_MISSING.
function(fastmesh_find target package packageTarget module)
  if(TARGET ${target})
    return()
  endif()
  find_package(${package} CONFIG QUIET)
  set(found ${packageTarget})
  if(NOT TARGET ${found})
    find_package(PkgConfig QUIET)
    if(PKG_CONFIG_FOUND)
      pkg_check_modules(FASTMESH_${module} QUIET IMPORTED_TARGET ${module})
    endif()
    set(found PkgConfig::FASTMESH_${module})
  endif()
  if(NOT TARGET ${found})
    set(fastmesh_MISSING ${fastmesh_MISSING} ${module} PARENT_SCOPE)
    return()
  endif()
  add_library(${target} INTERFACE IMPORTED)
  set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES ${found})
  # a project that holds fastmesh as a subdirectory must see what its targets link to
  get_property(here DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(each ${target} ${found})
    if(each IN_LIST here)
      set_target_properties(${each} PROPERTIES IMPORTED_GLOBAL TRUE)
    endif()
  endforeach()
endfunction()

set(fastmesh_MISSING)
fastmesh_find(fastmesh::ode ODE ODE::ODE ode)
# The rest is private: users of the shared library need none of it.
if(NOT fastmesh_PUBLIC_ONLY)
  fastmesh_find(fastmesh::ccd ccd ccd ccd)
  fastmesh_find(fastmesh::qhull Qhull Qhull::qhull_r qhull_r)
endif()
