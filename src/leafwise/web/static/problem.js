// Problems of requests.

const LOST = "the server does not answer; is leafwise web still running?";

/** A failed request with one line on the problem; `mayPass` if another try may help. */
export class Problem extends Error {
  constructor(line = LOST, status = 0) {
    super(line);
    this.status = status;
  }

  get mayPass() {
    return !this.status || this.status >= 500;
  }

  get isLost() {
    return !this.status || this.status === 503;
  }
}

/** Awaits a transfer; throws Problem if it fails. */
export async function arriving(promise) {
  try {
    return await promise;
  } catch (problem) {
    if (problem.name === "AbortError" || problem instanceof Problem) throw problem;
    throw new Problem();
  }
}
