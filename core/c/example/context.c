/* A product with features of its own: it learns the value of states, here from four numbers that a process shows. */
#include "ictd.h"

static float read_sensor(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 24) / 128.0f - 1.0f;
}

int main(void) {
    static ICTD_CONTEXT(4) storage;
    ictd_context *const context = &storage.context;
    ictd_value_function value_function;
    float phi[2][4];
    uint32_t state = 1;
    ictd_status status = ictd_context_init(context, sizeof storage, 4, 0.9f, 1.0f);
    for (int i = 0; i < 4; i++) phi[0][i] = read_sensor(&state);
    for (int n = 1; !status && n <= 1000; n++) {
        const float *now = phi[(n + 1) % 2];
        float *next = phi[n % 2];
        for (int i = 0; i < 4; i++) next[i] = read_sensor(&state);
        status = ictd_context_observe(context, now, now[0] - 0.5f * next[1], next);
    }
    if (!status) status = ictd_context_value_function(context, &value_function);
    /* The first feature is worth about itself. */
    for (int i = 0; i < 4; i++) phi[0][i] = i == 0 ? 1.0f : 0.0f;
    const float value = ictd_value_function_at(&value_function, phi[0]);
    return status || !(value > 0.8f && value < 1.2f);
}
