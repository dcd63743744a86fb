// Status and Result<T>: how every EDO call reports an error.
//
// No exception crosses <edo/...>. A call that can fail returns Status, or Result<T> when it also
// yields a value; both are [[nodiscard]]. A missing key is data, not an error (see table.h).
// Messages name the thing and the value: "table 'users': row 7: value inf is not finite".
// Thread safety: values; share them as you would a std::string.
#pragma once

#include <cassert>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace edo {

enum class StatusCode : int {
  kOk = 0,
  kInvalidArgument,   // the caller's options or arguments are wrong (the `edo` command exits 2)
  kNotFound,          // a store, table, file or tensor that was named does not exist
  kAlreadyExists,     // the table or output file is there and replacing it was not asked for
  kBadInput,          // an outside file holds something it must not; names file and line or byte
  kCorruption,        // bytes of the store fail their checksum or contradict each other
  kIoError,           // the operating system refused a read or write
  kNoSpace,           // the disk is full, or would be
  kBusy,              // another process or object holds the store open for writing
  kUnsupported,       // a format, type or version that this build does not know
  kCancelled,         // the caller's cancel callback said stop
  kDeadlineExceeded,  // the deadline of the call passed before all rows were read
  kGoalMissed,  // nothing keeps the quality or bytes that were asked for (the command exits 3)
};

// Short name of a code, e.g. "bad input".
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK; costs one null pointer
  Status(StatusCode code, std::string message)
      : state_(code == StatusCode::kOk
                   ? nullptr
                   : std::make_shared<const State>(State{code, std::move(message)})) {}

  static Status Ok() { return Status(); }
  static Status InvalidArgument(std::string m) {
    return {StatusCode::kInvalidArgument, std::move(m)};
  }
  static Status NotFound(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }
  static Status AlreadyExists(std::string m) { return {StatusCode::kAlreadyExists, std::move(m)}; }
  static Status BadInput(std::string m) { return {StatusCode::kBadInput, std::move(m)}; }
  static Status Corruption(std::string m) { return {StatusCode::kCorruption, std::move(m)}; }
  static Status IoError(std::string m) { return {StatusCode::kIoError, std::move(m)}; }
  static Status NoSpace(std::string m) { return {StatusCode::kNoSpace, std::move(m)}; }
  static Status Busy(std::string m) { return {StatusCode::kBusy, std::move(m)}; }
  static Status Unsupported(std::string m) { return {StatusCode::kUnsupported, std::move(m)}; }
  static Status Cancelled(std::string m) { return {StatusCode::kCancelled, std::move(m)}; }
  static Status DeadlineExceeded(std::string m) {
    return {StatusCode::kDeadlineExceeded, std::move(m)};
  }
  static Status GoalMissed(std::string m) { return {StatusCode::kGoalMissed, std::move(m)}; }

  bool ok() const { return state_ == nullptr; }
  StatusCode code() const { return state_ ? state_->code : StatusCode::kOk; }
  std::string_view message() const { return state_ ? std::string_view(state_->message) : ""; }
  // "bad input: file.vec line 3: ..." or "ok".
  std::string ToString() const;
  // The same code with `context` and ": " before the message; OK stays OK.
  Status WithContext(std::string_view context) const;

 private:
  struct State {
    StatusCode code;
    std::string message;
  };
  std::shared_ptr<const State> state_;
};

// Either a value or a Status that is not OK.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::move(value)) {}        // NOLINT(google-explicit-constructor)
  Result(Status status) : v_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    assert(!std::get<Status>(v_).ok() && "a Result without a value needs an error");
  }
  // Also from anything T converts from (unique_ptr<Derived> to Result<unique_ptr<Base>>).
  template <typename U>
  requires(std::is_convertible_v<U, T> && !std::is_same_v<std::decay_t<U>, T> &&
           !std::is_same_v<std::decay_t<U>, Status>) Result(U&& value)
      : v_(T(std::forward<U>(value))) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(v_); }
  Status status() const { return ok() ? Status() : std::get<Status>(v_); }
  T& value() & { return std::get<T>(v_); }
  const T& value() const& { return std::get<T>(v_); }
  T&& value() && { return std::get<T>(std::move(v_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> v_;
};

}  // namespace edo

// Returns from the calling function when `expr` (a Status) is not OK.
#define EDO_RETURN_IF_ERROR(expr)                                                  \
  do {                                                                             \
    if (::edo::Status edo_status_ = (expr); !edo_status_.ok()) return edo_status_; \
  } while (0)

#define EDO_CONCAT_INNER_(a, b) a##b
#define EDO_CONCAT_(a, b) EDO_CONCAT_INNER_(a, b)
// EDO_ASSIGN_OR_RETURN(auto x, F()): binds the value of a Result or returns its Status.
#define EDO_ASSIGN_OR_RETURN(lhs, expr)                 \
  auto EDO_CONCAT_(edo_result_, __LINE__) = (expr);     \
  if (!EDO_CONCAT_(edo_result_, __LINE__).ok())         \
    return EDO_CONCAT_(edo_result_, __LINE__).status(); \
  lhs = std::move(EDO_CONCAT_(edo_result_, __LINE__)).value()
