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
