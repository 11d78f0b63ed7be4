// What goes wrong where something is asked for.

const LOST = "the server does not answer; is leafwise web still running?";

/** An answer that is one line about what was wrong; `mayPass` where asking again may help. */
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

/** Awaits what is to be sent; what does not arrive is a Problem. */
export async function arriving(promise) {
  try {
    return await promise;
  } catch (problem) {
    if (problem.name === "AbortError" || problem instanceof Problem) throw problem;
    throw new Problem();
  }
}
