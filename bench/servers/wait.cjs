// Idle Node process.

setInterval(() => {}, 2 ** 30);
