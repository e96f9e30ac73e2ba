// Names of context tools that other code refers to.

export const CONTEXT_GROUP = 'context';
export const CONTEXT_PIPE = 'context_pipe';
export const CONTEXT_QUERY = 'context_query';
