// Keeps the schedules of opening hours in memory. Browsers load schedule.ts, which therefore cannot import the cache.
import { LRUCache } from 'lru-cache';
import type { OpeningHours } from './hours.ts';
import { alwaysOpen, createSchedule, type Schedule } from './schedule.ts';

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
