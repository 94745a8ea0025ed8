// Lists the bookings of the demo's day and of the week before it.
export type BookingRow = readonly [
  bay: number,
  from: string,
  to: string,
  name: string,
  metadata?: Readonly<Record<string, string>>,
];

const arrived = { attendance: 'arrived' } as const;

/** Rows with the same time and name are a party. Bay 2 is free for the README, which lists what is upcoming there. */
export const today: readonly BookingRow[] = [
  [1, '08:00', '09:00', 'Ada Lund', { ...arrived, phone: '+45 20 12 34 56', note: 'Left-handed' }],
  [10, '09:00', '09:30', 'Bo Krogh', arrived],
  [3, '09:30', '11:00', 'Freja Holm', { attendance: 'late', note: 'Needs a tee for children' }],
  [5, '10:00', '11:00', 'Junior training', { ...arrived, phone: '+45 31 22 10 05' }],
  [6, '10:00', '11:00', 'Junior training', { ...arrived, phone: '+45 31 22 10 05' }],
  [1, '11:00', '12:00', 'Oscar Dam', { attendance: 'no-show', phone: '+45 28 90 11 27' }],
  [4, '11:30', '12:30', 'Søren Østergaard', arrived],
  [8, '12:00', '12:30', 'Ida Bech', arrived],
  [7, '12:30', '13:30', 'נועה לוי', { ...arrived, email: 'noa@example.com' }],
  [9, '13:30', '14:30', 'Karl Winther', { ...arrived, phone: '+45 40 55 61 70' }],
  [10, '14:00', '15:30', 'Marie Skov', { ...arrived, note: 'Lesson with Jens' }],
  [5, '15:00', '16:00', 'Peter Friis', arrived],
  [3, '16:00', '18:00', 'Birthday of Emma', { ...arrived, phone: '+45 22 45 18 90', note: 'Cake at 17:00' }],
  [4, '16:00', '18:00', 'Birthday of Emma', { ...arrived, phone: '+45 22 45 18 90', note: 'Cake at 17:00' }],
  [6, '16:30', '17:00', 'Lars Juhl', arrived],
  [1, '17:00', '18:00', 'Clara Nygaard', { ...arrived, phone: '+45 61 77 20 31' }],
  [10, '18:30', '19:30', 'Thomas Vind', { ...arrived, note: 'Pays in the shop' }],
  [5, '19:00', '20:30', 'Anna Kjær', arrived],
  [1, '20:00', '21:00', 'Viggo Lindberg', { ...arrived, email: 'viggo@example.com' }],
];

const names = [
  'Ada Lund',
  'Bo Krogh',
  'Freja Holm',
  'Karl Winther',
  'Ida Bech',
  'Oscar Dam',
  'Marie Skov',
  'Lars Juhl',
];

/** Three bookings on each of the seven days before today, the last day first. */
export const week: readonly (readonly BookingRow[])[] = Array.from({ length: 7 }, (_, day) =>
  [10, 14, 18].map((hour, index): BookingRow => {
    const start = hour + ((day + index) % 3);
    const name = names[(day * 3 + index) % names.length] as string;
    const attendance = (day + index) % 5 === 4 ? 'no-show' : 'arrived';
    return [((day * 3 + index) % 10) + 1, `${start}:00`, `${start + 1 + (index % 2)}:00`, name, { attendance }];
  }),
);

export const leagueWeeks = 8;
export const league: readonly BookingRow[] = [7, 8, 9].map((bay) => [
  bay,
  '18:00',
  '20:00',
  'Winter league',
  { ...arrived, phone: '+45 33 15 70 20', note: 'Two balls each' },
]);
