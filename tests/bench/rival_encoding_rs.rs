//! Owns encoding_rs as bench_decoder's rival (rival.h), its streaming decoder to UTF-8, and as the peer of test_whatwg.
use std::ffi::CStr;
use std::os::raw::{c_char, c_int};

#[repr(C)]
pub struct Rival {
    name: *const c_char,
    decode: unsafe extern "C" fn(*const c_char, *const u8, usize, usize, *mut u8, usize) -> c_int,
}
unsafe impl Sync for Rival {}

#[no_mangle]
pub static rival: Rival = Rival { name: b"encoding_rs\0".as_ptr() as *const c_char, decode };

unsafe extern "C" fn decode(charset: *const c_char, input: *const u8, len: usize, chunk: usize, out: *mut u8, cap: usize) -> c_int {
    let encoding = match encoding_rs::Encoding::for_label(CStr::from_ptr(charset).to_bytes()) {
        Some(encoding) => encoding,
        None => return -1,
    };
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut rest = std::slice::from_raw_parts(input, len);
    let out = std::slice::from_raw_parts_mut(out, cap);
    let mut at = 0;
    while !rest.is_empty() {
        let end = chunk.min(rest.len());
        let (_, read, written, _) = decoder.decode_to_utf8(&rest[..end], &mut out[at..], end == rest.len());
        at += written;
        rest = &rest[read..];
    }
    0
}

/// For tests/unit/decode/test_whatwg.c: one whole string, the malformed sequences counted; the bytes written, or -1.
#[no_mangle]
pub unsafe extern "C" fn whatwg_decode(name: *const c_char, input: *const u8, len: usize, out: *mut u8, cap: usize, malformed: *mut u64) -> i64 {
    let encoding = match encoding_rs::Encoding::for_label(CStr::from_ptr(name).to_bytes()) {
        Some(encoding) => encoding,
        None => return -1,
    };
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut rest = if len == 0 { &[][..] } else { std::slice::from_raw_parts(input, len) };
    let out = std::slice::from_raw_parts_mut(out, cap);
    let mut at = 0;
    *malformed = 0;
    loop {
        let (result, read, written) = decoder.decode_to_utf8_without_replacement(rest, &mut out[at..], true);
        at += written;
        rest = &rest[read..];
        match result {
            encoding_rs::DecoderResult::InputEmpty => return at as i64,
            encoding_rs::DecoderResult::OutputFull => return -1,
            encoding_rs::DecoderResult::Malformed(_, _) => {
                out[at..at + 3].copy_from_slice("\u{FFFD}".as_bytes());
                at += 3;
                *malformed += 1;
            }
        }
    }
}
