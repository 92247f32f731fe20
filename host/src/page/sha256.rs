//! SHA-256 (FIPS 180-4), by which the page's policy names its script.

/// Returns the first 32 bits of the fractional part of a number's root of this degree, 2 or 3.
fn fraction_of_root(number: u128, degree: u32) -> u32 {
    // The largest integer whose power is at most the number, shifted.
    let root = (0..36).rev().fold(0u128, |root, bit| {
        let larger = root | 1 << bit;
        if larger.pow(degree) <= number << (32 * degree) { larger } else { root }
    });
    root as u32
}

/// Returns the digest of a message.
pub fn sha256(message: &[u8]) -> [u8; 32] {
    let is_prime = |n: &u128| !(2..*n).any(|divisor| n.is_multiple_of(divisor));
    let primes: Vec<u128> = (2..).filter(is_prime).take(64).collect();
    let constants: Vec<u32> = primes.iter().map(|prime| fraction_of_root(*prime, 3)).collect();
    let mut hash: [u32; 8] = std::array::from_fn(|i| fraction_of_root(primes[i], 2));

    // A one, zeros, and the length in bits, to a whole number of blocks.
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((message.len() + 9).next_multiple_of(64) - 8, 0);
    padded.extend((8 * message.len() as u64).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut w: Vec<u32> = block
            .chunks_exact(4)
            .map(|word| word.iter().fold(0, |w, byte| w << 8 | u32::from(*byte)))
            .collect();
        for t in 16..64 {
            let [a, b] = [w[t - 15], w[t - 2]];
            let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ a >> 3;
            let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ b >> 10;
            w.push(w[t - 16].wrapping_add(s0).wrapping_add(w[t - 7]).wrapping_add(s1));
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = hash;
        for t in 0..64 {
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = e & f ^ !e & g;
            let terms = [h, s1, choice, constants[t], w[t]];
            let first = terms.into_iter().fold(0, u32::wrapping_add);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let majority = a & b ^ a & c ^ b & c;
            let second = s0.wrapping_add(majority);
            (h, g, f, e) = (g, f, e, d.wrapping_add(first));
            (d, c, b, a) = (c, b, a, first.wrapping_add(second));
        }
        for (sum, x) in hash.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(x);
        }
    }
    let mut digest = [0; 32];
    let bytes = hash.iter().flat_map(|word| word.to_be_bytes());
    digest.iter_mut().zip(bytes).for_each(|(digest, byte)| *digest = byte);
    digest
}
