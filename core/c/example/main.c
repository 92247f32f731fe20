/* A product in 25 lines: it reads a sensor, knows what is coming, and notices when something is wrong. */
#include "ictd.h"

/* Numbers around 21; sample 500 is a glitch. */
static float read_sensor(int t) {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return t == 500 ? 65535.0f : 20.0f + (float)(state >> 24) / 128.0f;
}

int main(void) {
    static ictd_predictor predictor;
    const float horizon = 10.0f; /* samples */
    ictd_outlook seen;
    int alarms = 0;
    ictd_status status = ictd_predictor_init(&predictor, sizeof predictor, &horizon, 1);
    for (int t = 0; !status && t < 1000; t++) {
        status = ictd_predictor_observe(&predictor, read_sensor(t), &seen);
        const int is_new = seen.surprise > 0.9999f && seen.recent <= 0.9999f;
        if (is_new || seen.predictions[0].low > 25.0f) alarms++;
    }
    return status || alarms != 1;
}
