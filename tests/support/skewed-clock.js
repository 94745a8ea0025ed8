// Shifts the clock of a service by SKEW_MS milliseconds. Tests preload this file with `node --import`.
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
