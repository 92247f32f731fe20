/* Measures what each call costs on a chip: instructions, by SysTick in QEMU, where it counts them, and bytes of stack below the
 * caller's, by painting. It fails if the predictor takes more stack than a part with 16 KB of RAM can give.
 * TICKS(n): the instructions of n ticks. FEATURES: contexts of 4, 8 ... up to so many; 0: none. */
#include "ictd.h"

#define STACK_BUDGET 1536
#define PAINT 0xa5a5a5a5u

extern uint32_t ram_end_of_data;
int putchar(int character); /* start.c */

static void print(const char *text) {
    while (*text) putchar(*text++);
}

static void number(uint32_t n) {
    char digits[16];
    int at = 15, count = 0;
    digits[at] = 0;
    do {
        if (count && count % 3 == 0) digits[--at] = ',';
        digits[--at] = (char)('0' + n % 10u);
        n /= 10u;
        count++;
    } while (n);
    print(digits + at);
}

static ictd_predictor predictor;
static ICTD_CONTEXT(FEATURES) storage;
static ictd_context *const context = &storage.context;
static uint8_t page[8 * ICTD_CONTEXT_WORDS(FEATURES) + 64];
static const float horizons[4] = {1.0f, 5.0f, 10.0f, 40.0f};
static float phi[2][ICTD_MAX_FEATURES];
static ictd_outlook seen;
static ictd_value_function value_function;
static size_t written, features;
static float retention, sample;

static ictd_status predictor_init(void) {
    return ictd_predictor_init(&predictor, sizeof predictor, horizons, ICTD_MAX_HORIZONS);
}
static ictd_status predictor_observe(void) {
    return ictd_predictor_observe(&predictor, sample, &seen);
}
static ictd_status predictor_write(void) {
    return ictd_predictor_to_bytes(&predictor, page, sizeof page, &written);
}
static ictd_status predictor_read(void) {
    return ictd_predictor_from_bytes(&predictor, page, written);
}
static ictd_status context_init(void) {
    return ictd_context_init(context, sizeof storage, features, 0.9f, retention);
}
static ictd_status context_observe(void) {
    return ictd_context_observe(context, phi[0], sample, phi[1]);
}
static ictd_status context_value_function(void) {
    return ictd_context_value_function(context, &value_function);
}
static ictd_status context_at(void) {
    sample = ictd_value_function_at(&value_function, phi[0]);
    return ICTD_STATUS_OK;
}
static ictd_status context_write(void) {
    return ictd_context_to_bytes(context, page, sizeof page, &written);
}
static ictd_status context_read(void) {
    return ictd_context_from_bytes(context, page, written);
}

static volatile uint32_t *const systick = (volatile uint32_t *)0xe000e010; /* control, reload, current */
static ictd_status worst;
static uint32_t instructions, calls, most, stack;

/* Calls a function, and adds to its costs. */
static void measure(ictd_status (*function)(void)) {
    uint32_t *const top = (uint32_t *)__builtin_frame_address(0) - 16, *used = &ram_end_of_data;
    for (volatile uint32_t *at = used; at < (volatile uint32_t *)top; at++) *at = PAINT;
    const uint32_t before = systick[2];
    const ictd_status status = function();
    const uint32_t took = TICKS(((before - systick[2]) & 0xffffffu));
    if (status) worst = status;
    instructions += took;
    calls++;
    if (took > most) most = took;
    while (used < top && *(volatile uint32_t *)used == PAINT) used++;
    const uint32_t bytes = 4 * (uint32_t)(top - used);
    if (bytes > stack) stack = bytes;
}

/* Prints the costs since the last time. */
static int show(const char *name, uint32_t budget) {
    const int over = worst || stack > budget;
    print(name);
    print(" | ");
    number(instructions / calls);
    print(" | ");
    number(most);
    print(" | ");
    number(stack);
    print(over ? " | over the budget\n" : " |\n");
    instructions = calls = most = stack = 0;
    return over;
}

static float read_sensor(void) {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 24) / 128.0f - 1.0f;
}

#ifdef TRAINER
static ictd_trainer trainer;
static ictd_model model;

static ictd_status trainer_init(void) {
    return ictd_trainer_init(&trainer, sizeof trainer, features, 0.9f, 1.0f);
}
static ictd_status trainer_observe(void) {
    return ictd_trainer_observe(&trainer, phi[0], sample);
}
static ictd_status model_value_function(void) {
    return ictd_model_value_function(&model, context, &value_function);
}

/* With a model in training that reads the context of 4 features. */
static int trainers(void) {
    const uint32_t budget = 12288;
    int over = 0;
    measure(trainer_init);
    over |= show("trainer, init", budget);
    for (int t = 0; t < 600; t++) {
        for (size_t i = 0; i < features; i++) phi[0][i] = 0.5f * phi[0][i] + read_sensor();
        sample = phi[0][0];
        measure(trainer_observe);
    }
    over |= show("trainer, observe", budget);
    if (ictd_trainer_model(&trainer, &model)) return 1;
    measure(model_value_function);
    return over | show("model, value function", budget);
}
#endif

static int contexts(void) {
    const uint32_t budget = 512 * (uint32_t)(features + 1);
    int over = 0;
    measure(context_init);
    over |= show("context, init", budget);
    for (int t = 0; t < 600; t++) {
        for (size_t i = 0; i < features; i++) phi[0][i] = phi[1][i];
        for (size_t i = 0; i < features; i++) phi[1][i] = read_sensor();
        sample = read_sensor();
        measure(context_observe);
    }
    over |= show("context, observe", budget);
    measure(context_value_function);
    over |= show("context, value function", budget);
    measure(context_at);
    over |= show("value of a state", budget);
    measure(context_write);
    over |= show("context, to bytes", budget);
    measure(context_read);
    return over | show("context, from bytes", budget);
}

int main(void) {
    systick[1] = 0xffffff;
    systick[0] = 5;
    if (ictd_check_environment()) return 1;
    measure(ictd_check_environment);
    int over = show("check environment", STACK_BUDGET);
    measure(predictor_init);
    over |= show("predictor, init", STACK_BUDGET);
    for (int t = 0; t < 600; t++) {
        sample = t % 100 == 77 ? 1000.0f : 20.0f + (float)(t % 20) * 0.5f + read_sensor();
        measure(predictor_observe);
    }
    over |= show("predictor, observe", STACK_BUDGET);
    measure(predictor_write);
    over |= show("predictor, to bytes", STACK_BUDGET);
    measure(predictor_read);
    over |= show("predictor, from bytes", STACK_BUDGET);
    for (features = 4; features <= FEATURES; features *= 2) {
        for (int forgets = 0; forgets < 2; forgets++) {
            retention = forgets ? 0.99f : 1.0f;
            print(forgets ? "forgetting, features: " : "growing, features: ");
            number((uint32_t)features);
            print("\n");
            over |= contexts();
#ifdef TRAINER
            if (features == 4 && forgets) over |= trainers();
#endif
        }
    }
    return over;
}
