// A refused HTTP request, in the protocol's form with the status that says why.

export function refusal(status: number, message: string, code = -32600): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status });
}
