// Answers every message on stdin after a millisecond, about the time in which a process ends.

process.stdin.on('data', (bytes) => setTimeout(() => process.stdout.write(bytes), 1));
