/* What is refused, and that it leaves everything as it was. Exit code 0 if all is as the header says. */
#include "ictd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                       \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "misuse.c:%d: not so: %s\n", __LINE__, #condition); \
            return 1;                                                           \
        }                                                                       \
    } while (0)

static int contexts(void) {
    const float phi[2] = {1.0f, 0.5f}, bad[2] = {1.0f, NAN};
    const size_t size = 8 * ICTD_FORGETTING_WORDS(2);
    uint64_t *context = calloc(1, size), *other = malloc(size);
    ictd_value_function value;
    unsigned char *page = malloc(size + 64);
    size_t written = 0;
    EXPECT(context && other && page);

    EXPECT(ictd_context_observe(context, phi, 1.0f, phi) == ICTD_STATUS_BAD_HANDLE);
    EXPECT(ictd_context_init(NULL, size, 2, 0.9f, 0.99f) == ICTD_STATUS_NULL);
    EXPECT(ictd_context_init(context, size - 200, 2, 0.9f, 0.99f) == ICTD_STATUS_BAD_STORAGE);
    EXPECT(ictd_context_init(context, size, 2, 1.0f, 0.99f) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_context_init(context, size, 2, 0.9f, 1.5f) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_context_init(context, size, 0, 0.9f, 0.99f) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_context_init(context, size, 17, 0.9f, 0.99f) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_context_init(context, size, 2, NAN, 0.99f) == ICTD_STATUS_NON_FINITE);
    EXPECT(ictd_context_init(context, size, 2, 0.9f, 0.99f) == ICTD_STATUS_OK);
    EXPECT(ictd_context_value_function(context, &value) == ICTD_STATUS_EMPTY);
    EXPECT(ictd_predictor_reset(context) == ICTD_STATUS_BAD_HANDLE);

    EXPECT(ictd_context_observe(context, bad, 1.0f, phi) == ICTD_STATUS_NON_FINITE);
    EXPECT(ictd_context_observe(context, NULL, 1.0f, phi) == ICTD_STATUS_NULL);
    EXPECT(ictd_context_observe(context, phi, 1.0f, NULL) == ICTD_STATUS_NULL);
    EXPECT(ictd_context_observe(NULL, phi, 1.0f, phi) == ICTD_STATUS_NULL);
    EXPECT(ictd_context_end_episode(NULL) == ICTD_STATUS_NULL);
    EXPECT(ictd_context_len(context) == 0 && ictd_context_len(NULL) == 0);

    EXPECT(ictd_context_observe(context, phi, 1.0f, phi) == ICTD_STATUS_OK);
    EXPECT(ictd_context_end_episode(context) == ICTD_STATUS_OK);
    EXPECT(ictd_context_observe_terminal(context, phi, 1.0f) == ICTD_STATUS_OK);
    EXPECT(ictd_context_len(context) == 2);
    EXPECT(ictd_context_value_function(context, NULL) == ICTD_STATUS_NULL);
    EXPECT(ictd_context_value_function(context, &value) == ICTD_STATUS_OK);
    EXPECT(value.linearity >= 0.0f && value.linearity <= 1.0f && value.features == 2);
    EXPECT(ictd_value_function_at(&value, phi) > 0.0f && isnan(ictd_value_function_at(&value, NULL)));
    const float before = ictd_value_function_at(&value, phi);

    EXPECT(ictd_context_to_bytes(context, page, 10, &written) == ICTD_STATUS_DAMAGED && written == 0);
    EXPECT(ictd_context_to_bytes(context, page, size + 64, &written) == ICTD_STATUS_OK && written > 0);
    EXPECT(ictd_context_init(other, size, 2, 0.5f, 0.99f) == ICTD_STATUS_OK);
    EXPECT(ictd_context_from_bytes(other, page, written) == ICTD_STATUS_MISMATCH);
    EXPECT(ictd_context_init(other, size, 2, 0.9f, 0.99f) == ICTD_STATUS_OK);
    EXPECT(ictd_context_from_bytes(other, page, written - 1) == ICTD_STATUS_DAMAGED);
    EXPECT(ictd_context_from_bytes(other, page, written) == ICTD_STATUS_OK);
    EXPECT(ictd_context_value_function(other, &value) == ICTD_STATUS_OK && ictd_value_function_at(&value, phi) == before);
    EXPECT(ictd_context_clear(context) == ICTD_STATUS_OK && ictd_context_len(context) == 0);
    free(page);
    free(other);
    free(context);

    /* The storage has room for what the library writes: on the heap, where a sanitizer sees one byte too many. */
    for (size_t features = 1; features <= ICTD_MAX_FEATURES; features++) {
        const size_t large = 8 * ICTD_CONTEXT_WORDS(features);
        float many[ICTD_MAX_FEATURES] = {1.0f};
        uint64_t *growing = malloc(large);
        EXPECT(growing && ictd_context_init(growing, large, features, 0.9f, 1.0f) == ICTD_STATUS_OK);
        for (int t = 0; t < 300; t++) EXPECT(ictd_context_observe(growing, many, 1.0f, many) == ICTD_STATUS_OK);
        EXPECT(ictd_context_value_function(growing, &value) == ICTD_STATUS_OK);
        free(growing);
    }
    return 0;
}

/* Predictions of two signals, one that alternates and one that stays; a sample that is missing; sleep. */
static int predictors(void) {
    const float horizons[5] = {1.0f, 5.0f, 10.0f, 20.0f, 0.0f};
    ictd_prediction predictions[2][4], again[2][4];
    float surprise[2];
    const size_t size = 8 * ICTD_PREDICTOR_WORDS(2);
    uint64_t *predictor = malloc(size), *woken = malloc(size);
    unsigned char *page = malloc(size + 64);
    size_t written = 0;
    EXPECT(predictor && woken && page);
    EXPECT(ictd_predictor_init(predictor, size, 2, NULL, 4) == ICTD_STATUS_NULL);
    EXPECT(ictd_predictor_init(predictor, size, 2, horizons, 5) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_predictor_init(predictor, size, 2, horizons + 1, 4) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_predictor_init(predictor, size, 5, horizons, 4) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_predictor_init(predictor, 100, 2, horizons, 4) == ICTD_STATUS_BAD_STORAGE);
    EXPECT(ictd_predictor_init(predictor, size, 2, horizons, 4) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_observe(predictor, horizons, NULL, surprise) == ICTD_STATUS_NULL);
    for (int t = 0; t < 400; t++) {
        const float samples[2] = {(float)(t % 2), t == 300 ? NAN : 4.0f};
        EXPECT(ictd_predictor_observe(predictor, samples, predictions[0], surprise) == ICTD_STATUS_OK);
    }
    EXPECT(fabsf(predictions[0][0].mean) < 0.2f && predictions[1][3].low <= 4.01f && predictions[1][3].high >= 3.99f);
    EXPECT(surprise[0] >= 0.0f && surprise[0] < 1.0f);
    EXPECT(ictd_predictor_to_bytes(predictor, page, 100, &written) == ICTD_STATUS_DAMAGED);
    EXPECT(ictd_predictor_to_bytes(predictor, page, size + 64, &written) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_init(woken, size, 2, horizons, 4) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_from_bytes(woken, page, size + 64) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_observe(predictor, horizons, predictions[0], surprise) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_observe(woken, horizons, again[0], surprise) == ICTD_STATUS_OK);
    EXPECT(memcmp(predictions, again, sizeof again) == 0);
    page[40] ^= 1;
    EXPECT(ictd_predictor_from_bytes(woken, page, size + 64) == ICTD_STATUS_DAMAGED);
    EXPECT(ictd_predictor_reset(woken) == ICTD_STATUS_OK);
    free(page);
    free(woken);
    free(predictor);
    for (size_t signals = 1; signals <= ICTD_MAX_SIGNALS; signals++) {
        const size_t large = 8 * ICTD_PREDICTOR_WORDS(signals);
        uint64_t *any = malloc(large);
        float samples[ICTD_MAX_SIGNALS] = {0}, of_all[ICTD_MAX_SIGNALS];
        ictd_prediction one[ICTD_MAX_SIGNALS];
        EXPECT(any && ictd_predictor_init(any, large, signals, horizons + 2, 1) == ICTD_STATUS_OK);
        for (int t = 0; t < 100; t++) EXPECT(ictd_predictor_observe(any, samples, one, of_all) == ICTD_STATUS_OK);
        free(any);
    }
    return 0;
}

int main(void) {
    EXPECT(ictd_abi_version() == ICTD_ABI_VERSION);
    EXPECT(strcmp(ictd_message(ICTD_STATUS_OK), "done") == 0 && strcmp(ictd_message(99), "not a status") == 0);
    return contexts() || predictors();
}
