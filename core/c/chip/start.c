/* The vector table, and what comes before newlib's start: the floating-point unit. */
#include <stdint.h>

extern uint32_t stack_top;
void _start(void);

__attribute__((naked)) void reset(void) {
    __asm__("ldr r0, =0xe000ed88\n ldr r1, [r0]\n orr r1, #0xf00000\n str r1, [r0]\n dsb\n isb\n b _start");
}

static void fault(void) {
    for (;;) {}
}

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15])(void);
} vectors = {&stack_top, {reset, fault, fault, fault, fault, fault}};
