// Makers of the codecs, one a file in this folder, and what learns for them; called by Codec only.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "storage/codec.h"

namespace edo::kernels {
struct NormalRow;
}

namespace edo::storage {

// A residual quantiser's beam search costs stages * beam * ksub * dim multiplications a row.
inline constexpr uint32_t kMaxResidualStages = 64;

kernels::RowFormat FormatOf(const CodecSpec& spec, uint32_t dim);

using Learned = std::span<const std::byte>;
std::unique_ptr<Codec> MakeF32Codec(const CodecSpec& spec, uint32_t dim);
std::unique_ptr<Codec> MakeF16Codec(const CodecSpec& spec, uint32_t dim);
std::unique_ptr<Codec> MakeBF16Codec(const CodecSpec& spec, uint32_t dim);
std::unique_ptr<Codec> MakeInt8Codec(const CodecSpec& spec, uint32_t dim);
std::unique_ptr<Codec> MakeF8Codec(const CodecSpec& spec, uint32_t dim);
std::unique_ptr<Codec> MakeL4Codec(const CodecSpec& spec, uint32_t dim);  // and L4+4
std::unique_ptr<Codec> MakeBaseCodec(const Codec& refined);
std::unique_ptr<Codec> MakeProfileCodec(const CodecSpec& spec, uint32_t dim, Learned learned);
std::unique_ptr<Codec> MakePQCodec(const CodecSpec& spec, uint32_t dim, Learned learned,
                                   bool learned_elsewhere);
std::unique_ptr<Codec> MakeRQCodec(const CodecSpec& spec, uint32_t dim, Learned learned);

// Rows (n, dim) of finite values that are not all zeros, each scaled to a mean square of 1.
std::vector<float> UnitRows(std::span<const float> rows, uint32_t dim);

// Writes the bfloat16 gain that brings centroids closest to a row: g = <row, centroids> /
// |centroids|^2 for the row of mean square 1, times the row's root mean square. `root` and `normal`
// are the row's; a row of zeros, or none that points the centroids' way, gets 0.
void WriteGain(double product, double square, const kernels::NormalRow& normal, float root,
               std::byte* out);

using LearnedBytes = std::vector<std::byte>;
// From unit rows.
LearnedBytes LearnProfile(uint32_t dim, std::span<const float> unit_rows);
Result<LearnedBytes> LearnPQ(const kernels::RowFormat& format, std::span<const float> unit_rows,
                             const LearnOptions& options);
Result<LearnedBytes> LearnRQ(const kernels::RowFormat& format, std::span<const float> unit_rows,
                             const LearnOptions& options);

}  // namespace edo::storage
