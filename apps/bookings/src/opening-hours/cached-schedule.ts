// Keeps the schedules of opening hours in memory. schedule.ts itself also runs in browsers, where this cache does not.
import { LRUCache } from 'lru-cache';
import type { OpeningHours } from './hours.ts';
import { createSchedule, type Schedule } from './schedule.ts';

const alwaysOpen: Schedule = {
  openDuring: (interval) => [interval],
  isOpenThroughout: () => true,
};

const schedules = new LRUCache<string, Schedule>({ max: 2_000 });

/** Returns the schedule of a location. Null means that it is always open. */
export function findSchedule(hours: OpeningHours | null, timeZone: string): Schedule {
  if (!hours) return alwaysOpen;
  // Most locations have the same hours as another one, so they share the cached openings of each day.
  const key = JSON.stringify([hours, timeZone]);
  const schedule = schedules.get(key) ?? createSchedule(hours, timeZone);
  schedules.set(key, schedule);
  return schedule;
}
