// Says how often tests repeat a race, and with how many clients.

/** Returns 5, or all rounds with STRESS=1. */
export const rounds = (all: number): number => (process.env.STRESS ? all : 5);

/** Returns 8, or all clients with STRESS=1. A busy machine with two cores serves 8 requests within a second. */
export const clients = (all: number): number => (process.env.STRESS ? all : 8);
