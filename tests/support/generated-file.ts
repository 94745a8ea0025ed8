// Checks that a generated file in the repository is the file that `npm run generate` would write.

/** @throws {Error} with the first line that differs and the command that updates the file */
export function expectUpToDate(file: string, checkedIn: string, generated: string): void {
  if (checkedIn === generated) return;
  const [actual, expected] = [checkedIn.split('\n'), generated.split('\n')];
  const index = expected.findIndex((text, position) => text !== actual[position]);
  const line = index === -1 ? expected.length : index;
  throw new Error(
    `${file} is outdated, run \`npm run generate\`. Line ${line + 1} is\n${actual[line]}\n` +
      `and should be\n${expected[line]}`,
  );
}
