/* Calls every function of ictd.h, and prints digests of what they say: the same bits on every platform, and those of
 * the Rust crate (digests.txt). It needs no C library, so that it runs on a bare chip, too. */
#include "ictd.h"

#if __STDC_HOSTED__
#include <stdio.h>
#else
int putchar(int character); /* chip/start.c */
#endif

static void print(const char *text) {
    while (*text) putchar(*text++);
}

static void show(const char *name, uint32_t digest) {
    print(name);
    for (int shift = 28; shift >= 0; shift -= 4) putchar("0123456789abcdef"[digest >> shift & 15]);
    print("\n");
}

/* Adds the bits of a number to a digest. */
static void add(uint32_t *digest, float number) {
    union {
        float number;
        uint32_t bits;
    } of = {number};
    *digest = (*digest << 8 | *digest >> 24) ^ of.bits;
}

/* A sensor: numbers in [-1, 1). */
static float read_sensor(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 24) / 128.0f - 1.0f;
}

/* What is stored here is read from here. */
#ifdef WITHOUT_TRAINER
static uint8_t page[8 * ICTD_CONTEXT_WORDS(4) + 64];
#else
static uint8_t page[sizeof(ictd_trainer)];
#endif

/* The process of embedded-demo/src/bin/universal.rs, with a sleep. */
static ictd_status contexts(uint32_t *digest) {
    static ICTD_CONTEXT(4) storage;
    ictd_context *const context = &storage.context;
    ictd_value_function value_function;
    float phi[2][4];
    size_t written;
    uint32_t state = 1;

    ictd_status status = ictd_context_init(context, sizeof storage, 4, 0.9f, 1.0f);
    for (int i = 0; i < 4; i++) phi[0][i] = read_sensor(&state);
    for (int n = 1; !status && n <= 1000; n++) {
        const float *now = phi[(n + 1) % 2];
        float *next = phi[n % 2];
        for (int i = 0; i < 4; i++) next[i] = read_sensor(&state);
        status = ictd_context_observe(context, now, now[0] - 0.5f * next[1], next);
        if (!status && (n <= 3 || n == 1000)) {
            status = ictd_context_value_function(context, &value_function);
            add(digest, ictd_value_function_at(&value_function, next));
        }
        if (!status && n == 500) {
            status = ictd_context_to_bytes(context, page, sizeof page, &written);
            if (!status) status = ictd_context_clear(context);
            if (!status) status = ictd_context_from_bytes(context, page, written);
        }
    }
    if (!status) status = ictd_context_observe_terminal(context, phi[0], 1.0f);
    if (!status) status = ictd_context_end_episode(context);
    return status || ictd_context_len(context) == 1001 ? status : ICTD_STATUS_EMPTY;
}

/* Two signals, one of which is missing now and then and has a glitch, with a sleep. */
static ictd_status predictors(uint32_t *digest) {
    static ictd_predictor predictor[2];
    const float horizons[3] = {1.0f, 5.0f, 40.0f};
    ictd_outlook seen;
    size_t written;
    uint32_t state = 1;

    ictd_status status = ictd_predictor_init(&predictor[0], sizeof predictor[0], horizons, 3);
    if (!status) status = ictd_predictor_init(&predictor[1], sizeof predictor[1], horizons, 3);
    if (!status) status = ictd_predictor_set_limits(&predictor[1], -100.0f, 100.0f);
    for (int t = 0; !status && t < 500; t++) {
        float samples[2] = {(float)(t % 20) + read_sensor(&state), 20.0f + read_sensor(&state)};
        if (t == 200) samples[1] = 65535.0f;
        for (int s = 0; !status && s < 2; s++) {
            status = s == 1 && t % 7 == 3 ? ictd_predictor_observe_missing(&predictor[s], &seen)
                                          : ictd_predictor_observe(&predictor[s], samples[s], &seen);
            for (int h = 0; h < 3; h++) {
                add(digest, seen.predictions[h].mean);
                add(digest, seen.predictions[h].low);
                add(digest, seen.predictions[h].high);
            }
            add(digest, seen.depth);
            add(digest, seen.surprise);
            add(digest, seen.recent);
            add(digest, (float)seen.status);
        }
        if (!status && t == 300) {
            status = ictd_predictor_to_bytes(&predictor[0], page, sizeof page, &written);
            if (!status) status = ictd_predictor_reset(&predictor[0]);
            if (!status) status = ictd_predictor_from_bytes(&predictor[0], page, written);
        }
    }
    return status;
}

#ifndef WITHOUT_TRAINER
/* A model that the stream trains, with a reset in the middle, and its reading of a context; and preconditioned TD's. */
static ictd_status trainers(uint32_t *digest) {
    static ictd_trainer trainer;
    static ICTD_FORGETTING(2) storage;
    static ictd_model model;
    ictd_context *const context = &storage.context;
    ictd_value_function value_function;
    float phi[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};
    size_t written;
    uint32_t state = 1;

    ictd_status status = ictd_trainer_init(&trainer, sizeof trainer, 2, 0.9f, 0.25f);
    if (!status) status = ictd_context_init(context, sizeof storage, 2, 0.9f, 0.99f);
    for (int n = 1; !status && n <= 300; n++) {
        const float *now = phi[(n + 1) % 2];
        float *next = phi[n % 2];
        for (int i = 0; i < 2; i++) next[i] = 0.5f * now[i] + read_sensor(&state);
        const float reward = now[0] - 0.5f * next[1];
        status = ictd_trainer_observe(&trainer, next, reward);
        if (!status) status = ictd_context_observe(context, now, reward, next);
        if (!status && n == 150) {
            status = ictd_trainer_to_bytes(&trainer, page, sizeof page, &written);
            if (!status) status = ictd_trainer_init(&trainer, sizeof trainer, 2, 0.9f, 1.0f);
            if (!status) status = ictd_trainer_from_bytes(&trainer, page, written);
        }
    }
    if (!status) status = ictd_trainer_to_bytes(&trainer, page, sizeof page, &written);
    for (size_t at = 0; !status && at < written; at++) add(digest, (float)page[at]);
    if (!status) status = ictd_trainer_model(&trainer, &model);
    if (!status) status = ictd_model_value_function(&model, context, &value_function);
    if (!status) add(digest, ictd_value_function_at(&value_function, phi[0]));
    if (!status) status = ictd_model_preconditioned_td(&model, 2, 0.9f, 1.5f, 0.25f);
    if (!status) status = ictd_model_value_function(&model, context, &value_function);
    if (!status) add(digest, ictd_value_function_at(&value_function, phi[0]));
    return status;
}

#endif

int main(void) {
    uint32_t context = 0, predictor = 0;
    ictd_status status = ictd_abi_version() == ICTD_ABI_VERSION ? ICTD_STATUS_OK : ICTD_STATUS_MISMATCH;
    if (!status) status = ictd_check_environment();
    if (!status) status = contexts(&context);
    if (!status) status = predictors(&predictor);
#ifndef WITHOUT_TRAINER
    uint32_t trainer = 0;
    if (!status) status = trainers(&trainer);
#endif
    if (status) {
        print(ictd_message(status));
        return 1;
    }
    show("context ", context);
    show("predictor ", predictor);
#ifndef WITHOUT_TRAINER
    show("trainer ", trainer);
#endif
    return 0;
}
