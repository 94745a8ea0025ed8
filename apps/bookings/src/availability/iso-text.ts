// Writes instants in the format of responses, such as 2026-12-01T08:00:00.000Z.
//
// A page of availability has thousands of instants, most of them whole minutes of a few days. The text of such an
// instant is put together from the texts of its day and its minute, which takes a quarter of the time of toISOString.
const minute = 60_000;
const day = 86_400_000;

const twoDigits = (number: number): string => String(number).padStart(2, '0');
const textOfMinute = Array.from(
  { length: day / minute },
  (_, index) => `${twoDigits(Math.floor(index / 60))}:${twoDigits(index % 60)}:00.000Z`,
);

let lastDay = Number.NaN;
let textOfLastDay = '';

/** `instant` is in milliseconds since 1970. */
export function isoText(instant: number): string {
  if (instant % minute !== 0) return new Date(instant).toISOString();
  const dayNumber = Math.floor(instant / day);
  if (dayNumber !== lastDay) {
    textOfLastDay = new Date(dayNumber * day).toISOString().slice(0, -'00:00:00.000Z'.length);
    lastDay = dayNumber;
  }
  return textOfLastDay + textOfMinute[(instant - dayNumber * day) / minute];
}
