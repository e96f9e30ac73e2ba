// Counts turns of the event loop, which show whether work leaves room for others, on a machine of any speed.

export function countTurns() {
  let turns = 0;
  let counting = true;
  const count = (): void => {
    turns++;
    if (counting) setImmediate(count);
  };
  count();
  return {
    turns: () => turns,
    stop() {
      counting = false;
    },
  };
}
