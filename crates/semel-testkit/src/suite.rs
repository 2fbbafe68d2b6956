//! A list of tests, written once: as values, and as a macro that makes a `#[test]` of each.

/// `$area` is the module of this crate that the tests' modules, `Subject` and `Test` are found in.
macro_rules! suite {
    ($d:tt $all:ident $macro:ident in $area:ident: $($module:ident::$name:ident,)+) => {
        /// The tests as values, for runs that expect some of them to fail.
        pub fn $all() -> Vec<Test<Subject>> {
            vec![$(Test {
                name: stringify!($name),
                run: |subject| Box::pin($module::$name(subject)),
            }),+]
        }

        #[doc = concat!(
            "Makes a `#[test]` of every test: the store's name, and an expression that makes a fresh [`Subject`](crate::",
            stringify!($area),
            "::Subject) and may `await`."
        )]
        #[macro_export]
        macro_rules! $macro {
            ($d store:expr, $d fresh:expr) => {
                $(#[test]
                fn $name() {
                    $d crate::conformance::hold_to($d store, stringify!($name), async {
                        $d crate::$area::$module::$name($d fresh).await;
                    });
                })+
            };
        }
    };
}
