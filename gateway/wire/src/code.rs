//! Machine-readable codes. New ones are added and none changes its meaning: a client may not know
//! all of them.

/// An enum whose variants are serialized as their names.
macro_rules! codes {
    ($(#[$doc:meta])* $of:ident { $($(#[$about:meta])* $word:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $of {
            $($(#[$about])* $word,)*
        }

        impl $of {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$word,)*];

            /// The serialized name.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => stringify!($word),)*
                }
            }

            /// The code with this name; `None` for a code of another release.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == text)
            }
        }
    };
}

codes! {
    /// Why a request failed: `code` of a problem.
    Code {
        /// The body is not JSON.
        BadRequest,
        /// A field is invalid.
        BadSpec,
        /// The body is too large.
        BodyTooLarge,
        /// The console log could not be created or read.
        ConsoleFailed,
        /// The image exists in another format.
        ImageDiffers,
        /// The image to delete is the backing file of a disk.
        ImageInUse,
        /// The image is missing, or its download is not complete.
        ImageNotReady,
        /// The image does not exist.
        ImageUnknown,
        /// The hypervisor lacks free CPUs or memory.
        InsufficientCapacity,
        /// libvirt failed to execute the request.
        LibvirtFailed,
        /// libvirt does not answer.
        LibvirtUnavailable,
        /// Another change of the machine is in progress; retry later.
        MachineBusy,
        /// The machine is off.
        MachineOff,
        /// The machine does not exist.
        MachineUnknown,
        /// Another domain has the name or the UUID.
        NameTaken,
        /// The path does not support the method.
        NoSuchMethod,
        /// The path does not exist.
        NoSuchPath,
        /// libvirt's driver does not support the operation.
        NotSupportedByDriver,
        /// The state of the machine does not allow the operation.
        OperationInvalid,
        /// The storage pool lacks free space.
        PoolFull,
        /// The storage pool is not active.
        PoolInactive,
        /// The guest has not released the seed.
        SeedBusy,
        /// The seed could not be created.
        SeedFailed,
        /// The machine exists with another spec.
        SpecDiffers,
        /// The token has expired.
        TokenExpired,
        /// The request has neither a client certificate nor a known token.
        Unauthenticated,
        /// The gateway does not know a field: its release is older than the client's.
        UnknownField,
        /// The content type is not JSON.
        UnsupportedMediaType,
    }
}

codes! {
    /// Why an image failed: `code` of its error.
    ImageCode {
        /// The SHA-256 of the file differs.
        ChecksumMismatch,
        /// The pool's file system is full.
        DiskFull,
        /// The download failed.
        FetchFailed,
        /// The file is not a usable image.
        ImageRefused,
        /// The image exceeds the gateway's size limit.
        ImageTooLarge,
        /// The file could not be stored in the pool.
        PoolFailed,
    }
}
