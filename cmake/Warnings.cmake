# Warnings for our own code, and the sanitizer switch.
set(EDO_WARNINGS -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers
  -Wno-restrict)  # GCC 12 sees overlaps in std::string that are not there (GCC bug 105329)

# edo_sanitize(target PUBLIC|PRIVATE): EDO_SANITIZE on compile and link lines.
function(edo_sanitize target scope)
  if(EDO_SANITIZE)
    target_compile_options(${target} ${scope} -fsanitize=${EDO_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${target} ${scope} -fsanitize=${EDO_SANITIZE})
    target_compile_definitions(${target} ${scope} EDO_SANITIZED=1)
  endif()
  if(EDO_FUZZERS)
    target_compile_options(${target} ${scope} -fsanitize=fuzzer-no-link)
  endif()
endfunction()
