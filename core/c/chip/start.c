/* What comes before main on a Cortex-M and on a RISC-V, and semihosting: all that a program needs of a C library. */
#include <stdint.h>

extern uint32_t stack_top;
int main(void);
int putchar(int character);
void begin(void);

/* Asks the debugger, or QEMU, for an operation. */
void ask(uintptr_t operation, uintptr_t argument);
#if __riscv
__asm__(".text\n .option push\n .option norvc\n .balign 16\n"
        "ask: slli x0, x0, 0x1f\n ebreak\n srai x0, x0, 7\n ret\n .option pop");
#else
__asm__(".text\n .thumb_func\n ask: bkpt 0xab\n bx lr");
#endif

int putchar(int character) {
    const char one = (char)character;
    ask(3, (uintptr_t)&one);
    return character;
}

/* Ends the program: as it asked for, or with an error. */
static void end(int error) {
    ask(0x18, error ? 0x20023 : 0x20026);
}

void begin(void) {
#if __ARM_FP
    *(volatile uint32_t *)0xe000ed88 |= 0xf00000; /* the floating-point unit */
    __asm__ volatile("dsb\n isb");
#endif
    end(main());
}

#if __riscv
__asm__(".section .first, \"ax\"\n la sp, stack_top\n call begin");
#else
static void fault(void) {
    end(1);
}

__attribute__((section(".first"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15])(void);
} vectors = {&stack_top, {begin, fault, fault, fault, fault, fault}};
#endif
