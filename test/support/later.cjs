// Moves the clock of a process ten seconds ahead, so that files that were just written count as settled.

const { now } = Date;
Date.now = () => now() + 10_000;
