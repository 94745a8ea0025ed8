// Creates, reads, changes and deletes groups. A group is several bookings that are created together or not at all.
import type { RequestOptions, Send } from '../operations.ts';
import type { BookingGroup, BookingGroupDryRun, CreateBookingGroup, ReplaceBookingGroup } from '../schemas.ts';
import { type ChangeOptions, type CreateOptions, conditional, type Versioned, versioned } from './versions.ts';

export interface Groups {
  /** A dry run throws the same errors but books nothing. */
  create(group: CreateBookingGroup & { dryRun: true }, options?: CreateOptions): Promise<BookingGroupDryRun>;
  /** @throws {BookingsApiError} whose `problems` name the booking in `contextData.index` */
  create(group: CreateBookingGroup, options?: CreateOptions): Promise<Versioned<BookingGroup>>;
  get(id: string, options?: RequestOptions): Promise<Versioned<BookingGroup>>;
  /** Makes the group exactly this: changes entries with an `id`, creates the others, deletes what is left out. */
  replace(
    id: string,
    group: ReplaceBookingGroup & { dryRun: true },
    options?: ChangeOptions,
  ): Promise<BookingGroupDryRun>;
  replace(id: string, group: ReplaceBookingGroup, options?: ChangeOptions): Promise<Versioned<BookingGroup>>;
  /** Deletes the bookings of the group that have not ended. */
  delete(id: string, options?: ChangeOptions): Promise<void>;
}

export const createGroups = (send: Send): Groups => ({
  create: async (group: CreateBookingGroup, options?: CreateOptions) =>
    versioned(await send('createBookingGroup', { body: group, ...options })) as Versioned<BookingGroup>,
  get: async (id, options) => versioned(await send('getBookingGroup', { path: { id }, ...options })),
  replace: async (id: string, group: ReplaceBookingGroup, options?: ChangeOptions) =>
    versioned(
      await send('replaceBookingGroup', { path: { id }, body: group, ...conditional(options) }),
    ) as Versioned<BookingGroup>,
  delete: async (id, options) => {
    await send('deleteBookingGroup', { path: { id }, ...conditional(options) });
  },
});
