//! What kernels are called: as the compiler wrote it, in full, and in short.

use crate::Names;
use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Longer ones are shown as they are; none that a compiler makes is.
const MAX_MANGLED_BYTES: usize = 64 << 10;
/// Names nest in names; deeper ones are shown as they are.
const MAX_NESTING: u32 = 192;
/// Names that say nothing without what they are made for.
const GENERIC: [&str; 9] = [
    "kernel",
    "Kernel",
    "Kernel2",
    "device_kernel",
    "kernel_impl",
    "_kernel_agent",
    "operator()",
    "enable_sm90_or_later",
    "enable_sm80_to_sm89",
];
/// Generic names that are followed.
const MAX_FOLLOWED: usize = 4;

/// A kernel's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelName {
    /// As the compiler wrote it.
    pub raw: Box<str>,
    /// In full, with parameters and template arguments.
    pub full: Box<str>,
    /// In short, without namespaces, parameters and template arguments.
    pub short: Box<str>,
}

impl KernelName {
    pub(crate) fn new(raw: &str) -> KernelName {
        let full = demangled(raw).unwrap_or_else(|| raw.to_owned());
        let short = shortened(&full);
        KernelName { raw: raw.into(), full: full.into(), short: short.into() }
    }
}

/// The names of a process's kernels, each made once.
#[derive(Debug, Default)]
pub(crate) struct KernelNames(HashMap<u32, KernelName>);

impl KernelNames {
    pub(crate) fn new(ids: impl Iterator<Item = u32>, names: &Names) -> KernelNames {
        let mut of = HashMap::new();
        for id in ids {
            of.entry(id).or_insert_with(|| KernelName::new(&names.text(id)));
        }
        KernelNames(of)
    }

    /// The name of an id that was given to [`KernelNames::new`].
    pub(crate) fn get(&self, id: u32) -> &KernelName {
        static LOST: OnceLock<KernelName> = OnceLock::new();
        self.0.get(&id).unwrap_or_else(|| LOST.get_or_init(|| KernelName::new("(lost name)")))
    }
}

/// A name in full; none when it is not mangled as C++ compilers do.
fn demangled(raw: &str) -> Option<String> {
    if !raw.starts_with("_Z") || raw.len() > MAX_MANGLED_BYTES {
        return None;
    }
    let parse = ParseOptions::default().recursion_limit(MAX_NESTING);
    let symbol = Symbol::new_with_options(raw, &parse).ok()?;
    let show = DemangleOptions::new().recursion_limit(MAX_NESTING);
    symbol.demangle_with_options(&show).ok()
}

/// A name without what a person does not look for first: return type, namespaces, template
/// arguments, parameters. A name that is generic keeps the short form of its first argument.
fn shortened(full: &str) -> String {
    let mut text = full;
    let mut short = String::new();
    let mut followed = 0;
    loop {
        let parts = Parts::of(text);
        if parts.name.is_empty() {
            break;
        }
        short.push_str(parts.name);
        match parts.first_argument {
            Some(argument) if GENERIC.contains(&parts.name) && followed < MAX_FOLLOWED => {
                followed += 1;
                short.push('<');
                text = argument;
            }
            _ => break,
        }
    }
    if short.is_empty() || short.ends_with('<') {
        return full.to_owned();
    }
    short.push_str(&">".repeat(followed));
    short
}

/// A name taken apart.
struct Parts<'a> {
    /// The last of its components.
    name: &'a str,
    /// The first of that component's template arguments.
    first_argument: Option<&'a str>,
}

const ANONYMOUS: &str = "(anonymous namespace)";
/// An operator whose signs are no brackets.
const CALL: &str = "operator()";

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Parts<'a> {
        let bytes = text.as_bytes();
        let mut component = 0;
        let mut end = None;
        let mut argument = None;
        let mut at = 0;
        while at < bytes.len() {
            let rest = &text[at..];
            if at == component && rest.starts_with(CALL) {
                at += CALL.len();
                continue;
            }
            match bytes[at] {
                b':' if rest.starts_with("::") => {
                    at += 2;
                    (component, end, argument) = (at, None, None);
                    continue;
                }
                // What stands before is a return type or a qualifier.
                b' ' => (component, end, argument) = (at + 1, None, None),
                b'(' if rest.starts_with(ANONYMOUS) => {
                    at += ANONYMOUS.len();
                    continue;
                }
                b'<' => {
                    let close = at + closing(rest);
                    end = end.or(Some(at));
                    argument = argument.or(first_argument(&text[at + 1..close]));
                    at = close;
                }
                // A lambda is called by what it stands in.
                b'{' => at += closing(rest),
                b'(' | b'[' => {
                    end = end.or(Some(at));
                    break;
                }
                _ => {}
            }
            at += next_char(text, at);
        }
        let end = end.unwrap_or(at.min(text.len())).max(component);
        Parts { name: text.get(component..end).unwrap_or(""), first_argument: argument }
    }
}

/// Bytes of the character at `at`.
fn next_char(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(1, char::len_utf8)
}

/// Where the bracket closes that `text` begins with; its end when it does not. `->` closes nothing.
fn closing(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'>' | b')' | b']' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// The first of a list of template arguments; none when it is empty.
fn first_argument(list: &str) -> Option<&str> {
    let mut at = 0;
    while at < list.len() {
        match list.as_bytes()[at] {
            b',' => break,
            b'<' | b'(' | b'[' | b'{' => at += closing(&list[at..]).max(1),
            _ => at += next_char(list, at),
        }
    }
    let first = list.get(..at.min(list.len()))?.trim();
    (!first.is_empty()).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_shortened_to_what_a_person_looks_for() {
        let cases = [
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
                "vectorized_elementwise_kernel",
            ),
            (
                "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
                "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
            ),
            ("triton_poi_fused_0", "triton_poi_fused_0"),
            (
                "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(cutlass_80_wmma::Params)",
                "Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>",
            ),
            (
                "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<A<(int)1>, B> > >(C)",
                "device_kernel<enable_sm90_or_later<FlashAttnFwdSm90>>",
            ),
            (
                "void (anonymous namespace)::softmax_warp_forward<float, 10, true>(float*)",
                "softmax_warp_forward",
            ),
            (
                "at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long>(int)",
                "indexSelectLargeIndex",
            ),
            ("Functor<(a)1>::operator()(int) const", "operator()"),
            ("add", "add"),
            ("add(float*, float*)", "add"),
            ("void step<&(f(int))>(int) [clone .kernel]", "step"),
            ("", ""),
            ("void ", "void "),
            ("<<<", "<<<"),
        ];
        for (full, short) in cases {
            assert_eq!(shortened(full), short, "{full}");
        }
    }

    #[test]
    fn mangled_names_are_spelt_out() {
        let name = KernelName::new("_ZN2at6native29vectorized_elementwise_kernelILi4EfEEviT0_");
        assert_eq!(
            &*name.full,
            "void at::native::vectorized_elementwise_kernel<4, float>(int, float)"
        );
        assert_eq!(&*name.short, "vectorized_elementwise_kernel");
        for odd in ["_Z", "_ZN2at", "_Znope", "\u{e9}<\u{e9}>::\u{e9}"] {
            let name = KernelName::new(odd);
            assert_eq!(&*name.raw, odd);
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_short_form(text in "[a-z:<>(){}, \\[\\]é-]{0,40}") {
            let short = shortened(&text);
            prop_assert!(short.len() <= text.len() + MAX_FOLLOWED, "{}", short);
        }

        #[test]
        fn any_mangled_text_is_a_name(text in "_Z[A-Z0-9a-z_]{0,60}") {
            KernelName::new(&text);
        }
    }
}
