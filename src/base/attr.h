/* Short names for the compiler attributes that the code base uses. */
#ifndef BASE_ATTR_H
#define BASE_ATTR_H

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define NORETURN __attribute__((noreturn))
#define UNUSED __attribute__((unused))

/* CLEANUP(f): call f(&variable) when the variable goes out of scope. */
#define CLEANUP(function) __attribute__((cleanup(function)))

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

#endif
