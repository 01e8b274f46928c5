//! Weights that halve with age.

/// The half-lives, in cycles, at which seen changes are counted: with a cycle a day, a burst, a week and
/// a month. Powers of two: their weights are square roots of a half, which every machine computes alike.
pub const HALF_LIVES: [u32; 3] = [2, 8, 32];

/// 2^−(`age` / `half_life`) for a half-life that is a power of two, by multiplications and square roots
/// alone: the same bits on every machine.
///
/// # Panics
/// When the half-life is no power of two.
pub fn weight(half_life: u32, age: u32) -> f64 {
    assert!(half_life.is_power_of_two(), "a half-life of {half_life} cycles");
    let whole = age / half_life;
    if whole > 1074 {
        return 0.0;
    }
    // 2^-whole in two steps, since 2^-1074 has no reciprocal.
    let half = |k: u32| f64::from_bits(u64::from(1023 - k) << 52);
    let mut weight = half(whole / 2) * half(whole - whole / 2);
    // The rest of the age is a binary fraction of a half-life: its highest bit weighs the root of a half.
    let (mut root, mut bit) = (0.5, half_life);
    while bit > 1 {
        (root, bit) = (f64::sqrt(root), bit / 2);
        if (age % half_life) & bit != 0 {
            weight *= root;
        }
    }
    weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_powers_of_a_half() {
        for half_life in HALF_LIVES.into_iter().chain([1, 4, 64]) {
            for age in 0..(1100 * half_life) {
                let weight = weight(half_life, age);
                let literal = 0.5f64.powf(f64::from(age) / f64::from(half_life));
                let near = (weight - literal).abs() <= 1e-14 * literal.max(f64::MIN_POSITIVE);
                assert!(near, "{age} by {half_life}: {weight} for {literal}");
            }
            assert_eq!(weight(half_life, half_life), 0.5);
            assert_eq!(weight(half_life, u32::MAX), 0.0);
        }
    }
}
