/* Predicts from the first transition on, and prints a digest: the same bits on every platform, and those of the
 * same program in Rust (embedded-demo/src/bin/universal.rs). */
#include "ictd.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A sensor: four features of a toy process. */
static void read_sensor(float phi[4]) {
    static uint32_t state = 1;
    for (int i = 0; i < 4; i++) {
        state = state * 1664525u + 1013904223u;
        phi[i] = (float)(state >> 24) / 128.0f - 1.0f;
    }
}

int main(void) {
    static uint64_t context[ICTD_GROWING_WORDS(4)];
    ictd_value_function value_function;
    float phi[4], phi_next[4];
    uint32_t digest = 0;

    ictd_status status = ictd_context_init(context, sizeof context, 4, 0.9f, 1.0f);
    read_sensor(phi);
    for (int n = 1; !status && n <= 1000; n++) {
        read_sensor(phi_next);
        status = ictd_context_observe(context, phi, phi[0] - 0.5f * phi_next[1], phi_next);
        memcpy(phi, phi_next, sizeof phi);
        if (!status && (n <= 3 || n == 1000)) {
            status = ictd_context_predict(context, &value_function);
            float value = ictd_value(&value_function, phi);
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            digest = (digest << 8 | digest >> 24) ^ bits;
        }
    }
    printf("%s, digest %08" PRIx32 "\n", ictd_message(status), digest);
    return status != ICTD_STATUS_OK;
}
