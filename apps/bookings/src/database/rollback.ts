// Lets a transaction that is rolled back return a result.

/** Thrown inside a transaction to roll it back. `outcome` is the result of the transaction. */
export class Rollback<Outcome> extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super('rolled back');
    this.outcome = outcome;
  }
}

/** Returns the result of a transaction, or the outcome of the `Rollback` that was thrown inside the transaction. */
export async function outcomeOf<Outcome>(transaction: Promise<Outcome>): Promise<Outcome> {
  try {
    return await transaction;
  } catch (error) {
    if (error instanceof Rollback) return error.outcome as Outcome;
    throw error;
  }
}
