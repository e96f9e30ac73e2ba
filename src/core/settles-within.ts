// Races a promise against a timeout.

/** Returns whether a promise fulfilled within the time; rejects if the promise does. */
export async function settlesWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  if (milliseconds === Number.POSITIVE_INFINITY) return promise.then(() => true);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
