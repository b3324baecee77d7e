//! What enums have in common whose variants stand in the API by their names.

/// Display, and the comparison with what is stored; with a text only for assertions.
macro_rules! word {
    ($name:ident) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl PartialEq<$name> for String {
            fn eq(&self, word: &$name) -> bool {
                self == word.as_str()
            }
        }

        #[cfg(test)]
        impl PartialEq<&str> for $name {
            fn eq(&self, text: &&str) -> bool {
                self.as_str() == *text
            }
        }
    };
}

/// An enum whose variants stand in the API by their names.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($word:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        #[allow(missing_docs)]
        pub enum $name {
            $($word,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$word,)*];

            /// As it is written in the API.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => stringify!($word),)*
                }
            }
        }

        super::words::word!($name);
    };
}

pub(super) use {word, words};
