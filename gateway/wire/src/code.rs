//! Words for programs. They are added to, and never change their meaning: a client may not know all of them.

/// An enum whose variants stand on the wire by their names.
macro_rules! codes {
    ($(#[$doc:meta])* $of:ident { $($(#[$about:meta])* $word:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $of {
            $($(#[$about])* $word,)*
        }

        impl $of {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$word,)*];

            /// As it stands on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => stringify!($word),)*
                }
            }

            /// The one of this name; none where a gateway of another release says it.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == text)
            }
        }
    };
}

codes! {
    /// Why a request was refused: `code` of a problem.
    Code {
        /// The body is no JSON.
        BadRequest,
        /// A field makes no sense here.
        BadSpec,
        /// The body is too large.
        BodyTooLarge,
        /// The end of a console could not be read.
        ConsoleFailed,
        /// The image is there, in another format.
        ImageDiffers,
        /// Disks are copies of the image that is to go.
        ImageInUse,
        /// The image is not there, or not whole yet.
        ImageNotReady,
        /// There is no such image.
        ImageUnknown,
        /// The hypervisor has not enough left.
        InsufficientCapacity,
        /// libvirt did not do what was asked.
        LibvirtFailed,
        /// libvirt does not answer.
        LibvirtUnavailable,
        /// Something is done with the machine: come again.
        MachineBusy,
        /// The machine is off.
        MachineOff,
        /// There is no such machine.
        MachineUnknown,
        /// Something else has that name.
        NameTaken,
        /// The path has other methods.
        NoSuchMethod,
        /// There is nothing at the path.
        NoSuchPath,
        /// This driver of libvirt cannot do that.
        NotSupportedByDriver,
        /// The machine is not in the state for it.
        OperationInvalid,
        /// The storage pool has not enough left.
        PoolFull,
        /// The storage pool is not active, or is not there.
        PoolInactive,
        /// The guest holds its seed still.
        SeedBusy,
        /// The seed could not be made.
        SeedFailed,
        /// The machine was made with another spec.
        SpecDiffers,
        /// The token has run out.
        TokenExpired,
        /// No certificate, and no token that is known.
        Unauthenticated,
        /// A field is none of this gateway's API: its release is older than the client's.
        UnknownField,
        /// The body is said to be something else than JSON.
        UnsupportedMediaType,
    }
}

codes! {
    /// Why an image could not be had: `code` of its error.
    ImageCode {
        /// Its SHA-256 is another.
        ChecksumMismatch,
        /// The pool's file system is full.
        DiskFull,
        /// Its server did not give it.
        FetchFailed,
        /// It is no image that may be used.
        ImageRefused,
        /// It is larger than images may be here.
        ImageTooLarge,
        /// The pool did not take it.
        PoolFailed,
    }
}
