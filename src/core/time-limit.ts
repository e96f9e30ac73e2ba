// A time limit that stands still while a person is asked: how long they think is not the tool's time (MOD-18).

export interface TimeLimit {
  /** Stands still until the returned function is called, and until all that paused it have done so. */
  pause(): () => void;
  clear(): void;
}

export function startTimeLimit(milliseconds: number, onEnd: () => void): TimeLimit {
  let left = milliseconds;
  let began = performance.now();
  let paused = 0;
  let over = false;
  let timer = setTimeout(onEnd, left);
  return {
    pause() {
      if (paused++ === 0) {
        clearTimeout(timer);
        left -= performance.now() - began;
      }
      return () => {
        if (--paused > 0 || over) return;
        began = performance.now();
        timer = setTimeout(onEnd, Math.max(1, left));
      };
    },
    clear() {
      over = true;
      clearTimeout(timer);
    },
  };
}
