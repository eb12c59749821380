//! `scope!`, `begin!`, `mark!` and `set!`.

/// Opens a scope that closes at the end of the enclosing block.
///
/// The name comes first, then `index`, then attributes. A name or text that is a literal is
/// interned once for the place it stands at and costs a word after that; a name may also be any
/// expression that is text. Keys are words or string literals. Two have a meaning: `tag` is shown
/// next to the name, and a scope with `error` counts as failed.
///
/// **Arguments are evaluated only while the recorder is on**, so a costly one is free when it is
/// off; do not let the program depend on their side effects.
///
/// ```
/// for step in 0..3_usize {
///     let _s = hodo::scope!("forward", index = step, variant = "beam", lr = 0.1);
///     {
///         let _s = hodo::scope!("attention");
///     }
///     let mut save = hodo::scope!("save", "disk.free" = 17_u64 << 30, tag = format!("step_{step}"));
///     save.set("bytes", 4096);
/// }
/// ```
///
/// Bind it to a name: `let _ = scope!("x")` closes at once. An `index` in another place is refused:
///
/// ```compile_fail
/// let _s = hodo::scope!("forward", variant = "beam", index = 3);
/// ```
#[macro_export]
macro_rules! scope {
    ($name:expr $(,)?) => {
        $crate::__open!(open, Scope, $name, [],)
    };
    ($name:expr, index = $index:expr $(, $key:tt = $value:expr)* $(,)?) => {
        $crate::__open!(open, Scope, $name, [$index], $($key = $value),*)
    };
    ($name:expr, $($key:tt = $value:expr),+ $(,)?) => {
        $crate::__open!(open, Scope, $name, [], $($key = $value),+)
    };
}

/// Begins a scope that ends when its [`Handle`](crate::Handle) is ended or dropped, on any thread.
///
/// Takes what [`scope!`] takes. The scope's parent is the scope current here; it does not become
/// current itself (see [`Handle::attach`](crate::Handle::attach)).
///
/// ```
/// let copy = hodo::begin!("copy", index = 3, bytes = 1 << 20);
/// let worker = std::thread::spawn(move || copy.end());
/// # worker.join().unwrap();
/// ```
#[macro_export]
macro_rules! begin {
    ($name:expr $(,)?) => {
        $crate::__open!(begin_with, Handle, $name, [],)
    };
    ($name:expr, index = $index:expr $(, $key:tt = $value:expr)* $(,)?) => {
        $crate::__open!(begin_with, Handle, $name, [$index], $($key = $value),*)
    };
    ($name:expr, $($key:tt = $value:expr),+ $(,)?) => {
        $crate::__open!(begin_with, Handle, $name, [], $($key = $value),+)
    };
}

/// Sets attributes of a [`Scope`](crate::Scope) or [`Handle`](crate::Handle) while it is open, with
/// keys and literal text interned once; the values are evaluated only if it is recorded.
///
/// ```
/// let s = hodo::scope!("load");
/// let rows = 32;
/// hodo::set!(s, rows = rows, source = "cache");
/// ```
#[macro_export]
macro_rules! set {
    ($scope:expr, $($key:tt = $value:expr),+ $(,)?) => {
        match &$scope {
            scope => $crate::__set!(scope, $($key = $value),+),
        }
    };
}

/// Attaches a named value to the innermost open scope: a point of a series, or with `summary` the
/// one value that stands for the scope.
///
/// The value is evaluated only while the recorder is on. NaN and infinities are kept.
///
/// ```
/// let _s = hodo::scope!("epoch", index = 0);
/// for loss in [0.9, 0.5, 0.3] {
///     hodo::mark!("loss", loss);
/// }
/// hodo::mark!("accuracy", 0.93, summary);
/// hodo::mark!("phase", "warm");
/// ```
#[macro_export]
macro_rules! mark {
    ($name:expr, $value:expr $(,)?) => {
        $crate::__mark!($name, $value, false)
    };
    ($name:expr, $value:expr, summary $(,)?) => {
        $crate::__mark!($name, $value, true)
    };
}

// With a literal name and no index nothing of the user's is evaluated before the scope is open, and
// opening asks by itself whether the recorder is on.
#[doc(hidden)]
#[macro_export]
macro_rules! __open {
    (open, $ty:ident, $name:literal, [], $($key:tt = $value:expr),*) => {{
        let scope = $crate::__private::open_at($crate::__site!($name), ::core::option::Option::None);
        $crate::__set!(scope, $($key = $value),*);
        scope
    }};
    (open, $ty:ident, $name:literal, [$index:expr], $($key:tt = $value:expr),*) => {
        if $crate::__private::is_on() {
            let index = $crate::__private::to_index($index);
            let scope = $crate::__private::open_at($crate::__site!($name), index);
            $crate::__set!(scope, $($key = $value),*);
            scope
        } else {
            $crate::$ty::inert()
        }
    };
    ($open:ident, $ty:ident, $name:expr, [$($index:expr)?], $($key:tt = $value:expr),*) => {
        if $crate::__private::is_on() {
            let scope = $crate::__private::$open($crate::__name!($name), $crate::__index!($($index)?));
            $crate::__set!(scope, $($key = $value),*);
            scope
        } else {
            $crate::$ty::inert()
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __mark {
    ($name:expr, $value:expr, $summary:literal) => {
        if $crate::__private::is_on() {
            $crate::__private::mark_with(
                $crate::__name!($name),
                $crate::__value!($value),
                $summary,
            );
        }
    };
}

// A block of its own: a static is no local variable, so it would hide one of the user's that has the
// same name from the expressions around it.
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($text:expr) => {{
        static SITE: $crate::__private::Site = $crate::__private::Site::new($text);
        &SITE
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __name {
    ($name:literal) => {
        $crate::__site!($name).id()
    };
    ($name:expr) => {
        $crate::__private::name_id(&$name)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __key {
    (index) => {
        compile_error!("`index` stands right after the name: scope!(\"name\", index = i, ...)")
    };
    ($key:ident) => {
        $crate::__site!(stringify!($key)).id()
    };
    ($key:literal) => {
        $crate::__site!($key).id()
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __index {
    () => {
        ::core::option::Option::None
    };
    ($index:expr) => {
        $crate::__private::to_index($index)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __value {
    ($value:literal) => {
        $crate::__private::LiteralValue::literal_value($value, $crate::__site!(concat!($value)))
    };
    ($value:expr) => {
        $crate::ToValue::to_value(&$value)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __set {
    ($scope:expr,) => {};
    ($scope:expr, $($key:tt = $value:expr),+) => {
        if $scope.is_recorded() {
            $scope.set_all([$(($crate::__key!($key), $crate::__value!($value))),+]);
        }
    };
}
