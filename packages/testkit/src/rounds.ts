// Says how often tests repeat a race.

/** Returns 5, or all rounds with STRESS=1. */
export const rounds = (all: number): number => (process.env.STRESS ? all : 5);
