//! Size limits of images.

use crate::api::types::{ImageCode, ImageError};

/// Size limits of images.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum size of an image, in bytes.
    pub most: u64,
    /// Bytes of a pool's file system that remain free for the disks of running machines.
    pub reserve: u64,
}

impl Bounds {
    /// Checks a size against the limit.
    ///
    /// # Errors
    /// `ImageTooLarge` when `bytes` exceeds the limit.
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

    /// Checks that the reserve remains free after `bytes` more. The reserve is at most 5 % of the
    /// file system's size.
    ///
    /// # Errors
    /// `DiskFull` when less than `bytes` and the reserve is free.
    pub(super) fn fits(self, free: u64, size: u64, bytes: u64) -> Result<(), ImageError> {
        let reserve = self.reserve.min(size / 20);
        if free >= bytes.saturating_add(reserve) {
            return Ok(());
        }
        let detail = format!(
            "the pool's file system is full: {free} bytes are free, and {reserve} of them stay for running machines \
             (--pool-reserve); free space there: the download is then retried"
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
