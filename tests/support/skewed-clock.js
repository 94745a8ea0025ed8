// Preloaded into a service (node --import) whose clock shall be wrong: SKEW_MS milliseconds ahead, or behind.
const skew = Number(process.env.SKEW_MS);
const now = Date.now;
globalThis.Date = class extends Date {
  constructor(...given) {
    if (given.length > 0) super(...given);
    else super(now() + skew);
  }

  static now() {
    return now() + skew;
  }
};
