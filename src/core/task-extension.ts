// The extension of the newer protocol version for calls whose result is fetched later.

export const TASKS = 'io.modelcontextprotocol/tasks';
