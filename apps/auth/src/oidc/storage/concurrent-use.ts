// Did two uses of one refresh token run side by side? Then the later one lost a race, which is refused; had it come after the earlier one
// was answered, it would be a replay, which ends the whole grant (docs/decisions/0005).
import { Provider } from 'oidc-provider';
import { currentRequestState } from '../request-state.ts';

/** Answers that are remembered: at least those of as many refreshes as can overlap a request. */
const rememberedAtLeast = 5_000;

export type Races = ReturnType<typeof createRaces>;

export function createRaces() {
  const underWay = new Map<string, number>();
  let answered = new Map<string, number>();
  let answeredBefore = answered;

  const leave = (use: string): void => {
    const others = (underWay.get(use) ?? 1) - 1;
    if (others > 0) underWay.set(use, others);
    else underWay.delete(use);
  };

  const remember = (use: string): void => {
    if (answered.size >= rememberedAtLeast) {
      answeredBefore = answered;
      answered = new Map();
    }
    answered.set(use, performance.now());
  };

  return {
    /** `work` uses an artifact up, known by its hash, or throws; its request is then under way until it is answered. */
    async run(use: string, work: () => Promise<void>): Promise<void> {
      const response = Provider.ctx?.res;
      underWay.set(use, (underWay.get(use) ?? 0) + 1);
      try {
        await work();
      } catch (error) {
        leave(use);
        throw error;
      }
      if (!response) return leave(use);
      // What has reached this machine by then is read in the next two turns of the event loop: one accepts, one reads.
      response.once('close', () =>
        setImmediate(() =>
          setImmediate(() => {
            remember(use);
            leave(use);
          }),
        ),
      );
    },

    /**
     * Whether the request now served had arrived before the one that used the artifact up was answered. Of a use by this instance that
     * is known; of another's, the database's estimate stands for it (seconds of the epoch). Of two hosts' clocks that differ, the worst
     * is that a replay within the difference is refused without revoking.
     */
    isRace(use: string, estimate: number): boolean {
      const arrived = currentRequestState()?.arrived;
      if (arrived === undefined) return false;
      if (underWay.has(use)) return true;
      const known = answered.get(use) ?? answeredBefore.get(use);
      return known === undefined ? Date.now() - (performance.now() - arrived) <= estimate * 1000 : arrived < known;
    },
  };
}
