//! How is the same work done on many things at start? On all processors, if there are enough things; the results stand in
//! the order of the things. Must not know what the work is.

use std::num::NonZero;
use std::thread::ScopedJoinHandle;

/// Fewer things than this are not worth a thread.
const WORTH: usize = 256;
/// Threads at most: what is read comes from one disk.
const THREADS: usize = 8;

/// Does the work on each thing. A panic of it is passed on.
pub(crate) fn over<T: Sync, R: Send>(things: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
    if threads < 2 || things.len() < WORTH {
        return things.iter().map(work).collect();
    }
    let work = &work;
    std::thread::scope(|scope| {
        let parts = things.chunks(things.len().div_ceil(threads));
        let running: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<R>>())).collect();
        running.into_iter().flat_map(joined).collect()
    })
}

/// What another thread did. A panic of it is passed on.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_stand_in_the_order_of_the_things() {
        for count in [0, 1, 255, 256, 1000, 1001] {
            let things: Vec<usize> = (0..count).collect();
            assert_eq!(super::over(&things, |thing| thing * 2), things.iter().map(|it| it * 2).collect::<Vec<_>>());
        }
    }
}
