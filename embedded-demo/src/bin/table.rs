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
    use ictd_core::context::{Forgetting, Growing, Memory, Sliding};
    use ictd_core::layer::Layer;
    use ictd_core::linalg::zeros;
    use ictd_core::mask::{Mask, Td0, Td0Trace};
    use ictd_core::model::{Linear, Model};
    use ictd_core::rng::Rng;
    use ictd_core::td::{
        BatchTd, BatchTdSettings, Learner, Lstd, LstdSettings, OnlineAlgorithm, OnlineTd,
        OnlineTdSettings, RecursiveLstd, RecursiveLstdSettings,
    };
    use ictd_core::transformer::Transformer;
    use ictd_core::value_function::ClippedValueFunction;
    use ictd_core::{Context, Error, UniversalModel, ValueFunction};

    const OPT_LEVEL: &str = env!("ICTD_OPT_LEVEL");
    const GAMMA: f32 = 0.9;
    /// The iterations of batch TD: as many as the constructed model has layers.
    const ITERATIONS: usize = 15;

    /// The cost of a call.
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

    /// Returns instructions and stack of a call, without the caller's frame.
    fn cost<T>(counter: &mut Counter, mut call: impl FnMut() -> T) -> (T, Cost) {
        let (_, instructions) = counter.measure(&mut call);
        let (result, stack) = stack_of(&mut call);
        (result, Cost { instructions, stack })
    }

    /// Returns the call's result, and how far its stack reaches below that of this function.
    #[inline(never)]
    fn stack_of<T>(call: &mut impl FnMut() -> T) -> (T, u32) {
        const PAINTED: usize = 128 * 1024;
        let top = cortex_m::register::msp::read() as usize;
        for address in (top - PAINTED..top).step_by(4) {
            // SAFETY: nothing lives in the stack below this frame, and the board has 4 MiB for it.
            unsafe {
                core::ptr::with_exposed_provenance_mut::<u32>(address)
                    .write_volatile(chip::stack::PAINT)
            };
        }
        let result = call();
        (result, chip::stack::used(Some(top)))
    }

    fn features<const D: usize>(rng: &mut Rng) -> [f32; D] {
        core::array::from_fn(|_| rng.uniform_in(-1.0, 1.0))
    }

    /// Returns a context of 1,000 transitions, and what another one costs: no block is being closed, a sliding
    /// window is full.
    fn observe<const D: usize, M: Mask<f32>, W: Memory<f32>>(
        counter: &mut Counter,
        mask: M,
        memory: W,
    ) -> Result<(Context<D, M, W>, Cost), Error> {
        let mut rng = Rng::new(1);
        let mut context = Context::<D, M, W>::with_memory(mask, memory);
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

    /// Returns a dense layer: Theorem 1's, and small numbers everywhere.
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
        let (context, growing) = observe::<D, _, _>(counter, Td0, Growing)?;
        let (_, forgetting) = observe::<D, _, _>(counter, Td0, Forgetting::new(0.99)?)?;
        let (_, sliding) = observe::<D, _, _>(counter, Td0, Sliding::<64>)?;
        let mut values = [Cost::default(); 3];
        for (value, depth) in values.iter_mut().zip([1, 3, 15]) {
            let layers = Transformer::autoregressive(dense::<D, K>(), depth)?;
            let model = Model::<f32, D, K, 1>::new(layers, Linear(Td0), GAMMA)?;
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

    #[inline(never)]
    fn universal_value_function<const D: usize>(
        model: &UniversalModel,
        context: &Context<D, Td0Trace>,
    ) -> Result<ClippedValueFunction<f32, D>, Error> {
        model.value_function(context)
    }

    /// Prints the costs of the universal model and of dense layers.
    #[inline(never)]
    fn universal<const D: usize, const K: usize>(counter: &mut Counter) -> Result<(), Error> {
        let model = UniversalModel::<f32>::new(GAMMA)?;
        let (context, observed) = observe::<D, _, _>(counter, *model.mask(), Growing)?;
        let phi = features::<D>(&mut Rng::new(3));
        let (value, read) =
            cost(counter, || universal_value_function(black_box(&model), black_box(&context)));
        let value = value?;
        let (_, query) = cost(counter, || black_box(black_box(&value).at(black_box(&phi))));

        let (dense_context, dense_observed) = observe::<D, _, _>(counter, Td0, Growing)?;
        let layers = Transformer::autoregressive(dense::<D, K>(), 3)?;
        let dense = Model::<f32, D, K, 1>::new(layers, Linear(Td0), GAMMA)?;
        let (value, dense_read) =
            cost(counter, || value_function(black_box(&dense), black_box(&dense_context)));
        let value = value?;
        let (_, dense_query) = cost(counter, || black_box(black_box(&value).at(black_box(&phi))));

        defmt::info!(
            "universal | {=usize} | {=str} | {=u32}, {=u32}, {=u32} | {=u32}, {}, {=u32} | {=usize} | {=u32}, {=u32} |",
            D,
            OPT_LEVEL,
            observed.instructions,
            read.instructions,
            query.instructions,
            dense_observed.instructions,
            Count(dense_read.instructions),
            dense_query.instructions,
            size_of::<Context<D, Td0Trace>>(),
            observed.stack,
            read.stack
        );
        Ok(())
    }

    /// Measures an algorithm that learns with each transition: a transition, and its weights.
    fn learned<const D: usize, A: OnlineAlgorithm<f32>>(
        counter: &mut Counter,
        algorithm: A,
    ) -> Result<[Cost; 2], Error> {
        let mut rng = Rng::new(1);
        let mut learner = Learner::<D, A>::new(algorithm);
        let mut observed = Cost::default();
        for _ in 0..100 {
            let (phi, phi_next) = (features::<D>(&mut rng), features::<D>(&mut rng));
            let (result, cost) = cost(counter, || {
                black_box(&mut learner).observe(
                    black_box(&phi),
                    black_box(0.5),
                    black_box(&phi_next),
                )
            });
            result?;
            observed = cost;
        }
        let (weights, read) = cost(counter, || black_box(black_box(&learner).value_function()));
        weights?;
        Ok([observed, read])
    }

    /// Measures the classical algorithms, each in the place of a model.
    #[inline(never)]
    fn classical<const D: usize>(counter: &mut Counter) -> Result<(), Error> {
        let show = |name: &str, bytes: usize, [observe, read]: [Cost; 2]| {
            defmt::info!(
                "classical | {=usize} | {=str} | {=str} | {=u32} | {=u32} | {=usize} | {=u32}, {=u32} |",
                D,
                OPT_LEVEL,
                name,
                observe.instructions,
                read.instructions,
                bytes,
                observe.stack,
                read.stack
            );
        };
        let td = OnlineTd::new(OnlineTdSettings::new(GAMMA).lambda(0.9).step_size(0.01))?;
        let costs = learned::<D, _>(counter, td)?;
        show("online TD", size_of::<Learner<D, OnlineTd>>(), costs);
        let td = OnlineTd::true_online(OnlineTdSettings::new(GAMMA).lambda(0.9).step_size(0.01))?;
        let costs = learned::<D, _>(counter, td)?;
        show("true online TD", size_of::<Learner<D, OnlineTd>>(), costs);
        let lstd = RecursiveLstd::new(
            RecursiveLstdSettings::new(GAMMA).lambda(0.9).retention(0.99).ridge(0.1),
        )?;
        let costs = learned::<D, _>(counter, lstd)?;
        show("recursive LSTD", size_of::<Learner<D, RecursiveLstd>>(), costs);
        let td = BatchTd::new(
            BatchTdSettings::new(GAMMA).lambda(0.9).step_size(0.1).iterations(ITERATIONS),
        )?;
        let (context, observed) = observe::<D, _, _>(counter, *td.mask(), Growing)?;
        let (weights, read) = cost(counter, || black_box(&td).value_function(black_box(&context)));
        weights?;
        show("batch TD, 15 iterations", size_of_val(&context), [observed, read]);
        let lstd = Lstd::new(LstdSettings::new(GAMMA).lambda(0.9).ridge(0.1))?;
        let (context, observed) = observe::<D, _, _>(counter, *lstd.mask(), Growing)?;
        let (weights, read) =
            cost(counter, || black_box(&lstd).value_function(black_box(&context)));
        weights?;
        show("LSTD", size_of_val(&context), [observed, read]);
        Ok(())
    }

    fn all(counter: &mut Counter) -> Result<(), Error> {
        rows::<4, 9>(counter)?;
        rows::<6, 13>(counter)?;
        rows::<8, 17>(counter)?;
        rows::<16, 33>(counter)?;
        universal::<4, 9>(counter)?;
        universal::<8, 17>(counter)?;
        universal::<16, 33>(counter)?;
        classical::<4>(counter)?;
        classical::<8>(counter)?;
        classical::<16>(counter)
    }

    #[cortex_m_rt::entry]
    fn main() -> ! {
        if !Counter::new().is_some_and(|mut counter| all(&mut counter).is_ok()) {
            chip::exit(2);
        }
        chip::finish(true, true)
    }
}
