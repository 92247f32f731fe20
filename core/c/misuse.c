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
    ictd_context *context = calloc(1, size), *other = malloc(size);
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
    /* Whoever insists by a cast is refused. */
    EXPECT(ictd_predictor_reset((ictd_predictor *)context) == ICTD_STATUS_BAD_HANDLE);
    for (int bit = 0; bit < 64; bit++) {
        context->opaque[0] ^= (uint64_t)1 << bit;
        EXPECT(ictd_context_observe(context, phi, 1.0f, phi) == ICTD_STATUS_BAD_HANDLE);
        EXPECT(ictd_context_len(context) == 0);
        context->opaque[0] ^= (uint64_t)1 << bit;
    }

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
    EXPECT(ictd_context_init(other, size, 3, 0.9f, 0.99f) == ICTD_STATUS_OK);
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
        ictd_context *growing = malloc(large);
        EXPECT(growing && ictd_context_init(growing, large, features, 0.9f, 1.0f) == ICTD_STATUS_OK);
        for (int t = 0; t < 300; t++) EXPECT(ictd_context_observe(growing, many, 1.0f, many) == ICTD_STATUS_OK);
        EXPECT(ictd_context_value_function(growing, &value) == ICTD_STATUS_OK);
        free(growing);
    }
    return 0;
}

/* Predictions of a signal that alternates; a sample that is missing; one out of limits; sleep. */
static int predictors(void) {
    const float horizons[5] = {1.0f, 5.0f, 10.0f, 20.0f, 0.0f};
    ictd_outlook seen, again;
    const size_t size = sizeof(ictd_predictor);
    ictd_predictor *predictor = malloc(size), *woken = malloc(size);
    unsigned char *page = malloc(size + 64);
    size_t written = 0;
    EXPECT(predictor && woken && page);
    EXPECT(ictd_predictor_init(predictor, size, NULL, 4) == ICTD_STATUS_NULL);
    EXPECT(ictd_predictor_init(NULL, size, horizons, 4) == ICTD_STATUS_NULL);
    EXPECT(ictd_predictor_init(predictor, size, horizons, 5) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_predictor_init(predictor, size, horizons + 1, 4) == ICTD_STATUS_OUT_OF_RANGE);
    /* What a header for fewer horizons than the library's has room for. */
    EXPECT(ictd_predictor_init(predictor, size - 144, horizons, 1) == ICTD_STATUS_BAD_STORAGE);
    EXPECT(ictd_predictor_init(predictor, size, horizons, 4) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_set_limits(predictor, 1.0f, 1.0f) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_predictor_set_limits(predictor, -10.0f, 10.0f) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_observe(predictor, 1.0f, NULL) == ICTD_STATUS_NULL);
    for (int t = 0; t < 400; t++) {
        EXPECT(ictd_predictor_observe(predictor, t == 300 ? NAN : (float)(t % 2), &seen) == ICTD_STATUS_OK);
        EXPECT(t < 20 || seen.status == (t == 300 ? ICTD_SAMPLE_STATUS_MISSING : ICTD_SAMPLE_STATUS_TAKEN));
    }
    EXPECT(fabsf(seen.predictions[0].mean) < 0.2f && seen.predictions[3].known);
    EXPECT(seen.predictions[3].low <= 0.5f && seen.predictions[3].high >= 0.5f);
    EXPECT(seen.surprise >= 0.0f && seen.surprise < 1.0f);
    EXPECT(ictd_predictor_observe(predictor, 11.0f, &seen) == ICTD_STATUS_OK);
    EXPECT(seen.status == ICTD_SAMPLE_STATUS_HELD_BACK);
    EXPECT(ictd_predictor_to_bytes(predictor, page, 100, &written) == ICTD_STATUS_DAMAGED);
    EXPECT(ictd_predictor_to_bytes(predictor, page, size + 64, &written) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_init(woken, size, horizons, 4) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_from_bytes(woken, NULL, size) == ICTD_STATUS_NULL);
    EXPECT(ictd_predictor_from_bytes(woken, page, size + 64) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_observe_missing(predictor, &seen) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_observe_missing(woken, &again) == ICTD_STATUS_OK);
    EXPECT(memcmp(&seen, &again, sizeof again) == 0 && seen.status == ICTD_SAMPLE_STATUS_MISSING);
    page[40] ^= 1;
    EXPECT(ictd_predictor_from_bytes(woken, page, size + 64) == ICTD_STATUS_DAMAGED);
    EXPECT(ictd_predictor_reset(woken) == ICTD_STATUS_OK);
    free(page);
    free(woken);
    free(predictor);
    return 0;
}

/* A model of the stream; the wrong features, another discount, damage. */
static int trainers(void) {
    const float phi[3] = {0.5f, -1.0f, 2.0f}, bad[2] = {1.0f, NAN};
    static ictd_trainer trainer, other;
    static ICTD_CONTEXT(2) of_two;
    static ICTD_CONTEXT(3) of_three;
    ictd_model model;
    ictd_value_function value;
    static unsigned char page[sizeof trainer];
    size_t written = 0;
    EXPECT(ictd_trainer_observe(&trainer, phi, 1.0f) == ICTD_STATUS_BAD_HANDLE);
    EXPECT(ictd_trainer_init(&trainer, sizeof trainer - 400, 2, 0.9f, 1.0f) == ICTD_STATUS_BAD_STORAGE);
    EXPECT(ictd_trainer_init(&trainer, sizeof trainer, 5, 0.9f, 1.0f) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_trainer_init(&trainer, sizeof trainer, 2, 1.0f, 1.0f) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_trainer_init(&trainer, sizeof trainer, 2, 0.9f, 0.0f) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_trainer_init(NULL, sizeof trainer, 2, 0.9f, 1.0f) == ICTD_STATUS_NULL);
    EXPECT(ictd_trainer_init(&trainer, sizeof trainer, 2, 0.9f, 1.0f) == ICTD_STATUS_OK);
    EXPECT(ictd_trainer_observe(&trainer, bad, 1.0f) == ICTD_STATUS_NON_FINITE);
    EXPECT(ictd_trainer_observe(&trainer, NULL, 1.0f) == ICTD_STATUS_NULL);
    for (int t = 0; t < 100; t++) EXPECT(ictd_trainer_observe(&trainer, phi + t % 2, 1.0f) == ICTD_STATUS_OK);
    EXPECT(ictd_trainer_to_bytes(&trainer, page, 100, &written) == ICTD_STATUS_DAMAGED && written == 0);
    EXPECT(ictd_trainer_to_bytes(&trainer, page, sizeof page, &written) == ICTD_STATUS_OK);
    EXPECT(ictd_trainer_init(&other, sizeof other, 3, 0.9f, 1.0f) == ICTD_STATUS_OK);
    EXPECT(ictd_trainer_from_bytes(&other, page, written) == ICTD_STATUS_MISMATCH);
    EXPECT(ictd_trainer_init(&other, sizeof other, 2, 0.8f, 1.0f) == ICTD_STATUS_OK);
    EXPECT(ictd_trainer_from_bytes(&other, page, written) == ICTD_STATUS_MISMATCH);
    EXPECT(ictd_trainer_init(&other, sizeof other, 2, 0.9f, 1.0f) == ICTD_STATUS_OK);
    EXPECT(ictd_trainer_from_bytes(&other, page, written - 1) == ICTD_STATUS_DAMAGED);
    EXPECT(ictd_trainer_from_bytes(&other, page, written) == ICTD_STATUS_OK);

    EXPECT(ictd_trainer_model(&trainer, NULL) == ICTD_STATUS_NULL);
    EXPECT(ictd_trainer_model(&trainer, &model) == ICTD_STATUS_OK && model.features == 2);
    EXPECT(ictd_context_init(&of_two.context, sizeof of_two, 2, 0.9f, 1.0f) == ICTD_STATUS_OK);
    EXPECT(ictd_context_init(&of_three.context, sizeof of_three, 3, 0.9f, 1.0f) == ICTD_STATUS_OK);
    EXPECT(ictd_model_value_function(&model, &of_two.context, &value) == ICTD_STATUS_EMPTY);
    EXPECT(ictd_context_observe(&of_two.context, phi, 1.0f, phi) == ICTD_STATUS_OK);
    EXPECT(ictd_context_observe(&of_three.context, phi, 1.0f, phi) == ICTD_STATUS_OK);
    EXPECT(ictd_model_value_function(&model, &of_three.context, &value) == ICTD_STATUS_MISMATCH);
    EXPECT(ictd_model_value_function(&model, &of_two.context, NULL) == ICTD_STATUS_NULL);
    EXPECT(ictd_model_value_function(&model, &of_two.context, &value) == ICTD_STATUS_OK);
    EXPECT(ictd_value_function_at(&value, phi) > 0.0f && ictd_value_function_at(&value, phi) <= 10.0f);
    model.gamma = 0.8f;
    EXPECT(ictd_model_value_function(&model, &of_two.context, &value) == ICTD_STATUS_MISMATCH);

    EXPECT(ictd_model_preconditioned_td(NULL, 2, 0.9f, 2.4f, 0.44f) == ICTD_STATUS_NULL);
    EXPECT(ictd_model_preconditioned_td(&model, 5, 0.9f, 2.4f, 0.44f) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_model_preconditioned_td(&model, 2, 1.0f, 2.4f, 0.44f) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_model_preconditioned_td(&model, 2, 0.9f, 0.0f, 0.44f) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_model_preconditioned_td(&model, 2, 0.9f, 2.4f, NAN) == ICTD_STATUS_NON_FINITE && model.gamma == 0.8f);
    EXPECT(ictd_model_preconditioned_td(&model, 2, 0.9f, 0.5f, 0.25f) == ICTD_STATUS_OK && model.p[4][0] == -0.5f);
    EXPECT(ictd_model_value_function(&model, &of_two.context, &value) == ICTD_STATUS_OK);
    return 0;
}

int main(void) {
    EXPECT(ictd_abi_version() == ICTD_ABI_VERSION);
    EXPECT(strcmp(ictd_message(ICTD_STATUS_OK), "done") == 0 && strcmp(ictd_message(99), "not a status") == 0);
    return contexts() || predictors() || trainers();
}
