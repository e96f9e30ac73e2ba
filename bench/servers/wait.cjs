// A process of Node that does nothing, and stays.

setInterval(() => {}, 2 ** 30);
