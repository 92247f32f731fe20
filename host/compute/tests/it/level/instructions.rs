//! Reads from this test's own executable which instructions the compiler made of the kernels.
//!
//! A kernel loses its instructions where a part of it is not inlined: the part is compiled once more,
//! for the baseline, and called. Its arithmetic then has the encoding of SSE2, which code for AVX2
//! and AVX-512 never has. This says so on any machine, busy or not, and whether or not it has the
//! instructions.

use iced_x86::{Decoder, DecoderOptions, EncodingKind, Instruction, OpKind, Register};
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The functions of an executable, and the words in it that hold the address of a function.
struct Executable<'a> {
    /// Name and code by address.
    functions: BTreeMap<u64, (String, &'a [u8])>,
    /// The function whose address the loader writes to a place.
    pointers: HashMap<u64, u64>,
}

impl<'a> Executable<'a> {
    fn read(bytes: &'a [u8]) -> Executable<'a> {
        let file = object::File::parse(bytes).unwrap();
        let code_of = |address, size| {
            file.sections().find_map(|section| section.data_range(address, size).ok().flatten())
        };
        let functions = file
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
            .filter_map(|symbol| {
                let name = rustc_demangle::demangle(symbol.name().ok()?).to_string();
                Some((symbol.address(), (name, code_of(symbol.address(), symbol.size())?)))
            })
            .collect();
        let pointers = file
            .dynamic_relocations()
            .into_iter()
            .flatten()
            .filter(|(_, relocation)| relocation.target() == RelocationTarget::Absolute)
            .map(|(place, relocation)| (place, relocation.addend() as u64))
            .collect();
        Executable { functions, pointers }
    }

    fn instructions(&self, function: u64) -> impl Iterator<Item = Instruction> {
        Decoder::with_ip(64, self.functions[&function].1, function, DecoderOptions::NONE)
            .into_iter()
    }

    /// The functions that an instruction calls, jumps to, or loads the address of.
    fn named_by(&self, instruction: &Instruction) -> Option<u64> {
        let target = match instruction.op0_kind() {
            OpKind::NearBranch64 => instruction.near_branch_target(),
            _ if instruction.is_ip_rel_memory_operand() => {
                let place = instruction.ip_rel_memory_address();
                *self.pointers.get(&place).unwrap_or(&place)
            }
            _ => return None,
        };
        self.functions.contains_key(&target).then_some(target)
    }

    /// A function and all that run in a call of it, but not what tells of a panic.
    fn reached_from(&self, function: u64) -> BTreeSet<u64> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![function]);
        while let Some(function) = open.pop() {
            if reached.insert(function) {
                let called = self.instructions(function).filter_map(|i| self.named_by(&i));
                open.extend(called.filter(|called| !ends_the_run(&self.functions[called].0)));
            }
        }
        reached
    }
}

fn ends_the_run(name: &str) -> bool {
    ["core::panicking", "_failed", "slice_index_fail"].iter().any(|part| name.contains(part))
}

/// The name of a floating-point operation without its encoding: `mulps`, `fmadd213ps`.
fn arithmetic(instruction: &Instruction) -> Option<String> {
    let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
    let name = name.strip_prefix('v').unwrap_or(&name);
    let from_numbers = ["ps", "ss", "pd", "sd"].iter().any(|kind| name.ends_with(kind));
    let operation = ["add", "sub", "mul", "div", "sqrt", "fmadd", "fmsub", "fnmadd", "fnmsub"];
    (from_numbers && operation.iter().any(|o| name.starts_with(o))).then(|| name.to_string())
}

/// Checks every kernel compiled for a set: each operation has its encoding, none is fused, and of the operations on
/// vectors most use a whole register.
fn check(executable: &Executable, set: &str, is_whole: fn(Register) -> bool) {
    let of_set = format!("level::{set} as ");
    let is_kernel = |name: &str| name.contains(&of_set) && name.contains("::run::compiled");
    let kernels =
        executable.functions.iter().filter(|(_, (name, _))| is_kernel(name)).map(|(&at, _)| at);
    let kernels: Vec<u64> = kernels.collect();
    assert!(!kernels.is_empty(), "no kernel for {set}");
    let (mut vectors, mut whole) = (0, 0);
    for kernel in kernels {
        for function in executable.reached_from(kernel) {
            let name = &executable.functions[&function].0;
            for instruction in executable.instructions(function) {
                let Some(operation) = arithmetic(&instruction) else { continue };
                let encoding = instruction.code().encoding();
                assert!(encoding != EncodingKind::Legacy, "{set}: {name} has SSE2's {operation}");
                assert!(!operation.starts_with('f'), "{set}: {name} fuses: {operation}");
                if operation.ends_with("ps") {
                    vectors += 1;
                    whole += usize::from(is_whole(instruction.op0_register()));
                }
            }
        }
    }
    println!("{set}: {whole} of {vectors} vector operations use the whole register");
    assert!(whole * 10 > vectors * 9, "{set}: {whole} of {vectors}");
}

#[test]
fn kernels_keep_their_instructions() {
    let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let executable = Executable::read(&bytes);
    check(&executable, "OneSeed", |_| true);
    check(&executable, "Avx2", Register::is_ymm);
    check(&executable, "Avx512", Register::is_zmm);
}
