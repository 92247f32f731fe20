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

int main(void) {
    const float phi[2] = {1.0f, 0.5f}, bad[2] = {1.0f, NAN};
    ictd_universal model;
    ictd_model_2 td;
    ictd_forgetting_2 context;
    ictd_value_function_2 value;
    unsigned char bytes[12] = "ICTD";

    EXPECT(ictd_universal_init(NULL, 0.9f) == ICTD_STATUS_NULL);
    EXPECT(ictd_universal_init(&model, 1.0f) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_universal_init(&model, 0.9f) == ICTD_STATUS_OK);
    EXPECT(isnan(ictd_universal_lambda(NULL)));
    EXPECT(ictd_forgetting_2_init(&context, NAN, 0.99f) == ICTD_STATUS_NON_FINITE);
    EXPECT(ictd_forgetting_2_init(&context, 0.9f, 1.0f) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_forgetting_2_init(&context, ictd_universal_lambda(&model), 0.99f) == ICTD_STATUS_OK);
    EXPECT(ictd_forgetting_2_predict(&context, &model, &value) == ICTD_STATUS_EMPTY);

    EXPECT(ictd_forgetting_2_observe(&context, bad, 1.0f, phi) == ICTD_STATUS_NON_FINITE);
    EXPECT(ictd_forgetting_2_observe(&context, NULL, 1.0f, phi) == ICTD_STATUS_NULL);
    EXPECT(ictd_forgetting_2_observe(NULL, phi, 1.0f, phi) == ICTD_STATUS_NULL);
    EXPECT(ictd_forgetting_2_end_episode(NULL) == ICTD_STATUS_NULL);
    EXPECT(ictd_forgetting_2_predict(&context, &model, &value) == ICTD_STATUS_EMPTY);

    EXPECT(ictd_forgetting_2_observe(&context, phi, 1.0f, phi) == ICTD_STATUS_OK);
    EXPECT(ictd_forgetting_2_observe_terminal(&context, phi, 1.0f) == ICTD_STATUS_OK);
    EXPECT(ictd_forgetting_2_predict(&context, &model, NULL) == ICTD_STATUS_NULL);
    EXPECT(ictd_forgetting_2_predict(&context, &model, &value) == ICTD_STATUS_OK);
    EXPECT(ictd_value_2(&value, phi) > 0.0f && isnan(ictd_value_2(&value, NULL)));

    EXPECT(ictd_model_2_read(&td, NULL, 5) == ICTD_STATUS_NULL);
    EXPECT(ictd_model_2_read(&td, bytes, 0) == ICTD_STATUS_DAMAGED);
    EXPECT(ictd_model_2_read(&td, bytes, sizeof bytes) == ICTD_STATUS_ANOTHER_MODEL);
    EXPECT(ictd_universal_read(&model, bytes + 1, 11) == ICTD_STATUS_NOT_A_MODEL);
    EXPECT(ictd_model_2_td(&td, 0.1f, 15, 0.9f, 0.5f) == ICTD_STATUS_OK);
    EXPECT(ictd_forgetting_2_predict_by(&context, &td, &value) == ICTD_STATUS_MISMATCH);
    EXPECT(ictd_model_2_td(&td, 0.1f, 15, 0.9f, ictd_universal_lambda(&model)) == ICTD_STATUS_OK);
    EXPECT(ictd_forgetting_2_predict_by(&context, &td, &value) == ICTD_STATUS_OK);
    EXPECT(ictd_value_2(&value, phi) > 0.0f);

    /* Signals: the features and deviations of a level that stays are 0, and its discounted sum is its horizon. */
    ictd_signal_2 signal;
    float features[2], deviation = 7.0f;
    EXPECT(ictd_signal_2_init(NULL) == ICTD_STATUS_NULL);
    EXPECT(ictd_signal_2_init(&signal) == ICTD_STATUS_OK);
    EXPECT(ictd_signal_2_observe(&signal, NAN, features, &deviation) == ICTD_STATUS_NON_FINITE && deviation == 7.0f);
    EXPECT(ictd_signal_2_observe(&signal, 3.0f, features, NULL) == ICTD_STATUS_NULL);
    EXPECT(ictd_signal_2_observe(&signal, 3.0f, features, &deviation) == ICTD_STATUS_OK);
    EXPECT(features[0] == 0.0f && features[1] == 0.0f && deviation == 0.0f);
    EXPECT(ictd_signal_2_discounted_sum(&signal, 0.5f, 0.0f) == 6.0f);
    EXPECT(ictd_signal_2_end_episode(&signal) == ICTD_STATUS_OK && ictd_signal_2_end_episode(NULL) == ICTD_STATUS_NULL);
    EXPECT(isnan(ictd_signal_2_discounted_sum(NULL, 0.5f, 0.0f)));

    /* Predictions of two signals, one that alternates and one that stays; a sample that is missing; sleep. */
    const float horizons[4] = {1.0f, 5.0f, 10.0f, 20.0f}, no_horizons[4] = {1.0f, 5.0f, 10.0f, 0.0f};
    ictd_prediction predictions[2][4];
    float surprise[2];
    ictd_predictor_2 *predictor = malloc(sizeof *predictor);
    EXPECT(predictor && ictd_predictor_2_init(predictor, NULL) == ICTD_STATUS_NULL);
    EXPECT(ictd_predictor_2_init(predictor, no_horizons) == ICTD_STATUS_OUT_OF_RANGE);
    EXPECT(ictd_predictor_2_init(predictor, horizons) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_2_observe(predictor, phi, NULL, surprise) == ICTD_STATUS_NULL);
    EXPECT(ictd_predictor_2_observe(predictor, phi, predictions[0], NULL) == ICTD_STATUS_NULL);
    for (int t = 0; t < 400; t++) {
        const float samples[2] = {(float)(t % 2), t == 300 ? NAN : 4.0f};
        EXPECT(ictd_predictor_2_observe(predictor, samples, predictions[0], surprise) == ICTD_STATUS_OK);
    }
    EXPECT(fabsf(predictions[0][0].mean) < 0.1f && predictions[1][3].low <= 4.01f && predictions[1][3].high >= 3.99f);
    EXPECT(surprise[0] >= 0.0f && surprise[0] < 1.0f);
    unsigned char *page = malloc(sizeof *predictor + 32);
    ictd_predictor_2 *woken = malloc(sizeof *woken);
    EXPECT(page && woken && ictd_predictor_2_write(predictor, page, sizeof *predictor + 32) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_2_write(predictor, page, 100) == ICTD_STATUS_DAMAGED);
    EXPECT(ictd_predictor_2_read(woken, page, sizeof *predictor + 32) == ICTD_STATUS_OK);
    page[40] ^= 1;
    EXPECT(ictd_predictor_2_read(woken, page, sizeof *predictor + 32) == ICTD_STATUS_DAMAGED);
    ictd_prediction again[2][4];
    EXPECT(ictd_predictor_2_observe(predictor, phi, predictions[0], surprise) == ICTD_STATUS_OK);
    EXPECT(ictd_predictor_2_observe(woken, phi, again[0], surprise) == ICTD_STATUS_OK);
    EXPECT(memcmp(predictions, again, sizeof again) == 0);
    free(woken);
    free(page);
    free(predictor);
    ictd_predictor_4 *four = malloc(sizeof *four);
    EXPECT(four && ictd_predictor_4_init(four, horizons) == ICTD_STATUS_OK);
    free(four);

    /* Every struct has room for what the library writes: on the heap, where a sanitizer sees one byte too many. */
    ictd_growing_16 *large = malloc(sizeof *large);
    ictd_model_16 *dense = malloc(sizeof *dense);
    EXPECT(large && dense);
    EXPECT(ictd_growing_16_init(large, 0.0f) == ICTD_STATUS_OK);
    EXPECT(ictd_model_16_td(dense, 0.1f, 3, 0.9f, 0.0f) == ICTD_STATUS_OK);
    free(large);
    free(dense);
    EXPECT(strcmp(ictd_message(ICTD_STATUS_OK), "done") == 0);
    return 0;
}
