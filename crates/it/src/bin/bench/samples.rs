//! Samples of one quantity, taken in turns with others.

use std::io;
use std::time::Duration;

/// Samples in ascending order.
#[derive(Debug, Clone)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn new(mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        Self(samples)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn median(&self) -> Duration {
        self.at(50)
    }

    pub(crate) fn p90(&self) -> Duration {
        self.at(90)
    }

    pub(crate) fn p99(&self) -> Duration {
        self.at(99)
    }

    fn at(&self, percent: usize) -> Duration {
        let at = (self.0.len() * percent / 100).min(self.0.len().saturating_sub(1));
        self.0.get(at).copied().unwrap_or_default()
    }
}

/// Does something once and returns the time it took.
pub(crate) type TimedStep<'a> = &'a mut dyn FnMut() -> io::Result<Duration>;

/// Runs each of these in turn, `rounds` times after one round that does not count.
pub(crate) fn in_turns<const N: usize>(
    rounds: usize,
    mut ways: [TimedStep<'_>; N],
) -> io::Result<[Samples; N]> {
    let mut samples = [const { Vec::new() }; N];
    for round in 0..=rounds {
        for (way, samples) in ways.iter_mut().zip(&mut samples) {
            let took = way()?;
            if round > 0 {
                samples.push(took);
            }
        }
    }
    Ok(samples.map(Samples::new))
}
