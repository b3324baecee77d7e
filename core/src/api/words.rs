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

pub(super) use word;
