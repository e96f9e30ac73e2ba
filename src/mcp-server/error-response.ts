// HTTP error responses in JSON-RPC form.

export function errorResponse(status: number, message: string, code = -32600): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status });
}
