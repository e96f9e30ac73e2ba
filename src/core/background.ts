// Work that nobody waits for: its failure is reported, and ends neither a call nor the process (RUN-13).

type Report = (message: string) => void;

/** Reports the failure of a promise that nobody waits for. */
export function inBackground(work: Promise<unknown> | undefined, report: Report): void {
  work?.catch((error: unknown) => report(`failed in the background: ${String(error)}`));
}

/** Wraps a listener so that a failure of it, also an asynchronous one, ends neither the call nor the process. */
export function guardListener<Arguments extends unknown[], Result>(
  listener: (...args: Arguments) => Result,
  report: Report,
): (...args: Arguments) => Result | undefined {
  const fail = (error: unknown): undefined => report(`a listener failed: ${String(error)}`) as undefined;
  return (...args) => {
    try {
      const result = listener(...args);
      return result instanceof Promise ? (result.catch(fail) as Result) : result;
    } catch (error) {
      return fail(error);
    }
  };
}
