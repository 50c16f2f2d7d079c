# cmake -DREADME=... -DOUT=... -P extract_example.cmake: write the first C block after the marker to OUT.
# string(FIND) and not a list of lines: C has semicolons, which CMake's lists do not survive.

file(READ "${README}" text)
foreach(mark "<!-- example -->" "```c\n")
  string(FIND "${text}" "${mark}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${README}: no \"${mark}\" where the example should be")
  endif()
  string(LENGTH "${mark}" length)
  math(EXPR at "${at} + ${length}")
  string(SUBSTRING "${text}" ${at} -1 text)
endforeach()
string(FIND "${text}" "\n```" at)
string(SUBSTRING "${text}" 0 ${at} text)
file(WRITE "${OUT}" "${text}\n")
