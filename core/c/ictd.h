/** @file
 * ictd: in-context temporal-difference learning. Predictions of sensor signals, and value functions of streams.
 *
 * The caller owns all memory. An object is a variable of its type, which may be static, on the stack or on the heap. An _init
 * function sets it up, and the other functions take its address. No function allocates memory, keeps a pointer or has state of
 * its own. Objects are plain data: a copy is independent.
 *
 *     static ictd_predictor predictor;
 *     const float horizon = 10.0f;
 *     ictd_predictor_init(&predictor, sizeof predictor, &horizon, 1);
 *
 *     static ICTD_CONTEXT(4) pump; // of 4 features
 *     ictd_context_init(&pump.context, sizeof pump, 4, 0.9f, 1.0f);
 *
 * Every struct has one layout, whatever the library was built with and whatever the compiler's options are: numbers of fixed
 * width, and no enum. Each object has a type of its own, so that one in the place of another does not compile.
 *
 * A pointer that is null makes the call return ICTD_STATUS_NULL. Otherwise it must point to what the parameter means:
 * an object; one float per feature (phi, phi_next); an outlook; or `len` bytes. Nothing else may access an output during the call.
 *
 * Overwritten storage: the first 8 bytes say what lies there, and are checked at each call. Storage that is zeroed, was never
 * set up, is of another kind, or was overwritten at its start is refused (ICTD_STATUS_BAD_HANDLE). What lies behind is not
 * checked, and must not be overwritten.
 *
 * Threads and interrupts: a function may be called from any thread and from an interrupt, for it does not block, wait, allocate
 * or share anything. One object is used by one call at a time: if an interrupt observes, mask it around other calls with
 * that object. Different objects are independent. The README has the stack and the instructions of each call.
 *
 * The same calls give the same bits on every platform with IEEE 754 floats, rounding to nearest, and subnormal numbers
 * (not flushed to zero): ictd_check_environment() finds out. A program that is compiled with -ffast-math can call the library,
 * which is compiled without. Such a program cannot rely on isnan or isinf: it calls ictd_predictor_observe_missing for a sample
 * that is missing, and looks at `known` instead of infinite ends. Linked with -ffast-math, some compilers let the whole
 * process flush subnormal numbers.
 *
 * This file is generated from the code: do not edit it. */

#ifndef ICTD_H
#define ICTD_H

#include <stddef.h>
#include <stdint.h>

/** The release; ICTD_ABI_VERSION is that of the interface. */
#define ICTD_VERSION_MAJOR 0
#define ICTD_VERSION_MINOR 1
#define ICTD_VERSION_PATCH 0

/** A predictor has room for so many horizons. A program that defines fewer, as CMake and Zephyr do for a library that was built
 * for fewer, saves memory; for a library that was built for more, ictd_predictor_init refuses. */
#ifndef ICTD_MAX_HORIZONS
#define ICTD_MAX_HORIZONS 4
#elif ICTD_MAX_HORIZONS < 1 || ICTD_MAX_HORIZONS > 4
#error "ICTD_MAX_HORIZONS is 1 to 4"
#endif

/** The size of a predictor in words of 8 bytes. */
#define ICTD_PREDICTOR_WORDS ((size_t)(84 + 20 * ICTD_MAX_HORIZONS))

/** The size of a context that remembers every transition, for 1 to 16 features, in words of 8 bytes. */
#define ICTD_CONTEXT_WORDS(features) ((features) <= 4 ? (size_t)312 : (features) <= 8 ? (size_t)980 : (size_t)3468)

/** The size of a context that forgets. */
#define ICTD_FORGETTING_WORDS(features) ((features) <= 4 ? (size_t)96 : (features) <= 8 ? (size_t)268 : (size_t)900)

/** The type of the storage of a context that remembers every transition: `context` is what functions take. */
#define ICTD_CONTEXT(features)                     \
  union {                                          \
    ictd_context context;                          \
    uint64_t words[ICTD_CONTEXT_WORDS(features)];  \
  }

/** The type of the storage of a context that forgets. */
#define ICTD_FORGETTING(features)                    \
  union {                                            \
    ictd_context context;                            \
    uint64_t words[ICTD_FORGETTING_WORDS(features)]; \
  }


/** The version of the interface that the header describes: ictd_abi_version() returns it. */
#define ICTD_ABI_VERSION 8

/** The most features. */
#define ICTD_MAX_FEATURES 16

/** The size of a trainer in words of 8 bytes. */
#define ICTD_TRAINER_WORDS 560

/** The result of a call. Unless it is ICTD_STATUS_OK, the call has written nothing. */
enum ictd_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** The call succeeded. */
  ICTD_STATUS_OK = 0,
  /** A pointer is null. */
  ICTD_STATUS_NULL,
  /** A number is NaN or infinite, or too large to be summed. */
  ICTD_STATUS_NON_FINITE,
  /** A parameter lies outside its range. */
  ICTD_STATUS_OUT_OF_RANGE,
  /** The context has no transition yet. */
  ICTD_STATUS_EMPTY,
  /** The storage is smaller than the library needs, or is not aligned like a uint64_t. */
  ICTD_STATUS_BAD_STORAGE,
  /** The storage was not set up by an init or from_bytes function, or was overwritten. */
  ICTD_STATUS_BAD_HANDLE,
  /** The bytes were not written by this library. */
  ICTD_STATUS_BAD_MAGIC,
  /** The bytes were stored for a different number of features or horizons, or by another version. */
  ICTD_STATUS_MISMATCH,
  /** The bytes are damaged or incomplete, or the buffer is too short. */
  ICTD_STATUS_DAMAGED,
  /** The data do not determine a value. */
  ICTD_STATUS_SINGULAR,
  /** The processor does not round to nearest after each operation, or flushes subnormal numbers to zero. */
  ICTD_STATUS_ARITHMETIC,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum ictd_status ictd_status;
#else
typedef int32_t ictd_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** What became of a sample. */
enum ictd_sample_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /** The predictor learned from the sample. */
  ICTD_SAMPLE_STATUS_TAKEN = 0,
  /** There was no sample; its prediction takes its place. */
  ICTD_SAMPLE_STATUS_MISSING,
  /** The sample is a probable glitch, outside of the limits, or beyond 1e12; its prediction takes its place. */
  ICTD_SAMPLE_STATUS_HELD_BACK,
  /** The predictor learned from the sample, and the signal has moved to its level for good. */
  ICTD_SAMPLE_STATUS_MOVED,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum ictd_sample_status ictd_sample_status;
#else
typedef int32_t ictd_sample_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/** A context that transitions stream into: the first member of ICTD_CONTEXT and ICTD_FORGETTING, which are its storage. */
typedef struct ictd_context {
  /** Belongs to the library. */
  uint64_t opaque[1];
} ictd_context;

/** The value function that the universal model estimates from a context: v(s) = level + <weights, features>, clipped. Without the level, the weights give no value. */
typedef struct ictd_value_function {
  /** The number of features. */
  uint32_t features;
  /** How far values look linear in the features, from 0 to 1 (also 1 if no level was subtracted). Near 0, better features would help. */
  float linearity;
  /** The value where all features are 0. */
  float level;
  /** The lowest and the highest value. */
  float value_clip[2];
  /** One weight for each feature; zeros beyond. */
  float weights[ICTD_MAX_FEATURES];
  /** Largest absolute value of each feature of a query; larger ones are clipped to it. */
  float feature_clip[ICTD_MAX_FEATURES];
} ictd_value_function;

/** A predictor of a signal; several signals have one each. */
typedef struct ictd_predictor {
  /** Belongs to the library. */
  uint64_t opaque[ICTD_PREDICTOR_WORDS];
} ictd_predictor;

/** A prediction of the weighted mean of the next samples, and a band that contains this mean nine times in ten. */
typedef struct ictd_prediction {
  /** In the signal's unit. */
  float mean;
  /** The lower end of the band; minus infinity while nothing is known. */
  float low;
  /** The upper end of the band; infinity while nothing is known. */
  float high;
  /** Not 0 once the band has ends: the horizon has been seen ten times, and the signal's sizes are between 1e-18 and 5e11. */
  uint32_t known;
} ictd_prediction;

/** The answer to a sample. */
typedef struct ictd_outlook {
  /** A prediction for each horizon; beyond the number of horizons, the last one is repeated. */
  ictd_prediction predictions[4];
  /** How surprising the last samples were, -ln p; it does not saturate. 0 for a sample that is missing. */
  float depth;
  /** The depth as a number in [0, 1): a threshold of 0.999 means a false alarm in about 1,000 samples. An event passes 0.999
   * and 0.9999 once each; its other samples stay below 0.999. */
  float surprise;
  /** The largest surprise of the 25 to 50 samples before; as long as an event goes on, its alarm's. An event counts once if an alarm needs surprise > threshold and
   * recent <= threshold. */
  float recent;
  /** What became of the sample. */
  ictd_sample_status status;
} ictd_outlook;

/** A trainer of a model, by TD on the stream that it observes. */
typedef struct ictd_trainer {
  /** Belongs to the library. */
  uint64_t opaque[ICTD_TRAINER_WORDS];
} ictd_trainer;

/** A transformer: three layers that share P and Q, and read a context's sums over their trace. It is plain data, and may be copied, stored and compiled in. */
typedef struct ictd_model {
  /** The number of features, 1 to 4. */
  uint32_t features;
  /** The discount that it is for. */
  float gamma;
  /** P, row by row. Rows and columns are those of a token: 4 features, 4 of the next state, and the reward; zeros where there are
   * fewer features. */
  float p[9][9];
  /** Q, row by row. */
  float q[9][9];
} ictd_model;

/* The layout is the library's. (C99 cannot check it.) */
#if defined __cplusplus || __STDC_VERSION__ >= 201112L
#ifdef __cplusplus
#define ICTD_ASSERT(condition) static_assert(condition, "the layout of ictd.h")
#define ICTD_ALIGNOF(type) alignof(type)
#else
#define ICTD_ASSERT(condition) _Static_assert(condition, "the layout of ictd.h")
#define ICTD_ALIGNOF(type) _Alignof(type)
#endif
ICTD_ASSERT(sizeof(ictd_status) == 4 && sizeof(ictd_sample_status) == 4);
ICTD_ASSERT(sizeof(ictd_predictor) == 8 * ICTD_PREDICTOR_WORDS);
ICTD_ASSERT(ICTD_ALIGNOF(ictd_predictor) == ICTD_ALIGNOF(uint64_t));
ICTD_ASSERT(sizeof(ictd_context) == 8 && ICTD_ALIGNOF(ictd_context) == ICTD_ALIGNOF(uint64_t));
ICTD_ASSERT(sizeof(ictd_trainer) == 8 * ICTD_TRAINER_WORDS);
ICTD_ASSERT(ICTD_ALIGNOF(ictd_trainer) == ICTD_ALIGNOF(uint64_t));
ICTD_ASSERT(sizeof(ictd_prediction) == 16 && ICTD_ALIGNOF(ictd_prediction) == 4);
ICTD_ASSERT(offsetof(ictd_prediction, mean) == 0);
ICTD_ASSERT(offsetof(ictd_prediction, low) == 4);
ICTD_ASSERT(offsetof(ictd_prediction, high) == 8);
ICTD_ASSERT(offsetof(ictd_prediction, known) == 12);
ICTD_ASSERT(sizeof(ictd_outlook) == 80 && ICTD_ALIGNOF(ictd_outlook) == 4);
ICTD_ASSERT(offsetof(ictd_outlook, predictions) == 0);
ICTD_ASSERT(offsetof(ictd_outlook, depth) == 64);
ICTD_ASSERT(offsetof(ictd_outlook, surprise) == 68);
ICTD_ASSERT(offsetof(ictd_outlook, recent) == 72);
ICTD_ASSERT(offsetof(ictd_outlook, status) == 76);
ICTD_ASSERT(sizeof(ictd_value_function) == 148 && ICTD_ALIGNOF(ictd_value_function) == 4);
ICTD_ASSERT(offsetof(ictd_value_function, features) == 0);
ICTD_ASSERT(offsetof(ictd_value_function, linearity) == 4);
ICTD_ASSERT(offsetof(ictd_value_function, level) == 8);
ICTD_ASSERT(offsetof(ictd_value_function, value_clip) == 12);
ICTD_ASSERT(offsetof(ictd_value_function, weights) == 20);
ICTD_ASSERT(offsetof(ictd_value_function, feature_clip) == 84);
ICTD_ASSERT(sizeof(ictd_model) == 656 && ICTD_ALIGNOF(ictd_model) == 4);
ICTD_ASSERT(offsetof(ictd_model, features) == 0);
ICTD_ASSERT(offsetof(ictd_model, gamma) == 4);
ICTD_ASSERT(offsetof(ictd_model, p) == 8);
ICTD_ASSERT(offsetof(ictd_model, q) == 332);
#undef ICTD_ASSERT
#undef ICTD_ALIGNOF
#endif

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/** Returns a status in words, as a static string. */
const char *ictd_message(ictd_status status);

/** Returns the library's ICTD_ABI_VERSION, which should be the header's. */
uint32_t ictd_abi_version(void);

/** Checks by a few computations that this thread's arithmetic gives the bits of every other platform: a program that depends on
 * them calls this once, when it starts. FPSCR's FZ bit, another rounding mode or the start-up code of -ffast-math would change them. */
ictd_status ictd_check_environment(void);

/** Makes a context in storage of `bytes` bytes, for 1 to 16 features and a discount gamma in [0, 1). With a retention
 * of 1 it remembers every transition (ICTD_CONTEXT); a retention in (0, 1) multiplies the weight of the past at
 * each transition (ICTD_FORGETTING): 0.995 remembers about the last 200. What the build leaves out is out of range. */
ictd_status ictd_context_init(ictd_context *storage,
                              size_t bytes,
                              size_t features,
                              float gamma,
                              float retention);

/** Adds the transition from a state with features phi to one with features phi_next. */
ictd_status ictd_context_observe(ictd_context *context, const float *phi, float reward, const float *phi_next);

/** Adds the last transition of an episode, from a state with features phi. */
ictd_status ictd_context_observe_terminal(ictd_context *context, const float *phi, float reward);

/** Ends an episode that did not terminate: the next transition does not follow the last one. */
ictd_status ictd_context_end_episode(ictd_context *context);

/** Forgets every transition. */
ictd_status ictd_context_clear(ictd_context *context);

/** Returns how many transitions were observed; 0 if the pointer is not a context. */
uint64_t ictd_context_len(const ictd_context *context);

/** Reads the value function out of a context. */
ictd_status ictd_context_value_function(const ictd_context *context,
                                        ictd_value_function *value_function);

/** Returns the value of the state with features phi; NaN if a pointer is null. */
float ictd_value_function_at(const ictd_value_function *value_function, const float *phi);

/** Writes a context to the front of a buffer of `len` bytes, for example before a deep sleep, and how many bytes it took; its
 * storage's size and 64 are enough. */
ictd_status ictd_context_to_bytes(const ictd_context *context,
                                  uint8_t *buffer,
                                  size_t len,
                                  size_t *written);

/** Reads a stored context of `len` bytes into a context with the same features, discount and retention. It then continues like
 * the stored context, with the same bits. */
ictd_status ictd_context_from_bytes(ictd_context *context,
                                    const uint8_t *bytes,
                                    size_t len);

/** Makes a predictor in its storage of `bytes` bytes, for 1 to 4 horizons of 1 to 1,000,000 samples: `count` floats. If they are
 * fewer, the last one is repeated. More than the library was built for are out of range; storage that was declared for fewer is
 * refused as too small. */
ictd_status ictd_predictor_init(ictd_predictor *storage,
                                size_t bytes,
                                const float *horizons,
                                size_t count);

/** Sets what the sensor can measure, `low` < `high`: samples outside of it are never learned from. */
ictd_status ictd_predictor_set_limits(ictd_predictor *predictor, float low, float high);

/** Takes the next sample, and writes the predictions. NaN means that the sample is missing; with compilers that assume that
 * there is no NaN, call ictd_predictor_observe_missing instead. */
ictd_status ictd_predictor_observe(ictd_predictor *predictor,
                                   float sample,
                                   ictd_outlook *outlook);

/** Takes note that the next sample is missing, and writes the predictions. */
ictd_status ictd_predictor_observe_missing(ictd_predictor *predictor, ictd_outlook *outlook);

/** Forgets all that was observed; horizons and limits stay. */
ictd_status ictd_predictor_reset(ictd_predictor *predictor);

/** Writes a predictor to the front of a buffer of `len` bytes, for example before a deep sleep, and how many bytes it took; its
 * storage's size and 64 are enough. */
ictd_status ictd_predictor_to_bytes(const ictd_predictor *predictor,
                                    uint8_t *buffer,
                                    size_t len,
                                    size_t *written);

/** Reads a stored predictor from the start of `len` bytes. The predictor then continues like the stored one, with the same
 * bits. */
ictd_status ictd_predictor_from_bytes(ictd_predictor *predictor,
                                      const uint8_t *bytes,
                                      size_t len);

/** Makes a trainer in its storage of `bytes` bytes, for 1 to 4 features and a discount gamma in [0, 1). Its model begins as Theorem 1's:
 * three steps of TD with a step size above 0, such as 1. */
ictd_status ictd_trainer_init(ictd_trainer *storage,
                              size_t bytes,
                              size_t features,
                              float gamma,
                              float step_size);

/** Takes the features of the next state, and the reward on the way to it (that of the first state is ignored), and trains. What it
 * has trained is judged on what comes next before it replaces the model. */
ictd_status ictd_trainer_observe(ictd_trainer *trainer,
                                 const float *phi,
                                 float reward);

/** Writes the model that has predicted best so far. */
ictd_status ictd_trainer_model(const ictd_trainer *trainer, ictd_model *model);

/** Writes the model of preconditioned TD, for 1 to 4 features and a discount gamma in [0, 1): three steps of TD, of which step l (0, 1,
 * 2) is preconditioned by alpha (I - beta Sigma)^l, where alpha is above 0 and Sigma is the second moment of the context's features.
 * With beta = 0 they are Theorem 1's. Multi-task training leads to about alpha = 2.4 and beta = 0.44. */
ictd_status ictd_model_preconditioned_td(ictd_model *model,
                                         size_t features,
                                         float gamma,
                                         float alpha,
                                         float beta);

/** Reads the value function that a model computes from a context of as many features and with its discount. Values are clipped at
 * what the largest reward seen adds up to; the linearity is 1. */
ictd_status ictd_model_value_function(const ictd_model *model,
                                      const ictd_context *context,
                                      ictd_value_function *value_function);

/** Writes a trainer to the front of a buffer of `len` bytes, to be stored, and how many bytes it took; its storage's size is enough. */
ictd_status ictd_trainer_to_bytes(const ictd_trainer *trainer,
                                  uint8_t *buffer,
                                  size_t len,
                                  size_t *written);

/** Reads a stored trainer of `len` bytes into a trainer with the same features and discount. It then continues like the stored one,
 * with the same bits. */
ictd_status ictd_trainer_from_bytes(ictd_trainer *trainer,
                                    const uint8_t *bytes,
                                    size_t len);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ICTD_H */
