//! RAM, stack and instructions by feature dimension, layers and optimisation level: prints the rows of
//! the tables in README.md. `embedded-demo/run.sh table` builds it for speed and for size.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
#[path = "../chip.rs"]
mod chip;
#[cfg(target_os = "none")]
#[path = "../interrupts.rs"]
mod interrupts;

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("the table is a chip's: embedded-demo/run.sh table");
    std::process::exit(2);
}

#[cfg(target_os = "none")]
mod table {
    use super::chip::{self, Counter};
    use core::hint::black_box;
    use ictd_core::context::{Forgetting, Growing, Sliding, Window};
    use ictd_core::layer::Layer;
    use ictd_core::linalg::zeros;
    use ictd_core::mask::Td0;
    use ictd_core::model::Model;
    use ictd_core::rng::Rng;
    use ictd_core::transformer::Transformer;
    use ictd_core::{Context, Error, ValueFunction};

    const OPT_LEVEL: &str = env!("ICTD_OPT_LEVEL");
    const GAMMA: f32 = 0.9;

    /// What a call takes.
    #[derive(Clone, Copy, Default)]
    struct Cost {
        instructions: u32,
        stack: u32,
    }

    /// Instructions of a call, or that there were too many to count.
    struct Count(u32);

    impl defmt::Format for Count {
        fn format(&self, f: defmt::Formatter) {
            match self.0 {
                u32::MAX => defmt::write!(f, "over 10 million"),
                count => defmt::write!(f, "{=u32}", count),
            }
        }
    }

    /// Instructions and stack of a call that the caller's frame is no part of.
    fn cost<T>(counter: &mut Counter, mut call: impl FnMut() -> T) -> (T, Cost) {
        let (_, instructions) = counter.measure(&mut call);
        let (result, stack) = stack_of(&mut call);
        (result, Cost { instructions, stack })
    }

    /// The call's result, and how far its stack reaches below that of this function.
    #[inline(never)]
    fn stack_of<T>(call: &mut impl FnMut() -> T) -> (T, u32) {
        const PAINTED: usize = 128 * 1024;
        let top = cortex_m::register::msp::read() as usize;
        for address in (top - PAINTED..top).step_by(4) {
            // SAFETY: nothing lives in the stack below this frame, and the board has 4 MiB for it.
            unsafe {
                core::ptr::with_exposed_provenance_mut::<u32>(address).write_volatile(chip::PAINT)
            };
        }
        let result = call();
        (result, chip::stack_used(Some(top)))
    }

    fn features<const D: usize>(rng: &mut Rng) -> [f32; D] {
        core::array::from_fn(|_| rng.uniform_in(-1.0, 1.0))
    }

    /// A context of 1,000 transitions, and what another one costs: no block is being closed, a sliding
    /// window is full.
    fn observe<const D: usize, W: Window<f32>>(
        counter: &mut Counter,
        window: W,
    ) -> Result<(Context<D, Td0, W>, Cost), Error> {
        let mut rng = Rng::new(1);
        let mut context = Context::<D, Td0, W>::with(Td0, window);
        let mut phi = features(&mut rng);
        for _ in 0..1_000 {
            let phi_next = features(&mut rng);
            context.observe(&phi, phi[0], &phi_next)?;
            phi = phi_next;
        }
        let phi_next = features(&mut rng);
        let (result, cost) = cost(counter, || {
            black_box(&mut context).observe(black_box(&phi), black_box(0.5), black_box(&phi_next))
        });
        result?;
        Ok((context, cost))
    }

    #[inline(never)]
    fn value_function<const D: usize, const K: usize>(
        model: &Model<f32, D, K, 1>,
        context: &Context<D>,
    ) -> Result<ValueFunction<f32, D>, Error> {
        model.value_function(context)
    }

    /// A dense layer: Theorem 1's, and small numbers everywhere.
    fn dense<const D: usize, const K: usize>() -> Layer<f32, K> {
        let mut rng = Rng::new(2);
        let (mut p, mut q) = (zeros::<f32, K, K>(), zeros::<f32, K, K>());
        for m in [&mut p, &mut q] {
            m.iter_mut().for_each(|x| *x = rng.uniform_in(-0.001, 0.001));
        }
        p[(K - 1, K - 1)] = 1.0;
        for i in 0..D {
            (q[(i, i)], q[(i, D + i)]) = (-0.1, 0.1);
        }
        Layer { p, q }
    }

    #[inline(never)]
    fn rows<const D: usize, const K: usize>(counter: &mut Counter) -> Result<(), Error> {
        let (context, growing) = observe::<D, _>(counter, Growing)?;
        let (_, forgetting) = observe::<D, _>(counter, Forgetting::new(0.99)?)?;
        let (_, sliding) = observe::<D, _>(counter, Sliding::<64>)?;
        let mut values = [Cost::default(); 3];
        for (value, depth) in values.iter_mut().zip([1, 3, 15]) {
            let layers = Transformer::autoregressive(dense::<D, K>(), depth)?;
            let model = Model::<f32, D, K, 1>::new(layers, Td0, GAMMA)?;
            let (result, cost) =
                cost(counter, || value_function(black_box(&model), black_box(&context)));
            result?;
            *value = cost;
        }
        let [one, three, fifteen] = values;
        defmt::info!(
            "instructions | {=usize} | {=str} | {=u32} | {=u32} | {=u32} | {} | {} | {} |",
            D,
            OPT_LEVEL,
            growing.instructions,
            forgetting.instructions,
            sliding.instructions,
            Count(one.instructions),
            Count(three.instructions),
            Count(fifteen.instructions)
        );
        defmt::info!(
            "bytes | {=usize} | {=str} | {=usize} | {=usize} | {=usize} | {=usize} | {=u32} | {=u32} | {=u32} | {=u32} |",
            D,
            OPT_LEVEL,
            size_of::<Context<D>>(),
            size_of::<Context<D, Td0, Forgetting>>(),
            size_of::<Context<D, Td0, Sliding<64>>>(),
            size_of::<Model<f32, D, K, 1>>(),
            growing.stack,
            one.stack,
            three.stack,
            fifteen.stack
        );
        Ok(())
    }

    fn all() -> Option<Result<(), Error>> {
        let mut counter = Counter::new()?;
        let counter = &mut counter;
        Some(
            rows::<4, 9>(counter)
                .and_then(|()| rows::<6, 13>(counter))
                .and_then(|()| rows::<8, 17>(counter))
                .and_then(|()| rows::<16, 33>(counter)),
        )
    }

    #[cortex_m_rt::entry]
    fn main() -> ! {
        chip::exit(if let Some(Ok(())) = all() { 0 } else { 2 })
    }
}
