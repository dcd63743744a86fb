# Everything EDO links, by pkg-config name. All are Debian packages; scripts/install-deps.sh
# installs them. This file is also run by the installed edoConfig.cmake.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(EDO_ROCKSDB REQUIRED IMPORTED_TARGET rocksdb)
pkg_check_modules(EDO_ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(EDO_URING REQUIRED IMPORTED_TARGET liburing)

if(NOT TARGET edo_dependencies AND NOT TARGET edo::edo_dependencies)
  # Header-only parts (used at build time only): xxHash, fast_float, nlohmann-json, Boost.Asio,
  # Eigen.
  find_path(EDO_XXHASH_INCLUDE xxhash.h REQUIRED)
  find_path(EDO_FAST_FLOAT_INCLUDE fast_float/fast_float.h REQUIRED)
  find_path(EDO_JSON_INCLUDE nlohmann/json.hpp REQUIRED)
  find_path(EDO_BOOST_ASIO_INCLUDE boost/asio.hpp REQUIRED)
  find_path(EDO_EIGEN_INCLUDE Eigen/Core PATH_SUFFIXES eigen3 REQUIRED)
  add_library(edo_dependencies INTERFACE)
  target_link_libraries(edo_dependencies INTERFACE PkgConfig::EDO_ROCKSDB PkgConfig::EDO_ZSTD
    PkgConfig::EDO_URING ZLIB::ZLIB Threads::Threads)
endif()
