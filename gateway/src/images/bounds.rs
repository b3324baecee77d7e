//! How large images may be.

use crate::api::types::{ImageCode, ImageError};

/// How large images may be.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes that an image may have.
    pub most: u64,
    /// Bytes of a pool's file system that stay free, for the disks of running machines.
    pub reserve: u64,
}

impl Bounds {
    /// Refuses what is larger than images may be.
    pub(super) fn admit(self, bytes: u64) -> Result<(), ImageError> {
        if bytes <= self.most {
            return Ok(());
        }
        let detail = format!(
            "it is larger than {} bytes; correct the url, or start the gateway with a larger --image-limit",
            self.most
        );
        Err(ImageError::new(ImageCode::ImageTooLarge, detail))
    }

    /// Refuses what leaves less free than running machines need. On a small file system that is a twentieth of it.
    pub(super) fn fits(self, free: u64, size: u64, bytes: u64) -> Result<(), ImageError> {
        let reserve = self.reserve.min(size / 20);
        if free >= bytes.saturating_add(reserve) {
            return Ok(());
        }
        let detail = format!(
            "the pool's file system is full: {free} bytes are free, and {reserve} of them stay for running machines \
             (--pool-reserve); free some room, and it is fetched again"
        );
        Err(ImageError::new(ImageCode::DiskFull, detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_running_machines_need_stays_free() {
        let bounds = Bounds {
            most: u64::MAX,
            reserve: 1 << 30,
        };
        let (small, large) = (64 << 20, 1 << 40);
        let twentieth = small / 20;
        assert!(bounds.fits(twentieth + 5, small, 5).is_ok());
        let refused = bounds
            .fits(twentieth + 4, small, 5)
            .expect_err("too little");
        assert_eq!(refused.code, "DiskFull");
        assert!(bounds.fits((1 << 30) + 5, large, 5).is_ok());
        assert!(bounds.fits((1 << 30) + 4, large, 5).is_err());
        assert!(bounds.fits(large, large, u64::MAX).is_err());
    }
}
