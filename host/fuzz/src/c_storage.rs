//! What the C library stores.

use ictd_c::*;

/// The C library: bytes that were stored, or not, go into a predictor or a context, which is used then; a storage whose kind was
/// overwritten is refused and stays. Nothing is written beyond the storage.
pub fn c_storage(bytes: &[u8]) {
    const WORDS: usize = 5000;
    const GUARD: u64 = 0x6775_6172_6420_2121;
    let Some(([kind, count, at, value], stored)) = bytes.split_first_chunk() else { return };
    let mut storage = vec![GUARD; WORDS + 8];
    let to = storage.as_mut_ptr();
    let is_predictor = kind % 2 == 0;
    let count = usize::from(count % 16) + 1;
    let (phi, mut written) = ([0.5_f32; 16], 0);
    let mut buffer = vec![0_u8; 8 * WORDS];
    // SAFETY: the storage has so many words, and what the other pointers name is there.
    let call = |to: *mut u64, buffer: &mut [u8], written: &mut usize| unsafe {
        let len = buffer.len();
        if is_predictor {
            let mut outlook = std::mem::zeroed();
            vec![
                ictd_predictor_observe(to.cast(), 0.25, &mut outlook),
                ictd_predictor_observe_missing(to.cast(), &mut outlook),
                ictd_predictor_to_bytes(to.cast(), buffer.as_mut_ptr(), len, written),
            ]
        } else {
            let mut found = std::mem::zeroed();
            vec![
                ictd_context_observe(to.cast(), phi.as_ptr(), 1.0, phi.as_ptr()),
                ictd_context_value_function(to.cast(), &mut found),
                ictd_context_to_bytes(to.cast(), buffer.as_mut_ptr(), len, written),
            ]
        }
    };
    // SAFETY: as above.
    let made = unsafe {
        if is_predictor {
            ictd_predictor_init(
                to.cast(),
                8 * WORDS,
                [5.0, 20.0, 40.0, 80.0].as_ptr(),
                1 + count % 4,
            )
        } else {
            let retention = if kind % 4 == 1 { 1.0 } else { 0.99 };
            ictd_context_init(to.cast(), 8 * WORDS, count, 0.9, retention)
        }
    };
    assert_eq!(made, ictd_status::Ok);
    // SAFETY: as above.
    let read = unsafe {
        if is_predictor {
            ictd_predictor_from_bytes(to.cast(), stored.as_ptr(), stored.len())
        } else {
            ictd_context_from_bytes(to.cast(), stored.as_ptr(), stored.len())
        }
    };
    let used = call(to, &mut buffer, &mut written);
    assert!(used[0] == ictd_status::Ok || read == ictd_status::Ok);
    // One byte of the kind, or of its complement, is another.
    storage[0] ^= u64::from(value | 1) << (8 * (at % 8));
    let before = storage.clone();
    let refused = call(storage.as_mut_ptr(), &mut buffer, &mut written);
    assert!(refused.iter().all(|status| *status == ictd_status::BadHandle), "{refused:?}");
    assert!(storage == before && storage[WORDS..].iter().all(|word| *word == GUARD));
}
