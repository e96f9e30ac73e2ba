// Waits for servers, as long as whoever looks has patience, and says meanwhile which of them have not answered.

/** A server that was asked, and how long its answer is waited for. */
export interface Wait {
  readonly name: string;
  readonly over: Promise<unknown>;
  readonly left: number;
}

export async function waitFor(
  waits: readonly Wait[],
  onWait: ((servers: readonly string[]) => void) | undefined,
): Promise<void> {
  const patience = Math.max(...waits.map(({ left }) => left));
  const all = atMost(Promise.all(waits.map(({ over }) => over)), patience);
  if (onWait === undefined) return all;
  const names = new Set(waits.map(({ name }) => name));
  onWait([...names]);
  for (const { name, over } of waits) void over.then(() => names.delete(name) && onWait([...names]));
  await all;
  if (names.size === 0) return;
  names.clear();
  onWait([]);
}

async function atMost(promise: Promise<unknown>, milliseconds: number): Promise<void> {
  if (milliseconds === Number.POSITIVE_INFINITY) {
    await promise;
    return;
  }
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
