// Shifts the clock of an instance by SKEW_MS milliseconds. Tests load this file into the instance with `node --import`.
const skew = Number(process.env.SKEW_MS);
const now = Date.now;
globalThis.Date = class extends Date {
  constructor(...parameters) {
    if (parameters.length > 0) super(...parameters);
    else super(now() + skew);
  }

  static now() {
    return now() + skew;
  }
};
