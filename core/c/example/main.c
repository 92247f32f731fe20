/* A product in 25 lines: it reads a sensor, knows what is coming, and notices when something is wrong. */
#include "ictd.h"

/* Numbers around 21; sample 500 is a glitch. */
static float read_sensor(int t) {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return t == 500 ? 65535.0f : 20.0f + (float)(state >> 24) / 128.0f;
}

int main(void) {
    static ictd_predictor predictor[ICTD_PREDICTOR_WORDS(1)];
    const float horizon = 10.0f; /* samples */
    ictd_prediction next;
    float surprise;
    int alarms = 0;
    ictd_status status = ictd_predictor_init(predictor, sizeof predictor, 1, &horizon, 1);
    for (int t = 0; !status && t < 1000; t++) {
        const float sample = read_sensor(t); /* NaN: there is none */
        status = ictd_predictor_observe(predictor, &sample, &next, &surprise);
        if (surprise > 0.9999f || next.low > 25.0f) alarms++;
    }
    return status || alarms != 1;
}
