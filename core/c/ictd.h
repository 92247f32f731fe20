/* ictd: transformers that learn temporal-difference methods in context.
 *
 * The caller owns all memory: declare a struct, let the function that ends in _init, _read or _td fill it, and
 * pass its address. No function allocates, keeps a pointer or has state of its own. A struct is plain data: copied,
 * it is another one.
 *
 * Rules. A pointer is null (the call answers ICTD_STATUS_NULL), or points to what the parameter says: a struct
 * that was filled, d floats for features (phi, phi_next) of an ictd_..._d function, `len` bytes. What is written to
 * is used by nobody else during the call.
 *
 * The same calls give the same bits on every platform with IEEE 754 floats, rounding to nearest, and subnormal
 * numbers (not flushed to zero).
 *
 * Made from the code; do not edit. */

#ifndef ICTD_H
#define ICTD_H

#include <stddef.h>
#include <stdint.h>

// The result of a call. After every result but ICTD_STATUS_OK the call has written nothing.
typedef enum ictd_status {
  // Done.
  ICTD_STATUS_OK = 0,
  // A pointer is null.
  ICTD_STATUS_NULL,
  // A number is NaN or infinite, or too large to be summed.
  ICTD_STATUS_NON_FINITE,
  // A parameter lies outside its range.
  ICTD_STATUS_OUT_OF_RANGE,
  // The context has no transition yet.
  ICTD_STATUS_EMPTY,
  // Model and context have two trace decays.
  ICTD_STATUS_MISMATCH,
  // The layers diverge on this context: a smaller step size, or smaller features, are needed.
  ICTD_STATUS_DIVERGES,
  // The bytes are not a model that this library knows.
  ICTD_STATUS_NOT_A_MODEL,
  // The model is for another number of features, type of numbers, attention or number of layers.
  ICTD_STATUS_ANOTHER_MODEL,
  // The bytes of the model are damaged, or not all there.
  ICTD_STATUS_DAMAGED,
  // Anything else.
  ICTD_STATUS_OTHER,
} ictd_status;

// The model of ten numbers a layer: for any number of features, length of a context and unit.
typedef struct ictd_universal {
  uint64_t private_[36];
} ictd_universal;

// A model of layers that share their parameters, of d = 1: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_1 {
  uint64_t private_[14];
} ictd_model_1;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_1 {
  // w.
  float weights[1];
  // Features of a query beyond this size count as this.
  float reach[1];
  // The largest size of a value.
  float bound;
} ictd_value_function_1;

// A growing context of d = 1.
typedef struct ictd_growing_1 {
  uint64_t private_[30];
} ictd_growing_1;

// A forgetting context of d = 1.
typedef struct ictd_forgetting_1 {
  uint64_t private_[13];
} ictd_forgetting_1;

// A signal that is seen from its slow average, as 1 features.
typedef struct ictd_signal_1 {
  uint64_t private_[4];
} ictd_signal_1;

// A model of layers that share their parameters, of d = 2: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_2 {
  uint64_t private_[30];
} ictd_model_2;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_2 {
  // w.
  float weights[2];
  // Features of a query beyond this size count as this.
  float reach[2];
  // The largest size of a value.
  float bound;
} ictd_value_function_2;

// A growing context of d = 2.
typedef struct ictd_growing_2 {
  uint64_t private_[70];
} ictd_growing_2;

// A forgetting context of d = 2.
typedef struct ictd_forgetting_2 {
  uint64_t private_[25];
} ictd_forgetting_2;

// A signal that is seen from its slow average, as 2 features.
typedef struct ictd_signal_2 {
  uint64_t private_[4];
} ictd_signal_2;

// A model of layers that share their parameters, of d = 3: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_3 {
  uint64_t private_[54];
} ictd_model_3;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_3 {
  // w.
  float weights[3];
  // Features of a query beyond this size count as this.
  float reach[3];
  // The largest size of a value.
  float bound;
} ictd_value_function_3;

// A growing context of d = 3.
typedef struct ictd_growing_3 {
  uint64_t private_[130];
} ictd_growing_3;

// A forgetting context of d = 3.
typedef struct ictd_forgetting_3 {
  uint64_t private_[41];
} ictd_forgetting_3;

// A signal that is seen from its slow average, as 3 features.
typedef struct ictd_signal_3 {
  uint64_t private_[5];
} ictd_signal_3;

// A model of layers that share their parameters, of d = 4: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_4 {
  uint64_t private_[86];
} ictd_model_4;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_4 {
  // w.
  float weights[4];
  // Features of a query beyond this size count as this.
  float reach[4];
  // The largest size of a value.
  float bound;
} ictd_value_function_4;

// A growing context of d = 4.
typedef struct ictd_growing_4 {
  uint64_t private_[210];
} ictd_growing_4;

// A forgetting context of d = 4.
typedef struct ictd_forgetting_4 {
  uint64_t private_[63];
} ictd_forgetting_4;

// A signal that is seen from its slow average, as 4 features.
typedef struct ictd_signal_4 {
  uint64_t private_[5];
} ictd_signal_4;

// A model of layers that share their parameters, of d = 5: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_5 {
  uint64_t private_[126];
} ictd_model_5;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_5 {
  // w.
  float weights[5];
  // Features of a query beyond this size count as this.
  float reach[5];
  // The largest size of a value.
  float bound;
} ictd_value_function_5;

// A growing context of d = 5.
typedef struct ictd_growing_5 {
  uint64_t private_[310];
} ictd_growing_5;

// A forgetting context of d = 5.
typedef struct ictd_forgetting_5 {
  uint64_t private_[89];
} ictd_forgetting_5;

// A signal that is seen from its slow average, as 5 features.
typedef struct ictd_signal_5 {
  uint64_t private_[6];
} ictd_signal_5;

// A model of layers that share their parameters, of d = 6: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_6 {
  uint64_t private_[174];
} ictd_model_6;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_6 {
  // w.
  float weights[6];
  // Features of a query beyond this size count as this.
  float reach[6];
  // The largest size of a value.
  float bound;
} ictd_value_function_6;

// A growing context of d = 6.
typedef struct ictd_growing_6 {
  uint64_t private_[430];
} ictd_growing_6;

// A forgetting context of d = 6.
typedef struct ictd_forgetting_6 {
  uint64_t private_[121];
} ictd_forgetting_6;

// A signal that is seen from its slow average, as 6 features.
typedef struct ictd_signal_6 {
  uint64_t private_[6];
} ictd_signal_6;

// A model of layers that share their parameters, of d = 7: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_7 {
  uint64_t private_[230];
} ictd_model_7;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_7 {
  // w.
  float weights[7];
  // Features of a query beyond this size count as this.
  float reach[7];
  // The largest size of a value.
  float bound;
} ictd_value_function_7;

// A growing context of d = 7.
typedef struct ictd_growing_7 {
  uint64_t private_[570];
} ictd_growing_7;

// A forgetting context of d = 7.
typedef struct ictd_forgetting_7 {
  uint64_t private_[157];
} ictd_forgetting_7;

// A signal that is seen from its slow average, as 7 features.
typedef struct ictd_signal_7 {
  uint64_t private_[7];
} ictd_signal_7;

// A model of layers that share their parameters, of d = 8: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_8 {
  uint64_t private_[294];
} ictd_model_8;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_8 {
  // w.
  float weights[8];
  // Features of a query beyond this size count as this.
  float reach[8];
  // The largest size of a value.
  float bound;
} ictd_value_function_8;

// A growing context of d = 8.
typedef struct ictd_growing_8 {
  uint64_t private_[730];
} ictd_growing_8;

// A forgetting context of d = 8.
typedef struct ictd_forgetting_8 {
  uint64_t private_[199];
} ictd_forgetting_8;

// A signal that is seen from its slow average, as 8 features.
typedef struct ictd_signal_8 {
  uint64_t private_[7];
} ictd_signal_8;

// A model of layers that share their parameters, of d = 9: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_9 {
  uint64_t private_[366];
} ictd_model_9;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_9 {
  // w.
  float weights[9];
  // Features of a query beyond this size count as this.
  float reach[9];
  // The largest size of a value.
  float bound;
} ictd_value_function_9;

// A growing context of d = 9.
typedef struct ictd_growing_9 {
  uint64_t private_[910];
} ictd_growing_9;

// A forgetting context of d = 9.
typedef struct ictd_forgetting_9 {
  uint64_t private_[245];
} ictd_forgetting_9;

// A signal that is seen from its slow average, as 9 features.
typedef struct ictd_signal_9 {
  uint64_t private_[8];
} ictd_signal_9;

// A model of layers that share their parameters, of d = 10: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_10 {
  uint64_t private_[446];
} ictd_model_10;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_10 {
  // w.
  float weights[10];
  // Features of a query beyond this size count as this.
  float reach[10];
  // The largest size of a value.
  float bound;
} ictd_value_function_10;

// A growing context of d = 10.
typedef struct ictd_growing_10 {
  uint64_t private_[1110];
} ictd_growing_10;

// A forgetting context of d = 10.
typedef struct ictd_forgetting_10 {
  uint64_t private_[297];
} ictd_forgetting_10;

// A signal that is seen from its slow average, as 10 features.
typedef struct ictd_signal_10 {
  uint64_t private_[8];
} ictd_signal_10;

// A model of layers that share their parameters, of d = 11: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_11 {
  uint64_t private_[534];
} ictd_model_11;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_11 {
  // w.
  float weights[11];
  // Features of a query beyond this size count as this.
  float reach[11];
  // The largest size of a value.
  float bound;
} ictd_value_function_11;

// A growing context of d = 11.
typedef struct ictd_growing_11 {
  uint64_t private_[1330];
} ictd_growing_11;

// A forgetting context of d = 11.
typedef struct ictd_forgetting_11 {
  uint64_t private_[353];
} ictd_forgetting_11;

// A signal that is seen from its slow average, as 11 features.
typedef struct ictd_signal_11 {
  uint64_t private_[9];
} ictd_signal_11;

// A model of layers that share their parameters, of d = 12: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_12 {
  uint64_t private_[630];
} ictd_model_12;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_12 {
  // w.
  float weights[12];
  // Features of a query beyond this size count as this.
  float reach[12];
  // The largest size of a value.
  float bound;
} ictd_value_function_12;

// A growing context of d = 12.
typedef struct ictd_growing_12 {
  uint64_t private_[1570];
} ictd_growing_12;

// A forgetting context of d = 12.
typedef struct ictd_forgetting_12 {
  uint64_t private_[415];
} ictd_forgetting_12;

// A signal that is seen from its slow average, as 12 features.
typedef struct ictd_signal_12 {
  uint64_t private_[9];
} ictd_signal_12;

// A model of layers that share their parameters, of d = 13: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_13 {
  uint64_t private_[734];
} ictd_model_13;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_13 {
  // w.
  float weights[13];
  // Features of a query beyond this size count as this.
  float reach[13];
  // The largest size of a value.
  float bound;
} ictd_value_function_13;

// A growing context of d = 13.
typedef struct ictd_growing_13 {
  uint64_t private_[1830];
} ictd_growing_13;

// A forgetting context of d = 13.
typedef struct ictd_forgetting_13 {
  uint64_t private_[481];
} ictd_forgetting_13;

// A signal that is seen from its slow average, as 13 features.
typedef struct ictd_signal_13 {
  uint64_t private_[10];
} ictd_signal_13;

// A model of layers that share their parameters, of d = 14: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_14 {
  uint64_t private_[846];
} ictd_model_14;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_14 {
  // w.
  float weights[14];
  // Features of a query beyond this size count as this.
  float reach[14];
  // The largest size of a value.
  float bound;
} ictd_value_function_14;

// A growing context of d = 14.
typedef struct ictd_growing_14 {
  uint64_t private_[2110];
} ictd_growing_14;

// A forgetting context of d = 14.
typedef struct ictd_forgetting_14 {
  uint64_t private_[553];
} ictd_forgetting_14;

// A signal that is seen from its slow average, as 14 features.
typedef struct ictd_signal_14 {
  uint64_t private_[10];
} ictd_signal_14;

// A model of layers that share their parameters, of d = 15: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_15 {
  uint64_t private_[966];
} ictd_model_15;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_15 {
  // w.
  float weights[15];
  // Features of a query beyond this size count as this.
  float reach[15];
  // The largest size of a value.
  float bound;
} ictd_value_function_15;

// A growing context of d = 15.
typedef struct ictd_growing_15 {
  uint64_t private_[2410];
} ictd_growing_15;

// A forgetting context of d = 15.
typedef struct ictd_forgetting_15 {
  uint64_t private_[629];
} ictd_forgetting_15;

// A signal that is seen from its slow average, as 15 features.
typedef struct ictd_signal_15 {
  uint64_t private_[11];
} ictd_signal_15;

// A model of layers that share their parameters, of d = 16: as `ictd train` and `ictd export` store it.
typedef struct ictd_model_16 {
  uint64_t private_[1094];
} ictd_model_16;

// What a model computed from a context: v(s) = weights . phi(s).
typedef struct ictd_value_function_16 {
  // w.
  float weights[16];
  // Features of a query beyond this size count as this.
  float reach[16];
  // The largest size of a value.
  float bound;
} ictd_value_function_16;

// A growing context of d = 16.
typedef struct ictd_growing_16 {
  uint64_t private_[2730];
} ictd_growing_16;

// A forgetting context of d = 16.
typedef struct ictd_forgetting_16 {
  uint64_t private_[711];
} ictd_forgetting_16;

// A signal that is seen from its slow average, as 16 features.
typedef struct ictd_signal_16 {
  uint64_t private_[11];
} ictd_signal_16;

// Predicts 1 of a sensor's signals at once, each for 4 horizons, from 4 features.
typedef struct ictd_predictor_1 {
  uint64_t private_[122];
} ictd_predictor_1;

// The weighted mean of what is coming, and the band in which it lies nine times in ten; infinite while nothing is known.
typedef struct ictd_prediction {
  // In the signal's unit.
  float mean;
  // The lower end of the band.
  float low;
  // The upper end of the band.
  float high;
} ictd_prediction;

// Predicts 2 of a sensor's signals at once, each for 4 horizons, from 6 features.
typedef struct ictd_predictor_2 {
  uint64_t private_[260];
} ictd_predictor_2;

// Predicts 3 of a sensor's signals at once, each for 4 horizons, from 6 features.
typedef struct ictd_predictor_3 {
  uint64_t private_[332];
} ictd_predictor_3;

// Predicts 4 of a sensor's signals at once, each for 4 horizons, from 8 features.
typedef struct ictd_predictor_4 {
  uint64_t private_[520];
} ictd_predictor_4;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// A status in words: a string that is always there.
const char *ictd_message(int32_t status);

// The model that ships, for a discount in [0, 1).
enum ictd_status ictd_universal_init(struct ictd_universal *model, float gamma);

// Reads a stored model of ten numbers a layer, of at most 3 layers: `len` bytes, which are needed no longer
// afterwards.
enum ictd_status ictd_universal_read(struct ictd_universal *model, const uint8_t *bytes, size_t len);

// The trace decay that a context for this model must have; NaN if the pointer is null.
float ictd_universal_lambda(const struct ictd_universal *model);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_1_read(struct ictd_model_1 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_1_td(struct ictd_model_1 *model, float alpha, uint16_t layers, float gamma, float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_1(const struct ictd_value_function_1 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_1_init(struct ictd_growing_1 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_1_init(struct ictd_forgetting_1 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_1_observe(struct ictd_growing_1 *context,
                                        const float *phi,
                                        float reward,
                                        const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_1_observe_terminal(struct ictd_growing_1 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_1_end_episode(struct ictd_growing_1 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_1_predict(const struct ictd_growing_1 *context,
                                        const struct ictd_universal *model,
                                        struct ictd_value_function_1 *value_function);

// What a model of d = 1 computes from a context.
enum ictd_status ictd_growing_1_predict_by(const struct ictd_growing_1 *context,
                                           const struct ictd_model_1 *model,
                                           struct ictd_value_function_1 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_1_observe(struct ictd_forgetting_1 *context,
                                           const float *phi,
                                           float reward,
                                           const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_1_observe_terminal(struct ictd_forgetting_1 *context,
                                                    const float *phi,
                                                    float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_1_end_episode(struct ictd_forgetting_1 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_1_predict(const struct ictd_forgetting_1 *context,
                                           const struct ictd_universal *model,
                                           struct ictd_value_function_1 *value_function);

// What a model of d = 1 computes from a context.
enum ictd_status ictd_forgetting_1_predict_by(const struct ictd_forgetting_1 *context,
                                              const struct ictd_model_1 *model,
                                              struct ictd_value_function_1 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_1_init(struct ictd_signal_1 *signal);

// Takes the next value, and writes the 1 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_1_observe(struct ictd_signal_1 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_1_end_episode(struct ictd_signal_1 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_1_discounted_sum(const struct ictd_signal_1 *signal,
                                   float gamma,
                                   float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_2_read(struct ictd_model_2 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_2_td(struct ictd_model_2 *model, float alpha, uint16_t layers, float gamma, float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_2(const struct ictd_value_function_2 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_2_init(struct ictd_growing_2 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_2_init(struct ictd_forgetting_2 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_2_observe(struct ictd_growing_2 *context,
                                        const float *phi,
                                        float reward,
                                        const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_2_observe_terminal(struct ictd_growing_2 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_2_end_episode(struct ictd_growing_2 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_2_predict(const struct ictd_growing_2 *context,
                                        const struct ictd_universal *model,
                                        struct ictd_value_function_2 *value_function);

// What a model of d = 2 computes from a context.
enum ictd_status ictd_growing_2_predict_by(const struct ictd_growing_2 *context,
                                           const struct ictd_model_2 *model,
                                           struct ictd_value_function_2 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_2_observe(struct ictd_forgetting_2 *context,
                                           const float *phi,
                                           float reward,
                                           const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_2_observe_terminal(struct ictd_forgetting_2 *context,
                                                    const float *phi,
                                                    float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_2_end_episode(struct ictd_forgetting_2 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_2_predict(const struct ictd_forgetting_2 *context,
                                           const struct ictd_universal *model,
                                           struct ictd_value_function_2 *value_function);

// What a model of d = 2 computes from a context.
enum ictd_status ictd_forgetting_2_predict_by(const struct ictd_forgetting_2 *context,
                                              const struct ictd_model_2 *model,
                                              struct ictd_value_function_2 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_2_init(struct ictd_signal_2 *signal);

// Takes the next value, and writes the 2 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_2_observe(struct ictd_signal_2 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_2_end_episode(struct ictd_signal_2 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_2_discounted_sum(const struct ictd_signal_2 *signal,
                                   float gamma,
                                   float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_3_read(struct ictd_model_3 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_3_td(struct ictd_model_3 *model, float alpha, uint16_t layers, float gamma, float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_3(const struct ictd_value_function_3 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_3_init(struct ictd_growing_3 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_3_init(struct ictd_forgetting_3 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_3_observe(struct ictd_growing_3 *context,
                                        const float *phi,
                                        float reward,
                                        const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_3_observe_terminal(struct ictd_growing_3 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_3_end_episode(struct ictd_growing_3 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_3_predict(const struct ictd_growing_3 *context,
                                        const struct ictd_universal *model,
                                        struct ictd_value_function_3 *value_function);

// What a model of d = 3 computes from a context.
enum ictd_status ictd_growing_3_predict_by(const struct ictd_growing_3 *context,
                                           const struct ictd_model_3 *model,
                                           struct ictd_value_function_3 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_3_observe(struct ictd_forgetting_3 *context,
                                           const float *phi,
                                           float reward,
                                           const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_3_observe_terminal(struct ictd_forgetting_3 *context,
                                                    const float *phi,
                                                    float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_3_end_episode(struct ictd_forgetting_3 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_3_predict(const struct ictd_forgetting_3 *context,
                                           const struct ictd_universal *model,
                                           struct ictd_value_function_3 *value_function);

// What a model of d = 3 computes from a context.
enum ictd_status ictd_forgetting_3_predict_by(const struct ictd_forgetting_3 *context,
                                              const struct ictd_model_3 *model,
                                              struct ictd_value_function_3 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_3_init(struct ictd_signal_3 *signal);

// Takes the next value, and writes the 3 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_3_observe(struct ictd_signal_3 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_3_end_episode(struct ictd_signal_3 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_3_discounted_sum(const struct ictd_signal_3 *signal,
                                   float gamma,
                                   float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_4_read(struct ictd_model_4 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_4_td(struct ictd_model_4 *model, float alpha, uint16_t layers, float gamma, float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_4(const struct ictd_value_function_4 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_4_init(struct ictd_growing_4 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_4_init(struct ictd_forgetting_4 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_4_observe(struct ictd_growing_4 *context,
                                        const float *phi,
                                        float reward,
                                        const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_4_observe_terminal(struct ictd_growing_4 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_4_end_episode(struct ictd_growing_4 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_4_predict(const struct ictd_growing_4 *context,
                                        const struct ictd_universal *model,
                                        struct ictd_value_function_4 *value_function);

// What a model of d = 4 computes from a context.
enum ictd_status ictd_growing_4_predict_by(const struct ictd_growing_4 *context,
                                           const struct ictd_model_4 *model,
                                           struct ictd_value_function_4 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_4_observe(struct ictd_forgetting_4 *context,
                                           const float *phi,
                                           float reward,
                                           const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_4_observe_terminal(struct ictd_forgetting_4 *context,
                                                    const float *phi,
                                                    float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_4_end_episode(struct ictd_forgetting_4 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_4_predict(const struct ictd_forgetting_4 *context,
                                           const struct ictd_universal *model,
                                           struct ictd_value_function_4 *value_function);

// What a model of d = 4 computes from a context.
enum ictd_status ictd_forgetting_4_predict_by(const struct ictd_forgetting_4 *context,
                                              const struct ictd_model_4 *model,
                                              struct ictd_value_function_4 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_4_init(struct ictd_signal_4 *signal);

// Takes the next value, and writes the 4 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_4_observe(struct ictd_signal_4 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_4_end_episode(struct ictd_signal_4 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_4_discounted_sum(const struct ictd_signal_4 *signal,
                                   float gamma,
                                   float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_5_read(struct ictd_model_5 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_5_td(struct ictd_model_5 *model, float alpha, uint16_t layers, float gamma, float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_5(const struct ictd_value_function_5 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_5_init(struct ictd_growing_5 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_5_init(struct ictd_forgetting_5 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_5_observe(struct ictd_growing_5 *context,
                                        const float *phi,
                                        float reward,
                                        const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_5_observe_terminal(struct ictd_growing_5 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_5_end_episode(struct ictd_growing_5 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_5_predict(const struct ictd_growing_5 *context,
                                        const struct ictd_universal *model,
                                        struct ictd_value_function_5 *value_function);

// What a model of d = 5 computes from a context.
enum ictd_status ictd_growing_5_predict_by(const struct ictd_growing_5 *context,
                                           const struct ictd_model_5 *model,
                                           struct ictd_value_function_5 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_5_observe(struct ictd_forgetting_5 *context,
                                           const float *phi,
                                           float reward,
                                           const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_5_observe_terminal(struct ictd_forgetting_5 *context,
                                                    const float *phi,
                                                    float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_5_end_episode(struct ictd_forgetting_5 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_5_predict(const struct ictd_forgetting_5 *context,
                                           const struct ictd_universal *model,
                                           struct ictd_value_function_5 *value_function);

// What a model of d = 5 computes from a context.
enum ictd_status ictd_forgetting_5_predict_by(const struct ictd_forgetting_5 *context,
                                              const struct ictd_model_5 *model,
                                              struct ictd_value_function_5 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_5_init(struct ictd_signal_5 *signal);

// Takes the next value, and writes the 5 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_5_observe(struct ictd_signal_5 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_5_end_episode(struct ictd_signal_5 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_5_discounted_sum(const struct ictd_signal_5 *signal,
                                   float gamma,
                                   float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_6_read(struct ictd_model_6 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_6_td(struct ictd_model_6 *model, float alpha, uint16_t layers, float gamma, float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_6(const struct ictd_value_function_6 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_6_init(struct ictd_growing_6 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_6_init(struct ictd_forgetting_6 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_6_observe(struct ictd_growing_6 *context,
                                        const float *phi,
                                        float reward,
                                        const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_6_observe_terminal(struct ictd_growing_6 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_6_end_episode(struct ictd_growing_6 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_6_predict(const struct ictd_growing_6 *context,
                                        const struct ictd_universal *model,
                                        struct ictd_value_function_6 *value_function);

// What a model of d = 6 computes from a context.
enum ictd_status ictd_growing_6_predict_by(const struct ictd_growing_6 *context,
                                           const struct ictd_model_6 *model,
                                           struct ictd_value_function_6 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_6_observe(struct ictd_forgetting_6 *context,
                                           const float *phi,
                                           float reward,
                                           const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_6_observe_terminal(struct ictd_forgetting_6 *context,
                                                    const float *phi,
                                                    float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_6_end_episode(struct ictd_forgetting_6 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_6_predict(const struct ictd_forgetting_6 *context,
                                           const struct ictd_universal *model,
                                           struct ictd_value_function_6 *value_function);

// What a model of d = 6 computes from a context.
enum ictd_status ictd_forgetting_6_predict_by(const struct ictd_forgetting_6 *context,
                                              const struct ictd_model_6 *model,
                                              struct ictd_value_function_6 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_6_init(struct ictd_signal_6 *signal);

// Takes the next value, and writes the 6 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_6_observe(struct ictd_signal_6 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_6_end_episode(struct ictd_signal_6 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_6_discounted_sum(const struct ictd_signal_6 *signal,
                                   float gamma,
                                   float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_7_read(struct ictd_model_7 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_7_td(struct ictd_model_7 *model, float alpha, uint16_t layers, float gamma, float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_7(const struct ictd_value_function_7 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_7_init(struct ictd_growing_7 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_7_init(struct ictd_forgetting_7 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_7_observe(struct ictd_growing_7 *context,
                                        const float *phi,
                                        float reward,
                                        const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_7_observe_terminal(struct ictd_growing_7 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_7_end_episode(struct ictd_growing_7 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_7_predict(const struct ictd_growing_7 *context,
                                        const struct ictd_universal *model,
                                        struct ictd_value_function_7 *value_function);

// What a model of d = 7 computes from a context.
enum ictd_status ictd_growing_7_predict_by(const struct ictd_growing_7 *context,
                                           const struct ictd_model_7 *model,
                                           struct ictd_value_function_7 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_7_observe(struct ictd_forgetting_7 *context,
                                           const float *phi,
                                           float reward,
                                           const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_7_observe_terminal(struct ictd_forgetting_7 *context,
                                                    const float *phi,
                                                    float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_7_end_episode(struct ictd_forgetting_7 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_7_predict(const struct ictd_forgetting_7 *context,
                                           const struct ictd_universal *model,
                                           struct ictd_value_function_7 *value_function);

// What a model of d = 7 computes from a context.
enum ictd_status ictd_forgetting_7_predict_by(const struct ictd_forgetting_7 *context,
                                              const struct ictd_model_7 *model,
                                              struct ictd_value_function_7 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_7_init(struct ictd_signal_7 *signal);

// Takes the next value, and writes the 7 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_7_observe(struct ictd_signal_7 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_7_end_episode(struct ictd_signal_7 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_7_discounted_sum(const struct ictd_signal_7 *signal,
                                   float gamma,
                                   float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_8_read(struct ictd_model_8 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_8_td(struct ictd_model_8 *model, float alpha, uint16_t layers, float gamma, float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_8(const struct ictd_value_function_8 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_8_init(struct ictd_growing_8 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_8_init(struct ictd_forgetting_8 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_8_observe(struct ictd_growing_8 *context,
                                        const float *phi,
                                        float reward,
                                        const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_8_observe_terminal(struct ictd_growing_8 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_8_end_episode(struct ictd_growing_8 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_8_predict(const struct ictd_growing_8 *context,
                                        const struct ictd_universal *model,
                                        struct ictd_value_function_8 *value_function);

// What a model of d = 8 computes from a context.
enum ictd_status ictd_growing_8_predict_by(const struct ictd_growing_8 *context,
                                           const struct ictd_model_8 *model,
                                           struct ictd_value_function_8 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_8_observe(struct ictd_forgetting_8 *context,
                                           const float *phi,
                                           float reward,
                                           const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_8_observe_terminal(struct ictd_forgetting_8 *context,
                                                    const float *phi,
                                                    float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_8_end_episode(struct ictd_forgetting_8 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_8_predict(const struct ictd_forgetting_8 *context,
                                           const struct ictd_universal *model,
                                           struct ictd_value_function_8 *value_function);

// What a model of d = 8 computes from a context.
enum ictd_status ictd_forgetting_8_predict_by(const struct ictd_forgetting_8 *context,
                                              const struct ictd_model_8 *model,
                                              struct ictd_value_function_8 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_8_init(struct ictd_signal_8 *signal);

// Takes the next value, and writes the 8 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_8_observe(struct ictd_signal_8 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_8_end_episode(struct ictd_signal_8 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_8_discounted_sum(const struct ictd_signal_8 *signal,
                                   float gamma,
                                   float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_9_read(struct ictd_model_9 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_9_td(struct ictd_model_9 *model, float alpha, uint16_t layers, float gamma, float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_9(const struct ictd_value_function_9 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_9_init(struct ictd_growing_9 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_9_init(struct ictd_forgetting_9 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_9_observe(struct ictd_growing_9 *context,
                                        const float *phi,
                                        float reward,
                                        const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_9_observe_terminal(struct ictd_growing_9 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_9_end_episode(struct ictd_growing_9 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_9_predict(const struct ictd_growing_9 *context,
                                        const struct ictd_universal *model,
                                        struct ictd_value_function_9 *value_function);

// What a model of d = 9 computes from a context.
enum ictd_status ictd_growing_9_predict_by(const struct ictd_growing_9 *context,
                                           const struct ictd_model_9 *model,
                                           struct ictd_value_function_9 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_9_observe(struct ictd_forgetting_9 *context,
                                           const float *phi,
                                           float reward,
                                           const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_9_observe_terminal(struct ictd_forgetting_9 *context,
                                                    const float *phi,
                                                    float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_9_end_episode(struct ictd_forgetting_9 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_9_predict(const struct ictd_forgetting_9 *context,
                                           const struct ictd_universal *model,
                                           struct ictd_value_function_9 *value_function);

// What a model of d = 9 computes from a context.
enum ictd_status ictd_forgetting_9_predict_by(const struct ictd_forgetting_9 *context,
                                              const struct ictd_model_9 *model,
                                              struct ictd_value_function_9 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_9_init(struct ictd_signal_9 *signal);

// Takes the next value, and writes the 9 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_9_observe(struct ictd_signal_9 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_9_end_episode(struct ictd_signal_9 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_9_discounted_sum(const struct ictd_signal_9 *signal,
                                   float gamma,
                                   float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_10_read(struct ictd_model_10 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_10_td(struct ictd_model_10 *model,
                                  float alpha,
                                  uint16_t layers,
                                  float gamma,
                                  float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_10(const struct ictd_value_function_10 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_10_init(struct ictd_growing_10 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_10_init(struct ictd_forgetting_10 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_10_observe(struct ictd_growing_10 *context,
                                         const float *phi,
                                         float reward,
                                         const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_10_observe_terminal(struct ictd_growing_10 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_10_end_episode(struct ictd_growing_10 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_10_predict(const struct ictd_growing_10 *context,
                                         const struct ictd_universal *model,
                                         struct ictd_value_function_10 *value_function);

// What a model of d = 10 computes from a context.
enum ictd_status ictd_growing_10_predict_by(const struct ictd_growing_10 *context,
                                            const struct ictd_model_10 *model,
                                            struct ictd_value_function_10 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_10_observe(struct ictd_forgetting_10 *context,
                                            const float *phi,
                                            float reward,
                                            const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_10_observe_terminal(struct ictd_forgetting_10 *context,
                                                     const float *phi,
                                                     float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_10_end_episode(struct ictd_forgetting_10 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_10_predict(const struct ictd_forgetting_10 *context,
                                            const struct ictd_universal *model,
                                            struct ictd_value_function_10 *value_function);

// What a model of d = 10 computes from a context.
enum ictd_status ictd_forgetting_10_predict_by(const struct ictd_forgetting_10 *context,
                                               const struct ictd_model_10 *model,
                                               struct ictd_value_function_10 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_10_init(struct ictd_signal_10 *signal);

// Takes the next value, and writes the 10 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_10_observe(struct ictd_signal_10 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_10_end_episode(struct ictd_signal_10 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_10_discounted_sum(const struct ictd_signal_10 *signal,
                                    float gamma,
                                    float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_11_read(struct ictd_model_11 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_11_td(struct ictd_model_11 *model,
                                  float alpha,
                                  uint16_t layers,
                                  float gamma,
                                  float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_11(const struct ictd_value_function_11 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_11_init(struct ictd_growing_11 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_11_init(struct ictd_forgetting_11 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_11_observe(struct ictd_growing_11 *context,
                                         const float *phi,
                                         float reward,
                                         const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_11_observe_terminal(struct ictd_growing_11 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_11_end_episode(struct ictd_growing_11 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_11_predict(const struct ictd_growing_11 *context,
                                         const struct ictd_universal *model,
                                         struct ictd_value_function_11 *value_function);

// What a model of d = 11 computes from a context.
enum ictd_status ictd_growing_11_predict_by(const struct ictd_growing_11 *context,
                                            const struct ictd_model_11 *model,
                                            struct ictd_value_function_11 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_11_observe(struct ictd_forgetting_11 *context,
                                            const float *phi,
                                            float reward,
                                            const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_11_observe_terminal(struct ictd_forgetting_11 *context,
                                                     const float *phi,
                                                     float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_11_end_episode(struct ictd_forgetting_11 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_11_predict(const struct ictd_forgetting_11 *context,
                                            const struct ictd_universal *model,
                                            struct ictd_value_function_11 *value_function);

// What a model of d = 11 computes from a context.
enum ictd_status ictd_forgetting_11_predict_by(const struct ictd_forgetting_11 *context,
                                               const struct ictd_model_11 *model,
                                               struct ictd_value_function_11 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_11_init(struct ictd_signal_11 *signal);

// Takes the next value, and writes the 11 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_11_observe(struct ictd_signal_11 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_11_end_episode(struct ictd_signal_11 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_11_discounted_sum(const struct ictd_signal_11 *signal,
                                    float gamma,
                                    float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_12_read(struct ictd_model_12 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_12_td(struct ictd_model_12 *model,
                                  float alpha,
                                  uint16_t layers,
                                  float gamma,
                                  float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_12(const struct ictd_value_function_12 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_12_init(struct ictd_growing_12 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_12_init(struct ictd_forgetting_12 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_12_observe(struct ictd_growing_12 *context,
                                         const float *phi,
                                         float reward,
                                         const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_12_observe_terminal(struct ictd_growing_12 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_12_end_episode(struct ictd_growing_12 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_12_predict(const struct ictd_growing_12 *context,
                                         const struct ictd_universal *model,
                                         struct ictd_value_function_12 *value_function);

// What a model of d = 12 computes from a context.
enum ictd_status ictd_growing_12_predict_by(const struct ictd_growing_12 *context,
                                            const struct ictd_model_12 *model,
                                            struct ictd_value_function_12 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_12_observe(struct ictd_forgetting_12 *context,
                                            const float *phi,
                                            float reward,
                                            const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_12_observe_terminal(struct ictd_forgetting_12 *context,
                                                     const float *phi,
                                                     float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_12_end_episode(struct ictd_forgetting_12 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_12_predict(const struct ictd_forgetting_12 *context,
                                            const struct ictd_universal *model,
                                            struct ictd_value_function_12 *value_function);

// What a model of d = 12 computes from a context.
enum ictd_status ictd_forgetting_12_predict_by(const struct ictd_forgetting_12 *context,
                                               const struct ictd_model_12 *model,
                                               struct ictd_value_function_12 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_12_init(struct ictd_signal_12 *signal);

// Takes the next value, and writes the 12 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_12_observe(struct ictd_signal_12 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_12_end_episode(struct ictd_signal_12 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_12_discounted_sum(const struct ictd_signal_12 *signal,
                                    float gamma,
                                    float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_13_read(struct ictd_model_13 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_13_td(struct ictd_model_13 *model,
                                  float alpha,
                                  uint16_t layers,
                                  float gamma,
                                  float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_13(const struct ictd_value_function_13 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_13_init(struct ictd_growing_13 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_13_init(struct ictd_forgetting_13 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_13_observe(struct ictd_growing_13 *context,
                                         const float *phi,
                                         float reward,
                                         const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_13_observe_terminal(struct ictd_growing_13 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_13_end_episode(struct ictd_growing_13 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_13_predict(const struct ictd_growing_13 *context,
                                         const struct ictd_universal *model,
                                         struct ictd_value_function_13 *value_function);

// What a model of d = 13 computes from a context.
enum ictd_status ictd_growing_13_predict_by(const struct ictd_growing_13 *context,
                                            const struct ictd_model_13 *model,
                                            struct ictd_value_function_13 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_13_observe(struct ictd_forgetting_13 *context,
                                            const float *phi,
                                            float reward,
                                            const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_13_observe_terminal(struct ictd_forgetting_13 *context,
                                                     const float *phi,
                                                     float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_13_end_episode(struct ictd_forgetting_13 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_13_predict(const struct ictd_forgetting_13 *context,
                                            const struct ictd_universal *model,
                                            struct ictd_value_function_13 *value_function);

// What a model of d = 13 computes from a context.
enum ictd_status ictd_forgetting_13_predict_by(const struct ictd_forgetting_13 *context,
                                               const struct ictd_model_13 *model,
                                               struct ictd_value_function_13 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_13_init(struct ictd_signal_13 *signal);

// Takes the next value, and writes the 13 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_13_observe(struct ictd_signal_13 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_13_end_episode(struct ictd_signal_13 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_13_discounted_sum(const struct ictd_signal_13 *signal,
                                    float gamma,
                                    float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_14_read(struct ictd_model_14 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_14_td(struct ictd_model_14 *model,
                                  float alpha,
                                  uint16_t layers,
                                  float gamma,
                                  float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_14(const struct ictd_value_function_14 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_14_init(struct ictd_growing_14 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_14_init(struct ictd_forgetting_14 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_14_observe(struct ictd_growing_14 *context,
                                         const float *phi,
                                         float reward,
                                         const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_14_observe_terminal(struct ictd_growing_14 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_14_end_episode(struct ictd_growing_14 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_14_predict(const struct ictd_growing_14 *context,
                                         const struct ictd_universal *model,
                                         struct ictd_value_function_14 *value_function);

// What a model of d = 14 computes from a context.
enum ictd_status ictd_growing_14_predict_by(const struct ictd_growing_14 *context,
                                            const struct ictd_model_14 *model,
                                            struct ictd_value_function_14 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_14_observe(struct ictd_forgetting_14 *context,
                                            const float *phi,
                                            float reward,
                                            const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_14_observe_terminal(struct ictd_forgetting_14 *context,
                                                     const float *phi,
                                                     float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_14_end_episode(struct ictd_forgetting_14 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_14_predict(const struct ictd_forgetting_14 *context,
                                            const struct ictd_universal *model,
                                            struct ictd_value_function_14 *value_function);

// What a model of d = 14 computes from a context.
enum ictd_status ictd_forgetting_14_predict_by(const struct ictd_forgetting_14 *context,
                                               const struct ictd_model_14 *model,
                                               struct ictd_value_function_14 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_14_init(struct ictd_signal_14 *signal);

// Takes the next value, and writes the 14 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_14_observe(struct ictd_signal_14 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_14_end_episode(struct ictd_signal_14 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_14_discounted_sum(const struct ictd_signal_14 *signal,
                                    float gamma,
                                    float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_15_read(struct ictd_model_15 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_15_td(struct ictd_model_15 *model,
                                  float alpha,
                                  uint16_t layers,
                                  float gamma,
                                  float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_15(const struct ictd_value_function_15 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_15_init(struct ictd_growing_15 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_15_init(struct ictd_forgetting_15 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_15_observe(struct ictd_growing_15 *context,
                                         const float *phi,
                                         float reward,
                                         const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_15_observe_terminal(struct ictd_growing_15 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_15_end_episode(struct ictd_growing_15 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_15_predict(const struct ictd_growing_15 *context,
                                         const struct ictd_universal *model,
                                         struct ictd_value_function_15 *value_function);

// What a model of d = 15 computes from a context.
enum ictd_status ictd_growing_15_predict_by(const struct ictd_growing_15 *context,
                                            const struct ictd_model_15 *model,
                                            struct ictd_value_function_15 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_15_observe(struct ictd_forgetting_15 *context,
                                            const float *phi,
                                            float reward,
                                            const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_15_observe_terminal(struct ictd_forgetting_15 *context,
                                                     const float *phi,
                                                     float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_15_end_episode(struct ictd_forgetting_15 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_15_predict(const struct ictd_forgetting_15 *context,
                                            const struct ictd_universal *model,
                                            struct ictd_value_function_15 *value_function);

// What a model of d = 15 computes from a context.
enum ictd_status ictd_forgetting_15_predict_by(const struct ictd_forgetting_15 *context,
                                               const struct ictd_model_15 *model,
                                               struct ictd_value_function_15 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_15_init(struct ictd_signal_15 *signal);

// Takes the next value, and writes the 15 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_15_observe(struct ictd_signal_15 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_15_end_episode(struct ictd_signal_15 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_15_discounted_sum(const struct ictd_signal_15 *signal,
                                    float gamma,
                                    float of_deviations);

// Reads a stored model: `len` bytes, which are needed no longer afterwards.
enum ictd_status ictd_model_16_read(struct ictd_model_16 *model, const uint8_t *bytes, size_t len);

// Theorem 1 and its corollary for TD(lambda): `layers` steps of batch TD with step size alpha.
enum ictd_status ictd_model_16_td(struct ictd_model_16 *model,
                                  float alpha,
                                  uint16_t layers,
                                  float gamma,
                                  float lambda);

// The value of the state with features phi; NaN if a pointer is null.
float ictd_value_16(const struct ictd_value_function_16 *value_function, const float *phi);

// An empty context that remembers every transition, under a trace decay in [0, 1]. (Memory of zeros is one of
// lambda 0.)
enum ictd_status ictd_growing_16_init(struct ictd_growing_16 *context, float lambda);

// An empty context in which the past counts `retention` times as much, in (0, 1), after each transition.
enum ictd_status ictd_forgetting_16_init(struct ictd_forgetting_16 *context, float lambda, float retention);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_growing_16_observe(struct ictd_growing_16 *context,
                                         const float *phi,
                                         float reward,
                                         const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_growing_16_observe_terminal(struct ictd_growing_16 *context, const float *phi, float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_growing_16_end_episode(struct ictd_growing_16 *context);

// What the universal model computes from a context.
enum ictd_status ictd_growing_16_predict(const struct ictd_growing_16 *context,
                                         const struct ictd_universal *model,
                                         struct ictd_value_function_16 *value_function);

// What a model of d = 16 computes from a context.
enum ictd_status ictd_growing_16_predict_by(const struct ictd_growing_16 *context,
                                            const struct ictd_model_16 *model,
                                            struct ictd_value_function_16 *value_function);

// Adds the transition from a state with features phi to one with features phi_next.
enum ictd_status ictd_forgetting_16_observe(struct ictd_forgetting_16 *context,
                                            const float *phi,
                                            float reward,
                                            const float *phi_next);

// Adds the last transition of an episode, from a state with features phi.
enum ictd_status ictd_forgetting_16_observe_terminal(struct ictd_forgetting_16 *context,
                                                     const float *phi,
                                                     float reward);

// Ends an episode that did not terminate.
enum ictd_status ictd_forgetting_16_end_episode(struct ictd_forgetting_16 *context);

// What the universal model computes from a context.
enum ictd_status ictd_forgetting_16_predict(const struct ictd_forgetting_16 *context,
                                            const struct ictd_universal *model,
                                            struct ictd_value_function_16 *value_function);

// What a model of d = 16 computes from a context.
enum ictd_status ictd_forgetting_16_predict_by(const struct ictd_forgetting_16 *context,
                                               const struct ictd_model_16 *model,
                                               struct ictd_value_function_16 *value_function);

// A signal that has not begun.
enum ictd_status ictd_signal_16_init(struct ictd_signal_16 *signal);

// Takes the next value, and writes the 16 features after it and its deviation from the slow average before it: the
// reward of the transition to these features.
enum ictd_status ictd_signal_16_observe(struct ictd_signal_16 *signal, float value, float *phi, float *deviation);

// The next value does not follow the last one.
enum ictd_status ictd_signal_16_end_episode(struct ictd_signal_16 *signal);

// The discounted sum of the values that follow, from that of the deviations, which is what a value function says of the
// latest features; NaN if the pointer is null.
float ictd_signal_16_discounted_sum(const struct ictd_signal_16 *signal,
                                    float gamma,
                                    float of_deviations);

// A predictor that has seen nothing, of 4 horizons of 1 sample or more.
enum ictd_status ictd_predictor_1_init(struct ictd_predictor_1 *predictor, const float *horizons);

// Takes the next sample, 1 floats, of which NaN is one that is missing, and writes 1 * 4 predictions, of each signal
// for each horizon, and 1 surprises in [0, 1): a threshold of 0.999 means a false alarm in about 1,000 samples.
enum ictd_status ictd_predictor_1_observe(struct ictd_predictor_1 *predictor,
                                          const float *samples,
                                          struct ictd_prediction *predictions,
                                          float *surprise);

// Writes the predictor to the front of a buffer of `len` bytes, for example before a deep sleep: sizeof(ictd_predictor_1)
// + 32 are enough.
enum ictd_status ictd_predictor_1_write(const struct ictd_predictor_1 *predictor,
                                        uint8_t *buffer,
                                        size_t len);

// Reads what was written, from the start of `len` bytes: the predictor goes on where it stood, to the same bits.
enum ictd_status ictd_predictor_1_read(struct ictd_predictor_1 *predictor, const uint8_t *bytes, size_t len);

// A predictor that has seen nothing, of 4 horizons of 1 sample or more.
enum ictd_status ictd_predictor_2_init(struct ictd_predictor_2 *predictor, const float *horizons);

// Takes the next sample, 2 floats, of which NaN is one that is missing, and writes 2 * 4 predictions, of each signal
// for each horizon, and 2 surprises in [0, 1): a threshold of 0.999 means a false alarm in about 1,000 samples.
enum ictd_status ictd_predictor_2_observe(struct ictd_predictor_2 *predictor,
                                          const float *samples,
                                          struct ictd_prediction *predictions,
                                          float *surprise);

// Writes the predictor to the front of a buffer of `len` bytes, for example before a deep sleep: sizeof(ictd_predictor_2)
// + 32 are enough.
enum ictd_status ictd_predictor_2_write(const struct ictd_predictor_2 *predictor,
                                        uint8_t *buffer,
                                        size_t len);

// Reads what was written, from the start of `len` bytes: the predictor goes on where it stood, to the same bits.
enum ictd_status ictd_predictor_2_read(struct ictd_predictor_2 *predictor, const uint8_t *bytes, size_t len);

// A predictor that has seen nothing, of 4 horizons of 1 sample or more.
enum ictd_status ictd_predictor_3_init(struct ictd_predictor_3 *predictor, const float *horizons);

// Takes the next sample, 3 floats, of which NaN is one that is missing, and writes 3 * 4 predictions, of each signal
// for each horizon, and 3 surprises in [0, 1): a threshold of 0.999 means a false alarm in about 1,000 samples.
enum ictd_status ictd_predictor_3_observe(struct ictd_predictor_3 *predictor,
                                          const float *samples,
                                          struct ictd_prediction *predictions,
                                          float *surprise);

// Writes the predictor to the front of a buffer of `len` bytes, for example before a deep sleep: sizeof(ictd_predictor_3)
// + 32 are enough.
enum ictd_status ictd_predictor_3_write(const struct ictd_predictor_3 *predictor,
                                        uint8_t *buffer,
                                        size_t len);

// Reads what was written, from the start of `len` bytes: the predictor goes on where it stood, to the same bits.
enum ictd_status ictd_predictor_3_read(struct ictd_predictor_3 *predictor, const uint8_t *bytes, size_t len);

// A predictor that has seen nothing, of 4 horizons of 1 sample or more.
enum ictd_status ictd_predictor_4_init(struct ictd_predictor_4 *predictor, const float *horizons);

// Takes the next sample, 4 floats, of which NaN is one that is missing, and writes 4 * 4 predictions, of each signal
// for each horizon, and 4 surprises in [0, 1): a threshold of 0.999 means a false alarm in about 1,000 samples.
enum ictd_status ictd_predictor_4_observe(struct ictd_predictor_4 *predictor,
                                          const float *samples,
                                          struct ictd_prediction *predictions,
                                          float *surprise);

// Writes the predictor to the front of a buffer of `len` bytes, for example before a deep sleep: sizeof(ictd_predictor_4)
// + 32 are enough.
enum ictd_status ictd_predictor_4_write(const struct ictd_predictor_4 *predictor,
                                        uint8_t *buffer,
                                        size_t len);

// Reads what was written, from the start of `len` bytes: the predictor goes on where it stood, to the same bits.
enum ictd_status ictd_predictor_4_read(struct ictd_predictor_4 *predictor, const uint8_t *bytes, size_t len);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ICTD_H */
