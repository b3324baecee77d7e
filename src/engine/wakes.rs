//! Coalesces wakes of one object. The time counts from the first wake; a debounce would count from
//! the last.

use std::collections::HashMap;
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use kube::Resource;
use kube::runtime::reflector::ObjectRef;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;

use crate::store::Wake;

struct Wakes<K: Resource<DynamicType = ()> + 'static> {
    woken: UnboundedReceiver<Wake<K>>,
    /// The least time for which wakes are collected.
    least: Duration,
    due: DelayQueue<ObjectRef<K>>,
    waiting: HashMap<ObjectRef<K>, (Key, Instant)>,
}

/// The woken objects, each once for all wakes within the time that they allow, which is at least
/// `least`.
pub fn together<K>(
    woken: UnboundedReceiver<Wake<K>>,
    least: Duration,
) -> impl Stream<Item = ObjectRef<K>>
where
    K: Resource<DynamicType = ()> + 'static,
{
    let wakes = Wakes {
        woken,
        least,
        due: DelayQueue::new(),
        waiting: HashMap::new(),
    };
    stream::unfold(wakes, |mut wakes| async move {
        let object = wakes.next().await?;
        Some((object, wakes))
    })
}

impl<K: Resource<DynamicType = ()> + 'static> Wakes<K> {
    /// The next object that is due; `None` after the last waker is dropped.
    async fn next(&mut self) -> Option<ObjectRef<K>> {
        loop {
            tokio::select! {
                woken = self.woken.recv() => {
                    let (object, time) = woken?;
                    let time = time.map_or(Duration::ZERO, |time| time.max(self.least));
                    if time.is_zero() {
                        self.forget(&object);
                        return Some(object);
                    }
                    self.put(object, Instant::now() + time);
                }
                Some(due) = self.due.next(), if !self.due.is_empty() => {
                    let object = due.into_inner();
                    self.waiting.remove(&object);
                    return Some(object);
                }
            }
        }
    }

    /// Schedules an object; the earlier time counts.
    fn put(&mut self, object: ObjectRef<K>, at: Instant) {
        match self.waiting.get_mut(&object) {
            Some((_, known)) if *known <= at => {}
            Some((key, known)) => {
                self.due.reset_at(key, at);
                *known = at;
            }
            None => {
                let key = self.due.insert_at(object.clone(), at);
                self.waiting.insert(object, (key, at));
            }
        }
    }

    fn forget(&mut self, object: &ObjectRef<K>) {
        if let Some((key, _)) = self.waiting.remove(object) {
            self.due.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::Waker;
    use tatara_core::api::Machine;

    #[tokio::test(start_paused = true)]
    async fn wakes_of_one_object_come_together_at_the_time_of_the_first() {
        let (waker, woken) = Waker::<Machine>::channel();
        let stream = together(woken, Duration::from_millis(50));
        let mut stream = std::pin::pin!(stream);
        let begin = Instant::now();
        let sending = async {
            for _ in 0..20 {
                waker.wake("n", "a");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            waker.wake_within("n", "b", Duration::from_secs(9));
            waker.wake_within("n", "b", Duration::from_secs(1));
        };
        let receiving = async {
            let mut seen = Vec::new();
            for _ in 0..5 {
                let object = stream.next().await.expect("an object");
                let at = usize::try_from(begin.elapsed().as_millis() / 10);
                seen.push((object.name, at.expect("a moment")));
            }
            seen
        };
        let ((), seen) = tokio::join!(sending, receiving);
        let names: Vec<_> = seen.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "a", "a", "a", "b"], "{seen:?}");
        // a timer may be a millisecond late, and then so are those after it
        for (n, (_, at)) in seen[..4].iter().enumerate() {
            assert!((5 * (n + 1)..=6 * (n + 1)).contains(at), "{seen:?}");
        }
        assert_eq!(seen[4].1, 120, "{seen:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn another_spec_is_looked_at_now_and_other_news_with_more_of_it() {
        let (waker, woken) = Waker::<Machine>::channel();
        let stream = together(woken, Duration::from_millis(50));
        let mut stream = std::pin::pin!(stream);
        let begin = Instant::now();
        let of = |generation| {
            let machine = json!({ "metadata": { "name": "a", "namespace": "n", "generation": generation },
                "spec": { "providerSpec": {} } });
            serde_json::from_value::<Machine>(machine).expect("a Machine")
        };
        let table = [(None, 1, 0), (Some(1), 2, 0), (Some(2), 2, 50)];
        for (before, now, milliseconds) in table {
            waker.wake_edited(&of(now), before.map(of).as_ref());
            assert_eq!(stream.next().await.expect("an object").name, "a");
            let waited = begin.elapsed().as_millis();
            assert!(
                (milliseconds..milliseconds + 2).contains(&waited),
                "{waited} ms"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_to_come_now_comes_now_and_once() {
        let (waker, woken) = Waker::<Machine>::channel();
        let stream = together(woken, Duration::ZERO);
        let mut stream = std::pin::pin!(stream);
        let begin = Instant::now();
        waker.wake_within("n", "a", Duration::from_secs(1));
        waker.wake("n", "a");
        assert_eq!(stream.next().await.expect("an object").name, "a");
        assert_eq!(begin.elapsed(), Duration::ZERO);
        let later = tokio::time::timeout(Duration::from_secs(5), stream.next());
        assert!(later.await.is_err(), "the later wake was the same");
    }
}
