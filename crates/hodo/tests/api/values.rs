use crate::support::tree_of;
use std::borrow::Cow;

#[test]
fn every_sort_of_value() {
    let tree = tree_of(|| {
        hodo::scope!("whole", a = i8::MIN, b = u16::MAX, c = i64::MIN, d = -1, e = 7_usize).close();
        hodo::scope!("large", max = i64::MAX as u64, above = u64::MAX).close();
        hodo::scope!("float", half = 0.5_f32, nan = f64::NAN, inf = -f64::INFINITY).close();
        hodo::scope!("bool", yes = true, no = 1 > 2).close();
        hodo::scope!("text", a = "literal", b = String::from("owned"), c = Cow::from("cow"))
            .close();
        hodo::scope!("char", c = 'x').close();
        hodo::scope!("json", j = hodo::Json(r#"{"a":1}"#)).close();
    });
    assert_eq!(
        tree,
        r#"
whole {a=-128, b=65535, c=-9223372036854775808, d=-1, e=7}
large {above=18446744073709552000, max=9223372036854775807}
float {half=0.5, inf=-inf, nan=NaN}
bool {no=false, yes=true}
text {a=literal, b=owned, c=cow}
char {c=x}
json {j={"a":1}}
"#
    );
}

#[test]
fn long_text_is_cut_between_characters() {
    let tree = tree_of(|| {
        let text = "ä".repeat(10_000);
        let _s = hodo::scope!("long", text = text);
    });
    assert!(tree.len() < 9_000, "{} bytes", tree.len());
    assert!(tree.trim_end().ends_with("ä…}"), "{}", &tree[tree.len() - 20..]);
}

#[test]
fn an_index_that_fits_no_i64_is_left_out() {
    let tree = tree_of(|| {
        hodo::scope!("fits", index = u64::MAX / 2).close();
        hodo::scope!("does not", index = u64::MAX).close();
    });
    assert_eq!(tree, "\nfits[9223372036854775807]\ndoes not\n");
}
