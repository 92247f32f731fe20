// The value function of a linear transformer in CMSIS-DSP: the same model, context and sequence of
// products as ictd_core::transformer::Transformer::readout at L = 3, for a comparison of their costs.
//
// Exits with 0 if the value agrees with that of the Rust firmware, which counts its instructions
// in the same way (64 ns each in QEMU, read from SysTick at 25 MHz). -DFEATURES=8 counts them for other
// dimensions than that of the stored model, on parameters of which only the size matters.

#include "arm_math.h"

#ifndef FEATURES
#define FEATURES 4
#endif
enum { D = FEATURES, K = 2 * D + 1, LAYERS = 3 };

#define MATRIX(name, rows, columns)                  \
    static float32_t name##_data[(rows) * (columns)]; \
    static const arm_matrix_instance_f32 name = {rows, columns, name##_data}

// Results are written through the instance's pointer, never into the instance.
#define TO(name) ((arm_matrix_instance_f32 *)&name)

// The stored model: 12 bytes of header, gamma, lambda, P and Q row by row.
__asm__(".section .rodata\n.balign 4\nmodel: .incbin \"trained.ictd\"\n.text");
extern const unsigned char model[];

MATRIX(p, K, K);
MATRIX(q, K, K);
MATRIX(p_t, K, K);
MATRIX(q_t, K, K);
MATRIX(g, K, K);
MATRIX(z, K, 1);
MATRIX(z_t, 1, K);
MATRIX(outer, K, K);
MATRIX(scaled, K, K);
MATRIX(p_g, K, K);
MATRIX(b, K, K);
MATRIX(b_t, K, K);

static float32_t gamma_, weights[D];
static uint32_t n;

static void load(void) {
    const float32_t *numbers = (const float32_t *)(model + 12);
    gamma_ = numbers[0];
    for (int i = 0; i < K * K; i++) {
        p_data[i] = D == 4 ? numbers[2 + i] : 0.01f * (i % 7 - 3);
        q_data[i] = D == 4 ? numbers[2 + K * K + i] : 0.01f * (i % 5 - 2);
    }
    arm_mat_trans_f32(&p, TO(p_t));
    arm_mat_trans_f32(&q, TO(q_t));
}

// G += z z^T for z = (phi; gamma phi'; R).
static void observe(const float32_t *phi, float32_t reward, const float32_t *phi_next) {
    arm_copy_f32(phi, z_data, D);
    arm_scale_f32(phi_next, gamma_, z_data + D, D);
    z_data[2 * D] = reward;
    // A column's transpose has the same numbers in the same order.
    arm_copy_f32(z_data, z_t_data, K);
    arm_mat_mult_f32(&z, &z_t, TO(outer));
    arm_mat_add_f32(&g, &outer, TO(g));
    n++;
}

// out = x + (1/n) a
static void plus(const float32_t *x, const float32_t *a, float32_t *out) {
    arm_scale_f32(a, 1.0f / n, out, K);
    arm_add_f32(x, out, out, K);
}

// G_1 x = B G B^T x, factor by factor; G is symmetric.
static void g_1(const float32_t *x, float32_t *out) {
    float32_t s[K], t[K];
    arm_mat_vec_mult_f32(&b_t, x, s);
    arm_mat_vec_mult_f32(&g, s, t);
    arm_mat_vec_mult_f32(&b, t, out);
}

// B_1 x and B_1^T x without forming B_1.
static void b_1(const float32_t *x, float32_t *out) {
    float32_t s[K], t[K];
    arm_mat_vec_mult_f32(&q, x, s);
    g_1(s, t);
    arm_mat_vec_mult_f32(&p, t, s);
    plus(x, s, out);
}

static void b_1_transposed(const float32_t *x, float32_t *out) {
    float32_t s[K], t[K];
    arm_mat_vec_mult_f32(&p_t, x, s);
    g_1(s, t);
    arm_mat_vec_mult_f32(&q_t, t, s);
    plus(x, s, out);
}

static void value_function(void) {
    // B = I + (1/n) P G Q of the first layer.
    arm_mat_scale_f32(&p, 1.0f / n, TO(scaled));
    arm_mat_mult_f32(&scaled, &g, TO(p_g));
    arm_mat_mult_f32(&p_g, &q, TO(b));
    for (int i = 0; i < K; i++) b_data[i * K + i] += 1.0f;
    arm_mat_trans_f32(&b, TO(b_t));
    // The last layer needs the last row of P alone, the one before acts on vectors.
    float32_t row[K], s[K], t[K], e_k[K] = {0};
    e_k[K - 1] = 1.0f;
    arm_copy_f32(p_data + K * (K - 1), row, K);
    b_1_transposed(row, s);
    g_1(s, t);
    b_1(t, s);
    arm_mat_vec_mult_f32(&q_t, s, t);
    plus(e_k, t, s);
    b_1_transposed(s, t);
    arm_mat_vec_mult_f32(&b_t, t, s);
    arm_negate_f32(s, weights, D);
}

static float32_t query(const float32_t *phi) {
    float32_t value;
    arm_dot_prod_f32(weights, phi, D, &value);
    return value;
}

static uint32_t sensor;

static void read(float32_t *phi) {
    for (int i = 0; i < D; i++) {
        sensor = sensor * 1664525u + 1013904223u;
        phi[i] = (float32_t)(sensor >> 24) / 128.0f - 1.0f;
    }
}

#define SYST ((volatile uint32_t *)0xe000e010)

static int call(int operation, const void *argument) {
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void print(const char *name, uint32_t value) {
    char text[12] = {0}, *digit = text + 11;
    do *--digit = '0' + value % 10; while (value /= 10);
    call(4, name);
    call(4, " ");
    call(4, digit);
    call(4, "\n");
}

// Instructions of a statement: a tick is 40 ns, an instruction 64 ns.
#define TICKS(statement) (SYST[2] = 0, start = SYST[2], ({ statement; }), (start - SYST[2]) & 0xffffff)
#define INSTRUCTIONS(statement) (((TICKS(statement) - empty) * 5 + 4) / 8)

// Not inlined into `reset`, whose first instructions must not use the floating-point unit.
__attribute__((noinline)) static int run(void) {
    uint32_t start, observed = 0;
    SYST[1] = 0xffffff;
    SYST[0] = 5;
    uint32_t empty = TICKS();
    load();
    sensor = 1;
    float32_t phi[D], phi_next[D];
    read(phi);
    for (int i = 0; i < 1000; i++) {
        read(phi_next);
        float32_t reward = phi[0] - 0.5f * phi_next[1];
        observed = INSTRUCTIONS(observe(phi, reward, phi_next));
        arm_copy_f32(phi_next, phi, D);
    }
    uint32_t function = INSTRUCTIONS(value_function());
    union {
        uint32_t bits;
        float32_t value;
    } expected = {EXPECTED};
    volatile float32_t value;
    uint32_t queried = INSTRUCTIONS(value = query(phi));
    print("observe", observed);
    print("value-function", function);
    print("query", queried);
    float32_t difference = value - expected.value;
    return D != 4 || difference * difference < 1e-8f ? 0 : 1;
}

extern uint32_t bss_start, bss_end, stack_top;

void reset(void) {
    *(volatile uint32_t *)0xe000ed88 |= 0xf << 20; // the floating-point unit
    for (volatile uint32_t *word = &bss_start; word < &bss_end; word++) *word = 0;
    uint32_t exit[2] = {0x20026, run()};
    call(0x20, exit);
    for (;;) {}
}

static void fault(void) {
    uint32_t exit[2] = {0x20026, 102};
    call(0x20, exit);
    for (;;) {}
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, reset, fault, fault, fault, fault, fault,
};
