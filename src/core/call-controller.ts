// Cancels a call, and knows whether it was cancelled.

/** Whether it was aborted is known without its signal, which Node creates when it is first read: few tools need it. */
export class CallController extends AbortController {
  isAborted = false;

  override abort(reason?: unknown): void {
    this.isAborted = true;
    super.abort(reason);
  }
}
