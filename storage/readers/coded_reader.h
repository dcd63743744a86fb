// CodedReader: rows of an array of codes, as product quantisers elsewhere keep them, in the bytes
// of a codec's rows: the codes, then the gain 1.
#pragma once

#include <memory>

#include "edo/codec_spec.h"
#include "storage/row_reader.h"

namespace edo::storage {

// `rows`: a reader of u8 arrays, `name` its file. A row of it has one code a byte, or for codes of
// 4 bits two, the first in the lower half. `dim`: of the rows that the codes stand for. kBadInput:
// another element type or number of columns; a code that the codec does not have, with its row.
Result<std::unique_ptr<RowReader>> MakeCodedReader(std::unique_ptr<RowReader> rows,
                                                   const CodecSpec& codec, uint32_t dim,
                                                   std::string name);

}  // namespace edo::storage
