// Number of repetitions of a test: few in `npm test`, many in `npm run thorough`.

export const THOROUGH = process.env.WIELD_THOROUGH === '1';

/** Whether tests for `npm run thorough` run: there, and with WIELD_ALL_TESTS=1, which takes samples as `npm test` does. */
export const ALL_TESTS = THOROUGH || process.env.WIELD_ALL_TESTS === '1';

/** Returns how often a random case is tried. */
export function rounds(usually: number, thoroughly: number): number {
  return THOROUGH ? thoroughly : usually;
}

/** What random cases begin with: always the same in `npm test`, so that a run tells about the code and not about luck. */
export const SEED = Number(process.env.WIELD_SEED ?? (THOROUGH ? Math.floor(Math.random() * 10_000) : 1));

/** For the title of a test that takes a sample: how to take it again. */
export const SAMPLED = THOROUGH ? '' : ` (WIELD_SEED=${SEED})`;

/** Like `sample()`, but all cases also with WIELD_ALL_TESTS=1. */
export function some<T>(cases: readonly T[], count: number): readonly T[] {
  return ALL_TESTS ? cases : sample(cases, count);
}

/** Returns a few of many equal cases in `npm test`, others with another `WIELD_SEED`, and all in `npm run thorough`. */
export function sample<T>(cases: readonly T[], count: number): readonly T[] {
  if (THOROUGH || cases.length <= count) return cases;
  const step = cases.length / count;
  return Array.from({ length: count }, (_, at) => cases[(SEED + Math.floor(at * step)) % cases.length]!);
}
